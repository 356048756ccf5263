// MXNet's extension API of the releases up to 1.7 (library versions 1 to 7), in the global namespace:
// docs/mxnet.md. Functions may have the signatures of any of those releases.
#pragma once

#if !defined(MX_LIBRARY_VERSION)
#define MX_LIBRARY_VERSION 7
#endif

#include <tarsia/mxnet/json.h>
#include <tarsia/mxnet/op.h>

// initialize(int) is not declared: it returns an int in the first release, an MXReturnValue in later ones.

using mxnet::ext::kFloat16;
using mxnet::ext::kFloat32;
using mxnet::ext::kFloat64;
using mxnet::ext::kInt32;
using mxnet::ext::kInt64;
using mxnet::ext::kInt8;
using mxnet::ext::kUint8;
using mxnet::ext::kUNSET;
using mxnet::ext::MXDType;

using mxnet::ext::kCSRStorage;
using mxnet::ext::kDefaultStorage;
using mxnet::ext::kRowSparseStorage;
using mxnet::ext::MXStorageType;

using mxnet::ext::MX_FAIL;
using mxnet::ext::MX_SUCCESS;
using mxnet::ext::MXReturnValue;

using mxnet::ext::MXContext;
using mxnet::ext::MXSparse;
using mxnet::ext::MXTensor;

using mxnet::ext::mx_cpu_rand_t;
using mxnet::ext::mx_gpu_rand_t;
using mxnet::ext::mx_stream_t;
using mxnet::ext::nd_malloc_t;
using mxnet::ext::OpResource;
using mxnet::ext::PassResource;
using mxnet::ext::sparse_malloc_t;
using mxnet::ext::xpu_malloc_t;

using mxnet::ext::ERR;
using mxnet::ext::getDtypeAt;
using mxnet::ext::getShapeAt;
using mxnet::ext::JsonParser;
using mxnet::ext::JsonType;
using mxnet::ext::JsonVal;
using mxnet::ext::LIST;
using mxnet::ext::MAP;
using mxnet::ext::NUM;
using mxnet::ext::STR;

using mxnet::ext::initialize_t;

using mxnet::ext::createOpState_t;
using mxnet::ext::CustomOp;
using mxnet::ext::CustomOpSelector;
using mxnet::ext::CustomPartitioner;
using mxnet::ext::CustomPass;
using mxnet::ext::CustomStatefulOp;
using mxnet::ext::fcomp_t;
using mxnet::ext::inferShape_t;
using mxnet::ext::inferSType_t;
using mxnet::ext::inferType_t;
using mxnet::ext::mutateInputs_t;
using mxnet::ext::parseAttrs_t;

#if !defined(SUBGRAPH_SYM_JSON)
#define SUBGRAPH_SYM_JSON MX_STR_SUBGRAPH_SYM_JSON
#endif

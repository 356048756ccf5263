// The types of what MXNet's graphs know of an operator. Tarsia's ops are told by their properties.
#pragma once

#include <functional>
#include <vector>

#include <mxnet/operator.h>
#include <nnvm/op_attr_types.h>

namespace mxnet {

typedef std::function<void(const nnvm::NodeAttrs& attrs, const OpContext& ctx,
                           const std::vector<TBlob>& inputs, const std::vector<OpReqType>& req,
                           const std::vector<TBlob>& outputs)>
    FCompute;
typedef std::function<std::vector<ResourceRequest>(const nnvm::NodeAttrs& attrs)> FResourceRequest;
typedef std::function<ExecType(const nnvm::NodeAttrs& attrs)> FExecType;

}  // namespace mxnet

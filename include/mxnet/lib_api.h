// MXNet's extension API of the releases 1.8 to 2.0 (library versions 10 and 11): docs/mxnet.md.
//
// The header is whole: no lib_api.cc is compiled along. Any number of translation units may include it.
#pragma once

#if !defined(MX_LIBRARY_VERSION)
#define MX_LIBRARY_VERSION 11
#endif

#include <tarsia/mxnet/graph.h>
#include <tarsia/mxnet/op.h>

/// Every library defines it: it gets the host's version, major·10000 + minor·100 + patch, and refuses it with
/// MX_FAIL.
extern "C" __attribute__((visibility("default"))) mxnet::ext::MXReturnValue initialize(int version);

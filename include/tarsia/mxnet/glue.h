// Makes Tarsia's descriptions (op_abi.h) of ops that are registered through MXNet's extension API.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/mxnet/op.h>

extern "C" {
/// In an inline source, the compiler defines it if the source defines initialize().
int tarsia_mxnet_initialize(int version) __attribute__((weak, visibility("hidden")));
}

#include <tarsia/mxnet/glue_functions.h>

// In an inline source, the compiler does this.
#if !defined(TARSIA_INLINE_SOURCE)
namespace mxnet {
namespace ext {
namespace tarsia_detail {
__attribute__((unused)) static const int announced = announce();
}
}  // namespace ext
}  // namespace mxnet
#endif

#include <tarsia/detail/macros_pop.h>

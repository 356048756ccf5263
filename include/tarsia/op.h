// For authors of functions and ops, inline or built ahead of time: tensors, streams, exporting functions,
// declaring ops. In device code that NVRTC compiles, only <tarsia/device.h> is left of it.
#pragma once

#include <tarsia/device.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

#if !defined(TARSIA_INLINE_SOURCE)
#include <tuple>  // an inline source needs none: the compiler sees at its end what it has included
#endif

#include <tarsia/dispatch.h>
#include <tarsia/export.h>
#include <tarsia/inner_op.h>
#include <tarsia/op_define.h>
#include <tarsia/tensor.h>

#include <tarsia/detail/macros_pop.h>

#endif

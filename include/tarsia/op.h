// For authors of ops, inline or built ahead of time: tensors, streams, exporting functions, declaring ops.
// In device code compiled by NVRTC only <tarsia/device.h> remains of it.
#pragma once

#include <tarsia/device.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

#if !defined(TARSIA_INLINE_SOURCE)
#include <tuple>  // inline sources are asked at their end what they have included
#endif

#include <tarsia/dispatch.h>
#include <tarsia/export.h>
#include <tarsia/inner_op.h>
#include <tarsia/op_define.h>
#include <tarsia/tensor.h>

#include <tarsia/detail/macros_pop.h>

#endif

// Elements of float16 and bfloat16 tensors for hosts without such types and for every device. They are stored
// as 16 bits and convert to and from float.
#pragma once

#include <tarsia/detail/small_float_elements.h>

#if !defined(__CUDACC_RTC__)
#include <tarsia/tensor.h>

namespace tarsia {

#pragma GCC visibility push(hidden)
namespace detail {
TARSIA_DETAIL_DTYPE(half_element, TARSIA_FLOAT, 1, 16)
TARSIA_DETAIL_DTYPE(bfloat_element, TARSIA_BFLOAT, 1, 16)
}  // namespace detail
#pragma GCC visibility pop

}  // namespace tarsia
#endif

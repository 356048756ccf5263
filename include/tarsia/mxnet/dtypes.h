// Converts the numbers of dtypes in MXNet's extension API to Tarsia's dtypes and back.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>

namespace mxnet {
namespace ext {
namespace tarsia_detail {

enum { k_unknown_dtype = -1, k_foreign_dtype = -2 };

struct Dtype {
  tarsia_dtype_code code;
  int bits;
};
inline Dtype dtype_of_number(int number_) {
  switch (number_) {
    case 0:
      return {TARSIA_FLOAT, 32};
    case 1:
      return {TARSIA_FLOAT, 64};
    case 2:
      return {TARSIA_FLOAT, 16};
    case 3:
      return {TARSIA_UINT, 8};
    case 4:
      return {TARSIA_INT, 32};
    case 5:
      return {TARSIA_INT, 8};
    case 6:
      return {TARSIA_INT, 64};
    default:
      return {TARSIA_ANY_DTYPE, 0};
  }
}

/// Returns the number of a dtype, or k_foreign_dtype if the API does not have it.
inline int from_dtype(tarsia_dtype d_) {
  if (d_.code == TARSIA_ANY_DTYPE) return k_unknown_dtype;
  for (int i_ = 0; i_ <= 6; ++i_)
    if (d_.lanes == 1 && dtype_of_number(i_).code == d_.code && dtype_of_number(i_).bits == d_.bits)
      return i_;
  return k_foreign_dtype;
}
/// Sets the dtype of a number. Returns false if no dtype has the number.
inline bool to_dtype(int number_, tarsia_dtype& d_) {
  const Dtype known_ = dtype_of_number(number_);
  if (!known_.bits) return false;
  d_.code = static_cast<uint8_t>(known_.code);
  d_.bits = static_cast<uint8_t>(known_.bits);
  d_.lanes = 1;
  return true;
}

}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet

#include <tarsia/detail/macros_pop.h>

// Tensors' contents on the CPU, for the checks of ops: filled, compared, read as numbers.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tarsia::registry {

/// A tensor's content. Dense: `data`. Sparse: `data` has the values of `indices`, and of `indptr` for CSR.
struct CheckValue {
  tarsia_meta meta{};
  std::vector<unsigned char> data;
  std::vector<std::int64_t> indices, indptr;
};

/// The number of scalars in one element: 2 for complex numbers.
std::int64_t scalars_of(tarsia_dtype dtype);
bool is_real(tarsia_dtype dtype);
/// Scalar i as a number, and the other way round.
double get_number(const CheckValue& value, std::int64_t i);
void set_number(CheckValue& value, std::int64_t i, double number);
/// The number of stored scalars.
std::int64_t count_numbers(const CheckValue& value);

/// Random content: reals of 0.1 to 1.1 with either sign, 0 and 1 for integers, about half of a sparse tensor.
CheckValue random_value(const tarsia_meta& meta, std::mt19937_64& random);
/// Sets every byte to `pattern`. Sparse tensors store nothing.
CheckValue filled_value(const tarsia_meta& meta, unsigned char pattern);
/// a + b, for dense tensors, and sparse ones of the same places.
CheckValue sum_of(const CheckValue& a, const CheckValue& b);
/// The same with the elements of sparse tensors at their places.
CheckValue dense_of(const CheckValue& value);

/// The elements of a dense tensor as they lie under these strides, which leave no gaps, and the other way
/// round; null: row-major.
CheckValue laid_out(CheckValue value, const std::int64_t* strides);
CheckValue row_major(CheckValue value, const std::int64_t* strides);

/// Where they differ, or "". `tolerance` is relative to 1 + |b|; 0 means bit for bit.
std::string difference(const CheckValue& a, const CheckValue& b, double tolerance);
/// The largest of the finite reals, without its sign; 0 for integers.
double magnitude_of(const CheckValue& value);
/// Where they differ by more than the rounding of sums that are added in another order, or "". Reals may
/// differ by rounding_of() their dtype, relative to the largest of `magnitude` and of all their numbers;
/// integers, and what is not finite, may not differ in a bit.
std::string difference_beyond_rounding(const CheckValue& a, const CheckValue& b, double magnitude);
/// 16 units in the last place of 1, but at most tolerance_of(); 0 for integers.
double rounding_of(tarsia_dtype dtype);
/// The tolerance for results of this dtype.
double tolerance_of(tarsia_dtype dtype);

}  // namespace tarsia::registry

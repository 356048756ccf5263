// The contents of tensors that checks of ops fill and compare.
#include "registry/check/check_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tarsia::registry {
namespace {

using testing::HasSubstr;

tarsia_meta meta_of(tarsia_dtype dtype, std::initializer_list<std::int64_t> shape,
                    std::uint8_t storage = TARSIA_DENSE) {
  tarsia_meta meta{};
  meta.dtype = dtype, meta.storage = storage, meta.present = 1;
  for (const std::int64_t extent : shape) meta.shape[meta.ndim++] = extent;
  return meta;
}

constexpr tarsia_dtype k_float{TARSIA_FLOAT, 32, 1}, k_half{TARSIA_FLOAT, 16, 1}, k_int{TARSIA_INT, 64, 1},
    k_complex{TARSIA_COMPLEX, 64, 1};

TEST(CheckValues, numbers_come_back_in_every_dtype) {
  for (const tarsia_dtype dtype : {k_float, k_half, k_int, tarsia_dtype{TARSIA_INT, 8, 1},
                                   tarsia_dtype{TARSIA_UINT, 16, 1}, tarsia_dtype{TARSIA_BFLOAT, 16, 1}}) {
    CheckValue value = filled_value(meta_of(dtype, {2, 3}), 0);
    EXPECT_EQ(count_numbers(value), 6);
    set_number(value, 4, 42);
    EXPECT_EQ(get_number(value, 4), 42);
    EXPECT_EQ(get_number(value, 3), 0);
  }
  EXPECT_EQ(count_numbers(filled_value(meta_of(k_complex, {2, 3}), 0)), 12);
}

TEST(CheckValues, a_difference_names_the_first_place) {
  CheckValue a = filled_value(meta_of(k_float, {2, 3}), 0), b = a;
  EXPECT_EQ(difference(a, b, 0), "");
  set_number(b, 5, 1e-6);
  EXPECT_THAT(difference(a, b, 0), HasSubstr("element 5 (1, 2) is 0 and 1e-06"));
  EXPECT_EQ(difference(a, b, 1e-5), "");
  set_number(a, 1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(difference(a, b, 1e-5), HasSubstr("element 1 (0, 1) is nan and 0"));
  EXPECT_EQ(difference(a, filled_value(meta_of(k_float, {5}), 0), 1), "the sizes differ");
}

TEST(CheckValues, sparse_elements_go_to_their_places) {
  CheckValue csr = filled_value(meta_of(k_float, {2, 3}, TARSIA_CSR), 0);
  csr.indptr = {0, 1, 3};
  csr.indices = {2, 0, 1};
  csr.data.resize(3 * sizeof(float));
  for (int i = 0; i < 3; ++i) set_number(csr, i, i + 1);
  const CheckValue dense = dense_of(csr);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(get_number(dense, i), (std::array{0, 0, 1, 2, 3, 0}[static_cast<std::size_t>(i)])) << i;
  CheckValue elsewhere = csr;
  elsewhere.indices = {1, 0, 1};
  EXPECT_EQ(difference(csr, elsewhere, 1), "the indices differ");
  EXPECT_EQ(get_number(sum_of(csr, csr), 2), 6);
}

TEST(CheckValues, random_reals_keep_away_from_zero_and_integers_are_small) {
  std::mt19937_64 random(7);
  const CheckValue reals = random_value(meta_of(k_float, {1000}), random);
  const CheckValue integers = random_value(meta_of(k_int, {1000}), random);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    const double real = get_number(reals, i), magnitude = real < 0 ? -real : real;
    negative += real < 0;
    EXPECT_TRUE(magnitude >= 0.099 && magnitude <= 1.101) << real;
    EXPECT_TRUE(get_number(integers, i) == 0 || get_number(integers, i) == 1);
  }
  EXPECT_TRUE(negative > 0 && negative < 1000) << negative;
}

}  // namespace
}  // namespace tarsia::registry

// The contents of tensors that checks of ops fill and compare.
#include "registry/check/check_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

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

TEST(CheckValues, rounding_of_the_largest_number_is_no_difference) {
  constexpr tarsia_dtype k_double{TARSIA_FLOAT, 64, 1}, k_bfloat{TARSIA_BFLOAT, 16, 1};
  for (const auto& [dtype, ulp] :
       std::array{std::pair{k_float, std::ldexp(1., -23)}, std::pair{k_double, std::ldexp(1., -52)}}) {
    CheckValue a = filled_value(meta_of(dtype, {3}), 0), b = a;
    set_number(a, 0, 100), set_number(b, 0, 100);
    set_number(a, 1, ulp * 1000), set_number(b, 1, -ulp * 500);  // a sum of 100 and -100
    EXPECT_EQ(difference_beyond_rounding(a, b, 0), "");
    EXPECT_NE(difference(a, b, 0), "");
    EXPECT_EQ(difference_beyond_rounding(a, b, 1e6), "");
    set_number(b, 1, ulp * 1000 + ulp * 1800);
    EXPECT_THAT(difference_beyond_rounding(a, b, 1), HasSubstr("element 1 is "));
    EXPECT_EQ(difference_beyond_rounding(a, b, 1000), "");
  }
  EXPECT_EQ(rounding_of(k_half), 1e-2);
  EXPECT_EQ(rounding_of(k_bfloat), 3e-2);
  EXPECT_EQ(rounding_of(k_int), 0);
  EXPECT_EQ(rounding_of(k_complex), rounding_of(k_float));
}

TEST(CheckValues, garbage_is_a_difference_beyond_rounding) {
  CheckValue a = filled_value(meta_of(k_float, {4}), 0), b = a;
  for (const auto& [x, y] : std::array{std::pair{std::nan(""), 1.}, std::pair{1., 1.0001},
                                       std::pair{HUGE_VAL, -HUGE_VAL}, std::pair{HUGE_VAL, 1.}}) {
    set_number(a, 2, x), set_number(b, 2, y);
    EXPECT_THAT(difference_beyond_rounding(a, b, 1), HasSubstr("element 2 is ")) << x << " and " << y;
  }
  // What fills memory before a run: the patterns of two runs.
  EXPECT_NE(difference_beyond_rounding(filled_value(a.meta, 0xFF), filled_value(a.meta, 0x7B), 1), "");
  EXPECT_NE(difference_beyond_rounding(filled_value(a.meta, 0x40), filled_value(a.meta, 0x41), 1), "");
  set_number(a, 2, 1e30), set_number(b, 2, 1);
  EXPECT_NE(difference_beyond_rounding(a, b, 1), "");
  CheckValue i = filled_value(meta_of(k_int, {2}), 0), j = i;
  set_number(j, 0, 1);
  EXPECT_NE(difference_beyond_rounding(i, j, 1e20), "");
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

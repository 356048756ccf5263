// Sums of every dtype, and floats of 16 bits.
#include "registry/elements/tensor_math.h"

#include <cmath>
#include <cstring>

#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::vector<T> sum(std::vector<T> to, std::vector<T> from, tarsia_dtype dtype) {
  Array<T> a(std::move(to)), b(std::move(from));
  a.tensor.dtype = b.tensor.dtype = dtype;
  add_to(a.tensor, b.tensor, nullptr);
  return a.data;
}

TEST(TensorMath, sums_of_every_dtype) {
  EXPECT_THAT(sum<float>({1, 2}, {0.5, -2}, {TARSIA_FLOAT, 32, 1}), ElementsAre(1.5, 0));
  EXPECT_THAT(sum<double>({1}, {1e-9}, {TARSIA_FLOAT, 64, 1}), ElementsAre(1 + 1e-9));
  EXPECT_THAT(sum<std::int32_t>({INT32_MAX}, {1}, {TARSIA_INT, 32, 1}), ElementsAre(INT32_MIN));
  EXPECT_THAT(sum<std::int64_t>({-1}, {5}, {TARSIA_UINT, 64, 1}), ElementsAre(4));
  EXPECT_THAT(error_of([] { sum<float>({1}, {1}, {TARSIA_BOOL, 8, 1}); }), HasSubstr("cannot be added"));
}

std::uint16_t half(double number, std::uint8_t code = TARSIA_FLOAT) {
  std::uint16_t bits = 0;
  store_float({code, 16, 1}, number, &bits);
  return bits;
}

TEST(TensorMath, half_types_round_to_nearest_even) {
  EXPECT_EQ(half(1), 0x3c00);
  EXPECT_EQ(half(-2), 0xc000);
  EXPECT_EQ(half(65504), 0x7bff);
  EXPECT_EQ(half(65519), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(1 + 1.0 / 2048), 0x3c00);      // a tie: to even
  EXPECT_EQ(half(1 + 3.0 / 2048), 0x3c02);      // a tie: to even
  EXPECT_EQ(half(std::ldexp(1, -24)), 0x0001);  // the least
  EXPECT_EQ(half(std::ldexp(1, -26)), 0x0000);
  EXPECT_EQ(half(1, TARSIA_BFLOAT), 0x3f80);
  EXPECT_EQ(half(1 + 1.0 / 256, TARSIA_BFLOAT), 0x3f80);
  EXPECT_EQ(half(1 + 3.0 / 256, TARSIA_BFLOAT), 0x3f82);
  EXPECT_TRUE(half(NAN) > 0x7c00);
  const std::uint16_t packed[2] = {half(1.5), half(0.25)};
  Array<std::int32_t> a({1});
  std::memcpy(a.data.data(), packed, 4);
  Array<std::int32_t> b({1});
  std::memcpy(b.data.data(), packed, 4);
  a.shape[0] = b.shape[0] = 2;
  a.tensor.dtype = b.tensor.dtype = {TARSIA_FLOAT, 16, 1};
  add_to(a.tensor, b.tensor, nullptr);
  std::uint16_t out[2];
  std::memcpy(out, a.data.data(), 4);
  EXPECT_THAT(out, ElementsAre(half(3), half(0.5)));
}

}  // namespace
}  // namespace tarsia::registry

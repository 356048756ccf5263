// Texts of crash reports, put together without memory.
#include "registry/crash/signal_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace tarsia::registry {
namespace {

/// What f writes.
template <class F>
std::string written(F&& f) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  {
    SignalText text(ends[1]);
    f(text);
  }
  ::close(ends[1]);
  std::string all;
  char buffer[512];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  return all;
}

TEST(SignalText, numbers) {
  EXPECT_EQ(written([](SignalText& t) { t.number(0).add(" ").number(-1).add(" ").number(120); }), "0 -1 120");
  EXPECT_EQ(written([](SignalText& t) { t.number(std::numeric_limits<std::int64_t>::min()); }),
            "-9223372036854775808");
  EXPECT_EQ(written([](SignalText& t) { t.number_without_sign(~std::uint64_t{0}); }), "18446744073709551615");
  EXPECT_EQ(written([](SignalText& t) { t.hex(0).add(" ").hex(0xdeadbeef); }), "0x0 0xdeadbeef");
  EXPECT_EQ(written([](SignalText& t) { t.real(0.5).add(" ").real(-1e300); }), "0.5 -1e+300");
}

TEST(SignalText, quoted_text_is_plain_and_short) {
  EXPECT_EQ(written([](SignalText& t) { t.quoted("a\nb\x1b"); }), "'a.b.'");
  EXPECT_EQ(written([](SignalText& t) { t.quoted(std::string(100, 'x')); }),
            "'" + std::string(60, 'x') + "'...");
}

TEST(SignalText, text_longer_than_its_room_is_whole) {
  const std::string line(1500, 'a');
  EXPECT_EQ(written([&](SignalText& t) { t.add(line).add("b").add(line); }), line + "b" + line);
}

TEST(SignalText, tensors_and_values_of_a_call) {
  std::array<std::int64_t, 2> shape{4, 3};
  const tarsia_tensor tensor{nullptr, {TARSIA_GPU, 1}, 2, {TARSIA_BFLOAT, 16, 1}, shape.data(), nullptr, 0};
  EXPECT_EQ(written([&](SignalText& t) { add_tensor(t, &tensor); }), "bfloat16[4, 3] on GPU 1");
  EXPECT_EQ(written([](SignalText& t) { add_tensor(t, nullptr); }), "absent");
  tarsia_tensor small = tensor;
  small.dtype = {10, 8, 1};
  EXPECT_EQ(written([&](SignalText& t) { add_tensor(t, &small); }), "float8_e4m3fn[4, 3] on GPU 1");
  small.dtype = {99, 8, 1};
  EXPECT_EQ(written([&](SignalText& t) { add_tensor(t, &small); }), "dtype(99, 8)[4, 3] on GPU 1");

  tarsia_param params[3]{};
  params[0].name = "n";
  params[0].type.dtype = {TARSIA_UINT, 64, 1};
  params[1].name = "x";
  params[2].name = "";
  tarsia_function function{};
  function.n_params = 3;
  function.params = params;
  tarsia_value items[5]{};
  for (tarsia_value& item : items) item.kind = TARSIA_KIND_BOOL;
  tarsia_value values[3]{};
  values[0].kind = TARSIA_KIND_INT;
  values[0].u = ~std::uint64_t{0};
  values[1].kind = TARSIA_KIND_TENSOR;
  values[1].t = &tensor;
  values[2].kind = TARSIA_KIND_LIST;
  values[2].v = items;
  values[2].size = 5;
  tarsia_call_context context{};
  context.size = sizeof context;
  context.function = &function;
  context.args = values;
  context.n_args = 3;
  EXPECT_EQ(written([&](SignalText& t) { add_arguments(t, context); }),
            "n = 18446744073709551615, x = bfloat16[4, 3] on GPU 1, argument 2 = [false, false, false, "
            "false, ... 5 "
            "in all]");
}

TEST(SignalText, what_is_known_of_an_op_that_is_being_bound) {
  tarsia_port ports[2]{{"x", "", 0}, {"more", "", TARSIA_PORT_VARIADIC}};
  tarsia_op op{};
  op.inputs = ports;
  op.n_inputs = 2;
  tarsia_meta metas[3]{};
  for (tarsia_meta& meta : metas) meta = {-1, {TARSIA_ANY_DTYPE, 0, 0}, TARSIA_ANY_STORAGE, 1, 0, 0, {}};
  metas[0].ndim = 2;
  metas[0].dtype = {TARSIA_FLOAT, 32, 1};
  metas[0].shape[0] = -1;
  metas[0].shape[1] = 3;
  metas[2].present = 0;
  const char* names[]{"k", "mode"};
  tarsia_value values[2]{};
  values[0].kind = TARSIA_KIND_INT;
  values[0].i = 5;
  values[1].kind = TARSIA_KIND_NONE;
  tarsia_bind_info info{};
  info.inputs = metas;
  info.n_inputs = 3;
  info.attributes = values;
  info.attribute_names = names;
  info.n_attributes = 2;
  EXPECT_EQ(written([&](SignalText& t) { add_bind_info(t, op, info); }),
            "input 'x' float32[?, 3], input 'more' ?[...], input 'more' absent, k = 5, mode = none");
  const tarsia_port own[3]{{"x", "", 0}, {"gamma", "", 0}, {"", "", 0}};  // as attributes decide them
  info.ports = own;
  EXPECT_EQ(written([&](SignalText& t) { add_bind_info(t, op, info); }),
            "input 'x' float32[?, 3], input 'gamma' ?[...], input 2 absent, k = 5, mode = none");
  info.ports = nullptr;
  op.n_inputs = 1;  // it stands for no other
  EXPECT_EQ(written([&](SignalText& t) { add_bind_info(t, op, info); }),
            "input 'x' float32[?, 3], input 1 ?[...], input 2 absent, k = 5, mode = none");
  info.n_inputs = 0;
  EXPECT_EQ(written([&](SignalText& t) { add_bind_info(t, op, info); }), "k = 5, mode = none");
}

}  // namespace
}  // namespace tarsia::registry

// The light adapter's structs have the layouts of abi.h, and what generated text writes with them works.
#include <tarsia/abi.h>
#include <tarsia/host.h>

#include <tarsia/detail/adapter_light.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "registry/host_table.h"
#include "tests/unit/registry/module_fixture.h"

#define SAME(light, full, member, other)                            \
  static_assert(offsetof(light, member) == offsetof(full, other) && \
                sizeof(light::member) == sizeof(full::other))
static_assert(sizeof(tarsia_light_value) == sizeof(tarsia_value));
SAME(tarsia_light_value, tarsia_value, kind, kind);
SAME(tarsia_light_value, tarsia_value, size, size);
static_assert(sizeof(tarsia_light_type) == sizeof(tarsia_type));
SAME(tarsia_light_type, tarsia_type, n, n_elements);
SAME(tarsia_light_type, tarsia_type, elements, elements);
static_assert(offsetof(tarsia_light_type, code) ==
              offsetof(tarsia_type, dtype) + offsetof(tarsia_dtype, code));
static_assert(offsetof(tarsia_light_type, lanes) ==
              offsetof(tarsia_type, dtype) + offsetof(tarsia_dtype, lanes));
static_assert(sizeof(tarsia_light_param) == sizeof(tarsia_param));
static_assert(sizeof(tarsia_light_function) == sizeof(tarsia_function));
SAME(tarsia_light_function, tarsia_function, location, location);
SAME(tarsia_light_function, tarsia_function, n_required, n_required);
SAME(tarsia_light_function, tarsia_function, params, params);
SAME(tarsia_light_function, tarsia_function, result, result);
SAME(tarsia_light_function, tarsia_function, call, call);
static_assert(sizeof(tarsia_light_skipped) == sizeof(tarsia_skipped));
SAME(tarsia_light_host, tarsia_host, tarsia_capture, capture_exception);
SAME(tarsia_light_host, tarsia_host, tarsia_string, result_string);

extern "C" const tarsia_module* tarsia_module_attach(const tarsia_host*);  // of attach_support.c

namespace {
float scaled(const float* x, int n = 2) {
  return x[0] * static_cast<float>(n);
}
std::string greet(const char* name) {
  if (!*name) throw std::invalid_argument("nobody");
  return std::string("hello ") + name;
}
}  // namespace

static int tarsia_call_0(const tarsia_light_value* a, unsigned n, tarsia_light_value* r) {
  TARSIA_LIGHT_TRY
  r->f = n == 1 ? scaled((const float*)a[0].p) : scaled((const float*)a[0].p, (int)a[1].i);
  r->kind = 3;
  TARSIA_LIGHT_CATCH
}
static const tarsia_light_param tarsia_params_0[] = {{"x", {6, 2, 0, 2, 32, 1, nullptr}},
                                                     {"n", {2, 0, 0, 0, 32, 1, nullptr}}};
TARSIA_LIGHT_EXPORT(0, "scaled", "float scaled(const float *x, int n = 2)", "a.cu:1", 2, 1, 0,
                    TARSIA_LIGHT_TYPE(3, 0, 0, 2, 32, 1, nullptr))

static int tarsia_call_1(const tarsia_light_value* a, unsigned, tarsia_light_value* r) {
  TARSIA_LIGHT_TRY
  const std::string text = greet(a[0].s);
  return TARSIA_LIGHT_STRING(r, text.data(), text.size());
  TARSIA_LIGHT_CATCH
}
static const tarsia_light_param tarsia_params_1[] = {{"name", {4, 0, 0, 0, 0, 0, nullptr}}};
TARSIA_LIGHT_EXPORT(1, "greet", "std::string greet(const char *name)", "a.cu:2", 1, 1, 0,
                    TARSIA_LIGHT_TYPE(4, 0, 0, 0, 0, 0, nullptr))
TARSIA_LIGHT_SKIPPED(0, "lost", "a reference parameter")

namespace tarsia::registry {
namespace {

const tarsia_module& module() {
  return *tarsia_module_attach(host_table());
}
const tarsia_function& function(const std::string& name) {
  for (auto* f = module().functions; f != module().functions_end; ++f)
    if (*f && name == (*f)->name) return **f;
  throw std::out_of_range(name);
}

TEST(AdapterLight, functions_are_called_with_and_without_default_arguments) {
  Array<float> x({3});
  tarsia_value args[2]{}, result{};
  args[0].p = x.data.data();
  args[1] = of(10);
  ASSERT_EQ(function("scaled").call(args, 1, &result), 0);
  EXPECT_EQ(result.f, 6);
  ASSERT_EQ(function("scaled").call(args, 2, &result), 0);
  EXPECT_EQ(result.f, 30);
  EXPECT_EQ(describe(function("scaled").params[0].type), "const float32*");
}

TEST(AdapterLight, strings_and_exceptions_reach_the_host) {
  CallFrame frame({TARSIA_CPU, 0});
  tarsia_value arg = of("you"), result{};
  ASSERT_EQ(function("greet").call(&arg, 1, &result), 0);
  EXPECT_EQ(std::string(result.s, result.size), "hello you");
  arg = of("");
  EXPECT_EQ(function("greet").call(&arg, 1, &result), TARSIA_OP_VALUE_ERROR);
  EXPECT_EQ(last_error().message, "nobody");
}

TEST(AdapterLight, skipped_functions_are_listed) {
  ASSERT_EQ(module().n_skipped, 1u);
  EXPECT_STREQ(module().skipped[0].reason, "a reference parameter");
  EXPECT_EQ(module().n_images, 0u);
  EXPECT_EQ(module().kernels, module().kernels_end);
}

}  // namespace
}  // namespace tarsia::registry

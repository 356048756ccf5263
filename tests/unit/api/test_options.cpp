// tarsia::Options in the C interface's form: each option reaches its own field, and the fields stay where
// they are.
#include <gmock/gmock.h>
#include <tarsia/options.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/unit/base/changed.h"

namespace tarsia {
namespace {

// Programs are built against the struct as it was. What is added comes behind these.
static_assert(offsetof(tarsia_options, name) == 8);
static_assert(offsetof(tarsia_options, restrict_functions) == 32);
static_assert(offsetof(tarsia_options, host_headers) == 36);
static_assert(offsetof(tarsia_options, n_headers) == 48);
static_assert(offsetof(tarsia_options, include_dirs) == 56);
static_assert(offsetof(tarsia_options, defines) == 72);
static_assert(offsetof(tarsia_options, libraries) == 88);
static_assert(offsetof(tarsia_options, library_dirs) == 104);
static_assert(offsetof(tarsia_options, std) == 120);
static_assert(offsetof(tarsia_options, opt) == 128);
static_assert(offsetof(tarsia_options, ptx) == 132);
static_assert(offsetof(tarsia_options, archs) == 136);
static_assert(offsetof(tarsia_options, fast_math) == 152);
static_assert(offsetof(tarsia_options, debug) == 156);
static_assert(offsetof(tarsia_options, lineinfo) == 160);
static_assert(offsetof(tarsia_options, timeout_ms) == 164);
static_assert(offsetof(tarsia_options, cached_only) == 168);
static_assert(offsetof(tarsia_options, interrupted) == 176);
static_assert(offsetof(tarsia_options, kernels) == 192);
static_assert(offsetof(tarsia_options, kernels_file) == 208);
static_assert(offsetof(tarsia_options, kernels_to_read) == 216);
static_assert(offsetof(tarsia_options, caller_file) == 224);
static_assert(offsetof(tarsia_options, caller_line) == 232);
static_assert(offsetof(tarsia_options, march) == 240);

std::string shown(long long number) {
  return std::to_string(number);
}
std::string shown(const char* text) {
  return text ? text : "null";
}
std::string shown(const tarsia_file& file) {
  return std::string(file.name) + ":" + std::string(file.text, file.bytes);
}
std::string shown(const tarsia_define& define) {
  return std::string(define.name) + "=" + shown(define.value);
}
template <class T>
std::string shown(const T* items, uint64_t n) {
  std::string text = std::to_string(n);
  for (uint64_t i = 0; i < n; ++i) text += "," + shown(items[i]);
  return text;
}

/// Each field as a text, by its name.
std::map<std::string, std::string> fields_of(const tarsia_options& options) {
  std::map<std::string, std::string> all;
#define SHOW(kind, name, field, ...) all[#field] = SHOW_##kind(field);
#define SHOW_one(field) shown(options.field)
#define SHOW_list(field) shown(options.field, options.n_##field)
#define SHOW_flag SHOW_one
#define SHOW_number SHOW_one
#define SHOW_choice SHOW_one
#define SHOW_mode SHOW_one
#define SHOW_seconds SHOW_one
#define SHOW_word SHOW_one
#define SHOW_text SHOW_one
#define SHOW_texts SHOW_list
#define SHOW_paths SHOW_list
#define SHOW_flags SHOW_list
#define SHOW_symbols SHOW_list
#define SHOW_dirs SHOW_list
#define SHOW_archs SHOW_list
#define SHOW_headers SHOW_list
#define SHOW_defines SHOW_list
#define SHOW_names(field) SHOW_list(field) + (options.restrict_##field ? " alone" : "")
  TARSIA_COMPILE_OPTIONS(SHOW)
  TARSIA_KERNEL_OPTIONS(SHOW)
  return all;
}

TEST(Options, defaults_are_those_of_the_c_interface) {
  tarsia_options defaults;
  tarsia_options_init(&defaults);
  const Options options;
  const detail::CompileRequest request(options, "text");
  EXPECT_EQ(fields_of(*request.options()), fields_of(defaults));
  EXPECT_EQ(defaults.name, nullptr);
  EXPECT_STREQ(defaults.std, "c++20");
  EXPECT_EQ(defaults.opt, 2);
}

TEST(Options, each_changes_its_own_field_alone) {
  const Options defaults;
  const detail::CompileRequest before(defaults, "text");
  int count = 0;
  for_each_option(defaults, [&](const OptionRow& row, const auto&) {
    Options options;
    for_each_option(options, [&](const OptionRow& other, auto& value) {
      if (other.name == row.name) value = changed(value);
    });
    const detail::CompileRequest after(options, "text");
    auto expected = fields_of(*before.options()), got = fields_of(*after.options());
    EXPECT_NE(got.at(std::string(row.field)), expected.at(std::string(row.field))) << row.name;
    expected.erase(std::string(row.field));
    got.erase(std::string(row.field));
    EXPECT_EQ(got, expected) << row.name;
    ++count;
  });
  EXPECT_GE(count, 15);
}

TEST(Options, no_function_at_all_is_a_restriction_too) {
  const detail::CompileRequest all({}, "text"), none({.functions = std::vector<std::string>()}, "text");
  EXPECT_EQ(all.options()->restrict_functions, 0);
  EXPECT_EQ(none.options()->restrict_functions, 1);
}

/// What a program is to be started again with, or the error.
std::string environment_for(const Options& options) {
  const detail::CompileRequest request(options, "");
  char* text = nullptr;
  if (tarsia_environment_for_options(request.options(), &text) != 0) return tarsia_last_error()->message;
  const std::string lines = text;
  tarsia_free(text);
  return lines;
}

TEST(Options, a_sanitizer_is_asked_for_by_debug_or_by_a_flag) {
  // The environment names the compiler, which builds under a sanitizer may lack. Any program stands for it.
  ::setenv("TARSIA_COMPILER", "/bin/true", 1);
  EXPECT_EQ(environment_for({}), "");
  EXPECT_EQ(environment_for({.debug = "undefined"}), "");
  EXPECT_EQ(environment_for({.cflags = {"-fsanitize=undefined"}}), "");
#ifdef __SANITIZE_THREAD__
  const std::string absent = "address";
#else
  const std::string absent = "thread";
#endif
  EXPECT_EQ(environment_for({.cflags = {"-fsanitize=" + absent}}), environment_for({.debug = absent}));
  EXPECT_THAT(environment_for({.debug = absent}), testing::HasSubstr("LD_PRELOAD="));
  EXPECT_THAT(
      environment_for({.cflags = {"-fsanitize=undefined,address"}}),
      testing::HasSubstr("'-fsanitize=undefined,address' asks for several sanitizers, and a compile has one: "
                         "give '-fsanitize=undefined', '-fsanitize=address' or '-fsanitize=thread'"));
  EXPECT_THAT(environment_for({.debug = "thread", .cflags = {"-fsanitize=address"}}),
              testing::HasSubstr("contradicts the option debug"));
  ::unsetenv("TARSIA_COMPILER");
  char* text = nullptr;
  ASSERT_EQ(tarsia_environment_for_options(nullptr, &text), 0);
  EXPECT_STREQ(text, "");
  tarsia_free(text);
}

TEST(Options, words_have_their_places) {
  constexpr OptionRow row = {.kind = OptionKind::word, .values = "c++11 c++14 c++20"};
  static_assert(index_of_value(row, "c++11") == 0 && index_of_value(row, "c++20") == 2);
  static_assert(index_of_value(row, "c++") == -1 && index_of_value(row, "") == -1);
  static_assert(index_of_value({.values = ""}, "") == -1);
  static_assert(range_of({.values = "5..4294967"}).first == 5 &&
                range_of({.values = "5..4294967"}).last == 4294967);
}

}  // namespace
}  // namespace tarsia

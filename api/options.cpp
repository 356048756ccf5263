// Reads each kind of option out of the C struct.
#include "api/options.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::api {
namespace {

void take(bool& option, std::int32_t value) {
  option = value != 0;
}

void take(int& option, std::int32_t value) {
  option = value;
}

void take(std::string& option, const char* value) {
  if (value) option = value;
}

void take(std::vector<std::string>& option, const char* const* values, std::uint64_t n) {
  option.assign(values, values + n);
}

void take(jit::kept::defines& option, const tarsia_define* defines, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    option.emplace_back(defines[i].name,
                        defines[i].value ? std::optional<std::string>(defines[i].value) : std::nullopt);
}

void take_dirs(jit::kept::dirs& option, const char* const* dirs, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    option.push_back(std::filesystem::absolute(dirs[i]).lexically_normal().string());
}

void take_names(jit::kept::names& option, const char* const* names, std::uint64_t n, bool given) {
  if (given) option.emplace(names, names + n);
}

/// An invalid number is kept as an invalid word. The check of the source refuses it.
void take_choice(const OptionRow& row, jit::kept::choice& option, std::int32_t index) {
  option = std::to_string(index);
  for_each_value(row, [&](std::string_view word) {
    if (index-- == 0) option = word;
  });
}

/// As take_choice().
void take_mode(const OptionRow& row, jit::kept::mode& option, std::int32_t number) {
  option = number == 0 ? Mode() : number == 1 ? Mode(true) : Mode(std::to_string(number));
  int place = 2;
  for_each_value(row, [&](std::string_view word) {
    if (number == place++) option = Mode(std::string(word));
  });
}

}  // namespace

tarsia_options whole(const tarsia_options* given) {
  tarsia_options options;
  tarsia_options_init(&options);
  if (given) std::memcpy(&options, given, std::min<std::size_t>(given->size, sizeof(options)));
  return options;
}

jit::CompileOptions to_options(const tarsia_options& from) {
  jit::CompileOptions to;
#define TARSIA_TAKE(kind, name, field, ...) \
  TARSIA_TAKE_##kind(field, TARSIA_OPTION_ROW(kind, name, field, __VA_ARGS__))
#define TARSIA_TAKE_flag(field, row) take(to.field, from.field);
#define TARSIA_TAKE_number(field, row) take(to.field, from.field);
#define TARSIA_TAKE_word(field, row) take(to.field, from.field);
#define TARSIA_TAKE_text(field, row) take(to.field, from.field);
#define TARSIA_TAKE_texts(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_paths(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_flags(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_symbols(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_archs(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_defines(field, row) take(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_dirs(field, row) take_dirs(to.field, from.field, from.n_##field);
#define TARSIA_TAKE_names(field, row) \
  take_names(to.field, from.field, from.n_##field, from.restrict_##field != 0);
#define TARSIA_TAKE_choice(field, row) take_choice(row, to.field, from.field);
#define TARSIA_TAKE_mode(field, row) take_mode(row, to.field, from.field);
  TARSIA_COMPILER_OPTIONS(TARSIA_TAKE)
  return to;
}

}  // namespace tarsia::api

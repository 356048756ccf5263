// Writes values as people read them.
#include "session/cell_value.h"

#include <cxxabi.h>
#include <pthread.h>
#include <tarsia/abi.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/demangle.h"
#include "base/error.h"
#include "registry/resources/call_context.h"
#include "session/bench_clock.h"
#include "session/cell_module.h"
#include "session/ready_values.h"

namespace tarsia::session {
namespace {

constexpr std::size_t k_most = 8192;

thread_local std::string t_value;
thread_local std::string t_image;
thread_local const char* t_place = nullptr;  ///< the name of a cell, in a loaded module
thread_local int t_line = 0;
thread_local tarsia_cell_place* t_shown_place = nullptr;  ///< null, or for another process to read

void put(std::string_view text) {
  if (t_value.size() < k_most + 64) t_value += text;
}

template <class T>
void put_number(T value) {
  char text[64];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  put({text, std::size_t(end.ptr - text)});
}

void put_escaped(unsigned char c, char quote) {
  constexpr std::string_view k_escapes = "\a\b\t\n\v\f\r", k_letters = "abtnvfr";
  const char one = char(c);
  if (one == quote || one == '\\') {
    put("\\");
    put({&one, 1});
  } else if (const std::size_t at = k_escapes.find(one); at != k_escapes.npos) {
    put("\\");
    put(k_letters.substr(at, 1));
  } else if (c < 0x20 || c == 0x7f) {
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", c);
    put(text);
  } else {
    put({&one, 1});
  }
}

/// Floating-point numbers always show that they are such.
template <class T>
void put_real(T value) {
  if (std::isnan(value)) return put("nan");
  if (std::isinf(value)) return put(value < 0 ? "-inf" : "inf");
  char text[64];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  const std::string_view number(text, std::size_t(end.ptr - text));
  put(number);
  if (number.find_first_of(".en") == number.npos) put(".0");
}

}  // namespace

std::string take_cell_value() {
  std::string value;
  value.swap(t_value);
  if (value.size() > k_most) {
    value.resize(k_most);
    while (!value.empty() && (static_cast<unsigned char>(value.back()) & 0xc0) == 0x80) value.pop_back();
    value += "…";
  }
  return value;
}

std::string take_cell_image() {
  return std::exchange(t_image, {});
}

Diagnostic take_cell_place() {
  Diagnostic place;
  if (t_place) place.file = t_place;
  place.line = t_line;
  forget_cell_place();
  return place;
}

void forget_cell_place() {
  t_place = nullptr;
  t_line = 0;
}

void note_cell_places_in(tarsia_cell_place* place) {
  t_shown_place = place;
}

namespace {

void cell_put(const char* text, unsigned long n) {
  put({text, n});
}

void cell_put_quoted(const char* text, unsigned long n) {
  put("\"");
  for (unsigned long i = 0; i < n && t_value.size() < k_most; ++i)
    put_escaped(static_cast<unsigned char>(text[i]), '"');
  put("\"");
}

void cell_put_char(unsigned c) {
  put("'");
  put_escaped(static_cast<unsigned char>(c), '\'');
  put("'");
}

/// A character of Unicode as UTF-8; what is none, as a number.
void put_code_point(std::uint32_t one, char quote) {
  if (one < 0x80) return put_escaped(static_cast<unsigned char>(one), quote);
  char text[16];
  if (one > 0x10ffff || (one >= 0xd800 && one < 0xe000)) {
    std::snprintf(text, sizeof text, "\\x{%x}", one);
    return put(text);
  }
  std::size_t n = 0;
  const auto tail = [&](int shift) { text[n++] = char(0x80 | ((one >> shift) & 0x3f)); };
  if (one >= 0x10000)
    text[n++] = char(0xf0 | (one >> 18)), tail(12), tail(6), tail(0);
  else if (one >= 0x800)
    text[n++] = char(0xe0 | (one >> 12)), tail(6), tail(0);
  else
    text[n++] = char(0xc0 | (one >> 6)), tail(0);
  put({text, n});
}

void cell_put_wide(const void* text, unsigned long n, unsigned bytes) {
  put("\"");
  for (unsigned long i = 0; i < n && t_value.size() < k_most; ++i) {
    if (bytes == 4) {
      put_code_point(static_cast<const std::uint32_t*>(text)[i], '"');
      continue;
    }
    const auto* units = static_cast<const std::uint16_t*>(text);
    std::uint32_t one = units[i];
    if (one >= 0xd800 && one < 0xdc00 && i + 1 < n && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000)
      one = 0x10000 + ((one - 0xd800) << 10) + (units[++i] - 0xdc00);
    put_code_point(one, '"');
  }
  put("\"");
}

void cell_put_code_point(unsigned value) {
  put("'");
  put_code_point(value, '\'');
  put("'");
}

void cell_put_int(long long value) {
  put_number(value);
}
void cell_put_uint(unsigned long long value) {
  put_number(value);
}
void cell_put_float(float value) {
  put_real(value);
}
void cell_put_double(double value) {
  put_real(value);
}
void cell_put_long_double(long double value) {
  put_real(value);
}

void cell_put_pointer(const void* value) {
  if (!value) return put("nullptr");
  char text[32];
  std::snprintf(text, sizeof text, "%p", value);
  put(text);
}

/// "const char *tarsia::repl::type_name() [T_ = std::vector<int>]"
void cell_put_type(const char* pretty) {
  std::string_view text = pretty;
  const std::size_t at = text.find("T_ = ");
  if (at != text.npos) text.remove_prefix(at + 5);
  if (text.ends_with("]")) text.remove_suffix(1);
  // "(lambda at cell 2:1)"
  if (text.starts_with("(") && text.ends_with(")") && text.find('(', 1) == text.npos)
    text = text.substr(1, text.size() - 2);
  put(text);
}

void cell_put_type_info(const char* name) {
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                         &std::free);
  std::string readable = text ? text.get() : name;
  constexpr std::string_view k_string =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (std::size_t at; (at = readable.find(k_string)) != readable.npos;)
    readable.replace(at, k_string.size(), "std::string");
  put(readable);
}

int cell_has_room() {
  return t_value.size() < k_most;
}

void cell_put_tensor(const tarsia_tensor* tensor) {
  put(tensor ? describe_tensor(*tensor) : "no tensor");
}

void cell_put_image(const tarsia_tensor* tensor) {
  t_image = npy_of(*tensor);
  put(describe_image(*tensor));
}

void cell_bench_end() {
  const BenchTime time = end_bench();
  put_real(time.host_ns);
  if (!time.gpu_ns) return;
  put(" ");
  put_real(*time.gpu_ns);
  put(time.is_ahead ? " 1" : " 0");
}

void cell_note_place(const char* cell, int line) {
  if (tarsia_cell_place* const shown = t_shown_place) {
    if (cell != t_place || shown->line == 0)
      shown->cell[std::string_view(cell).copy(shown->cell, sizeof shown->cell - 1)] = '\0';
    shown->line = line;
  }
  t_place = cell;
  t_line = line;
}

/// Stands for functions that are declared and not yet defined.
[[noreturn]] void cell_call_of_nothing(const char* symbol, const char* uses) {
  const std::string where = *uses ? ", used at " + std::string(uses) + "," : "";
  throw NotFound(readable_symbol(symbol) + where + " was called, which no cell has defined: define it");
}

/// Stands for pthread_exit and thrd_exit.
[[noreturn]] void cell_exit_thread(void* value) {
  if (*registry::call_slot())
    throw Error(
        "pthread_exit and thrd_exit would end the thread that runs the session: they end threads that a cell "
        "has started; to leave a function write return, or throw");
  ::pthread_exit(value);
}

struct Builtin {
  std::string_view name;
  void* address;
};

#define BUILTIN(name, function) {name, reinterpret_cast<void*>(&function)}
const Builtin k_builtins[] = {
    BUILTIN("tarsia_cell_put", cell_put),
    BUILTIN("tarsia_cell_put_quoted", cell_put_quoted),
    BUILTIN("tarsia_cell_put_char", cell_put_char),
    BUILTIN("tarsia_cell_put_wide", cell_put_wide),
    BUILTIN("tarsia_cell_put_code_point", cell_put_code_point),
    BUILTIN("tarsia_cell_put_int", cell_put_int),
    BUILTIN("tarsia_cell_put_uint", cell_put_uint),
    BUILTIN("tarsia_cell_put_float", cell_put_float),
    BUILTIN("tarsia_cell_put_double", cell_put_double),
    BUILTIN("tarsia_cell_put_long_double", cell_put_long_double),
    BUILTIN("tarsia_cell_put_pointer", cell_put_pointer),
    BUILTIN("tarsia_cell_put_type", cell_put_type),
    BUILTIN("tarsia_cell_put_type_info", cell_put_type_info),
    BUILTIN("tarsia_cell_put_tensor", cell_put_tensor),
    BUILTIN("tarsia_cell_put_image", cell_put_image),
    BUILTIN("tarsia_cell_check_image", cell_check_image),
    BUILTIN("tarsia_cell_has_room", cell_has_room),
    BUILTIN("tarsia_cell_bench_begin", begin_bench),
    BUILTIN("tarsia_cell_bench_end", cell_bench_end),
    BUILTIN("tarsia_cell_empty", cell_empty),
    BUILTIN("tarsia_cell_fill", cell_fill),
    BUILTIN("tarsia_cell_allclose", cell_allclose),
    BUILTIN("tarsia_cell_load_npy", cell_load_npy),
    BUILTIN("tarsia_cell_save_npy", cell_save_npy),
    BUILTIN("tarsia_cell_note_place", cell_note_place),
    BUILTIN("tarsia_cell_call_of_nothing", cell_call_of_nothing),
    BUILTIN("tarsia_cell_pthread_exit", cell_exit_thread),
    BUILTIN("tarsia_cell_thrd_exit", cell_exit_thread),
};
#undef BUILTIN

}  // namespace

void* cell_builtin(std::string_view name) {
  const auto found = std::ranges::find(k_builtins, name, &Builtin::name);
  return found == std::end(k_builtins) ? nullptr : found->address;
}

}  // namespace tarsia::session

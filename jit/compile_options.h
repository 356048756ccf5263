// The compiler's options: the rows of tarsia/compile_options.h as members.
#pragma once

#include <tarsia/detail/option_row.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia::jit {

namespace kept {

/// The type in which CompileOptions keeps each kind.
using flag = bool;
using number = int;
using word = std::string;
using choice = std::string;
using mode = Mode;
using text = std::string;
using texts = std::vector<std::string>;
using names = std::optional<std::vector<std::string>>;
using paths = std::vector<std::string>;  ///< resolved to files or -l names by the linker
using flags = std::vector<std::string>;  ///< as gcc and nvcc spell them; only those that set no other option
using symbols = std::vector<std::string>;
using dirs = std::vector<std::string>;   ///< absolute
using archs = std::vector<std::string>;  ///< "sm_90", …; resolved before the request is made
using defines = std::vector<std::pair<std::string, std::optional<std::string>>>;

}  // namespace kept

#define TARSIA_MEMBER(kind, name, field, initial, values, in_key, command, help) kept::kind field = initial;

/// Members are named like the fields of tarsia_options. With `kernels`, the module is only device code:
/// these kernels of one file, as "ns::scale<float, 4>" or "saxpy". `kernels_file` is empty for the first
/// file. With `kernels_to_read`, nobody launches them, so they may use variables that are theirs alone.
struct CompileOptions {
  TARSIA_COMPILER_OPTIONS(TARSIA_MEMBER)
  TARSIA_CELL_OPTIONS(TARSIA_MEMBER)
};

#undef TARSIA_MEMBER

/// Calls visit(row, member) for each member, in the table's order. `Options` is CompileOptions, const or not.
template <class Options, class Visit>
void for_each_option(Options& options, Visit&& visit) {
#define TARSIA_VISIT(kind, name, field, ...) \
  visit(TARSIA_OPTION_ROW(kind, name, field, __VA_ARGS__), options.field);
  TARSIA_COMPILER_OPTIONS(TARSIA_VISIT)
  TARSIA_CELL_OPTIONS(TARSIA_VISIT)
#undef TARSIA_VISIT
}

/// Whether the source's lines are kept in the code.
inline bool keeps_lines(const CompileOptions& options) {
  return bool(options.debug) || options.lineinfo;
}

/// Keeps them, as far as that changes no code.
inline void keep_lines(CompileOptions& options) {
  options.lineinfo = true;
}

/// Among CompileOptions::cflags: the source may name what nvcc includes for lambdas of the device.
inline constexpr char k_extended_lambda[] = "--extended-lambda";
/// And how deep Clang may go into templates, and into brackets and folds. A number follows.
inline constexpr std::string_view k_depths[] = {"-ftemplate-depth=", "-fbracket-depth="};
/// nvcc's option for the lines of optimised device code.
inline constexpr char k_line_option[] = "-lineinfo";

/// Appends it if it is asked for. Debug information has lines anyway.
inline void add_line_option(const CompileOptions& options, std::vector<std::string>& words) {
  if (options.lineinfo && !options.debug) words.push_back(k_line_option);
}

/// Whether host code checks itself while it runs: "undefined", "address" or "thread".
inline bool has_checks(const CompileOptions& options, std::string_view which) {
  return options.debug.word() == which;
}

/// Whether pragmas of OpenMP's do not turn it on: all are ignored, or all but those of loops that one thread
/// runs.
inline bool keeps_openmp_off(const CompileOptions& options) {
  if (options.openmp) return false;
  for (const std::string& flag : options.cflags)
    if (flag == "-fno-openmp" || flag == "-fopenmp-simd") return true;
  return false;
}

/// Whether C and C++ headers are those of the machine, not those that Tarsia brings along.
inline bool has_system_headers(const CompileOptions& options) {
  return options.host_headers == "system";
}

}  // namespace tarsia::jit

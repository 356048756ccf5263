// The options that the compiler is told: the rows of tarsia/compile_options.h as members.
#pragma once

#include <tarsia/detail/option_row.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarsia::jit {

namespace kept {

/// What CompileOptions keeps for each kind.
using flag = bool;
using number = int;
using word = std::string;
using choice = std::string;
using text = std::string;
using texts = std::vector<std::string>;
using names = std::optional<std::vector<std::string>>;
using paths = std::vector<std::string>;  ///< resolved to files or -l names by the linker
using dirs = std::vector<std::string>;   ///< absolute
using archs = std::vector<std::string>;  ///< "sm_90", …; resolved before the request is made
using defines = std::vector<std::pair<std::string, std::optional<std::string>>>;

}  // namespace kept

#define TARSIA_MEMBER(kind, name, field, initial, values, in_key, command, help) kept::kind field = initial;

/// Members are named like the fields of tarsia_options. With `kernels` the module is device code alone, of
/// these kernels of one file: "ns::scale<float, 4>", "saxpy"; `kernels_file` is empty for the first file, and
/// with `kernels_to_read` they are not launched: variables may be theirs alone.
struct CompileOptions {
  TARSIA_COMPILER_OPTIONS(TARSIA_MEMBER)
};

#undef TARSIA_MEMBER

/// Calls visit(row, member) for each member, in the table's order. `Options` is CompileOptions, const or not.
template <class Options, class Visit>
void for_each_option(Options& options, Visit&& visit) {
#define TARSIA_VISIT(kind, name, field, ...) \
  visit(TARSIA_OPTION_ROW(kind, name, field, __VA_ARGS__), options.field);
  TARSIA_COMPILER_OPTIONS(TARSIA_VISIT)
#undef TARSIA_VISIT
}

/// Whether the source's lines are kept in the code.
inline bool keeps_lines(const CompileOptions& options) {
  return options.debug || options.lineinfo;
}

/// Whether C and C++ headers are the machine's, not those that Tarsia brings along.
inline bool has_system_headers(const CompileOptions& options) {
  return options.host_headers == "system";
}

}  // namespace tarsia::jit

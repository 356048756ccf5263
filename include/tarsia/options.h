// Compile options of C++ programs, and their form for the C interface.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/detail/option_row.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia {

namespace detail {

/// The types of the members of tarsia::Options, for the kinds of compile_options.h.
using option_flag = bool;
using option_number = int;
using option_word = std::string;
using option_choice = std::string;
using option_mode = Mode;
using option_names = std::optional<std::vector<std::string>>;
using option_paths = std::vector<std::string>;
using option_flags = std::vector<std::string>;
using option_symbols = std::vector<std::string>;
using option_dirs = std::vector<std::string>;
using option_archs = std::vector<std::string>;
using option_headers = std::map<std::string, std::string>;
using option_defines = std::map<std::string, std::optional<std::string>>;
using option_seconds = std::chrono::milliseconds;

}  // namespace detail

#define TARSIA_OPTION_MEMBER(kind, name, field, initial, values, in_key, command, help) \
  detail::option_##kind name = initial;

/// How a source is compiled: `tarsia::load_inline(source, {.name = "relu", .opt = 3})`. The members after
/// `name` are the options of Python's load_inline; docs/options.md explains them.
struct Options {
  std::string name = {};  ///< the library's name; if it is empty, one made from the source's hash
  TARSIA_COMPILE_OPTIONS(TARSIA_OPTION_MEMBER)
};

#undef TARSIA_OPTION_MEMBER

/// Calls `visit(row, member)` for each option in the table's order, with its OptionRow and its member of
/// `options`, a tarsia::Options that may be const.
template <class SomeOptions, class Visit>
void for_each_option(SomeOptions& options, Visit&& visit) {
#define TARSIA_VISIT_OPTION(kind, name, ...) visit(TARSIA_OPTION_ROW(kind, name, __VA_ARGS__), options.name);
  TARSIA_COMPILE_OPTIONS(TARSIA_VISIT_OPTION)
#undef TARSIA_VISIT_OPTION
}

namespace detail {

/// Options and files in the form of the C interface. Borrows them: they must outlive the request.
class CompileRequest {
 public:
  /// Adds `headers` to those of the options.
  CompileRequest(const Options& options, std::vector<tarsia_file> files,
                 std::vector<tarsia_file> headers = {})
      : m_files(std::move(files)), m_headers(std::move(headers)) {
    tarsia_options_init(&m_options);
    m_options.name = options.name.empty() ? nullptr : options.name.c_str();
#define TARSIA_SET_OPTION(kind, name, field, initial, values, in_key, command, help) \
  TARSIA_SET_OPTION_##kind(name, field,                                              \
                           TARSIA_OPTION_ROW(kind, name, field, initial, values, in_key, command, help))
#define TARSIA_SET_OPTION_flag(name, field, row) m_options.field = options.name;
#define TARSIA_SET_OPTION_number(name, field, row) m_options.field = options.name;
#define TARSIA_SET_OPTION_word(name, field, row) m_options.field = options.name.c_str();
#define TARSIA_SET_OPTION_choice(name, field, row) m_options.field = index_of_value(row, options.name);
#define TARSIA_SET_OPTION_mode(name, field, row) m_options.field = number_of_mode(row, options.name);
#define TARSIA_SET_OPTION_seconds(name, field, row) \
  m_options.field = static_cast<uint32_t>(options.name.count());
#define TARSIA_SET_OPTION_paths(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_flags(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_symbols(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_dirs(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_archs(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_headers(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_defines(name, field, row) set(options.name, m_options.field, m_options.n_##field);
#define TARSIA_SET_OPTION_names(name, field, row)                             \
  if (options.name) set(*options.name, m_options.field, m_options.n_##field); \
  m_options.restrict_##field = options.name.has_value();
    TARSIA_COMPILE_OPTIONS(TARSIA_SET_OPTION)
#undef TARSIA_SET_OPTION
#undef TARSIA_SET_OPTION_flag
#undef TARSIA_SET_OPTION_number
#undef TARSIA_SET_OPTION_word
#undef TARSIA_SET_OPTION_choice
#undef TARSIA_SET_OPTION_mode
#undef TARSIA_SET_OPTION_seconds
#undef TARSIA_SET_OPTION_paths
#undef TARSIA_SET_OPTION_flags
#undef TARSIA_SET_OPTION_symbols
#undef TARSIA_SET_OPTION_dirs
#undef TARSIA_SET_OPTION_archs
#undef TARSIA_SET_OPTION_headers
#undef TARSIA_SET_OPTION_defines
#undef TARSIA_SET_OPTION_names
  }
  CompileRequest(const Options& options, const std::map<std::string, std::string>& files)
      : CompileRequest(options, to_files(files)) {}
  CompileRequest(const Options& options, std::string_view source)
      : CompileRequest(options, std::vector<tarsia_file>{{nullptr, source.data(), source.size()}}) {}
  CompileRequest(const CompileRequest&) = delete;
  CompileRequest& operator=(const CompileRequest&) = delete;

  const tarsia_file* files() const { return m_files.data(); }
  uint64_t n_files() const { return m_files.size(); }
  const tarsia_options* options() const { return &m_options; }
  /// To set fields that are no options of the table.
  tarsia_options* options() { return &m_options; }

 private:
  static std::vector<tarsia_file> to_files(const std::map<std::string, std::string>& texts) {
    std::vector<tarsia_file> files;
    for (const auto& [name, text] : texts) files.push_back({name.c_str(), text.data(), text.size()});
    return files;
  }
  void set(const option_headers& headers, const tarsia_file*& pointers, uint64_t& n) {
    for (const tarsia_file& header : to_files(headers)) m_headers.push_back(header);
    pointers = m_headers.data();
    n = m_headers.size();
  }
  void set(const option_defines& defines, const tarsia_define*& pointers, uint64_t& n) {
    auto& list = m_defines.emplace_back();
    for (const auto& [name, value] : defines)
      list.push_back({name.c_str(), value ? value->c_str() : nullptr});
    pointers = list.data();
    n = list.size();
  }
  void set(const std::vector<std::string>& texts, const char* const*& pointers, uint64_t& n) {
    auto& list = m_lists.emplace_back();
    for (const std::string& text : texts) list.push_back(text.c_str());
    pointers = list.data();
    n = list.size();
  }

  tarsia_options m_options;
  std::vector<tarsia_file> m_files, m_headers;
  std::deque<std::vector<tarsia_define>> m_defines;
  std::deque<std::vector<const char*>> m_lists;
};

}  // namespace detail

}  // namespace tarsia

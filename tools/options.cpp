// Declares the compile options of the table for CLI11.
#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

namespace tarsia::tools {
namespace {

using Texts = std::vector<std::string>;

/// Adds the option of a row according to the type of its member. Of one that has one value, the last one
/// counts, as for gcc.
class Adder {
 public:
  explicit Adder(CLI::App& command) : m_command(command) {}

  void operator()(const OptionRow& row, bool& value) const {
    m_command.add_flag(names(row), value, help(row));
  }

  void operator()(const OptionRow& row, int& value) const {
    const OptionRange range = range_of(row);
    typed(m_command.add_option(names(row), value, help(row)), row)
        ->take_last()
        ->check(CLI::Range(static_cast<int>(range.first), static_cast<int>(range.last)))
        ->capture_default_str();
  }

  /// Alone, it is on, which CLI11 calls true. A word stands behind "=", because the next one may be a file.
  void operator()(const OptionRow& row, Mode& value) const {
    Texts known{"true"};
    for_each_value(row, [&](std::string_view word) { known.emplace_back(word); });
    const std::string shown = help(row);
    m_command.add_flag(names(row), shown)
        ->check(CLI::IsMember(known))
        ->each([&value](const std::string& word) { value = word == "true" ? Mode(true) : Mode(word); });
  }

  void operator()(const OptionRow& row, std::string& value) const {
    Texts known;
    for_each_value(row, [&](std::string_view word) { known.emplace_back(word); });
    CLI::Option* option =
        typed(m_command.add_option(names(row), value, help(row)), row)->take_last()->capture_default_str();
    if (!known.empty()) option->check(CLI::IsMember(known));
  }

  void operator()(const OptionRow& row, Texts& values) const {
    CLI::Option* option = one_by_one(m_command.add_option(names(row), values, help(row)), row);
    if (row.kind == OptionKind::archs) option->delimiter(',');
  }

  void operator()(const OptionRow& row, std::optional<Texts>& values) const {
    const auto take = [&values](const Texts& words) { values = words; };
    one_by_one(m_command.add_option_function<Texts>(names(row), take, help(row)), row)->delimiter(',');
  }

  void operator()(const OptionRow& row, std::map<std::string, std::optional<std::string>>& defines) const {
    const auto take = [&defines](const Texts& words) {
      for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        defines[word.substr(0, equals)] =
            equals == std::string::npos ? std::nullopt : std::optional<std::string>(word.substr(equals + 1));
      }
    };
    one_by_one(m_command.add_option_function<Texts>(names(row), take, help(row)), row);
  }

  void operator()(const OptionRow& row, std::chrono::milliseconds& value) const {
    const OptionRange range = range_of(row);
    const auto take = [&value](double seconds) {
      value = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
    };
    typed(m_command.add_option_function<double>(names(row), take, help(row)), row)
        ->take_last()
        ->check(CLI::Range(static_cast<double>(range.first), static_cast<double>(range.last)));
  }

  /// Headers have no option, because they are files.
  void operator()(const OptionRow&, std::map<std::string, std::string>&) const {}

 private:
  static std::string names(const OptionRow& row) {
    return std::string(row.command.substr(0, row.command.find(' ')));
  }
  static std::string help(const OptionRow& row) { return std::string(row.help); }
  static CLI::Option* typed(CLI::Option* option, const OptionRow& row) {
    return option->type_name(std::string(row.command.substr(row.command.find(' ') + 1)));
  }
  /// Takes one value each time, because the word after it may be a file.
  static CLI::Option* one_by_one(CLI::Option* option, const OptionRow& row) {
    return typed(option, row)->allow_extra_args(false);
  }

  CLI::App& m_command;
};

}  // namespace

void add_compile_options(CLI::App& command, CompileOptions& given) {
  const Adder add(command);
  for_each_option(given.options, [&](const OptionRow& row, auto& value) {
    if (!row.command.empty()) add(row, value);
  });
  const auto take = [&given](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const bool of_one = name.starts_with("error=") || name.starts_with("no-error=");
      const bool is_hidden = std::ranges::find(names, "no-" + name.substr(name.find('=') + 1)) != names.end();
      given.warnings.push_back(name);
      // The compiler knows the names, and which warnings a group has.
      if (of_one ? !is_hidden : name != "error" && !name.starts_with("no-"))
        given.options.cflags.push_back("-W" + name);
    }
  };
  command
      .add_option_function<std::vector<std::string>>("-W", take,
                                                     "-WNAME shows warnings of this name, -Wno-NAME hides "
                                                     "them, -Werror and -Werror=NAME make errors of them, "
                                                     "and -Wno-error=NAME makes none")
      ->allow_extra_args(false)
      ->type_name("WARNING");
  command.add_flag("-w", given.no_warnings, "Hide all warnings");
  command.add_flag("-v,--verbose", given.verbose, "Tell what is done, and how long it takes");
}

Options options_for(const Sources& sources, const CompileOptions& given, const std::string& name) {
  Options options = given.options;
  options.name = name;
  options.include_dirs.insert(options.include_dirs.begin(), sources.include_dirs().begin(),
                              sources.include_dirs().end());
  return options;
}

}  // namespace tarsia::tools

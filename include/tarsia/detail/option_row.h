// The rows of the table of compile options as C++ objects, and the value of an option that has modes.
#pragma once

#include <tarsia/compile_options.h>

#include <string>
#include <string_view>
#include <utility>

namespace tarsia {

/// Off, on, or a word that says how: `options.debug = true`, `options.debug = "undefined"`.
class Mode {
 public:
  /// Off, or on.
  Mode(bool on = false) : m_word(on ? "on" : "") {}
  /// On as the word says; "" is off.
  Mode(const char* word) : m_word(word) {}
  /// The same.
  Mode(std::string word) : m_word(std::move(word)) {}

  /// Whether it is anything but off.
  explicit operator bool() const { return !m_word.empty(); }
  /// "" if it is off, "on", or the word.
  const std::string& word() const { return m_word; }
  friend bool operator==(const Mode&, const Mode&) = default;

 private:
  std::string m_word;
};

/// The kinds of options. compile_options.h says which values each takes.
enum class OptionKind {
  flag,
  number,
  word,
  choice,
  mode,
  names,
  paths,
  flags,
  symbols,
  dirs,
  archs,
  headers,
  defines,
  seconds,
  texts,
  text
};

/// A row of the table. compile_options.h explains the columns.
struct OptionRow {
  OptionKind kind;
  std::string_view kind_name;
  std::string_view name;
  std::string_view field;
  std::string_view values;
  bool in_key;
  std::string_view command;
  std::string_view help;
};

/// Calls `visit(word)` for each word that a row's value may be.
template <class Visit>
constexpr void for_each_value(const OptionRow& row, Visit visit) {
  for (std::string_view left = row.values; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(' '));
    visit(word);
    left.remove_prefix(word.size() + (word.size() < left.size()));
  }
}

/// Returns the position of a word among a row's values, or -1 if it is not among them.
constexpr int index_of_value(const OptionRow& row, std::string_view word) {
  int index = 0, found = -1;
  for_each_value(row, [&](std::string_view value) {
    if (value == word) found = index;
    ++index;
  });
  return found;
}

/// Returns an option's mode as the number that the C interface takes, or -1 if it is none of the row's
/// values.
inline int number_of_mode(const OptionRow& row, const Mode& mode) {
  if (!mode || mode == Mode(true)) return mode ? 1 : 0;
  const int index = index_of_value(row, mode.word());
  return index < 0 ? -1 : index + 2;
}

/// The first and the last number of a range.
struct OptionRange {
  long first, last;
};

/// Returns the range of a row whose values are a range, as in "0..3".
constexpr OptionRange range_of(const OptionRow& row) {
  long numbers[2] = {};
  int which = 0;
  for (const char c : row.values)
    if (c == '.')
      which = 1;
    else
      numbers[which] = 10 * numbers[which] + (c - '0');
  return {numbers[0], numbers[1]};
}

}  // namespace tarsia

/// Makes the OptionRow of a row of compile_options.h.
#define TARSIA_OPTION_ROW(kind, name, field, initial, values, in_key, command, help) \
  ::tarsia::OptionRow {                                                              \
    ::tarsia::OptionKind::kind, #kind, #name, #field, values, in_key, command, help  \
  }

// A row of the table of compile options as C++ sees it.
#pragma once

#include <tarsia/compile_options.h>

#include <string_view>

namespace tarsia {

enum class OptionKind {
  flag,
  number,
  word,
  choice,
  names,
  paths,
  dirs,
  archs,
  headers,
  defines,
  seconds,
  texts,
  text
};

/// A row of the table.
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

/// Calls visit(word) for each of the words among which a row's value is.
template <class Visit>
constexpr void for_each_value(const OptionRow& row, Visit visit) {
  for (std::string_view left = row.values; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(' '));
    visit(word);
    left.remove_prefix(word.size() + (word.size() < left.size()));
  }
}

/// The place of a word among a row's values; -1 if it is none of them.
constexpr int index_of_value(const OptionRow& row, std::string_view word) {
  int index = 0, found = -1;
  for_each_value(row, [&](std::string_view value) {
    if (value == word) found = index;
    ++index;
  });
  return found;
}

/// The first and last number of a range "0..3".
struct OptionRange {
  long first, last;
};
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

#define TARSIA_OPTION_ROW(kind, name, field, initial, values, in_key, command, help) \
  ::tarsia::OptionRow {                                                              \
    ::tarsia::OptionKind::kind, #kind, #name, #field, values, in_key, command, help  \
  }

// Translates the spellings of options and compares words.
#include "tools/words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace tarsia::tools {
namespace {

struct Alias {
  const char* theirs;
  const char* own;
};

// Names that other compilers have for options of the table.
constexpr Alias k_aliases[] = {{"-ffast-math", "--fast-math"},
                               {"-use_fast_math", "--fast-math"},
                               {"--use_fast_math", "--fast-math"},
                               {"-generate-line-info", "--lineinfo"},
                               {"-G", "--debug"}};

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

bool is_negative_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::string_view(".0123456789").find(word[1]) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> in_own_spelling(const CLI::App& command, std::vector<std::string> words,
                                         bool up_to_file) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word == "--") break;
    if (is_negative_number(word)) continue;
    if (word.size() < 2 || word[0] != '-') {
      if (up_to_file) break;
      continue;
    }
    std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(name.size());
    for (const Alias& alias : k_aliases)
      if (name == alias.theirs && command.get_option_no_throw(alias.own)) name = alias.own;
    if (name.size() > 2 && name[1] != '-' && command.get_option_no_throw("-" + name)) name.insert(0, 1, '-');
    if (name == "--cflags" && value.empty() && i + 1 < words.size()) {
      word += "=" + words[i + 1];
      words.erase(words.begin() + std::ptrdiff_t(i) + 1);
      continue;
    }
    const bool is_gccs = name.size() > 2 && name[1] != '-' && !command.get_option_no_throw(name) &&
                         !command.get_option_no_throw(name.substr(0, 2));
    if (is_gccs && command.get_option_no_throw("--cflags")) {
      word.insert(0, "--cflags=");
      continue;
    }
    word = name + value;
    const CLI::Option* option = command.get_option_no_throw(name);
    const bool apart = option && value.empty() && option->get_expected_min() > 0;
    std::string* const given = apart ? (i + 1 < words.size() ? &words[i + 1] : nullptr) : &word;
    // Sources are compiled in GNU's dialect of each standard (docs/options.md).
    if (name == "--std" && given)
      if (const std::size_t at = given->find("gnu++"); at != std::string::npos) given->replace(at, 5, "c++");
    if (apart) ++i;
  }
  return words;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string found;
  std::size_t least = word.size() / 2 + 1;
  for (const std::string& candidate : candidates)
    if (const std::size_t d = distance(word, candidate); d < least) least = d, found = candidate;
  return found;
}

}  // namespace tarsia::tools

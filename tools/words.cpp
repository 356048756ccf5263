// Translates the spellings of options and compares words.
#include "tools/words.h"

#include <tarsia/detail/spelling.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

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

// What cflags takes and has no option of the command (docs/options.md): a word, and one with a value, which
// stands behind "=" or in the next word. nvcc's have one dash or two.
constexpr std::string_view k_flags[] = {"-O",
                                        "-Ofast",
                                        "-Os",
                                        "-Oz",
                                        "-Og",
                                        "expt-relaxed-constexpr",
                                        "extended-lambda",
                                        "expt-extended-lambda",
                                        "lineinfo",
                                        "use_fast_math"};
constexpr std::string_view k_flags_with_value[] = {"-U",
                                                   "-isystem",
                                                   "-include",
                                                   "gencode",
                                                   "generate-code",
                                                   "gpu-architecture",
                                                   "Xcompiler",
                                                   "compiler-options",
                                                   "Xptxas",
                                                   "ptxas-options",
                                                   "Xcudafe",
                                                   "diag-suppress",
                                                   "diag_suppress",
                                                   "Xfatbin",
                                                   "compress-mode",
                                                   "threads",
                                                   "cudart",
                                                   "ftz",
                                                   "prec-div",
                                                   "prec-sqrt",
                                                   "fmad",
                                                   "rdc",
                                                   "relocatable-device-code",
                                                   "default-stream"};

constexpr std::pair<std::string_view, std::string_view> k_drafts[] = {
    {"c++0x", "c++11"}, {"c++1y", "c++14"}, {"c++1z", "c++17"}, {"c++2a", "c++20"}, {"c++2b", "c++23"}};

/// Whether one of these has the name, which begins with dashes.
template <class List>
bool holds_flag(const List& list, std::string_view name) {
  return std::ranges::any_of(list, [&](std::string_view known) {
    if (known.starts_with('-')) return name == known;
    return name.ends_with(known) &&
           (name.size() == known.size() + 1 || (name.size() == known.size() + 2 && name[1] == '-'));
  });
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
    const bool has_value = command.get_option_no_throw("--cflags") && holds_flag(k_flags_with_value, name);
    const bool is_debug = name.starts_with("-g") && name.size() > 2 && name != "-gencode" && value.empty();
    const bool is_known =
        has_value || (command.get_option_no_throw("--cflags") &&
                      (is_debug || word == "-arch=native" || holds_flag(k_flags, word)) &&
                      !command.get_option_no_throw((word.starts_with("--") ? "" : "-") + word));
    const bool has_level = word == "-O" && i + 1 < words.size() && words[i + 1].size() == 1 &&
                           words[i + 1][0] >= '0' &&
                           words[i + 1][0] <= '9';  // "-O 3", the option of the table
    if (is_known && !has_level) {
      word.insert(0, "--cflags=");
      if (has_value && value.empty() && i + 1 < words.size()) words[++i].insert(0, "--cflags=");
      continue;
    }
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
    // They have other names before they are published.
    if (name == "--std" && given) {
      if (const std::size_t at = given->find("gnu++"); at != std::string::npos) given->replace(at, 5, "c++");
      for (const auto& [draft, published] : k_drafts)
        if (given->ends_with(draft)) given->replace(given->size() - draft.size(), draft.size(), published);
    }
    if (apart) ++i;
  }
  return words;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  detail::NearestWord nearest(word);
  for (const std::string& candidate : candidates) nearest.compare(candidate);
  return nearest.found();
}

}  // namespace tarsia::tools

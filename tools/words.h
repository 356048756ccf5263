// The words of a command line, prepared for CLI11.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tarsia::tools {

/// Translates options from gcc's and nvcc's spelling (-std=c++20, -ffast-math) to those of `command`
/// (--std=c++20, --fast-math). If `up_to_file` is set, the words after the first one that is
/// neither an option nor an option's value stay as they are.
std::vector<std::string> in_own_spelling(const CLI::App& command, std::vector<std::string> words,
                                         bool up_to_file);

/// Returns the candidate that is most like the word, or "" if none is like it.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tarsia::tools

// Which of the user's headers the device's compiler is given, once it is known what each of them holds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::jit {

/// By macro, the paths of the files that define it.
using DefinedMacros = std::map<std::string, std::set<std::string>, std::less<>>;
/// Adds those of a file's text.
void add_defined(const std::string& path, std::string_view text, DefinedMacros& defined);

/// A file of a slice, and how it leads to others.
struct SlicedHeader {
  struct Include {
    uint32_t at = 0;   ///< of the "#"
    std::string name;  ///< in quotes or brackets
    std::string path;
    bool to_host_alone = false;  ///< a condition keeps it from NVRTC
  };
  std::string text;                       ///< what is left of it, at its lines and columns, once loaded
  std::map<uint32_t, std::string> words;  ///< what stands besides, by the places in the text
  std::vector<Include> includes;
  int entered = 0;
  bool again = false;   ///< it was read more than once
  bool main = false;    ///< the source itself
  bool of_use = false;  ///< something of it is kept
  bool needed = false;  ///< it is, or leads to one that is
};

/// Finds the files that are needed: those of which something is kept, those whose macros these name, and
/// those that lead to them. Includes of others go. Of a file that only leads on, nothing but its includes
/// stays.
///
/// Some libraries' headers read thousands of others. A kernel that names nothing of them costs nothing then.
///
/// `load` gives a header its text and words, if it has none and they are needed.
void leave_out_idle_headers(std::map<std::string, SlicedHeader>& headers, const DefinedMacros& defined,
                            const std::function<void(const std::string& path, SlicedHeader&)>& load);

}  // namespace tarsia::jit

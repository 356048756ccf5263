// Which of the user's headers the device's compiler is given, once it is known what each of them holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tarsia::jit {

/// A file of a slice, and how it leads to others.
struct SlicedHeader {
  struct Include {
    uint32_t at = 0;   ///< of the "#"
    std::string name;  ///< in quotes or brackets
    std::string path;
  };
  std::string text;                       ///< what is left of it, at its lines and columns
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
void leave_out_idle_headers(std::map<std::string, SlicedHeader>& headers);

}  // namespace tarsia::jit

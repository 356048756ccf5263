// Where a text stands in another file: a source that is a string literal in a Python file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tarsia {

struct TextOrigin {
  std::string name;                  ///< of the text, in diagnostics
  std::string file;                  ///< that it stands in
  std::vector<std::uint32_t> lines;  ///< of the file, for each line of the text

  /// The line of the file at a line of the text, both counted from 1; 0: there is none.
  std::uint32_t line_of(std::uint64_t line) const {
    return line >= 1 && line <= lines.size() ? lines[line - 1] : 0;
  }
};

}  // namespace tarsia

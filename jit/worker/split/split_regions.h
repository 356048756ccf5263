// What the preprocessor sees of a file and the parser does not: directives, and regions that a condition left
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace clang {
class LangOptions;
}  // namespace clang

namespace tarsia::jit {

using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;  ///< offsets in a text: [first, second)

struct FileRegions {
  struct Directive {
    uint32_t begin = 0, end = 0;  ///< its line, continuation lines included, without a comment at the end
    uint32_t word = 0;            ///< where its first word begins: "if", "include"
    bool of_host =
        false;           ///< a condition that means the same on both sides, and on no macro of the file's own
    bool holds = false;  ///< a condition or definition: goes on holding where the text around it is blanked
  };
  std::vector<Directive> directives;  ///< in order
  /// Identifiers, with their places, of regions that the device may see though the host does not (`#ifdef
  /// __CUDA_ARCH__`).
  std::vector<std::pair<uint32_t, std::string>> names;
  /// Tokens that the device does not see either.
  Ranges dead;
  /// From an #if to its #endif, where a condition asks whether the device is compiled.
  Ranges asking;
  /// Those of them that have no #else, ask for __CUDACC_RTC__ alone, and hold what the host sees. None if
  /// another condition of the file asks for it: there the file has something in their place.
  Ranges of_nvrtc;

  bool in_directive(uint32_t at) const;
  bool is_dead(uint32_t at) const;
  bool is_asking(uint32_t at) const;
};

/// The macros that are defined where a condition asks whether the device is compiled, in any of several
/// files: what one header defines, others ask for.
class DeviceMacros {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// Reads the definitions of a file. The names are complete when find() has been called after the last one.
  void add(llvm::StringRef text);
  void find();
  void add_names(const Names& names) { m_names.insert(names.begin(), names.end()); }
  const Names& names() const { return m_names; }
  /// Whether a condition that mentions the word asks whether the device is compiled.
  bool asks(llvm::StringRef word) const;

 private:
  struct Definition {
    std::string name;
    std::vector<std::string> conditions;  ///< the words of those that are open around it
  };
  std::vector<Definition> m_definitions;  ///< that are not known to be the device's
  Names m_names;
};

/// `text` must be followed by a NUL. `skipped`: what the preprocessor left out, directives included, in
/// order.
FileRegions read_regions(llvm::StringRef text, const Ranges& skipped, const DeviceMacros& macros,
                         const clang::LangOptions& options);

}  // namespace tarsia::jit

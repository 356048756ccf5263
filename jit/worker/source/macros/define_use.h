// Which of the macros that a request defines its headers depend on. Precompiled headers know no others, so
// that sources with other macros share them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace clang {
class CompilerInstance;
class Preprocessor;
}  // namespace clang

namespace tarsia::jit {

using Defines = decltype(CompileOptions::defines);

/// Whether headers that mention these words (DefineUse::words) may depend on a macro of this name. They may
/// if it is one that C++ reserves, "__x" or "_X": the words leave these out.
bool mentions(std::string_view words, std::string_view name);

/// The words that two readings of the same files have in common, each with other macros on which they do not
/// depend: they depend on none of both.
std::string common_words(std::string_view one, std::string_view other);

/// What headers do with a request's macros.
struct DefineUse {
  /// Names of the macros that they ask for, expand or change, and of all that `mentions` says so of without
  /// looking; sorted.
  std::vector<std::string> used;
  /// Fingerprints of the names that they mention, sorted, of four bytes each.
  std::string words;
};

/// Watches a preprocessor that has not begun to read. For one thread.
class DefineWatch {
 public:
  DefineWatch(clang::Preprocessor& preprocessor, const Defines& defines);
  ~DefineWatch();

  /// To be called behind the headers: Clang then forgets the macros that they do not depend on, and writes a
  /// precompiled form without them. `settled` are those that the layers below depend on.
  DefineUse forget_others(clang::CompilerInstance& clang, const std::vector<std::string>& settled);

 private:
  class Callbacks;
  struct State;
  std::shared_ptr<State> m_state;
};

/// To be called when a precompiled form has been opened, before Clang reads: Clang would define the macros
/// anew that the form's lower layers do not know. Those in `settled` stay as the upper layers left them.
void keep_settled(clang::Preprocessor& preprocessor, const std::vector<std::string>& settled);

}  // namespace tarsia::jit

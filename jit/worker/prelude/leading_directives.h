// Steps through the directives with which a text begins.
#pragma once

#include <cstddef>
#include <string>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// Whether a line is `#pragma once`.
bool is_pragma_once(llvm::StringRef line);

/// The directives with which a text begins. Comments between them are skipped. The text has to outlive it.
class LeadingDirectives {
 public:
  explicit LeadingDirectives(llvm::StringRef text) : m_all(text), m_rest(text) {}

  /// Steps to the next '#' and returns true; false where something else begins.
  bool next();

  /// Steps behind `#pragma once`, or the two lines of an include guard, if it stands there. `macro` gets the
  /// guard's macro.
  bool consume_guard(const CompileOptions& options, llvm::StringRef* macro = nullptr);

  /// Whether the directive defines a macro that headers of the system and of CUDA do not ask for: a name with
  /// a capital letter that is not reserved and is none of theirs. Steps behind it then. `has_mobula`:
  /// <mobula_op.h> may be among the headers.
  bool consume_harmless_define(bool has_mobula);

  /// The directive, if it defines or undefines a macro; empty otherwise. Steps behind it.
  std::string consume_macro();

  /// The line on which the directive begins. Steps behind it.
  llvm::StringRef consume_line();

  /// The header that the directive includes, as "<name>" or "\"name\""; empty if it does not. Steps behind
  /// it, but not behind its line.
  std::string consume_include();

  /// Whether nothing is left of the text.
  bool is_at_end() const { return m_rest.empty(); }
  /// Of what is left, in the text.
  std::size_t offset() const { return m_all.size() - m_rest.size(); }

 private:
  llvm::StringRef m_all, m_rest;
};

}  // namespace tarsia::jit

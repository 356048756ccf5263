// Which functions the line tables describe, and which lines they name.
#pragma once

#include <clang/AST/DeclGroup.h>
#include <clang/Serialization/ASTDeserializationListener.h>

namespace clang {
class ASTContext;
class Decl;
class FunctionDecl;
class SourceManager;
}  // namespace clang

namespace tarsia::jit {

struct SourceFile;

/// Leaves the functions of system headers out of a compile unit's debug information, unless they may contain
/// code of the user's. Where they are inlined, their code has the line of the user's that calls them.
class LineTables final : public clang::ASTDeserializationListener {
 public:
  /// preludes_are_headers: whether all that a prelude declares is of system headers.
  explicit LineTables(bool preludes_are_headers) : m_preludes_are_headers(preludes_are_headers) {}

  /// Looks at declarations before code is made of them.
  void choose(clang::DeclGroupRef group);
  void choose(clang::Decl& decl);
  /// Looks at what a prelude declares.
  void DeclRead(clang::GlobalDeclID id, const clang::Decl* decl) override;

 private:
  bool m_preludes_are_headers;
};

/// From here on, debug information names the file that the unit's text stands in, and its lines. Diagnostics
/// were given before.
void tell_debug_lines(clang::SourceManager& sources, const SourceFile& file);

}  // namespace tarsia::jit

// Checks of what a cell's statements name: deprecated functions, private members.
#pragma once

#include <memory>

namespace clang {
class Decl;
class Sema;
}  // namespace clang

namespace tarsia::jit {

/// Holds back what Clang says of the names in statements at the top level until their parse is complete.
///
/// Work-around: Clang cannot tell where a statement at the top level ends before it has read it.
/// Trigger: it names something deprecated, under -fincremental-extensions. Symptom: a crash of the compiler,
/// which asks for the statement's place to warn of that (Sema::DiagnoseAvailabilityOfDecl). Removal:
/// TopLevelStmtDecl::getSourceRange() takes a statement that is not there yet.
class StatementChecks {
 public:
  explicit StatementChecks(clang::Sema& sema);
  ~StatementChecks();
  /// Says what was held back. `decl`: what was parsed, at namespace scope.
  void tell(clang::Decl& decl);
  /// Holds nothing back from now on. Without it, `sema` may end first.
  void end();

 private:
  struct Held;
  std::unique_ptr<Held> m_held;
};

}  // namespace tarsia::jit

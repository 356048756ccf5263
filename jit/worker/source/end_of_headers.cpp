// What Clang leaves to the end of a translation unit, done where its headers end.
//
// Work-around: Clang leaves to the users of a prelude what its headers leave to their end.
// Trigger: a source with a precompiled prelude, of CUDA's headers above all. Symptom: each such source
// instantiates what is pending, looks at each function of CUDA's again, and reads for it what it does not
// use: the parse takes twice as long. Here it is done once.
// Removal: Clang ends a prelude as it ends a translation unit.
#include "jit/worker/source/end_of_headers.h"

#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Sema/Scope.h"
#include "clang/Sema/Sema.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tarsia::jit {

void end_headers(clang::Sema& sema) {
  // The parser's own scope is gone. An instantiation may need it still, to declare a builtin.
  clang::Scope scope(nullptr, clang::Scope::DeclScope, sema.getDiagnostics());
  scope.setEntity(sema.getASTContext().getTranslationUnitDecl());
  const llvm::SaveAndRestore outermost(sema.TUScope, &scope);
  sema.DefineUsedVTables();
  sema.PerformPendingInstantiations();
  // Clang must report nothing about functions of these headers, which have compiled: all of CUDA's, inline
  // functions, constructors that call each other, and delete where new[] was.
  sema.DeclsToCheckForDeferredDiags.clear();
  sema.UndefinedButUsed.clear();
  sema.DelegatingCtorDecls.erase(sema.DelegatingCtorDecls.begin(nullptr, /*LocalOnly=*/true),
                                 sema.DelegatingCtorDecls.end());
  using Deletes = llvm::MapVector<clang::FieldDecl*, clang::Sema::DeleteLocs>;
  const_cast<Deletes&>(sema.getMismatchingDeleteExpressions()).clear();
}

}  // namespace tarsia::jit

// Keeps a pool of delayed diagnostics below those of declarations.
#include "jit/worker/cell/statement_checks.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Sema/DelayedDiagnostic.h"
#include "clang/Sema/Sema.h"

namespace tarsia::jit {

struct StatementChecks::Held {
  clang::Sema& sema;
  clang::sema::DelayedDiagnosticPool pool{nullptr};
  clang::Sema::DelayedDiagnosticsState before;
};

StatementChecks::StatementChecks(clang::Sema& sema) : m_held(std::make_unique<Held>(sema)) {
  m_held->before = sema.DelayedDiagnostics.push(m_held->pool);
}

StatementChecks::~StatementChecks() = default;

void StatementChecks::tell(clang::Decl& decl) {
  if (!m_held || m_held->pool.pool_empty()) return;
  clang::Sema& sema = m_held->sema;
  clang::sema::DelayedDiagnosticPool pool(nullptr);
  pool.steal(m_held->pool);
  for (const clang::sema::DelayedDiagnostic& one : llvm::make_range(pool.pool_begin(), pool.pool_end())) {
    auto& held = const_cast<clang::sema::DelayedDiagnostic&>(one);
    if (held.Triggered) continue;
    if (held.Kind == clang::sema::DelayedDiagnostic::Availability)
      sema.handleDelayedAvailabilityCheck(held, sema.getASTContext().getTranslationUnitDecl());
    else if (held.Kind == clang::sema::DelayedDiagnostic::Access)
      sema.HandleDelayedAccessCheck(held, &decl);
  }
}

void StatementChecks::end() {
  if (!m_held) return;
  clang::Sema& sema = m_held->sema;
  if (sema.DelayedDiagnostics.getCurrentPool() != &m_held->pool) return;  // within a declaration
  sema.DelayedDiagnostics.popWithoutEmitting(m_held->before);
  clang::TranslationUnitDecl* unit = sema.getASTContext().getTranslationUnitDecl();
  if (unit->noload_decls_begin() != unit->noload_decls_end()) tell(**unit->noload_decls_begin());
  m_held.reset();
}

}  // namespace tarsia::jit

// Calls the parts of jit/worker/cell/ where a parse comes to them.
#include "jit/worker/host/cell_parse.h"

#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/cell/cell_linkage.h"
#include "jit/worker/cell/cell_value.h"

namespace tarsia::jit {

std::unique_ptr<CellItems> cell_of(const CompileRequest& request) {
  const std::string& name = request.options.cell;
  if (!name.empty())
    for (const SourceFile& header : request.headers)
      if (header.name == name)
        return std::make_unique<CellItems>(std::string(k_source_dir) + "/" + name, header.text);
  return nullptr;
}

// Work-around: Clang goes round for ever at the end of a text within braces.
// Trigger: a '}' is missing, under -fincremental-extensions. Symptom: "expected expression" again and again.
// Removal: the parser of statements ends at the end of the text there, too.
bool close_brace(HostParse& shared, clang::Preprocessor& preprocessor, clang::SourceLocation place,
                 std::string_view ending) {
  constexpr int k_most = 4096;
  if (!shared.cell || !shared.sema || shared.sema->CurContext->isTranslationUnit()) return false;
  if (shared.closed_braces++ >= k_most) return false;
  enter(preprocessor, std::string("}\n;\n").append(ending), k_exports_path, place);
  return true;
}

void note_in_cell(HostParse& shared, clang::DeclGroupRef group) {
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  shared.cell->note(group, shared.clang->getASTContext());
  if (!shared.unit.request->options.cell_shows || !shared.sema) return;
  for (clang::Decl* decl : group) {
    auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(decl);
    if (!statement || !statement->getStmt() || !is_in_cell(sources, *decl, shared.cell->path())) continue;
    const clang::SourceLocation end = sources.getExpansionRange(statement->getStmt()->getEndLoc()).getEnd();
    if (shared.cell->ends_at(sources.getFileOffset(end))) show_value(*shared.sema, *statement);
  }
}

namespace {

// Work-around: Clang cannot name what a statement at the top level declares.
// Trigger: a lambda, a class or a `static` variable within such a statement, under -fincremental-extensions.
// Symptom: a crash of the compiler, which names them after a scope that has no name.
// Removal: LLVM's pull request 217041 is in the version that is linked.
void give_locals_a_function(HostParse& shared, clang::TopLevelStmtDecl& statement) {
  std::vector<clang::Decl*> named;
  for (clang::Decl* decl : statement.decls()) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (decl->getDeclContext() == &statement &&
        (llvm::isa<clang::TagDecl>(decl) || (variable && variable->isStaticLocal())))
      named.push_back(decl);
  }
  if (named.empty()) return;
  clang::FunctionDecl*& function = shared.statement_functions[&statement];
  if (!function) {
    clang::ASTContext& context = shared.clang->getASTContext();
    const std::string name = "tarsia_statement_" + std::to_string(shared.statement_functions.size());
    function = clang::FunctionDecl::Create(context, context.getTranslationUnitDecl(), clang::SourceLocation(),
                                           clang::SourceLocation(), &context.Idents.get(name),
                                           context.getFunctionType(context.VoidTy, {}, {}), nullptr,
                                           clang::SC_Static);
    function->setImplicit();
  }
  for (clang::Decl* decl : named) decl->setDeclContext(function);
}

/// The statement at the top level that declares it; null if none does. An instantiation is complete before
/// its statement is.
clang::TopLevelStmtDecl* statement_around(clang::Decl* decl) {
  if (auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(decl)) return statement;
  for (clang::DeclContext* scope = decl->getDeclContext(); scope; scope = scope->getParent())
    if (auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(scope)) return statement;
  return nullptr;
}

}  // namespace

void generate_in_cell(HostParse& shared, clang::CodeGenerator& generator, clang::DeclGroupRef group) {
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  bool has_statement = false;
  for (clang::Decl* decl : group) {
    has_statement |= llvm::isa<clang::TopLevelStmtDecl>(decl);
    if (clang::TopLevelStmtDecl* statement = statement_around(decl))
      give_locals_a_function(shared, *statement);
    if (is_in_earlier_cell(sources, *decl, shared.cell->path()))
      forget_definitions(*decl);
    else if (is_in_cell(sources, *decl, shared.cell->path()))
      keep_definitions(*decl);
  }
  // Where the parser takes statements, constants have the linkage of inline variables. Their code must not:
  // they have their turn among the statements.
  shared.clang->getLangOpts().IncrementalExtensions = has_statement;
  generator.HandleTopLevelDecl(group);
  shared.clang->getLangOpts().IncrementalExtensions = true;
}

bool tie_cell(HostParse& shared, clang::CodeGenerator& generator) {
  llvm::Module* const module = generator.GetModule();
  if (!module) return true;
  const std::string fault = link_cell(generator, *module, shared.clang->getASTContext(), shared.cell->json());
  if (fault.empty()) return true;
  clang::DiagnosticsEngine& diagnostics = shared.clang->getDiagnostics();
  diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0")) << fault;
  return false;
}

}  // namespace tarsia::jit

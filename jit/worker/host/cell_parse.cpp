// Calls the parts of jit/worker/cell/ where a parse comes to them.
#include "jit/worker/host/cell_parse.h"

#include <algorithm>
#include <set>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/cell/cell_linkage.h"
#include "jit/worker/cell/cell_value.h"
#include "jit/worker/code/traps.h"

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

namespace {

/// Lets a cell's items know which of its text the preprocessor steps over.
class SkippedText : public clang::PPCallbacks {
 public:
  SkippedText(CellItems& items, const clang::SourceManager& sources) : m_items(items), m_sources(sources) {}
  void SourceRangeSkipped(clang::SourceRange range, clang::SourceLocation) override {
    if (m_sources.getFilename(range.getBegin()) != m_items.path()) return;
    m_items.skip(m_sources.getFileOffset(range.getBegin()), m_sources.getFileOffset(range.getEnd()));
  }

 private:
  CellItems& m_items;
  const clang::SourceManager& m_sources;
};

/// The statement that a statement ends with: the body of a loop, the last branch of an `if`.
const clang::Stmt* last_part(const clang::Stmt* statement) {
  for (;;) {
    const clang::Stmt* part = nullptr;
    if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
      part = branch->getElse() ? branch->getElse() : branch->getThen();
    else if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(statement))
      part = loop->getBody();
    else if (const auto* range = llvm::dyn_cast<clang::CXXForRangeStmt>(statement))
      part = range->getBody();
    else if (const auto* repeated = llvm::dyn_cast<clang::WhileStmt>(statement))
      part = repeated->getBody();
    else if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(statement))
      part = choice->getBody();
    else if (const auto* label = llvm::dyn_cast<clang::LabelStmt>(statement))
      part = label->getSubStmt();
    else if (const auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(statement))
      part = attributed->getSubStmt();
    if (!part) return statement;
    statement = part;
  }
}

/// A loop or a condition whose body is the semicolon that ends each cell has none. False if there is one.
bool check_body(HostParse& shared, const clang::TopLevelStmtDecl& decl) {
  const clang::Stmt* const statement = decl.getStmt();
  if (!statement || !shared.unit.request->options.cell_shows) return true;
  const clang::Stmt* const part = last_part(statement);
  if (part == statement || !llvm::isa<clang::NullStmt>(part)) return true;
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  if (!is_in_cell(sources, decl, shared.cell->path()) ||
      !shared.cell->is_added_end(sources.getFileOffset(sources.getFileLoc(part->getBeginLoc()))))
    return true;
  clang::DiagnosticsEngine& diagnostics = shared.clang->getDiagnostics();
  diagnostics.Report(statement->getBeginLoc(),
                     diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"))
      << "the cell ends before the body of this statement: add it, or a semicolon if nothing is to be done";
  return false;
}

/// The places of `return` in the functions and lambdas of a statement.
class Returns : public clang::DynamicRecursiveASTVisitor {
 public:
  bool VisitReturnStmt(clang::ReturnStmt* statement) override {
    places.insert(statement->getReturnLoc());
    return true;
  }
  std::set<clang::SourceLocation> places;
};

/// False if Clang has left out a `return`.
///
/// Work-around: Clang leaves out a return that stands in no function.
/// Trigger: `return 1;` in a cell, under `-fincremental-extensions`. Symptom: nothing is said of it, and the
/// cell goes on behind it. Removal: Clang refuses it.
bool check_returns(HostParse& shared, const clang::TopLevelStmtDecl& decl) {
  clang::DiagnosticsEngine& diagnostics = shared.clang->getDiagnostics();
  if (diagnostics.hasErrorOccurred()) return true;
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  const auto file = shared.clang->getFileManager().getOptionalFileRef(shared.cell->path());
  if (!file) return true;
  const std::size_t begin = shared.cell->begin_of_item();
  Returns returns;
  std::size_t end = std::string::npos;
  if (clang::Stmt* statement = const_cast<clang::Stmt*>(decl.getStmt())) {
    if (!is_in_cell(sources, decl, shared.cell->path())) return true;
    returns.TraverseStmt(statement);
    end = sources.getFileOffset(sources.getExpansionRange(statement->getEndLoc()).getEnd());
  }
  const auto found = std::ranges::find_if(shared.returns, [&](clang::SourceLocation place) {
    const std::size_t offset = sources.getFileOffset(sources.getExpansionLoc(place));
    return offset >= begin && offset <= end && !returns.places.contains(place);
  });
  if (found == shared.returns.end() && decl.getStmt()) return true;
  const clang::SourceLocation place =
      found != shared.returns.end()
          ? sources.getFileLoc(*found)
          : sources.getLocForStartOfFile(sources.translateFile(*file)).getLocWithOffset(int(begin));
  diagnostics.Report(place, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"))
      << (found != shared.returns.end() ? "'return' stands outside of a function"
                                        : "this statement belongs into a function");
  return false;
}

/// The closing bracket of `T(x)` and `T(x[3])`, where what the brackets hold is what is declared, without an
/// initial value.
clang::SourceLocation end_of_brackets(const clang::VarDecl& variable) {
  if (!variable.getTypeSourceInfo()) return {};
  if (const clang::Expr* init = variable.getInit()) {
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(init->IgnoreImplicit());
    if (!made || made->getParenOrBraceRange().isValid() || variable.getInitStyle() == clang::VarDecl::CInit)
      return {};
  }
  clang::TypeLoc type = variable.getTypeSourceInfo()->getTypeLoc();
  while (const auto array = type.getAs<clang::ArrayTypeLoc>()) type = array.getElementLoc();
  const auto brackets = type.getAs<clang::ParenTypeLoc>();
  if (!brackets) return {};
  const clang::TypeLoc inner = brackets.getInnerLoc().getUnqualifiedLoc();
  if (inner.getAs<clang::FunctionTypeLoc>() || inner.getAs<clang::PointerTypeLoc>() ||
      inner.getAs<clang::ReferenceTypeLoc>())
    return {};
  return variable.getLocation() > brackets.getLParenLoc() ? brackets.getRParenLoc() : clang::SourceLocation();
}

/// C++ takes `T(x)` for a declaration of x. Whoever ends a cell by it, without a semicolon, means a value.
bool check_meant(HostParse& shared, clang::DeclGroupRef group) {
  if (!shared.unit.request->options.cell_shows || !group.isSingleDecl()) return true;
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(group.getSingleDecl());
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  if (!variable || variable->getLocation().isMacroID() ||
      !is_in_cell(sources, *variable, shared.cell->path()))
    return true;
  const clang::SourceLocation end = end_of_brackets(*variable);
  if (end.isInvalid() || !shared.cell->ends_at(sources.getFileOffset(end))) return true;
  clang::DiagnosticsEngine& diagnostics = shared.clang->getDiagnostics();
  diagnostics.Report(variable->getBeginLoc(),
                     diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"))
      << "C++ reads this as a declaration of '" + variable->getNameAsString() +
             "': write braces, T{x}, or brackets around it, (T(x)), to see the value, and a semicolon to "
             "declare";
  return false;
}

}  // namespace

void watch_conditions(HostParse& shared, clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<SkippedText>(*shared.cell, preprocessor.getSourceManager()));
}

void note_token(HostParse& shared, const clang::Token& token) {
  if (token.isNot(clang::tok::kw_return)) return;
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  if (sources.getFilename(sources.getExpansionLoc(token.getLocation())) == shared.cell->path())
    shared.returns.push_back(token.getLocation());
}

namespace {

/// C++ lets a function, a variable and the like hide a class or enumeration of its name, and Clang lets an
/// enumerator stand beside a template. If the other is of an earlier cell, this one takes its place: says so
/// as Clang does of other things.
void complain_of_hiding(HostParse& shared, const clang::NamedDecl& decl) {
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  clang::DiagnosticsEngine& diagnostics = shared.clang->getDiagnostics();
  const unsigned error = diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error,
                                                     "redefinition of %0 as a type or one of its values");
  const unsigned note =
      diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Note, "previous definition is here");
  if (!decl.getIdentifier() || !is_in_cell(sources, decl, shared.cell->path())) return;
  for (const clang::NamedDecl* other :
       decl.getDeclContext()->getRedeclContext()->lookup(decl.getDeclName())) {
    if (llvm::isa<clang::TypeDecl>(other) || !is_in_earlier_cell(sources, *other, shared.cell->path()))
      continue;
    diagnostics.Report(decl.getLocation(), error) << &decl;
    diagnostics.Report(other->getLocation(), note);
  }
}

void complain_of_hiding(HostParse& shared, clang::DeclGroupRef group) {
  for (const clang::Decl* decl : group) {
    const auto* tag = llvm::dyn_cast<clang::TagDecl>(decl);
    if (!tag) continue;
    complain_of_hiding(shared, *tag);
    if (const auto* all = llvm::dyn_cast<clang::EnumDecl>(tag); all && !all->isScoped())
      for (const clang::EnumConstantDecl* one : all->enumerators()) complain_of_hiding(shared, *one);
  }
}

}  // namespace

void note_in_cell(HostParse& shared, clang::DeclGroupRef group) {
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  if (shared.checks && group.begin() != group.end()) shared.checks->tell(**group.begin());
  if (!check_meant(shared, group)) return;
  complain_of_hiding(shared, group);
  for (const clang::Decl* decl : group)
    if (const auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(decl);
        statement && !(check_returns(shared, *statement) && check_body(shared, *statement)))
      return;
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

/// Does so for all statements, also for one whose parse is not complete: what is instantiated for its lambdas
/// is generated before it.
void name_locals(HostParse& shared) {
  if (shared.last_statement) give_locals_a_function(shared, *shared.last_statement);
  clang::TranslationUnitDecl* unit = shared.clang->getASTContext().getTranslationUnitDecl();
  clang::Decl* decl = nullptr;
  if (shared.last_seen)
    decl = shared.last_seen->getNextDeclInContext();
  else if (unit->noload_decls_begin() != unit->noload_decls_end())
    decl = *unit->noload_decls_begin();
  for (; decl; decl = decl->getNextDeclInContext()) {
    shared.last_seen = decl;
    if (auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(decl)) {
      give_locals_a_function(shared, *statement);
      shared.last_statement = statement;
    }
  }
}

}  // namespace

void generate_in_cell(HostParse& shared, clang::CodeGenerator& generator, clang::DeclGroupRef group) {
  const clang::SourceManager& sources = shared.clang->getSourceManager();
  bool has_statement = false;
  name_locals(shared);
  for (clang::Decl* decl : group) {
    has_statement |= llvm::isa<clang::TopLevelStmtDecl>(decl);
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

void tie_cell(HostParse& shared, clang::CodeGenerator& generator) {
  llvm::Module* const module = generator.GetModule();
  if (!module) return;
  fault_at_division_traps(*module);
  link_cell(generator, *module, shared.clang->getASTContext(), shared.cell->json());
}

}  // namespace tarsia::jit

// Walks the bodies of the host's functions.
#include "jit/worker/host/device_uses.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/cell/cell_items.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/host/host_parse.h"
#include "jit/worker/source/source_fs.h"
#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {
namespace {

// Headers of CUDA's whose functions are the device's alone, by how their names begin.
constexpr llvm::StringLiteral k_of_device[] = {
    "device_atomic_functions.",    "device_double_functions.",   "device_fp128_functions.", "mma.", "sm_",
    "surface_indirect_functions.", "texture_indirect_functions."};
// And those that have functions of both sides as well. These have bodies, which are not empty.
constexpr llvm::StringLiteral k_of_both = "device_functions.";

bool is_of_device(const clang::Decl& decl) {
  return decl.hasAttr<clang::CUDADeviceAttr>() || decl.hasAttr<clang::CUDAConstantAttr>() ||
         decl.hasAttr<clang::CUDAGlobalAttr>();
}

// What the walks have in common.
class HostCode : public clang::DynamicRecursiveASTVisitor {
 public:
  HostCode() { ShouldVisitTemplateInstantiations = true; }
  // Their operands are not evaluated.
  bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) override { return true; }
  bool TraverseCXXNoexceptExpr(clang::CXXNoexceptExpr*) override { return true; }
  bool TraverseDecltypeTypeLoc(clang::DecltypeTypeLoc, bool) override { return true; }
};

class Reads : public HostCode {
 public:
  explicit Reads(clang::ASTContext& context) : m_context(context) { ShouldVisitImplicitCode = true; }

  bool TraverseDecl(clang::Decl* decl) override {
    if (!decl) return true;
    if (llvm::isa<clang::FunctionDecl, clang::VarDecl>(decl) && is_of_device(*decl)) return true;
    return HostCode::TraverseDecl(decl);
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    return is_of_device(*lambda->getCallOperator()) || HostCode::TraverseLambdaExpr(lambda);
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) override {
    if (cast->getCastKind() == clang::CK_LValueToRValue) report(cast->getSubExpr(), k_reads);
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    if (operation->isAssignmentOp()) report(operation->getLHS(), k_writes);
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    if (operation->isIncrementDecrementOp()) report(operation->getSubExpr(), k_writes);
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override {
    if (made->getNumArgs() == 1 && made->getConstructor()->isCopyOrMoveConstructor())
      report(made->getArg(0), k_reads);
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    // A cell's value is handed to this function by reference.
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee && call->getNumArgs() == 1 && callee->getDeclName().isIdentifier() &&
        callee->getName() == "show" && callee->getQualifiedNameAsString() == "tarsia::repl::show")
      report(call->getArg(0), k_reads);
    return true;
  }

 private:
  enum Use : int { k_reads, k_writes };

  void report(const clang::Expr* place, Use use) {
    const clang::VarDecl* const variable = variable_of(place);
    if (!variable || !is_of_device(*variable) || is_managed(*variable) ||
        variable->isUsableInConstantExpressions(m_context) || !m_told.insert(place->getBeginLoc()).second)
      return;
    clang::DiagnosticsEngine& diagnostics = m_context.getDiagnostics();
    const unsigned id = diagnostics.getCustomDiagID(
        clang::DiagnosticsEngine::Warning,
        "host code %select{reads|writes to}0 %1, a variable of the device, and meets a stand-in that "
        "%select{does not hold its value|the device does not see}0: use "
        "%select{cudaMemcpyFromSymbol|cudaMemcpyToSymbol}0, or make the variable __managed__");
    diagnostics.Report(place->getExprLoc(), id) << int(use) << variable;
  }

  // The variable that an lvalue is, or is a part of.
  static const clang::VarDecl* variable_of(const clang::Expr* place) {
    while (true) {
      place = place->IgnoreParens();
      if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(place)) {
        if (cast->getCastKind() == clang::CK_LValueToRValue) return nullptr;  // a pointer's target
        place = cast->getSubExpr();
      } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(place);
                 member && !member->isArrow()) {
        place = member->getBase();
      } else if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(place)) {
        place = element->getBase();
      } else {
        break;
      }
    }
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(place);
    return reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
  }

  clang::ASTContext& m_context;
  std::set<clang::SourceLocation> m_told;
};

bool does_nothing(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* definition = nullptr;
  if (!function.hasBody(definition)) return true;
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(definition->getBody());
  return body && body->body_empty();
}

class Calls : public HostCode {
 public:
  explicit Calls(clang::ASTContext& context) : m_context(context) {}

  bool TraverseDecl(clang::Decl* decl) override {
    auto* const function = llvm::dyn_cast_or_null<clang::FunctionDecl>(decl);
    if (!function) return HostCode::TraverseDecl(decl);
    if (is_of_device(*function) || function->isConstexpr() || function->isDependentContext()) return true;
    const clang::FunctionDecl* const outer = std::exchange(m_function, function);
    const bool goes_on = HostCode::TraverseDecl(decl);
    m_function = outer;
    return goes_on;
  }
  // Clang marks lambdas of the host as if both sides had them.
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    const auto* mark = lambda->getCallOperator()->getAttr<clang::CUDADeviceAttr>();
    return (mark && !mark->isImplicit()) || HostCode::TraverseLambdaExpr(lambda);
  }
  bool TraverseIfStmt(clang::IfStmt* choice) override {
    if (choice->isConsteval()) return true;
    if (choice->isConstexpr() && !choice->getCond()->isValueDependent())
      if (const auto taken = choice->getNondiscardedCase(m_context)) return !*taken || TraverseStmt(*taken);
    return HostCode::TraverseIfStmt(choice);
  }

  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* const callee = call->getDirectCallee();
    if (!callee || !is_of_cuda(*callee) || !m_told.insert(call->getExprLoc()).second) return true;
    clang::DiagnosticsEngine& diagnostics = m_context.getDiagnostics();
    const unsigned id = diagnostics.getCustomDiagID(
        clang::DiagnosticsEngine::Error,
        "calling the device function %0 from %select{host code|the host function %2}1 is not allowed");
    auto report = diagnostics.Report(call->getExprLoc(), id);
    report << callee << int(m_function != nullptr);
    if (m_function) report << m_function;
    return true;
  }

 private:
  // Whether it is a device function of CUDA's, and of nobody else.
  bool is_of_cuda(const clang::FunctionDecl& function) const {
    // Clang itself makes the calls of these: a launch begins with one.
    if (llvm::isa<clang::CXXMethodDecl>(function) || !function.getDeclName().isIdentifier() ||
        function.getName().starts_with("__cuda"))
      return false;
    const clang::SourceManager& sources = m_context.getSourceManager();
    bool found = false;
    for (const clang::FunctionDecl* decl : function.redecls()) {
      if (is_of_device(*decl) || decl->hasAttr<clang::CUDAHostAttr>()) return false;  // Clang has judged
      const clang::SourceLocation place = sources.getExpansionLoc(decl->getLocation());
      // <math.h> declares names such as __expf, too, and does not define them.
      if (!sources.isInSystemHeader(place)) return false;
      llvm::StringRef file = sources.getFilename(place);
      if (!file.consume_front(k_cuda_dir)) continue;
      file = file.substr(file.rfind('/') + 1);
      const auto begins = [&](llvm::StringRef name) { return file.starts_with(name); };
      found |= std::ranges::any_of(k_of_device, begins) || (begins(k_of_both) && does_nothing(function));
    }
    return found;
  }

  clang::ASTContext& m_context;
  const clang::FunctionDecl* m_function = nullptr;  // that the walk is in
  std::set<clang::SourceLocation> m_told;
};

// All of the user's text that is new.
void walk(HostCode& in, clang::ASTContext& context, const std::string& cell_path) {
  const clang::SourceManager& sources = context.getSourceManager();
  for (clang::Decl* decl : context.getTranslationUnitDecl()->noload_decls())
    if (is_user_file(sources, decl->getLocation()) &&
        (cell_path.empty() || !is_in_earlier_cell(sources, *decl, cell_path)))
      in.TraverseDecl(decl);
}

}  // namespace

void warn_of_device_reads(clang::ASTContext& context, const std::string& cell_path) {
  Reads reads(context);
  walk(reads, context, cell_path);
}

void refuse_device_calls(HostParse& parse, clang::ASTContext& context) {
  if (context.getDiagnostics().hasErrorOccurred()) return;
  const std::string cell_path = parse.cell ? parse.cell->path() : std::string();
  Calls calls(context);
  // A walk reads bodies from the precompiled includes, and with them further functions, which join the list.
  for (std::size_t i = 0; i < parse.kept_functions.size(); ++i) calls.TraverseDecl(parse.kept_functions[i]);
  walk(calls, context, cell_path);
}

}  // namespace tarsia::jit

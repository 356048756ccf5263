// Instantiates and picks the kernels that a request wants alone.
#include "jit/worker/host/wanted_kernels.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/Basic/Diagnostic.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

// The function that a line of text_of_wanted names; null if it names none.
const clang::FunctionDecl* find_wanted(clang::ASTContext& context, size_t i) {
  const clang::DeclarationName name(&context.Idents.get("tarsia_wanted_" + std::to_string(i)));
  for (const clang::NamedDecl* found : context.getTranslationUnitDecl()->lookup(name)) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(found);
    if (!variable || !variable->hasInit()) continue;
    const clang::Expr* init = variable->getInit()->IgnoreParenCasts();
    if (const auto* address = llvm::dyn_cast<clang::UnaryOperator>(init))
      init = address->getSubExpr()->IgnoreParenCasts();
    if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(init))
      return llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
  }
  return nullptr;
}

}  // namespace

std::string text_of_wanted(const std::vector<std::string>& kernels) {
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::string name = kernels[i];
    std::replace(name.begin(), name.end(), '\n', ' ');
    if (name.find('<') != name.npos)
      text += "static const void* const tarsia_wanted_" + std::to_string(i) + " = (const void*)(&" +
              (name.starts_with("::") ? "" : "::") + name + ");";
    text += "\n";
  }
  return text;
}

void choose_kernels(const std::vector<std::string>& wanted, clang::ASTContext& context,
                    clang::DiagnosticsEngine& diagnostics, DeviceSlice& slice) {
  std::vector<KernelUse> chosen;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t before = chosen.size();
    const clang::FunctionDecl* function = find_wanted(context, i);
    for (const KernelUse& kernel : slice.kernels)
      if (function ? kernel.function->getCanonicalDecl() == function->getCanonicalDecl()
                   : kernel.listed_name == wanted[i])
        chosen.push_back(kernel);
    if (chosen.size() > before) continue;
    diagnostics.Report(diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error,
                                                   "'%0' is no __global__ function of the source"))
        << wanted[i];
  }
  slice.kernels = std::move(chosen);
  slice.templates.clear();
}

void blame_wanted(Diagnostic& diagnostic, const std::vector<std::string>& wanted) {
  if (diagnostic.file != k_wanted_path) return;
  const size_t i = size_t(diagnostic.line) - 1;
  if (i < wanted.size()) diagnostic.message = wanted[i] + ": " + diagnostic.message;
  diagnostic.file.clear();
  diagnostic.line = diagnostic.column = 0;
}

}  // namespace tarsia::jit

// Kernels and device variables, by the names under which NVRTC, the host's code and the CUDA runtime know
// them.
#include <map>
#include <memory>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/exports.h"
#include "jit/worker/split.h"
#include "llvm/Support/raw_ostream.h"

namespace tarsia::jit {
namespace {

template <class Visit>
void for_each_decl(const clang::DeclContext* scope, const clang::SourceManager& sources, const Visit& visit) {
  for (clang::Decl* decl : scope->noload_decls()) {
    if (!is_user_file(sources, decl->getLocation())) continue;
    visit(decl);
    if (auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) for_each_decl(space, sources, visit);
    if (auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) for_each_decl(linkage, sources, visit);
  }
}

// Clang knows `managed` for HIP only: the host's prelude makes __managed__ a device variable with this mark.
bool is_managed(const clang::VarDecl& variable) {
  for (const auto* mark : variable.specific_attrs<clang::AnnotateAttr>())
    if (mark->getAnnotation() == "tarsia_managed") return true;
  return false;
}

// How a template argument is written in a name expression.
clang::PrintingPolicy expression_policy(const clang::ASTContext& context) {
  clang::PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  policy.FullyQualifiedName = true;
  policy.PrintAsCanonical = true;
  policy.Bool = true;
  policy.MSVCFormatting = false;
  return policy;
}

std::string expression_of(const clang::NamedDecl& decl) {
  std::string text;
  llvm::raw_string_ostream out(text);
  decl.getNameForDiagnostic(out, expression_policy(decl.getASTContext()), /*Qualified=*/true);
  // The literal would be too large before its sign is seen.
  constexpr std::string_view k_least = "-9223372036854775808L", k_instead = "-9223372036854775807L-1L";
  for (size_t at = text.find(k_least); at != text.npos; at = text.find(k_least, at + k_instead.size()))
    text.replace(at, k_least.size(), k_instead);
  return text;
}

// Whether the kernel's name alone would leave open which function is meant.
bool has_overloads(const clang::FunctionDecl& function) {
  int others = 0;
  for (const clang::NamedDecl* decl :
       function.getDeclContext()->getRedeclContext()->lookup(function.getDeclName()))
    others += decl->getAsFunction() && decl->getCanonicalDecl() != function.getCanonicalDecl();
  return others > 0 && !function.isTemplateInstantiation() && !function.getTemplateSpecializationArgs();
}

std::string mangled_name(clang::ASTContext& context, const clang::NamedDecl& decl) {
  std::unique_ptr<clang::MangleContext> mangler(
      clang::ItaniumMangleContext::create(context, context.getDiagnostics()));
  if (!mangler->shouldMangleDeclName(&decl)) return decl.getNameAsString();
  std::string text;
  llvm::raw_string_ostream out(text);
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl))
    mangler->mangleName(clang::GlobalDecl(function, clang::KernelReferenceKind::Kernel), out);
  else
    mangler->mangleName(llvm::cast<clang::VarDecl>(&decl), out);
  return text;
}

}  // namespace

void list_device_entities(clang::ASTContext& context, DeviceSlice& slice) {
  const clang::SourceManager& sources = context.getSourceManager();
  std::map<std::string, int> overloads;
  auto add_kernel = [&](const clang::FunctionDecl* function) {
    KernelUse kernel;
    kernel.function = function;
    kernel.name = expression_of(*function);
    kernel.mangled = mangled_name(context, *function);
    kernel.extern_c = function->isExternC();
    kernel.overloaded = has_overloads(*function);
    ++overloads[kernel.name];
    slice.kernels.push_back(std::move(kernel));
  };
  for_each_decl(context.getTranslationUnitDecl(), sources, [&](clang::Decl* decl) {
    if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      if (!pattern->getTemplatedDecl()->hasAttr<clang::CUDAGlobalAttr>()) return;
      if (pattern != pattern->getCanonicalDecl()) return;
      for (const clang::FunctionDecl* special : pattern->specializations())
        if (!special->isDependentContext() &&
            (special->isUsed() || special->isReferenced() || special->isDefined()))
          add_kernel(special);
    } else if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
      if (function->hasAttr<clang::CUDAGlobalAttr>() && function->isThisDeclarationADefinition() &&
          !function->isTemplateInstantiation() &&
          function->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization)
        add_kernel(function);
    } else if (auto* variable = llvm::dyn_cast<clang::VarDecl>(decl)) {
      bool constant = variable->hasAttr<clang::CUDAConstantAttr>();
      bool managed = is_managed(*variable);
      if (!(constant || managed || variable->hasAttr<clang::CUDADeviceAttr>())) return;
      if (variable->isThisDeclarationADefinition() == clang::VarDecl::DeclarationOnly) return;
      if (variable->getType()->isDependentType() || !variable->getType()->isObjectType()) return;
      DeviceVariable entry;
      entry.variable = variable;
      const bool special = llvm::isa<clang::VarTemplateSpecializationDecl>(variable);
      entry.name = "::" + (special ? expression_of(*variable) : qualified_name(*variable));
      entry.mangled = mangled_name(context, *variable);
      entry.constant = constant;
      entry.managed = managed;
      entry.bytes = variable->getType()->isIncompleteType()
                        ? 0
                        : context.getTypeSizeInChars(variable->getType()).getQuantity();
      slice.variables.push_back(std::move(entry));
    }
  });
  for (KernelUse& kernel : slice.kernels) kernel.overloaded |= overloads[kernel.name] > 1;
}

}  // namespace tarsia::jit

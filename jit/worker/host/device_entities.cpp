// Kernels and device variables, by the names under which NVRTC, the host's code and the CUDA runtime know
// them.
#include "jit/worker/host/device_entities.h"

#include <map>
#include <memory>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/cell/cell_items.h"
#include "jit/worker/exports/element_dtype.h"
#include "jit/worker/exports/exports.h"
#include "jit/worker/split/split.h"
#include "jit/worker/split/token_recorder.h"
#include "llvm/ADT/StringExtras.h"
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
  // Work-around: Clang prints the least long as a literal that is too large.
  // Trigger: a kernel template's argument is the least long. Symptom: "-9223372036854775808L" in the name
  // expression, which is too large before its sign is seen. Removal: Clang prints what it can parse.
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

// "ns::scale<float>", as people write it, also for entities of an unnamed namespace.
std::string listed_name(std::string name) {
  constexpr std::string_view k_unnamed = "(anonymous namespace)::";
  for (size_t at = name.find(k_unnamed); at != name.npos; at = name.find(k_unnamed, at))
    name.erase(at, k_unnamed.size());
  return name;
}

// Describes a parameter as the checks of a caller's arguments need it.
KernelParam describe_param(const clang::ParmVarDecl& parameter, const clang::ASTContext& context) {
  KernelParam param;
  param.name = parameter.getName().str();
  clang::QualType type = parameter.getType().getCanonicalType();
  if (type->isReferenceType()) {
    param.type.flags = TARSIA_TYPE_REFERENCE;
    param.bytes = param.align = sizeof(void*);
    return param;
  }
  param.bytes = uint32_t(context.getTypeSizeInChars(type).getQuantity());
  param.align = uint32_t(context.getTypeAlignInChars(type).getQuantity());
  if (type->isPointerType()) {
    const clang::QualType target = type->getPointeeType();
    if (target->isFunctionType()) return param;
    param.type.kind = TARSIA_KIND_POINTER;
    param.type.flags = TARSIA_TYPE_OPTIONAL;  // None is nullptr
    if (target.isConstQualified()) param.type.flags |= TARSIA_TYPE_CONST;
    param.type.dtype = device_dtype(target, context).value_or(tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1});
    return param;
  }
  const auto dtype = device_dtype(type, context);
  if (dtype) param.type.dtype = *dtype;
  if (dtype && dtype->lanes == 1 && dtype->code != TARSIA_COMPLEX) {
    param.type.kind = dtype->code == TARSIA_BOOL                                    ? TARSIA_KIND_BOOL
                      : dtype->code == TARSIA_FLOAT || dtype->code == TARSIA_BFLOAT ? TARSIA_KIND_FLOAT
                                                                                    : TARSIA_KIND_INT;
  } else if (!dtype && type->isRecordType() && !type.isTriviallyCopyableType(context)) {
    param.type.flags = TARSIA_TYPE_NOT_COPYABLE;
  }
  return param;
}

std::string text_of_default(const clang::TemplateArgumentLoc& argument, const clang::ASTContext& context) {
  if (argument.getArgument().getKind() == clang::TemplateArgument::Expression) {
    const clang::Expr* expression = argument.getArgument().getAsExpr();
    clang::Expr::EvalResult value;
    if (!expression->isValueDependent() && expression->getType()->isIntegerType() &&
        !expression->getType()->isBooleanType() && expression->EvaluateAsInt(value, context))
      return llvm::toString(value.Val.getInt(), 10);
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  argument.getArgument().print(expression_policy(context), out, /*IncludeType=*/false);
  return text;
}

KernelTemplate describe_template(const clang::FunctionTemplateDecl& pattern) {
  const clang::ASTContext& context = pattern.getASTContext();
  const clang::FunctionDecl& function = *pattern.getTemplatedDecl();
  KernelTemplate entry;
  entry.name = qualified_name(function);
  entry.location = location_of(context.getSourceManager(), function.getLocation());
  llvm::raw_string_ostream out(entry.signature);
  clang::PrintingPolicy policy = expression_policy(context);
  policy.PrintAsCanonical = false;
  pattern.getTemplateParameters()->print(out, context, policy);
  out << signature_of(function);
  for (const clang::NamedDecl* decl : *pattern.getTemplateParameters()) {
    KernelTemplate::Param& param = entry.params.emplace_back();
    param.name = decl->getNameAsString();
    if (const auto* type = llvm::dyn_cast<clang::TemplateTypeParmDecl>(decl)) {
      param.has_default = type->hasDefaultArgument();
      if (param.has_default) param.default_text = text_of_default(type->getDefaultArgument(), context);
    } else if (const auto* value = llvm::dyn_cast<clang::NonTypeTemplateParmDecl>(decl)) {
      param.kind = TARSIA_TEMPLATE_VALUE;
      param.has_default = value->hasDefaultArgument();
      if (param.has_default) param.default_text = text_of_default(value->getDefaultArgument(), context);
    } else if (const auto* inner = llvm::dyn_cast<clang::TemplateTemplateParmDecl>(decl)) {
      param.kind = TARSIA_TEMPLATE_TEMPLATE;
      param.has_default = inner->hasDefaultArgument();
    }
    if (decl->isTemplateParameterPack()) param.kind = TARSIA_TEMPLATE_PACK;
  }
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    KernelTemplate::Deducible& deducible = entry.function_params.emplace_back();
    deducible.name = parameter->getName().str();
    clang::QualType type = parameter->getType().getCanonicalType();
    deducible.is_pointer = type->isPointerType();
    if (deducible.is_pointer) type = type->getPointeeType();
    if (const auto* param = type->getAs<clang::TemplateTypeParmType>();
        param && param->getDepth() == 0 && !param->isParameterPack())
      deducible.deduces = int(param->getIndex());
  }
  return entry;
}

// The dtype and shape of a variable's elements; its bytes if no dtype has them.
void describe_elements(DeviceVariable& entry, const clang::ASTContext& context) {
  clang::QualType type = entry.variable->getType().getCanonicalType();
  while (const auto* array = context.getAsConstantArrayType(type)) {
    entry.shape.push_back(int64_t(array->getSize().getZExtValue()));
    type = array->getElementType();
  }
  entry.read_only = type.isConstQualified();
  entry.dtype = tarsia_dtype{TARSIA_UINT, 8, 1};
  if (const auto dtype = device_dtype(type, context)) {
    entry.dtype = *dtype;
    if (dtype->lanes > 1) {
      // Elements of two or three lanes lie as close together as numbers do.
      entry.shape.push_back(dtype->lanes);
      entry.dtype.lanes = 1;
    }
  } else if (!type->isIncompleteType()) {
    entry.shape.push_back(context.getTypeSizeInChars(type).getQuantity());
  }
}

}  // namespace

void demand_blocks(clang::ASTContext& context) {
  clang::FunctionDecl* launch = context.getcudaConfigureCallDecl();
  if (!launch || launch->getNumParams() < 2) return;
  clang::ParmVarDecl& block = *launch->getParamDecl(1);
  if (block.hasDefaultArg()) block.setDefaultArg(nullptr);
}

// Work-around: Clang knows managed variables for HIP alone.
// Trigger: `__managed__` in a CUDA source. Symptom: Clang ignores the attribute, and the host would use a
// shadow that the CUDA runtime does not know. So __managed__ makes a device variable with a mark, whose uses
// by the host route_managed() changes.
// Removal: Clang takes __managed__ in CUDA and emits its registration.
bool is_managed(const clang::VarDecl& variable) {
  for (const auto* mark : variable.specific_attrs<clang::AnnotateAttr>())
    if (mark->getAnnotation() == "tarsia_managed") return true;
  return false;
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

std::vector<clang::Decl*> kernels_so_far(const clang::ASTContext& context) {
  std::vector<clang::Decl*> all;
  for_each_decl(context.getTranslationUnitDecl(), context.getSourceManager(), [&](clang::Decl* decl) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&templated(*decl));
    if (function && function->hasAttr<clang::CUDAGlobalAttr>()) all.push_back(decl);
  });
  return all;
}

std::vector<clang::VarDecl*> define_declared_variables(clang::ASTContext& context) {
  std::vector<clang::VarDecl*> all;
  for_each_decl(context.getTranslationUnitDecl(), context.getSourceManager(), [&](clang::Decl* decl) {
    auto* const variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (!variable || variable != variable->getMostRecentDecl() || !variable->hasExternalStorage()) return;
    if (!variable->hasAttr<clang::CUDAConstantAttr>() && !variable->hasAttr<clang::CUDADeviceAttr>()) return;
    if (is_managed(*variable) || variable->getDefinition() || variable->getType()->isIncompleteType()) return;
    variable->setStorageClass(clang::SC_None);
    all.push_back(variable);
  });
  return all;
}

void list_device_entities(clang::ASTContext& context, DeviceSlice& slice, const std::string& cell_path,
                          const std::vector<clang::Decl*>& precompiled) {
  const clang::SourceManager& sources = context.getSourceManager();
  std::map<std::string, int> overloads;
  auto add_kernel = [&](const clang::FunctionDecl* function) {
    KernelUse kernel;
    const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern();
    kernel.defined = (pattern ? pattern : function)->isDefined();
    kernel.function = function;
    kernel.name = expression_of(*function);
    kernel.mangled = mangled_name(context, *function);
    kernel.extern_c = function->isExternC();
    kernel.overloaded = has_overloads(*function);
    kernel.listed_name = listed_name(kernel.name);
    kernel.signature = signature_of(*function);
    kernel.location = location_of(sources, function->getLocation());
    for (const clang::ParmVarDecl* parameter : function->parameters())
      kernel.params.push_back(describe_param(*parameter, context));
    ++overloads[kernel.name];
    slice.kernels.push_back(std::move(kernel));
  };
  const auto list = [&](clang::Decl* decl) {
    const bool is_earlier = !cell_path.empty() && is_in_earlier_cell(sources, *decl, cell_path);
    if (is_earlier && llvm::isa<clang::FunctionDecl>(decl)) return;
    if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      if (!pattern->getTemplatedDecl()->hasAttr<clang::CUDAGlobalAttr>()) return;
      if (pattern != pattern->getCanonicalDecl()) return;
      if (!is_earlier) slice.templates.push_back(describe_template(*pattern));
      // By name, for Clang lists those of a precompiled form in another order than those that it has made.
      std::map<std::string, const clang::FunctionDecl*> specials;
      for (const clang::FunctionDecl* special : pattern->specializations())
        if (!special->isDependentContext() &&
            (special->isUsed() || special->isReferenced() || special->isDefined()))
          specials.emplace(mangled_name(context, *special), special);
      for (const auto& [name, special] : specials) add_kernel(special);
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
      entry.listed_name = listed_name(special ? expression_of(*variable) : qualified_name(*variable));
      clang::PrintingPolicy policy(context.getLangOpts());
      policy.SuppressTagKeyword = true;
      entry.type = variable->getType().getAsString(policy);
      entry.location = location_of(sources, variable->getLocation());
      describe_elements(entry, context);
      (is_earlier ? slice.earlier_variables : slice.variables).push_back(std::move(entry));
    }
  };
  for (clang::Decl* decl : precompiled) list(decl);
  for_each_decl(context.getTranslationUnitDecl(), sources, list);
  for (KernelUse& kernel : slice.kernels) kernel.overloaded |= overloads[kernel.name] > 1;
}

}  // namespace tarsia::jit

// Which functions of the user's text are exported.
#include "jit/worker/exports/exports.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Expr.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "jit/worker/exports/plain_struct.h"
#include "jit/worker/exports/template_example.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/source/source_fs.h"
#include "jit/worker/split/split.h"
#include "jit/worker/types/foreign_types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tarsia::jit {
namespace {

using clang::QualType;

clang::PrintingPolicy people_policy(const clang::ASTContext& context) {
  clang::PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  policy.Bool = true;
  return policy;
}

const clang::CXXRecordDecl* record_of(QualType type) {
  return type.getCanonicalType()->getAsCXXRecordDecl();
}

const clang::TemplateArgument* first_argument(const clang::CXXRecordDecl* record) {
  auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  return special && special->getTemplateArgs().size() ? &special->getTemplateArgs()[0] : nullptr;
}

bool is_char(QualType type) {
  return type->isSpecificBuiltinType(clang::BuiltinType::Char_S) ||
         type->isSpecificBuiltinType(clang::BuiltinType::Char_U);
}

// A number that an adapter can carry.
bool is_scalar(QualType type) {
  const auto* builtin = type.getCanonicalType()->getAs<clang::BuiltinType>();
  if (!builtin) return false;
  switch (builtin->getKind()) {
    case clang::BuiltinType::Bool:
    case clang::BuiltinType::Char_S:
    case clang::BuiltinType::Char_U:
    case clang::BuiltinType::SChar:
    case clang::BuiltinType::UChar:
    case clang::BuiltinType::Short:
    case clang::BuiltinType::UShort:
    case clang::BuiltinType::Int:
    case clang::BuiltinType::UInt:
    case clang::BuiltinType::Long:
    case clang::BuiltinType::ULong:
    case clang::BuiltinType::LongLong:
    case clang::BuiltinType::ULongLong:
    case clang::BuiltinType::Float:
    case clang::BuiltinType::Double:
      return true;
    default:
      return false;
  }
}

// What a tensor's elements may be.
bool is_element(QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (is_scalar(type)) return true;
  if (const auto* record = record_of(type)) {
    std::string name = qualified_name(*record);
    return name == "__half" || name == "__nv_bfloat16" || name == "std::complex" || cuda_vector(*record);
  }
  return false;
}

// Types that are passed by value as a number. Elements of tensors and the library's own types are excluded.
bool is_other_number(QualType type) {
  if (type->isSpecificBuiltinType(clang::BuiltinType::LongDouble) ||
      type->isSpecificBuiltinType(clang::BuiltinType::Float16))
    return true;
  if (const auto* named = type->getAs<clang::EnumType>())
    return named->getDecl()->isExternallyVisible() && named->getDecl()->getDeclName() &&
           is_scalar(named->getDecl()->getIntegerType());
  const auto* record = record_of(type);
  return record && (qualified_name(*record) == "__half" || qualified_name(*record) == "__nv_bfloat16");
}

// The row of a type that is a class of another framework; else null.
const ForeignType* foreign_of(QualType type) {
  const auto* record = record_of(type.getUnqualifiedType());
  return record ? foreign_type(qualified_name(*record)) : nullptr;
}

bool is_handle(QualType type) {
  const ForeignType* foreign = foreign_of(type);
  return foreign && foreign->role == ForeignRole::handle;
}

// What functions take by a reference that they may change: a handle, a vector of handles.
bool is_changeable(QualType target) {
  if (is_handle(target)) return true;
  const auto* record = record_of(target.getUnqualifiedType());
  const clang::TemplateArgument* first = record ? first_argument(record) : nullptr;
  return first && first->getKind() == clang::TemplateArgument::Type &&
         qualified_name(*record) == "std::vector" && is_handle(first->getAsType());
}

// item: an element of a list that is a parameter.
enum class Place { parameter, result, in_parameter, item, in_result };

// float or double.
bool is_part_of_complex(QualType type) {
  return type->isSpecificBuiltinType(clang::BuiltinType::Float) ||
         type->isSpecificBuiltinType(clang::BuiltinType::Double);
}

std::string unsupported(QualType type, Place place, const clang::ASTContext& context,
                        const clang::PrintingPolicy& policy);

// What `unsupported` says of a std::array or std::span; `written` is the type in the text.
std::string unsupported_sized(const clang::CXXRecordDecl& record, QualType written, Place place,
                              const clang::ASTContext& context, const clang::PrintingPolicy& policy) {
  constexpr std::uint64_t k_most = 65535;
  auto no = [&](const std::string& why) { return "'" + written.getAsString(policy) + "' " + why; };
  const bool is_span = qualified_name(record) == "std::span";
  const bool is_result = place == Place::result || place == Place::in_result;
  const auto& arguments = llvm::cast<clang::ClassTemplateSpecializationDecl>(record).getTemplateArgs();
  const std::uint64_t n = arguments[1].getAsIntegral().getZExtValue();
  const QualType element = arguments[0].getAsType();
  const bool any = is_span && n == std::uint64_t(-1);
  if (!any && (n == 0 || n > k_most)) return no("has no counterpart: a fixed size is from 1 to 65535");
  if (!is_span) return unsupported(element, is_result ? Place::in_result : Place::item, context, policy);
  if (is_result) return no("owns nothing; return a std::vector or a tarsia::Tensor");
  if (place != Place::parameter) return no("has no counterpart within a list; take a std::vector of tensors");
  if (is_element(element) || ((any || n <= 255) && plain_struct(element, context))) return "";
  return no("is over no element type of a tensor, and over no plain struct");
}

// What `unsupported` says of a class of another framework; `written` is the type in the text.
std::string unsupported_foreign(const ForeignType& foreign, const clang::CXXRecordDecl& record,
                                QualType written, Place place, const clang::ASTContext& context,
                                const clang::PrintingPolicy& policy) {
  auto no = [&](const std::string& why) { return "'" + written.getAsString(policy) + "' " + why; };
  if (!has_home(foreign, record.getASTContext()))
    return no(std::string("is taken where the source includes ") + foreign.header);
  const bool is_result = place == Place::result || place == Place::in_result;
  const clang::TemplateArgument* first = first_argument(&record);
  switch (foreign.role) {
    case ForeignRole::handle:
    case ForeignRole::value:
      return "";
    case ForeignRole::view:
      return is_result ? no(std::string("owns nothing; return ") + foreign.instead) : "";
    case ForeignRole::list_view:
      return place == Place::parameter ? unsupported(first->getAsType(), Place::item, context, policy)
                                       : no(std::string("owns nothing; return ") + foreign.instead);
    case ForeignRole::pointee:
      break;
    case ForeignRole::optional:
      if (place == Place::in_parameter) break;
      return unsupported(first->getAsType(), is_result ? Place::in_result : Place::in_parameter, context,
                         policy);
    case ForeignRole::list:
      return unsupported(first->getAsType(), is_result ? Place::in_result : Place::item, context, policy);
  }
  return no("has no counterpart outside C++");
}

// Empty if there is an adapter for the type, else the reason why not.
std::string unsupported(QualType type, Place place, const clang::ASTContext& context,
                        const clang::PrintingPolicy& policy) {
  auto no = [&](const char* why) { return "'" + type.getAsString(policy) + "' " + why; };
  QualType canonical = type.getCanonicalType();
  if (canonical->isReferenceType()) {
    QualType target = canonical->getPointeeType();
    if (place == Place::result && canonical->isLValueReferenceType() && is_handle(target)) return "";
    if (place == Place::result) return no("is a reference; return a value");
    if (place == Place::parameter && canonical->isLValueReferenceType() && is_changeable(target)) return "";
    const bool is_value = record_of(target) || is_scalar(target) || is_other_number(target);
    if (!target.isConstQualified() || !is_value || canonical->isRValueReferenceType())
      return no("is a reference; take a value or a pointer");
    canonical = target;
  }
  canonical = canonical.getUnqualifiedType();
  if (canonical->isVoidType()) return place == Place::result ? "" : no("is no value");
  if (is_scalar(canonical) || is_other_number(canonical)) return "";
  if (canonical->isPointerType()) {
    QualType target = canonical->getPointeeType();
    if (is_char(target)) {
      if (target.isConstQualified()) return "";
      return no("is a writable string; take const char* or signed char*");
    }
    if (is_th_tensor(target) && (place == Place::parameter || place == Place::result)) return "";
    const bool is_cpp = context.getLangOpts().CPlusPlus;
    if ((place == Place::parameter || (is_cpp && place == Place::result)) && plain_struct(target, context))
      return "";
    if (place != Place::parameter)
      return no("is a pointer, of which the length is unknown; use tarsia::Tensor");
    if (target->isVoidType() || is_element(target)) return "";
    if (const auto* record = record_of(target); record && qualified_name(*record) == "CUstream_st") return "";
    return no("points to no element type of a tensor, and to no plain struct");
  }
  if (const auto* record = record_of(canonical)) {
    std::string name = qualified_name(*record);
    const clang::TemplateArgument* first = first_argument(record);
    if (name == "tarsia::Tensor" || name == "tarsia::StridedTensor") return "";
    if (const ForeignType* foreign = foreign_type(name))
      return unsupported_foreign(*foreign, *record, type, place, context, policy);
    if (const auto* inner = name == "std::optional" && first ? record_of(first->getAsType()) : nullptr;
        inner && place == Place::parameter && qualified_name(*inner) == "c10::ArrayRef")
      return unsupported(first->getAsType(), Place::parameter, context, policy);
    if (name == "tarsia::Stream") return place == Place::parameter ? "" : no("cannot be returned");
    if (name == "tarsia::cpu" || name == "tarsia::gpu")
      return place == Place::parameter ? "" : no("cannot be returned");
    if ((name == "std::basic_string" || name == "std::basic_string_view") && first &&
        is_char(first->getAsType()))
      return "";
    if (name == "std::array" || name == "std::span")
      return unsupported_sized(*record, type, place, context, policy);
    if (name == "std::complex" && first && is_part_of_complex(first->getAsType())) return "";
    const bool is_result = place == Place::result || place == Place::in_result;
    if (first && (name == "std::vector" || (name == "std::optional" && place != Place::in_parameter)))
      return unsupported(first->getAsType(),
                         is_result               ? Place::in_result
                         : name == "std::vector" ? Place::item
                                                 : Place::in_parameter,
                         context, policy);
    if ((name == "std::tuple" || name == "std::pair") && place == Place::result) {
      const auto& all = llvm::cast<clang::ClassTemplateSpecializationDecl>(record)->getTemplateArgs();
      for (const clang::TemplateArgument& argument : all.asArray()) {
        auto parts = argument.getKind() == clang::TemplateArgument::Pack ? argument.getPackAsArray()
                                                                         : llvm::ArrayRef(argument);
        for (const clang::TemplateArgument& part : parts)
          if (std::string why = unsupported(part.getAsType(), Place::in_result, context, policy);
              !why.empty())
            return why;
      }
      return "";
    }
  }
  if (context.getLangOpts().CPlusPlus && plain_struct(canonical, context)) return "";
  return no("has no counterpart outside C++");
}

std::string not_exportable(const clang::FunctionDecl& function, const clang::PrintingPolicy& policy) {
  const clang::ASTContext& context = function.getASTContext();
  if (function.isVariadic()) return "takes a variable number of arguments";
  if (function.isConsteval()) return "exists at compile time only";
  if (std::string why = unsupported(function.getReturnType(), Place::result, context, policy); !why.empty())
    return "its result " + why;
  for (const clang::ParmVarDecl* parameter : function.parameters())
    if (std::string why = unsupported(parameter->getType(), Place::parameter, context, policy); !why.empty())
      return "parameter " + std::to_string(parameter->getFunctionScopeIndex() + 1) +
             (parameter->getName().empty() ? "" : " (" + parameter->getName().str() + ")") + ": " + why;
  return "";
}

class Lister {
 public:
  Lister(clang::ASTContext& context, const ExportChoice& choice)
      : m_context(context), m_choice(choice), m_policy(people_policy(context)) {}

  // TARSIA_EXPORT(f) leaves an annotated constant behind whose initialiser names f (tarsia/export.h).
  void find_marks(const clang::DeclContext* scope) {
    for (const clang::Decl* decl : scope->noload_decls()) {
      if (!in_user_text(m_context.getSourceManager(), decl->getLocation())) continue;
      if (const auto* inner = llvm::dyn_cast<clang::DeclContext>(decl); inner && inner->isNamespace())
        find_marks(inner);
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
      if (!variable || !variable->hasInit()) continue;
      for (const auto* mark : variable->specific_attrs<clang::AnnotateAttr>()) {
        if (mark->getAnnotation() != "tarsia::export") continue;
        const clang::Expr* init = variable->getInit()->IgnoreParenImpCasts();
        if (const auto* address = llvm::dyn_cast<clang::UnaryOperator>(init))
          init = address->getSubExpr()->IgnoreParenImpCasts();
        if (const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(init))
          if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(name->getDecl()))
            if (std::find(m_marked.begin(), m_marked.end(), function) == m_marked.end())
              m_marked.push_back(function);
      }
    }
  }

  void list() {
    walk(m_context.getTranslationUnitDecl());
    for (const clang::FunctionDecl* function : m_marked) {
      const clang::FunctionDecl* definition = function->getDefinition();
      consider(definition ? *definition : *function);
    }
  }

  Exports take() { return std::move(m_exports); }

 private:
  void walk(const clang::DeclContext* scope) {
    for (const clang::Decl* decl : scope->noload_decls()) {
      if (!in_user_text(m_context.getSourceManager(), decl->getLocation())) continue;
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) {
        if (!space->isAnonymousNamespace())
          walk(space);
        else
          skip_hidden(space, "lies in an anonymous namespace");
      } else if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) {
        walk(linkage);
      } else if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
        if (is_mxnet_initialize(*function) && function->isThisDeclarationADefinition())
          m_exports.mxnet_initialize = function;
        else if (m_marked.empty() && !m_choice.marked_alone)
          function->getFormalLinkage() == clang::Linkage::External
              ? consider(*function)
              : skip(*function, marking(*function, "is static"));
      } else if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
        const auto can_export = [&](QualType type, bool is_result) {
          return unsupported(type, is_result ? Place::result : Place::parameter, m_context, m_policy).empty();
        };
        if (!consider_instances(*pattern))
          skip(*pattern->getTemplatedDecl(),
               "is a template; " + instance_to_write(*pattern->getTemplatedDecl(), m_policy, can_export));
      }
    }
  }

  void skip_hidden(const clang::DeclContext* scope, const char* why) {
    for (const clang::Decl* decl : scope->noload_decls())
      if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl))
        skip(*function, marking(*function, why));
  }

  static std::string marking(const clang::FunctionDecl& function, const char* why) {
    return std::string(why) + "; TARSIA_EXPORT(" + exported_name(function) + ") exports it";
  }

  // Whoever instantiates a template by name wants that function: it is exported as others are. False if
  // nobody did.
  bool consider_instances(const clang::FunctionTemplateDecl& pattern) {
    if (!pattern.isThisDeclarationADefinition()) return true;  // with its definition
    bool any = false;
    for (const clang::FunctionDecl* one : pattern.specializations()) {
      if (one->getTemplateSpecializationKind() != clang::TSK_ExplicitInstantiationDefinition) continue;
      any = true;
      if (m_marked.empty() && !m_choice.marked_alone) consider(*one);
    }
    return any;
  }

  // Lists a function of the main file that exists and is not exported by default.
  void skip(const clang::FunctionDecl& function, std::string why) {
    if (!m_marked.empty() || m_choice.marked_alone || m_choice.restricted) return;
    if (!function.isThisDeclarationADefinition() || llvm::isa<clang::CXXMethodDecl>(function) ||
        llvm::isa<clang::CXXDeductionGuideDecl>(function) || function.isOverloadedOperator() ||
        !m_context.getSourceManager().isInMainFile(function.getLocation()))
      return;
    if (is_device_only(function) || !m_context.getLangOpts().CPlusPlus || is_made_by_header(function)) return;
    if (function.getIdentifier() && function.getName().starts_with("tarsia_call_"))
      return;  // describes a C text
    m_exports.skipped.push_back({exported_name(function), std::move(why)});
  }

  // Whether a macro of a header wrote both its name and its beginning, as PYBIND11_MODULE does: nobody misses
  // it.
  bool is_made_by_header(const clang::FunctionDecl& function) const {
    const clang::SourceManager& sources = m_context.getSourceManager();
    const auto is_users = [&](clang::SourceLocation place) {
      return in_user_text(sources, sources.getSpellingLoc(place));
    };
    return function.getLocation().isMacroID() && !is_users(function.getLocation()) &&
           !is_users(function.getBeginLoc());
  }

  // Such a function is a part of what the header promises: tarsia/th/.
  bool is_declared_by_tarsia(const clang::FunctionDecl& function) const {
    const clang::SourceManager& sources = m_context.getSourceManager();
    return sources.getFilename(sources.getExpansionLoc(function.getFirstDecl()->getLocation()))
        .starts_with(std::string(k_include_dir) + "/tarsia/");
  }

  bool is_mxnet_initialize(const clang::FunctionDecl& function) const {
    if (!function.getIdentifier() || function.getName() != "initialize" || function.getNumParams() != 1 ||
        !function.getDeclContext()->getRedeclContext()->isTranslationUnit() ||
        !function.getParamDecl(0)->getType()->isSpecificBuiltinType(clang::BuiltinType::Int))
      return false;
    const clang::DeclarationName hook(&m_context.Idents.get("tarsia_mxnet_initialize"));
    return !m_context.getTranslationUnitDecl()->lookup(hook).empty();
  }

  void consider(const clang::FunctionDecl& function) {
    const bool marked = !m_marked.empty() || function.getTemplateSpecializationKind() ==
                                                 clang::TSK_ExplicitInstantiationDefinition;
    if (function.isDeleted() || function.isInvalidDecl() || function.isOverloadedOperator()) return;
    if (!marked &&
        (!function.isThisDeclarationADefinition() || llvm::isa<clang::CXXMethodDecl>(function) ||
         function.getFormalLinkage() != clang::Linkage::External || function.isTemplateInstantiation() ||
         function.getTemplatedKind() != clang::FunctionDecl::TK_NonTemplate))
      return;
    if (function.hasAttr<clang::CUDAGlobalAttr>()) return;
    if (is_declared_by_tarsia(function)) return;
    if (!m_context.getLangOpts().CPlusPlus && function.isInlineSpecified()) return;
    if (function.hasAttr<clang::CUDADeviceAttr>() && !function.hasAttr<clang::CUDAHostAttr>()) return;
    std::string name = exported_name(function);
    const bool wanted = !m_choice.restricted || m_choice.wanted.count(name);
    std::string why = function.isMain() ? "" : not_exportable(function, m_policy);
    if (why.empty() && wanted)
      m_exports.functions.push_back(&function);
    else if (why.empty())
      m_exports.left_out.push_back(std::move(name));
    else if (wanted && (m_choice.restricted || !is_made_by_header(function)))
      m_exports.skipped.push_back({std::move(name), std::move(why)});
  }

  clang::ASTContext& m_context;
  const ExportChoice& m_choice;
  clang::PrintingPolicy m_policy;
  std::vector<const clang::FunctionDecl*> m_marked;
  Exports m_exports;
};

}  // namespace

bool is_th_tensor(QualType type) {
  const auto* record = type.getCanonicalType()->getAs<clang::RecordType>();
  return record && record->getDecl()->getIdentifier() && th_tensor(record->getDecl()->getName()) &&
         record->getDecl()->getDeclContext()->getRedeclContext()->isTranslationUnit();
}

std::optional<std::pair<std::string, int>> cuda_vector(const clang::CXXRecordDecl& record) {
  const clang::SourceManager& sources = record.getASTContext().getSourceManager();
  if (!record.getDeclContext()->isTranslationUnit() || !sources.isInSystemHeader(record.getLocation()))
    return std::nullopt;
  std::string name = record.getNameAsString();
  if (name.size() < 2 || name.back() < '1' || name.back() > '4') return std::nullopt;
  int lanes = name.back() - '0';
  name.pop_back();
  for (const char* base : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong",
                           "ulonglong", "float", "double"})
    if (name == base) return std::pair(name, lanes);
  return std::nullopt;
}

bool in_user_text(const clang::SourceManager& sources, clang::SourceLocation location) {
  location = sources.getExpansionLoc(location);
  if (location.isInvalid()) return false;
  return sources.getFilename(location).starts_with(k_source_dir);
}

std::string qualified_name(const clang::NamedDecl& decl) {
  std::string name = decl.getNameAsString();
  for (const clang::DeclContext* scope = decl.getDeclContext(); scope && !scope->isTranslationUnit();
       scope = scope->getParent()) {
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope)) {
      if (!space->isInline() && !space->isAnonymousNamespace()) name = space->getNameAsString() + "::" + name;
    } else if (const auto* record = llvm::dyn_cast<clang::TagDecl>(scope)) {
      name = record->getNameAsString() + "::" + name;
    }
  }
  return name;
}

std::string exported_name(const clang::FunctionDecl& function) {
  std::string name = qualified_name(function);
  if (const clang::TemplateArgumentList* arguments = function.getTemplateSpecializationArgs()) {
    llvm::raw_string_ostream out(name);
    clang::printTemplateArgumentList(out, arguments->asArray(), people_policy(function.getASTContext()));
  }
  return name;
}

namespace {

/// " = 2": the default argument as the source has it. Empty if a macro made it, or if it is long.
std::string default_text(const clang::ParmVarDecl& parameter) {
  if (!parameter.hasDefaultArg()) return "";
  const clang::ASTContext& context = parameter.getASTContext();
  llvm::StringRef written =
      clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(parameter.getDefaultArgRange()),
                                  context.getSourceManager(), context.getLangOpts());
  written.consume_front("=");  // it belongs to a list in braces
  written = written.ltrim();
  constexpr std::size_t k_longest = 60;
  if (written.empty() || written.size() > k_longest || written.contains('\n')) return "";
  return " = " + written.str();
}

}  // namespace

std::string signature_of(const clang::FunctionDecl& function) {
  clang::PrintingPolicy policy = people_policy(function.getASTContext());
  std::string text = function.getReturnType().getAsString(policy) + " " + exported_name(function) + "(";
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    if (parameter != function.getParamDecl(0)) text += ", ";
    std::string declarator = parameter->getName().str();
    parameter->getType().getAsStringInternal(declarator, policy);
    text += declarator + default_text(*parameter);
  }
  return text + ")";
}

std::string location_of(const clang::SourceManager& sources, clang::SourceLocation location) {
  clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (place.isInvalid()) return "";
  return user_name(place.getFilename()) + ":" + std::to_string(place.getLine());
}

std::string string_literal(llvm::StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += char(c);
    } else if (c < 0x20 || c == 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", c);
      result += octal;
    } else {
      result += char(c);
    }
  }
  return result + "\"";
}

Exports list_exports(clang::ASTContext& context, const ExportChoice& choice) {
  Lister lister(context, choice);
  lister.find_marks(context.getTranslationUnitDecl());
  lister.list();
  return lister.take();
}

}  // namespace tarsia::jit

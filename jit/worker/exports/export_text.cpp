// The text that describes a translation unit's functions.
#include "jit/worker/exports/export_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclTemplate.h"
#include "jit/worker/exports/element_dtype.h"
#include "jit/worker/exports/plain_struct.h"
#include "jit/worker/types/foreign_types.h"
#include "llvm/Support/raw_ostream.h"
#include "tarsia/abi.h"

namespace tarsia::jit {
namespace {

using clang::QualType;

// A type as the numbers of adapter_light.h: kind, flags, dtype; and the member of the value that carries it.
struct Light {
  tarsia_kind kind = TARSIA_KIND_NONE;
  int flags = 0;
  int n_elements = 0, code = 0, bits = 0, lanes = 0;
  const char* member = "p";
  std::string elements = "0";

  std::string text() const {
    return std::to_string(kind) + ", " + std::to_string(flags) + ", " + std::to_string(n_elements) + ", " +
           std::to_string(code) + ", " + std::to_string(bits) + ", " + std::to_string(lanes) + ", " +
           elements;
  }
};

std::optional<Light> element_of(QualType type, const clang::ASTContext& context) {
  const auto dtype = element_dtype(type, context);
  if (!dtype) return std::nullopt;
  Light light;
  light.code = dtype->code;
  light.bits = dtype->bits;
  light.lanes = dtype->lanes;
  return light;
}

// None if the type is beyond the light form.
std::optional<Light> light_of(QualType type, const clang::ASTContext& context, bool is_parameter = true) {
  type = type.getCanonicalType().getUnqualifiedType();
  Light light;
  if (type->isVoidType()) return light;
  if (type->isPointerType()) {
    QualType target = type->getPointeeType();
    if (const auto* record = target->getAsCXXRecordDecl();
        record && qualified_name(*record) == "CUstream_st") {
      light.kind = TARSIA_KIND_STREAM;
      return light;
    }
    if (target->isCharType() && target.isConstQualified() && !target->isUnsignedIntegerType() &&
        context.hasSameUnqualifiedType(target, context.CharTy)) {
      light.kind = TARSIA_KIND_STRING;
      light.flags |= TARSIA_TYPE_NO_NUL;
      light.member = "s";
      return light;
    }
    if (const auto record = is_parameter ? plain_struct(target, context) : std::nullopt) {
      light.kind = TARSIA_KIND_STRUCT;
      light.n_elements = record->bytes;
      light.code = TARSIA_ANY_DTYPE;
      light.lanes = record->alignment;
      if (target.isConstQualified()) light.flags |= TARSIA_TYPE_CONST;
      return light;
    }
    auto element = element_of(target, context);
    if (!element) return std::nullopt;
    light = *element;
    light.kind = TARSIA_KIND_POINTER;
    if (target.isConstQualified()) light.flags |= TARSIA_TYPE_CONST;
    return light;
  }
  if (const auto* named = type->getAs<clang::EnumType>(); named && context.getLangOpts().CPlusPlus)
    type = named->getDecl()->getIntegerType().getCanonicalType();
  auto element = element_of(type, context);
  if (!element || type->isRecordType()) return std::nullopt;
  light = *element;
  light.kind = light.code == TARSIA_BOOL    ? TARSIA_KIND_BOOL
               : light.code == TARSIA_FLOAT ? TARSIA_KIND_FLOAT
                                            : TARSIA_KIND_INT;
  light.member = light.kind == TARSIA_KIND_FLOAT ? "f" : light.code == TARSIA_UINT ? "u" : "i";
  return light;
}

/// Whether a call of `count` arguments could mean another function of the name as well. Of a template, the
/// number of arguments decides.
bool is_shared_call(const clang::FunctionDecl& function, unsigned count) {
  for (const clang::NamedDecl* named :
       function.getDeclContext()->getRedeclContext()->lookup(function.getDeclName())) {
    const clang::NamedDecl* const decl = named->getUnderlyingDecl();
    const auto* const pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl);
    const clang::FunctionDecl* const other = decl->getAsFunction();
    if (!other || other->getCanonicalDecl() == function.getCanonicalDecl() || other->isVariadic() ||
        (pattern && function.getPrimaryTemplate() &&
         pattern->getCanonicalDecl() == function.getPrimaryTemplate()->getCanonicalDecl()))
      continue;
    if (count < other->getMinRequiredArguments() || count > other->getNumParams()) continue;
    bool alike = true;
    for (unsigned i = 0; alike && !pattern && i < count; ++i)
      alike = function.getASTContext().hasSameUnqualifiedType(function.getParamDecl(i)->getType(),
                                                              other->getParamDecl(i)->getType());
    if (alike) return true;
  }
  return false;
}

/// The fewest arguments that name this function alone: with fewer, defaults of two overloads would compete.
unsigned fewest_arguments(const clang::FunctionDecl& function) {
  unsigned fewest = function.getNumParams();
  while (fewest > function.getMinRequiredArguments() && !is_shared_call(function, fewest - 1)) --fewest;
  return fewest;
}

class Writer {
 public:
  Writer(clang::ASTContext& context, bool cuda, int unit = 0, std::vector<std::string>* places = nullptr)
      : m_context(context), m_cuda(cuda), m_unit(unit), m_places(places), m_policy(context.getLangOpts()) {
    m_policy.SuppressTagKeyword = true;
    m_policy.Bool = true;
    m_policy.PrintAsCanonical = true;
  }

  std::string write(const Exports& exports) {
    m_light = true;
    for (const clang::FunctionDecl* function : exports.functions) m_light &= is_light(*function);
    m_out << (m_light ? "#include <tarsia/detail/adapter_light.h>\n"
                      : "#include <tarsia/detail/adapter.h>\n");
    std::set<std::string> adapters;
    for (const clang::FunctionDecl* function : exports.functions)
      add_adapters(canonical(function->getType()), adapters);
    for (const std::string& adapter : adapters) m_out << "#include <" << adapter << ">\n";
    for (const clang::FunctionDecl* function : exports.functions) {
      if (function->isMain())
        add_main(*function);
      else if (m_light)
        add_light(*function);
      else
        add_full(*function);
      ++m_id;
    }
    if (exports.mxnet_initialize)
      m_out << "extern \"C\" int tarsia_mxnet_initialize(int v) { return (int)::"
            << exports.mxnet_initialize->getName() << "(v); }\n"
            << "__attribute__((unused)) static const int tarsia_mxnet_announced = "
               "::mxnet::ext::tarsia_detail::announce();\n";
    for (const Skipped& skipped : exports.skipped)
      m_out << (m_light ? "TARSIA_LIGHT_SKIPPED(" : "TARSIA_DETAIL_SKIPPED(") << m_id++ << ", "
            << string_literal(skipped.name) << ", " << string_literal(skipped.reason) << ")\n";
    if (!m_light) m_out << "TARSIA_DETAIL_MODULE();\n";
    if (!m_places) return m_text;
    std::string declared;
    for (size_t i = 0; i < m_places->size(); ++i)
      declared += "extern \"C\" __attribute__((visibility(\"hidden\"))) const char " +
                  place_symbol(m_unit, i) + "[];\n";
    return declared + m_text;
  }

  std::string write_c(const Exports& exports) {
    std::set<std::string> adapters;
    for (const clang::FunctionDecl* function : exports.functions)
      add_adapters(canonical(function->getType()), adapters);
    if (!adapters.empty()) m_out << "#include <tarsia/detail/adapter.h>\n";
    for (const std::string& adapter : adapters) m_out << "#include <" << adapter << ">\n";
    m_out << "#include <tarsia/detail/adapter_light.h>\n";
    auto skip = [&](const Skipped& skipped) {
      m_out << "TARSIA_LIGHT_SKIPPED(" << m_id++ << ", " << string_literal(skipped.name) << ", "
            << string_literal(skipped.reason) << ")\n";
    };
    for (const clang::FunctionDecl* function : exports.functions) {
      if (function->isMain()) continue;
      const bool light = is_light(*function);
      if (!light && !has_th_tensor(*function)) {
        skip({exported_name(*function), "its type needs C++ to be described"});
        continue;
      }
      m_out << "extern \"C\" " << canonical(function->getReturnType()) << " " << function->getName() << "(";
      for (const clang::ParmVarDecl* parameter : function->parameters())
        m_out << (parameter == function->getParamDecl(0) ? "" : ", ") << written(parameter->getType());
      m_out << ");\n";
      if (light)
        add_light(*function);
      else
        add_full(*function);
      ++m_id;
    }
    for (const Skipped& skipped : exports.skipped) skip(skipped);
    return m_text;
  }

 private:
  bool has_th_tensor(const clang::FunctionDecl& function) const {
    const auto is_one = [](QualType type) {
      return type->isPointerType() && is_th_tensor(type->getPointeeType());
    };
    return is_one(function.getReturnType()) ||
           std::ranges::any_of(function.parameters(), [&](const clang::ParmVarDecl* parameter) {
             return is_one(parameter->getType());
           });
  }
  bool is_light(const clang::FunctionDecl& function) const {
    if (function.isMain()) return true;
    if (!light_of(function.getReturnType(), m_context, false)) return false;
    if (light_of(function.getReturnType(), m_context, false)->kind == TARSIA_KIND_STRING) return false;
    for (const clang::ParmVarDecl* parameter : function.parameters())
      if (!light_of(parameter->getType(), m_context)) return false;
    return true;
  }

  // Describes what the structs consist of that a function takes, before the function.
  void add_fields(const clang::FunctionDecl& function) {
    for (const clang::ParmVarDecl* parameter : function.parameters()) add_fields(parameter->getType());
  }
  void add_fields(QualType type) {
    type = type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
    if (type->isPointerType()) return add_fields(type->getPointeeType());
    if (const auto* record = type->getAsCXXRecordDecl())
      if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record))
        for (const clang::TemplateArgument& argument : special->getTemplateArgs().asArray())
          if (argument.getKind() == clang::TemplateArgument::Type) add_fields(argument.getAsType());
    if (!plain_struct(type, m_context) || !m_described.emplace(canonical(type), "").second) return;
    const auto fields = fields_of(type, m_context);
    if (!fields) return;
    std::string rows;
    for (const StructField& field : *fields) {
      const int kind = field.code == TARSIA_BOOL                               ? TARSIA_KIND_BOOL
                       : field.code == TARSIA_INT || field.code == TARSIA_UINT ? TARSIA_KIND_INT
                                                                               : TARSIA_KIND_FLOAT;
      rows += "{" + std::to_string(kind) + ", 0, " + std::to_string(field.offset) + (m_light ? ", " : ", {") +
              std::to_string(field.code) + ", " + std::to_string(field.bits) + ", " +
              std::to_string(field.count) + (m_light ? "" : "}") + ", 0}, ";
    }
    if (m_light) {
      std::string& name = m_described[canonical(type)];
      name = "tarsia_fields_" + std::to_string(m_unit) + "_" + std::to_string(m_described.size());
      m_out << "static const tarsia_light_type " << name << "[] = {" << rows << "{}};\n";
    } else {
      m_out << "template <> struct tarsia::detail::struct_fields<" << canonical(type)
            << "> { static constexpr tarsia_type value[] = {" << rows << "{}}; };\n";
    }
  }
  std::string canonical(QualType type) const { return type.getCanonicalType().getAsString(m_policy); }
  // A parameter's type as the text names it, which does not have C's structs.
  std::string written(QualType type) const {
    type = type.getCanonicalType().getUnqualifiedType();
    if (!m_context.getLangOpts().CPlusPlus && type->isPointerType() &&
        plain_struct(type->getPointeeType(), m_context))
      return type->getPointeeType().isConstQualified() ? "const void *" : "void *";
    return canonical(type);
  }
  // The expression in the text for a function's "file:line".
  std::string place(const clang::FunctionDecl& function) {
    std::string place = location_of(m_context.getSourceManager(), function.getLocation());
    if (!m_places) return string_literal(place);
    m_places->push_back(std::move(place));
    return place_symbol(m_unit, m_places->size() - 1);
  }
  const char* flags() const { return m_cuda ? "1" : "0"; }  // TARSIA_FUNCTION_SOURCE_HAS_CUDA

  void add_main(const clang::FunctionDecl& function) {
    // main itself may not be named in C++; it was given this symbol.
    std::string parameters;
    for (const clang::ParmVarDecl* parameter : function.parameters())
      parameters += (parameters.empty() ? "" : ", ") + canonical(parameter->getType());
    std::string result = canonical(function.getReturnType());
    unsigned n = function.getNumParams();
    m_out << "extern \"C\" " << result << " " << k_main_symbol << "(" << parameters << ");\n"
          << "extern \"C\" int tarsia_run_main(int (*)(int, char**, char**), const void*, unsigned);\n"
          << "static int tarsia_main_" << m_id << "(int n, char** v, char** e) { (void)n; (void)v; (void)e; "
          << (function.getReturnType()->isVoidType() ? "" : "return ") << "::" << k_main_symbol << "("
          << (n > 0 ? "n" : "");
    for (unsigned i = 1; i < n && i < 3; ++i)
      m_out << ", (" << canonical(function.getParamDecl(i)->getType()) << ")" << (i == 1 ? "v" : "e");
    m_out << ");" << (function.getReturnType()->isVoidType() ? " return 0;" : "") << " }\n";
    const char* prefix = m_light ? "tarsia_light_" : "tarsia_";
    m_out << "static int tarsia_call_" << m_id << "(const " << prefix << "value* a, unsigned, " << prefix
          << "value* r) {\n"
          << (m_light ? "TARSIA_LIGHT_TRY\n" : "try {\n") << "r->i = tarsia_run_main(&tarsia_main_" << m_id
          << ", a[0].p, a[0].size);\nr->kind = " << TARSIA_KIND_INT << ";\n"
          << (m_light
                  ? "TARSIA_LIGHT_CATCH\n}\n"
                  : "return 0;\n} catch (...) { return ::tarsia::detail::host()->capture_exception(); }\n}\n")
          << "static const " << prefix << "type tarsia_strings_" << m_id << " = {" << TARSIA_KIND_STRING
          << "};\n"
          << "static const " << prefix << "param tarsia_params_" << m_id << "[] = {{\"argv\", {"
          << TARSIA_KIND_LIST << ", 0, 1, " << (m_light ? "0, 0, 0" : "{0, 0, 0}") << ", &tarsia_strings_"
          << m_id << "}}, {}};\n";
    int own_flags = TARSIA_FUNCTION_MAIN | (m_cuda ? TARSIA_FUNCTION_SOURCE_HAS_CUDA : 0);
    if (m_light)
      m_out << "TARSIA_LIGHT_EXPORT(" << m_id << ", \"main\", " << string_literal(signature_of(function))
            << ", " << place(function) << ", 1, 1, " << own_flags
            << ", TARSIA_LIGHT_TYPE(2, 0, 0, 0, 32, 1, 0))\n";
    else
      m_out << "static const tarsia_function tarsia_function_" << m_id << " = {sizeof(tarsia_function), "
            << own_flags << ", \"main\", " << string_literal(signature_of(function)) << ", "
            << place(function) << ", 1, 1, tarsia_params_" << m_id
            << ", {2, 0, 0, {0, 32, 1}, 0}, &tarsia_call_" << m_id
            << "};\nTARSIA_DETAIL_SECTION(\"tarsia_functions\") static const tarsia_function* "
               "tarsia_function_entry_"
            << m_id << " = &tarsia_function_" << m_id << ";\n";
  }

  void add_full(const clang::FunctionDecl& function) {
    if (m_context.getLangOpts().CPlusPlus) add_fields(function);
    m_out << "using tarsia_type_" << m_id << " = " << canonical(function.getReturnType()) << "(";
    for (const clang::ParmVarDecl* parameter : function.parameters())
      m_out << (parameter == function.getParamDecl(0) ? "" : ", ") << canonical(parameter->getType());
    std::string name = "::" + exported_name(function);
    if (name.find(',') != name.npos) name = "(" + name + ")";  // in an argument of a macro
    m_out << ");\nTARSIA_DETAIL_EXPORT(" << m_id << ", " << string_literal(exported_name(function)) << ", "
          << string_literal(signature_of(function)) << ", " << place(function) << ", tarsia_type_" << m_id
          << ", " << name << ", " << fewest_arguments(function) << ", " << flags();
    for (const clang::ParmVarDecl* parameter : function.parameters())
      m_out << ", " << string_literal(parameter->getName());
    m_out << ")\n";
  }

  void add_light(const clang::FunctionDecl& function) {
    Light result = light_of(function.getReturnType(), m_context, false).value_or(Light());
    unsigned n = function.getNumParams(), required = fewest_arguments(function);
    int own_flags = m_cuda ? TARSIA_FUNCTION_SOURCE_HAS_CUDA : 0;
    m_out
        << "TARSIA_LIGHT_PLAIN static int tarsia_call_" << m_id
        << "(const tarsia_light_value* a, unsigned n, tarsia_light_value* r) {\n(void)a; (void)n; (void)r;\n"
           "TARSIA_LIGHT_TRY\n";
    for (unsigned count = required; count <= n; ++count) {
      if (count < n) m_out << "if (n == " << count << ") ";
      if (result.kind) m_out << "r->" << result.member << " = ";
      if (function.getReturnType()->isEnumeralType()) m_out << "(long long)";
      m_out << (count == n && is_shared_call(function, n) ? exactly(function)
                                                          : "::" + exported_name(function))
            << "(";
      for (unsigned i = 0; i < count; ++i) {
        QualType type = function.getParamDecl(i)->getType();
        m_out << (i ? ", " : "") << "(" << written(type) << ")a[" << i << "]."
              << light_of(type, m_context)->member;
      }
      m_out << (count < n ? "); else\n" : ");\n");
    }
    m_out << "r->kind = " << result.kind << ";\nTARSIA_LIGHT_CATCH\n}\n";
    add_params(function, own_flags);
    m_out << "TARSIA_LIGHT_EXPORT(" << m_id << ", " << string_literal(exported_name(function)) << ", "
          << string_literal(signature_of(function)) << ", " << place(function) << ", " << n << ", "
          << required << ", " << own_flags << ", TARSIA_LIGHT_TYPE(" << result.text() << "))\n";
  }

  // The function by its type, where its name and its arguments could mean another as well.
  std::string exactly(const clang::FunctionDecl& function) const {
    std::string text = "static_cast<" + canonical(function.getReturnType()) + " (*)(";
    for (const clang::ParmVarDecl* parameter : function.parameters())
      text += (parameter == function.getParamDecl(0) ? "" : ", ") + canonical(parameter->getType());
    return text + ")>(::" + exported_name(function) + ")";
  }

  void add_params(const clang::FunctionDecl& function, int& own_flags) {
    add_fields(function);
    m_out << "static const tarsia_light_param tarsia_params_" << m_id << "[] = {";
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      Light light = light_of(parameter->getType(), m_context).value_or(Light());
      if (light.kind == TARSIA_KIND_STRUCT)
        if (const std::string& fields =
                m_described[canonical(parameter->getType()->getPointeeType().getUnqualifiedType())];
            !fields.empty())
          light.elements = fields;
      if (light.kind == TARSIA_KIND_STREAM) own_flags |= TARSIA_FUNCTION_TAKES_STREAM;
      m_out << "{" << string_literal(parameter->getName()) << ", {" << light.text() << "}}, ";
    }
    m_out << "{}};\n";
  }

  clang::ASTContext& m_context;
  bool m_cuda;
  int m_unit;
  std::vector<std::string>* m_places;  // null: they are written into the text
  clang::PrintingPolicy m_policy;
  bool m_light = true;
  std::map<std::string, std::string> m_described;  // structs, and what their fields are called
  int m_id = 0;
  std::string m_text;
  llvm::raw_string_ostream m_out{m_text};
};

}  // namespace

std::string place_symbol(int unit, size_t i) {
  return "tarsia_place_" + std::to_string(unit) + "_" + std::to_string(i);
}

std::string export_text(const Exports& exports, clang::ASTContext& context, bool cuda, int unit,
                        std::vector<std::string>* places) {
  return Writer(context, cuda, unit, places).write(exports);
}

std::string export_text_of_c(const Exports& exports, clang::ASTContext& context, bool cuda) {
  if (exports.functions.empty() && exports.skipped.empty()) return {};
  return Writer(context, cuda).write_c(exports);
}

}  // namespace tarsia::jit

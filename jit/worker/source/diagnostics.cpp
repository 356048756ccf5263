// Clang's diagnostics as ours.
#include "jit/worker/source/diagnostics.h"

#include <algorithm>

#include "clang/AST/ASTDiagnostic.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/DiagnosticFrontend.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticParse.h"
#include "clang/Basic/DiagnosticSema.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/LexDiagnostic.h"
#include "jit/worker/source/missing_names.h"
#include "jit/worker/source/names/near_members.h"
#include "jit/worker/source/names/newcomers.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"

namespace tarsia::jit {

std::string user_name(llvm::StringRef path) {
  std::string prefix = std::string(k_source_dir) + "/";
  if (path.starts_with(prefix)) return path.drop_front(prefix.size()).str();
  return path.str();
}

namespace {

// A message repeats the name that it is about, however long that is.
void shorten(std::string& message) {
  constexpr std::size_t k_most = 8000, k_kept = 1000;
  if (message.size() <= k_most) return;
  const auto is_inner = [&](std::size_t at) { return (message[at] & 0xC0) == 0x80; };  // of a UTF-8 character
  std::size_t begin = k_kept, end = message.size() - k_kept;
  while (begin > 0 && is_inner(begin)) --begin;
  while (end < message.size() && is_inner(end)) ++end;
  message.replace(begin, end - begin, "…");
}

/// The remedy for a header that was not found.
std::string missing_header_remedy(llvm::StringRef name, bool system_headers, const HeaderRemedy& known) {
  std::string remedy = "; give its folder in include_dirs or its text in headers";
  if (name.starts_with("../"))
    return "; such a name leads from a file on disk, which a source string is not: give a folder that holds "
           "both "
           "in include_dirs, or compile the file by its path, as tarsia.load does";
  if (name.starts_with("/")) return remedy;
  if (!system_headers) {
    if (std::string lacking = lacking_header_remedy(name, system_headers); !lacking.empty())
      return ", " + lacking;
    if (std::string newcomers = newcomer_header_remedy(name); !newcomers.empty()) return newcomers;
  }
  const std::string found = known ? known(name) : std::string();
  return found.empty() ? remedy : found;
}

/// The remedy, from the error's text, for a std template of which only the declaration was read. Empty if
/// the text does not name the template. `is_std`: the declaration is Tarsia's own, so it needs no std:: in
/// front.
std::string missing_definition_remedy(llvm::StringRef error, bool is_std) {
  llvm::StringRef name = error.split('\'').second.take_until([](char c) { return c == '\'' || c == '<'; });
  if (!name.consume_front("std::") && !is_std) return {};
  // Of what has no size, no header defines them: std::tuple_size<int>.
  if (name == "tuple_size" || name == "tuple_element") {
    name = error.split('<').second;
    name.consume_front("const ");
    name = name.consume_front("std::") ? name.take_until([](char c) { return c == '<'; }) : "";
  }
  const llvm::StringRef header =
      llvm::StringSwitch<llvm::StringRef>(name)
          .Cases({"basic_string", "char_traits"}, "string")
          .Case("basic_string_view", "string_view")
          .Case("pair", "utility")
          .Cases({"basic_istringstream", "basic_ostringstream", "basic_stringstream"}, "sstream")
          .Cases({"basic_ifstream", "basic_ofstream", "basic_fstream"}, "fstream")
          .Case("basic_ostream", "ostream")
          .Cases({"basic_istream", "basic_iostream"}, "istream")
          .Case("pmr::polymorphic_allocator", "memory_resource")
          .Cases({"vector", "optional", "tuple", "array", "complex", "span", "valarray"}, name)
          .Default("");
  return header.empty() ? std::string() : "; #include <" + header.str() + ">, where it is defined";
}

/// The text from a place on.
llvm::StringRef text_at(const clang::SourceManager& sources, clang::SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedSpellingLoc(location);
  bool invalid = false;
  const llvm::StringRef text = sources.getBufferData(file, &invalid);
  return invalid ? llvm::StringRef() : text.substr(offset);
}

/// The text of the file that holds a place, or its use of a macro.
llvm::StringRef whole_text(const clang::SourceManager& sources, clang::SourceLocation location) {
  bool invalid = false;
  const llvm::StringRef text =
      sources.getBufferData(sources.getFileID(sources.getExpansionLoc(location)), &invalid);
  return invalid ? llvm::StringRef() : text;
}

// Whether it is a note that a reference to an unknown object made a constant expression fail: see
// jit/worker/host/allowances.h.
bool blames_unknown_reference(const clang::Diagnostic& info) {
  if (info.getID() == clang::diag::note_constexpr_function_param_value_unknown) return true;
  if (info.getID() != clang::diag::note_constexpr_var_init_non_constant || info.getNumArgs() == 0 ||
      info.getArgKind(0) != clang::DiagnosticsEngine::ak_nameddecl)
    return false;
  const auto* named = reinterpret_cast<const clang::NamedDecl*>(info.getRawArg(0));
  const auto* variable = llvm::dyn_cast_or_null<clang::ValueDecl>(named);
  return variable && variable->getType()->isReferenceType();
}

// Whether it is the error of a function template that is declared without `static`, and then with it.
bool blames_static_template(const clang::Diagnostic& info) {
  if (info.getID() != clang::diag::err_static_non_static || info.getNumArgs() == 0 ||
      info.getArgKind(0) != clang::DiagnosticsEngine::ak_nameddecl)
    return false;
  const auto* named = reinterpret_cast<const clang::NamedDecl*>(info.getRawArg(0));
  return named->isTemplated() || llvm::isa<clang::FunctionTemplateDecl>(named);
}

}  // namespace

DiagnosticCollector::DiagnosticCollector(std::string main_file, llvm::StringRef main_text,
                                         bool system_headers)
    : m_system_headers(system_headers) {
  set_main_text(std::move(main_file), main_text);
}

// Which methods an abstract class lacks stands in notes, at headers; the error is what people read.
void DiagnosticCollector::tell_missing_method(llvm::StringRef note) {
  const std::string method = note.split('\'').second.take_until([](char c) { return c == '\''; }).str();
  for (auto error = m_diagnostics.rbegin(); error != m_diagnostics.rend(); ++error) {
    if (error->severity != Severity::error) continue;
    constexpr llvm::StringRef k_remedy = "; write what it is to override: ";
    const bool is_first = !llvm::StringRef(error->message).contains(k_remedy);
    error->message += (is_first ? k_remedy.str() : ", ") + "'" + method + "'";
    return;
  }
}

void DiagnosticCollector::set_main_text(std::string main_file, llvm::StringRef main_text) {
  m_main_file = std::move(main_file);
  const llvm::StringRef text = main_text.rtrim();
  m_last_line = int(text.count('\n')) + 1;
  m_last_column = int(text.size() - (text.rfind('\n') + 1)) + 1;
}

// `x.f<3>(y)` of a type that depends on a template's parameters: nvcc's parser sees a template wherever f
// turns out to be one. Clang takes the bracket for "less than", and says so in several ways.
void DiagnosticCollector::note_missing_template(const clang::Diagnostic& info) {
  const unsigned id = info.getID();
  if (id != clang::diag::err_template_kw_missing &&
      id != clang::diag::err_missing_dependent_template_keyword &&
      id != clang::diag::err_bound_member_function && id != clang::diag::err_ovl_unresolvable)
    return;
  if (info.getLocation().isInvalid() || !info.hasSourceManager()) return;
  const clang::SourceManager& sources = info.getSourceManager();
  const auto [file, offset] = sources.getDecomposedSpellingLoc(info.getLocation());
  const auto entry = sources.getFileEntryRefForID(file);
  const llvm::StringRef text = sources.getBufferData(file);
  const llvm::StringRef before = text.take_front(offset).rtrim();
  const llvm::StringRef behind =
      text.drop_front(offset).drop_while([](char c) { return clang::isAsciiIdentifierContinue(c); });
  const bool is_member = before.ends_with(".") || before.ends_with("->") || before.ends_with("::");
  if (entry && is_member && behind.ltrim().starts_with("<"))
    m_missing_words[entry->getName().str()].emplace(offset, "template ");
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                           const clang::Diagnostic& info) {
  using Level = clang::DiagnosticsEngine::Level;
  if (level == Level::Error) note_missing_template(info);
  if (level == Level::Error && m_elsewhere && m_elsewhere()) {
    m_passed_over = true;
    m_follow = false;
    return;
  }
  // sizeof(T::type): nvcc's parser takes it for a value, and then for the type that it finds. So does Clang
  // where it says how to write it; elsewhere it has no code.
  if (level == Level::Remark && info.getID() == clang::diag::err_typename_missing) {
    m_follow = false;
    if (info.getNumFixItHints() != 0) return;
    level = Level::Error;
    const clang::SourceManager& sources = info.getSourceManager();
    const auto [file, offset] = sources.getDecomposedSpellingLoc(info.getLocation());
    if (const auto entry = sources.getFileEntryRefForID(file))
      m_missing_words[entry->getName().str()].emplace(offset, "typename ");
  }
  clang::DiagnosticConsumer::HandleDiagnostic(level, info);
  if (level == Level::Ignored || level == Level::Remark) return;
  if (level == Level::Note && !m_follow) return;
  m_needs.unknown_references |= !m_has.unknown_references && blames_unknown_reference(info);
  m_needs.static_templates |= !m_has.static_templates && blames_static_template(info);
  if (info.getID() == clang::diag::warn_pragma_omp_ignored) {
    m_met_openmp = true;
    m_follow = false;
    return;
  }

  Diagnostic diagnostic;
  diagnostic.severity = level == Level::Note      ? Severity::note
                        : level == Level::Warning ? Severity::warning
                        : level == Level::Error   ? Severity::error
                                                  : Severity::fatal;
  llvm::SmallString<256> text;
  info.FormatDiagnostic(text);
  diagnostic.message = std::string(text);
  shorten(diagnostic.message);
  // <mobula_op.h> in a file on disk asks for OpenMP as a pragma does.
  if (info.getID() == clang::diag::pp_hash_warning &&
      text.str().contains("kernels of mobula_op.h run on one thread")) {
    m_met_openmp = true;
    m_follow = false;
    return;
  }
  if (info.getID() == clang::diag::err_pp_file_not_found)
    diagnostic.message += missing_header_remedy(text.str().split('\'').second.rsplit('\'').first,
                                                m_system_headers, m_header_remedy);
  if (info.getID() == clang::diag::err_pp_include_too_deep)
    diagnostic.message +=
        "; a header that includes itself begins with #pragma once, or guards itself by a macro";
  if (text.str().starts_with("too few execution configuration arguments"))
    diagnostic.message = "a kernel launch needs a grid and a block: write k<<<grid, block>>>(...)";
  if (text.str().starts_with("kernel launch from __device__ or __global__ function"))
    diagnostic.message = k_no_device_runtime;
  if (info.getID() == clang::diag::err_variable_object_no_init)
    diagnostic.message += ", as g++ lets it be: declare it without an initializer, and fill it behind that";
  if (info.getID() == clang::diag::err_ovl_ambiguous_oper_binary)
    diagnostic.message += "; g++ may warn of it alone: cast an operand to the type that is meant";
  if (info.getID() == clang::diag::err_function_needs_feature ||
      info.getID() == clang::diag::err_builtin_needs_feature)
    diagnostic.message +=
        "; compile for a CPU that has it, as in march='x86-64-v3', or put "
        "__attribute__((target(\"...\"))) with the feature on the function that uses it";
  clang::DiagnosticIDs& ids = *info.getDiags()->getDiagnosticIDs();
  const bool made_error = level == Level::Error && !ids.isDefaultMappingAsError(info.getID());
  if (level == Level::Warning || made_error) {
    // The name by which the user looks it up, or turns it off with a pragma.
    const llvm::StringRef flag = ids.getWarningOptionForDiag(info.getID());
    if (!flag.empty()) diagnostic.message += (made_error ? " [-Werror,-W" : " [-W") + flag.str() + "]";
  }
  if (info.getLocation().isValid() && info.hasSourceManager()) {
    const clang::SourceManager& sources = info.getSourceManager();
    if (level == Level::Error) {
      const Compiled how{.is_c = llvm::StringRef(m_main_file).ends_with(".c"),
                         .system_headers = m_system_headers,
                         .standard = m_standard};
      const llvm::StringRef place = text_at(sources, info.getLocation());
      const llvm::StringRef whole = whole_text(sources, info.getLocation());
      std::string remedy = missing_name_remedy(diagnostic.message, place, how, whole);
      m_refuted = remedy.empty() ? std::string() : misleading_guess(diagnostic.message, whole).str();
      if (!m_refuted.empty())
        diagnostic.message.resize(diagnostic.message.find("; did you mean '" + m_refuted + "'"));
      if (remedy.empty() && !how.is_c) remedy = newer_language_remedy(diagnostic.message, place, m_standard);
      if (remedy.empty()) remedy = near_member_remedy(info);
      diagnostic.message += remedy;
    }
    clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(info.getLocation()));
    if (place.isValid()) {
      diagnostic.file = user_name(place.getFilename());
      diagnostic.line = int(place.getLine());
      diagnostic.column = int(place.getColumn());
      if (diagnostic.file == m_main_file && diagnostic.line > m_last_line) {
        diagnostic.line = m_last_line;
        diagnostic.column = m_last_column;
      }
    }
  }
  // Where that lies which Clang offers for the name is of no use either.
  if (level == Level::Note && !m_refuted.empty() && diagnostic.message == "'" + m_refuted + "' declared here")
    return;
  if (level == Level::Note && diagnostic.message == "'__cudaPushCallConfiguration' declared here") return;
  if (info.getID() == clang::diag::note_pure_virtual_function) tell_missing_method(text.str());
  // A macro that stands before the includes: the note would show the prelude's copy of it.
  if (level == Level::Note && llvm::StringRef(diagnostic.file).starts_with("/tarsia/prelude")) return;
  if (level == Level::Note && diagnostic.message == "template is declared here") {
    const auto error = std::find_if(m_diagnostics.rbegin(), m_diagnostics.rend(),
                                    [](const Diagnostic& one) { return one.severity != Severity::note; });
    if (error != m_diagnostics.rend() && error->severity == Severity::error &&
        !llvm::StringRef(error->message).contains("std=\"") &&
        !llvm::StringRef(error->message).contains("; #include <"))
      error->message += missing_definition_remedy(
          error->message, llvm::StringRef(diagnostic.file).ends_with("tarsia/detail/std_declared.h"));
  }
  // Warnings about code of others would only distract the user.
  m_follow = level != Level::Warning ||
             (!llvm::StringRef(diagnostic.file).starts_with("/tarsia/") && !diagnostic.file.empty());
  if (m_follow || level == Level::Note) m_diagnostics.push_back(std::move(diagnostic));
}

}  // namespace tarsia::jit

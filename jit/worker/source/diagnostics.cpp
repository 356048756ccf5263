// Clang's diagnostics as ours.
#include "jit/worker/source/diagnostics.h"

#include "clang/Basic/SourceManager.h"
#include "clang/Lex/LexDiagnostic.h"
#include "jit/worker/source/source_fs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"

namespace tarsia::jit {

std::string user_name(llvm::StringRef path) {
  std::string prefix = std::string(k_source_dir) + "/";
  if (path.starts_with(prefix)) return path.drop_front(prefix.size()).str();
  return path.str();
}

namespace {

/// What to do about a header that was looked for in vain.
std::string missing_header_remedy(llvm::StringRef name, bool system_headers) {
  std::string remedy = "; give its folder in include_dirs or its text in headers";
  if (system_headers || name.starts_with("/")) return remedy;
  for (const char* dir : {"/usr/local/include/", "/usr/include/x86_64-linux-gnu/", "/usr/include/"})
    if (llvm::sys::fs::exists(dir + name))
      return remedy + ", or take this machine's headers, where it is in " +
             llvm::StringRef(dir).drop_back().str() + ", with host_headers=\"system\"";
  return remedy;
}

/// What to do about a std template of which only the declaration was read, from the error's text; empty if
/// the template is not told. `is_std`: the declaration is Tarsia's own, so that it needs no std:: in front.
std::string missing_definition_remedy(llvm::StringRef error, bool is_std) {
  llvm::StringRef name = error.split('\'').second.take_until([](char c) { return c == '\'' || c == '<'; });
  if (!name.consume_front("std::") && !is_std) return {};
  const llvm::StringRef header = llvm::StringSwitch<llvm::StringRef>(name)
                                     .Case("basic_string", "string")
                                     .Case("basic_string_view", "string_view")
                                     .Case("pair", "utility")
                                     .Cases({"basic_istringstream", "basic_ostringstream"}, "sstream")
                                     .Cases({"vector", "optional", "tuple", "array"}, name)
                                     .Default("");
  return header.empty() ? std::string() : "; #include <" + header.str() + ">, where it is defined";
}

}  // namespace

DiagnosticCollector::DiagnosticCollector(std::string main_file, llvm::StringRef main_text,
                                         bool system_headers)
    : m_main_file(std::move(main_file)), m_system_headers(system_headers) {
  const llvm::StringRef text = main_text.rtrim();
  m_last_line = int(text.count('\n')) + 1;
  m_last_column = int(text.size() - (text.rfind('\n') + 1)) + 1;
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                           const clang::Diagnostic& info) {
  clang::DiagnosticConsumer::HandleDiagnostic(level, info);
  using Level = clang::DiagnosticsEngine::Level;
  if (level == Level::Ignored || level == Level::Remark) return;
  if (level == Level::Note && !m_follow) return;

  Diagnostic diagnostic;
  diagnostic.severity = level == Level::Note      ? Severity::note
                        : level == Level::Warning ? Severity::warning
                        : level == Level::Error   ? Severity::error
                                                  : Severity::fatal;
  llvm::SmallString<256> text;
  info.FormatDiagnostic(text);
  diagnostic.message = std::string(text);
  if (info.getID() == clang::diag::err_pp_file_not_found)
    diagnostic.message +=
        missing_header_remedy(text.str().split('\'').second.rsplit('\'').first, m_system_headers);
  if (info.getLocation().isValid() && info.hasSourceManager()) {
    const clang::SourceManager& sources = info.getSourceManager();
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
  if (level == Level::Note && diagnostic.message == "template is declared here" && !m_diagnostics.empty() &&
      m_diagnostics.back().severity == Severity::error)
    m_diagnostics.back().message +=
        missing_definition_remedy(m_diagnostics.back().message,
                                  llvm::StringRef(diagnostic.file).ends_with("tarsia/detail/std_declared.h"));
  // Warnings about code that is not the user's would only be in the way.
  m_follow = level != Level::Warning ||
             (!llvm::StringRef(diagnostic.file).starts_with("/tarsia/") && !diagnostic.file.empty());
  if (m_follow || level == Level::Note) m_diagnostics.push_back(std::move(diagnostic));
}

}  // namespace tarsia::jit

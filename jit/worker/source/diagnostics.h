// Clang's diagnostics as ours: the user's file names, lines and columns.
#pragma once

#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "jit/compile.h"

namespace tarsia::jit {

/// The user's name of a virtual path ("/tarsia/src/a.cu" → "a.cu"); other paths as they are.
std::string user_name(llvm::StringRef path);

/// Collects what Clang reports. What lies behind `main_text`, to which Tarsia appends, is reported at its
/// end. A header that is not found is reported with the options that help.
class DiagnosticCollector final : public clang::DiagnosticConsumer {
 public:
  DiagnosticCollector(std::string main_file, llvm::StringRef main_text, bool system_headers);
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;
  std::vector<Diagnostic> take() { return std::move(m_diagnostics); }

 private:
  std::string m_main_file;
  bool m_system_headers;
  int m_last_line, m_last_column;  // just behind the text
  bool m_follow = false;           // whether notes belong to a diagnostic that was kept
  std::vector<Diagnostic> m_diagnostics;
};

}  // namespace tarsia::jit

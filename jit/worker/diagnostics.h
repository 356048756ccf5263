// Clang's diagnostics as ours: the user's file names, lines and columns.
#pragma once

#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "jit/compile.h"

namespace tarsia::jit {

/// The user's name of a virtual path ("/tarsia/src/a.cu" → "a.cu"); other paths as they are.
std::string user_name(llvm::StringRef path);

/// Collects what Clang reports. `main_lines` bounds lines of the main file, to whose end Tarsia appends.
class DiagnosticCollector final : public clang::DiagnosticConsumer {
 public:
  DiagnosticCollector(std::string main_file, int main_lines)
      : m_main_file(std::move(main_file)), m_main_lines(main_lines) {}
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;
  std::vector<Diagnostic> take() { return std::move(m_diagnostics); }

 private:
  std::string m_main_file;
  int m_main_lines;
  bool m_follow = false;  // whether notes belong to a diagnostic that was kept
  std::vector<Diagnostic> m_diagnostics;
};

}  // namespace tarsia::jit

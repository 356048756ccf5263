// Clang's diagnostics as ours: the user's file names, lines and columns.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/LangOptions.h"
#include "jit/compile.h"

namespace tarsia::jit {

/// The user's name of a virtual path ("/tarsia/src/a.cu" → "a.cu"); other paths as they are.
std::string user_name(llvm::StringRef path);

/// The remedy for a header that was not found, from "; " on; or empty.
using HeaderRemedy = std::function<std::string(llvm::StringRef name)>;

/// What a text needs that Clang does not take at first: see jit/worker/host/allowances.h.
struct Allowances {
  bool unknown_references = false;  ///< constant expressions may name references to unknown objects
  bool static_templates = false;    ///< `static` may follow a function template's declaration without it

  bool any() const { return unknown_references || static_templates; }
};

/// What is told of a kernel that launches a kernel.
inline constexpr char k_no_device_runtime[] =
    "a kernel launches a kernel (dynamic parallelism), for which Tarsia has no device runtime: launch it "
    "from a "
    "host function";

/// Collects Clang's reports. Tarsia appends to `main_text`; a report about a place behind the user's text
/// is placed at its end. A report of a missing header names the options that help.
class DiagnosticCollector final : public clang::DiagnosticConsumer {
 public:
  DiagnosticCollector(std::string main_file, llvm::StringRef main_text, bool system_headers);
  /// The main text has changed behind what was read so far, and so may have its file's name.
  void set_main_text(std::string main_file, llvm::StringRef main_text);
  void BeginSourceFile(const clang::LangOptions& options, const clang::Preprocessor*) override {
    m_has = {.unknown_references = options.CPlusPlus23 != 0, .static_templates = options.MicrosoftExt != 0};
    m_standard = options.CPlusPlus23   ? 23
                 : options.CPlusPlus20 ? 20
                 : options.CPlusPlus17 ? 17
                 : options.CPlusPlus14 ? 14
                                       : 11;
  }
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;
  const std::vector<Diagnostic>& so_far() const { return m_diagnostics; }
  std::vector<Diagnostic> take() { return std::move(m_diagnostics); }
  /// Errors are passed over while this holds: where text is parsed for another compiler, which judges it.
  void pass_over_where(std::function<bool()> elsewhere) { m_elsewhere = std::move(elsewhere); }
  /// Asked about headers that were not found.
  void find_header_remedies(HeaderRemedy remedy) { m_header_remedy = std::move(remedy); }
  /// Whether there was no error but those that were passed over, and there were some.
  bool passed_over_all() const { return m_passed_over && getNumErrors() == 0; }
  /// A pragma of OpenMP's was met while OpenMP is off.
  bool met_openmp() const { return m_met_openmp; }
  /// Where nvcc does without `typename` or `template`, and Clang does not: the words by file, and by the
  /// place in what was served.
  const std::map<std::string, std::map<size_t, std::string>>& missing_words() const {
    return m_missing_words;
  }
  /// An error would not be one with these.
  const Allowances& needs() const { return m_needs; }

 private:
  void tell_missing_method(llvm::StringRef note);
  std::string m_main_file;
  bool m_system_headers;
  int m_standard = 23;             // of C++
  int m_last_line, m_last_column;  // just behind the text
  std::function<bool()> m_elsewhere;
  HeaderRemedy m_header_remedy;
  void note_missing_template(const clang::Diagnostic& info);
  std::map<std::string, std::map<size_t, std::string>> m_missing_words;
  bool m_passed_over = false;
  bool m_met_openmp = false;
  Allowances m_has, m_needs;
  bool m_follow = false;  // whether notes belong to a diagnostic that was kept
  std::string m_refuted;  // Clang's guess at a name, where a known one is meant; of the last error
  std::vector<Diagnostic> m_diagnostics;
};

}  // namespace tarsia::jit

// Ends the compiler as its debugging pragmas ask, ignores nvcc's pragmas, and tells of Tarsia's own.
#include "jit/worker/host/pragmas.h"

#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "jit/worker/cell/cell_items.h"
#include "llvm/Support/ErrorHandling.h"

namespace tarsia::jit {
namespace {

class DebugPragmas final : public clang::PPCallbacks {
 public:
  void PragmaDebug(clang::SourceLocation, llvm::StringRef name) override {
    if (name == "llvm_fatal_error") llvm::report_fatal_error("#pragma clang __debug llvm_fatal_error");
    // Ends the process as the kernel does when it overflows its stack, even if the stack has no limit.
    if (name == "overflow_stack") std::raise(SIGSEGV);
    if (name == "crash" || name == "parser_crash" || name == "assert" || name == "llvm_unreachable")
      LLVM_BUILTIN_TRAP;
  }
};

// Work-around: Clang sees no pragma in what a macro expands to.
// Trigger: `#define UNROLL #pragma unroll`, and `UNROLL` before a loop. Symptom: "expected expression".
// nvcc's front end takes it for the pragma. Removal: Clang does so, too, for CUDA.
class PragmasOfMacros final : public clang::PPCallbacks {
 public:
  explicit PragmasOfMacros(clang::Preprocessor& preprocessor) : m_preprocessor(preprocessor) {}

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    const clang::MacroInfo* const macro = directive->getMacroInfo();
    if (!macro || !macro->isObjectLike() || macro->getNumTokens() < 2 ||
        macro->getReplacementToken(0).isNot(clang::tok::hash))
      return;
    const clang::IdentifierInfo* const word = macro->getReplacementToken(1).getIdentifierInfo();
    if (!word || !word->isStr("pragma")) return;
    std::string text = "\"";
    for (unsigned i = 2; i < macro->getNumTokens(); ++i) {
      const clang::Token& token = macro->getReplacementToken(i);
      if (i > 2 && token.hasLeadingSpace()) text += ' ';
      for (const char byte : m_preprocessor.getSpelling(token)) {
        if (byte == '"' || byte == '\\') text += '\\';
        text += byte;
      }
    }
    text += '"';
    const clang::SourceLocation place = macro->getReplacementToken(0).getLocation();
    clang::IdentifierInfo* const pragma = m_preprocessor.getIdentifierInfo("_Pragma");
    clang::Token tokens[4];
    for (clang::Token& token : tokens) {
      token.startToken();
      token.setLocation(place);
    }
    tokens[0] = macro->getReplacementToken(0);  // with its flags
    tokens[0].setKind(pragma->getTokenID());
    tokens[0].setIdentifierInfo(pragma);
    tokens[1].setKind(clang::tok::l_paren);
    tokens[1].setLength(1);
    tokens[2].setKind(clang::tok::string_literal);
    m_preprocessor.CreateString(text, tokens[2], place, place);
    tokens[3].setKind(clang::tok::r_paren);
    tokens[3].setLength(1);
    clang::MacroInfo* const made = m_preprocessor.AllocateMacroInfo(macro->getDefinitionLoc());
    made->setDefinitionEndLoc(macro->getDefinitionEndLoc());
    made->setTokens(tokens, m_preprocessor.getPreprocessorAllocator());
    m_preprocessor.appendDefMacroDirective(name.getIdentifierInfo(), made);
  }

 private:
  clang::Preprocessor& m_preprocessor;
};

class OwnPragma final : public clang::PragmaHandler {
 public:
  OwnPragma(llvm::StringRef name, MeetPragma meet) : PragmaHandler(name), m_meet(std::move(meet)) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    clang::Token& first) override {
    clang::Token token;
    do preprocessor.LexUnexpandedToken(token);
    while (token.isNot(clang::tok::eod));
    m_meet(preprocessor, first.getLocation());
  }

 private:
  MeetPragma m_meet;
};

}  // namespace

void take_over_debug_pragmas(clang::PreprocessorOptions& options) {
  options.DisablePragmaDebugCrash = true;
}

std::unique_ptr<clang::PPCallbacks> make_debug_pragmas() {
  return std::make_unique<DebugPragmas>();
}

void take_pragmas_of_nvcc(clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<PragmasOfMacros>(preprocessor));
  for (const char* name :
       {"nv_diag_suppress", "nv_diag_remark", "nv_diag_warning", "nv_diag_error", "nv_diag_default",
        "nv_diag_once", "nv_diagnostic", "diag_suppress", "diag_remark", "diag_warning", "diag_error",
        "diag_default", "diag_once", "nv_exec_check_disable", "hd_warning_disable", "nv_abi", "nv_verbose"})
    preprocessor.AddPragmaHandler(new clang::EmptyPragmaHandler(name));  // which owns it
}

void warn_of_ignored_openmp(clang::DiagnosticsEngine& diagnostics,
                            const std::vector<clang::SourceLocation>& places, const std::string& cell_path) {
  const unsigned id = diagnostics.getDiagnosticIDs()->getCustomDiagID(
      {clang::diag::Severity::Warning,
       "OpenMP's pragma is ignored in device code, where threads and blocks divide the work",
       clang::DiagnosticIDs::CLASS_WARNING, /*ShowInSystemHeader=*/false, /*ShowInSystemMacro=*/false,
       clang::diag::Group::SourceUsesOpenMP});
  for (const clang::SourceLocation place : places)
    if (cell_path.empty() || !is_in_earlier_cell(diagnostics.getSourceManager(), place, cell_path))
      diagnostics.Report(place, id);
}

void add_own_pragma(clang::Preprocessor& preprocessor, const char* name, MeetPragma meet) {
  preprocessor.AddPragmaHandler("tarsia", new OwnPragma(name, std::move(meet)));  // which owns it
}

}  // namespace tarsia::jit

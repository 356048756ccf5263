// Whether a text depends on when it is compiled, and under which name.
#pragma once

#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Token.h"

namespace tarsia::jit {

/// Sets `met` where __TIME__, __DATE__ or __TIMESTAMP__ is expanded, and `names_main` where __BASE_FILE__ is,
/// unless the source defines it.
class Clocks final : public clang::PPCallbacks {
 public:
  Clocks(bool& met, bool& names_main) : m_met(met), m_names_main(names_main) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& macro, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const clang::MacroInfo* info = macro.getMacroInfo();
    if (!info || !info->isBuiltinMacro()) return;
    const llvm::StringRef text = name.getIdentifierInfo()->getName();
    m_met |= text == "__TIME__" || text == "__DATE__" || text == "__TIMESTAMP__";
    m_names_main |= text == "__BASE_FILE__";
  }

 private:
  bool& m_met;
  bool& m_names_main;
};

}  // namespace tarsia::jit

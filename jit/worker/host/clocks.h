// Whether a text depends on when it is compiled.
#pragma once

#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Token.h"

namespace tarsia::jit {

/// Sets `met` where __TIME__, __DATE__ or __TIMESTAMP__ is expanded, unless the source defines it.
class Clocks final : public clang::PPCallbacks {
 public:
  explicit Clocks(bool& met) : m_met(met) {}
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& macro, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const clang::MacroInfo* info = macro.getMacroInfo();
    if (!info || !info->isBuiltinMacro()) return;
    const llvm::StringRef text = name.getIdentifierInfo()->getName();
    m_met |= text == "__TIME__" || text == "__DATE__" || text == "__TIMESTAMP__";
  }

 private:
  bool& m_met;
};

}  // namespace tarsia::jit

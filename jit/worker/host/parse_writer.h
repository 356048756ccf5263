// Writes a parse that is under way as a precompiled header.
#pragma once

#include <memory>
#include <string>

#include "clang/Serialization/ASTWriter.h"

namespace clang {
class CompilerInstance;
}

namespace tarsia::jit {

/// Watches a parse from its beginning. It makes nothing at the parse's end.
class ParseWriter final : public clang::PCHGenerator {
 public:
  explicit ParseWriter(clang::CompilerInstance& clang)
      : ParseWriter(clang, std::make_shared<clang::PCHBuffer>()) {}
  void HandleTranslationUnit(clang::ASTContext&) override {}
  /// Between declarations of the main file, which is kept with its bytes: another process has another one
  /// under its name. The parse cannot go on. Empty if it had errors.
  std::string write(clang::ASTContext& context);
  /// Knows what it calls the declarations that it has written.
  clang::ASTWriter& ast() { return getWriter(); }

 private:
  ParseWriter(clang::CompilerInstance& clang, std::shared_ptr<clang::PCHBuffer> buffer);
  std::shared_ptr<clang::PCHBuffer> m_buffer;
};

}  // namespace tarsia::jit

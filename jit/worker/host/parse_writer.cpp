// Writes a parse that is under way as a precompiled header.
#include "jit/worker/host/parse_writer.h"

#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"

namespace tarsia::jit {

ParseWriter::ParseWriter(clang::CompilerInstance& clang, std::shared_ptr<clang::PCHBuffer> buffer)
    : PCHGenerator(clang.getPreprocessor(), clang.getModuleCache(), "/tarsia/leading.pch", "", buffer,
                   clang.getCodeGenOpts(), clang.getFrontendOpts().ModuleFileExtensions,
                   /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false),
      m_buffer(std::move(buffer)) {}

std::string ParseWriter::write(clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  auto& main = const_cast<clang::SrcMgr::ContentCache&>(
      sources.getSLocEntry(sources.getMainFileID()).getFile().getContentCache());
  main.OrigEntry = std::nullopt;  // what has no file is written with its bytes
  main.ContentsEntry = std::nullopt;
  PCHGenerator::HandleTranslationUnit(context);
  if (!m_buffer->IsComplete) return {};
  return {m_buffer->Data.begin(), m_buffer->Data.end()};
}

}  // namespace tarsia::jit

// Checks files as the preprocessor enters them.
#include "jit/worker/source/file_checks.h"

#include "base/diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

class FileChecks final : public clang::PPCallbacks {
 public:
  FileChecks(clang::Preprocessor& preprocessor, SourceFileSystem& files, bool& invalid)
      : m_preprocessor(preprocessor), m_files(files), m_invalid(invalid) {}

  // The file system also reads files that are embedded, where a NUL is data. Files become text only here.
  void FileChanged(clang::SourceLocation place, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason != EnterFile) return;
    const clang::SourceManager& sources = m_preprocessor.getSourceManager();
    const clang::FileID id = sources.getFileID(place);
    const clang::OptionalFileEntryRef file = sources.getFileEntryRefForID(id);
    if (!file || file->getName().starts_with("/tarsia/")) return;  // checked before, or Tarsia's own
    const size_t at = sources.getBufferData(id).find('\0');
    if (at == llvm::StringRef::npos) return;
    m_invalid = true;
    report(sources.getComposedLoc(id, unsigned(at)), k_nul_byte);
  }

  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    m_files.note_name(name);
  }
  void HasInclude(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef,
                  clang::SrcMgr::CharacteristicKind) override {
    m_files.note_name(name);
  }
  void HasEmbed(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef) override {
    m_files.note_name(name);
  }

  void EmbedDirective(clang::SourceLocation hash, llvm::StringRef name, bool,
                      clang::OptionalFileEntryRef file, const clang::LexEmbedParametersResult&) override {
    m_files.note_name(name);
    if (file && m_files.is_edited(file->getName()))
      report(hash,
             "'" + name.str() +
                 "' cannot be embedded: it is a text that Tarsia changes before it is compiled (by joining "
                 "the brackets of '<< <', for one); write what is data into a file without them");
  }

 private:
  void report(clang::SourceLocation place, const std::string& message) {
    clang::DiagnosticsEngine& diagnostics = m_preprocessor.getDiagnostics();
    diagnostics.Report(place, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal, "%0")) << message;
  }

  clang::Preprocessor& m_preprocessor;
  SourceFileSystem& m_files;
  bool& m_invalid;
};

}  // namespace

std::unique_ptr<clang::PPCallbacks> make_file_checks(clang::Preprocessor& preprocessor,
                                                     SourceFileSystem& files, bool& invalid) {
  return std::make_unique<FileChecks>(preprocessor, files, invalid);
}

}  // namespace tarsia::jit

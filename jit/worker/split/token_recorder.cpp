// Records the tokens that the preprocessor hands to the parser.
#include "jit/worker/split/token_recorder.h"

#include <utility>

#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

bool is_user_file(const clang::SourceManager& sources, clang::SourceLocation location) {
  location = sources.getExpansionLoc(location);
  if (location.isInvalid()) return false;
  clang::FileID id = sources.getFileID(location);
  if (sources.isLoadedFileID(id)) return false;  // of a precompiled prelude
  if (clang::SrcMgr::isSystem(sources.getFileCharacteristic(location))) return false;
  return sources.getFileEntryRefForID(id).has_value();
}

class TokenRecorder::Callbacks final : public clang::PPCallbacks {
 public:
  explicit Callbacks(TokenRecorder& recorder) : m_recorder(recorder) {}

  // A file that holds only macros gives no token, but the device needs it all the same.
  void FileChanged(clang::SourceLocation place, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason != EnterFile) return;
    clang::FileID id = m_recorder.m_preprocessor.getSourceManager().getFileID(place);
    m_recorder.file_of(id, place);
  }
  void SourceRangeSkipped(clang::SourceRange range, clang::SourceLocation) override {
    const clang::SourceManager& sources = m_recorder.m_preprocessor.getSourceManager();
    if (File* file = m_recorder.file_of(sources.getFileID(range.getBegin()), range.getBegin()))
      file->skipped.emplace_back(sources.getFileOffset(range.getBegin()),
                                 sources.getFileOffset(range.getEnd()));
  }
  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    const clang::SourceManager& sources = m_recorder.m_preprocessor.getSourceManager();
    if (File* from = hash.isFileID() ? m_recorder.file_of(sources.getFileID(hash), hash) : nullptr)
      from->included[sources.getFileOffset(hash)] = {
          (angled ? "<" : "\"") + name.str() + (angled ? ">" : "\""), file ? file->getName().str() : ""};
    if (file) m_recorder.m_included_as[file->getName().str()].insert(name.str());
  }
  void If(clang::SourceLocation place, clang::SourceRange, ConditionValueKind value) override {
    if (value != CVK_NotEvaluated) decide(place, value == CVK_True);
  }
  void Elif(clang::SourceLocation place, clang::SourceRange, ConditionValueKind value,
            clang::SourceLocation) override {
    if (value != CVK_NotEvaluated) decide(place, value == CVK_True);
  }
  void Ifdef(clang::SourceLocation place, const clang::Token&,
             const clang::MacroDefinition& definition) override {
    decide(place, bool(definition));
  }
  void Ifndef(clang::SourceLocation place, const clang::Token&,
              const clang::MacroDefinition& definition) override {
    decide(place, !definition);
  }
  void HasInclude(clang::SourceLocation place, llvm::StringRef, bool, clang::OptionalFileEntryRef found,
                  clang::SrcMgr::CharacteristicKind) override {
    if (place.isMacroID()) return;
    const clang::SourceManager& sources = m_recorder.m_preprocessor.getSourceManager();
    if (File* file = m_recorder.file_of(sources.getFileID(place), place))
      file->asked_headers[sources.getFileOffset(place)] = found.has_value();
  }

 private:
  void decide(clang::SourceLocation place, bool value) {
    const clang::SourceManager& sources = m_recorder.m_preprocessor.getSourceManager();
    if (File* file = place.isFileID() ? m_recorder.file_of(sources.getFileID(place), place) : nullptr)
      file->conditions[sources.getFileOffset(place)] = value;
  }

  TokenRecorder& m_recorder;
};

TokenRecorder::TokenRecorder(clang::Preprocessor& preprocessor, const File* leading)
    : m_preprocessor(preprocessor), m_leading(leading) {
  preprocessor.addPPCallbacks(std::make_unique<Callbacks>(*this));
}

TokenRecorder::File* TokenRecorder::file_of(clang::FileID id, clang::SourceLocation place) {
  const clang::SourceManager& sources = m_preprocessor.getSourceManager();
  if (!is_user_file(sources, place)) return nullptr;
  llvm::StringRef path = sources.getFileEntryRefForID(id)->getName();
  // Headers of Tarsia's declare themselves as system headers, but not before they are entered.
  if (path.starts_with(k_host_headers_dir)) return nullptr;
  File& file = m_files[id];
  if (!file.path.empty()) return &file;
  if (m_leading && id == sources.getMainFileID()) file = *m_leading;
  file.path = path.str();
  return &file;
}

std::vector<clang::SourceLocation> TokenRecorder::open_braces() const {
  std::vector<clang::SourceLocation> all;
  const clang::SourceManager& sources = m_preprocessor.getSourceManager();
  for (const auto& [id, file] : m_files) {
    std::vector<clang::SourceLocation> open;
    uint32_t reached = 0;
    for (const Token& token : file.tokens) {
      if (token.begin < reached) continue;  // handed out once more
      reached = token.begin;
      if (token.kind == clang::tok::l_brace)
        open.push_back(sources.getComposedLoc(id, token.begin));
      else if (token.kind == clang::tok::r_brace && !open.empty())
        open.pop_back();
      else if (token.kind == clang::tok::r_brace)
        return {};  // what one file opens another closes
    }
    all.insert(all.end(), open.begin(), open.end());
  }
  return all;
}

bool TokenRecorder::is_between_declarations() const {
  return m_last_kind == clang::tok::semi || m_last_kind == clang::tok::r_brace;
}

void TokenRecorder::record(const clang::Token& token) {
  m_at_openmp |= token.is(clang::tok::annot_pragma_openmp);
  if (token.isAnnotation() || token.is(clang::tok::eof)) return;
  const bool at_openmp = std::exchange(m_at_openmp, false);
  m_last_kind = token.getKind();
  const clang::SourceManager& sources = m_preprocessor.getSourceManager();
  clang::SourceLocation begin = token.getLocation();
  clang::SourceLocation place = sources.getExpansionLoc(begin);
  clang::FileID id = sources.getFileID(place);
  if (id != m_last) {
    m_last = id;
    m_file = file_of(id, place);
  }
  if (!m_file) return;
  if (at_openmp) m_file->openmp.push_back(m_file->tokens.size());
  Token recorded;
  recorded.begin = sources.getFileOffset(place);
  recorded.kind = token.getKind();
  recorded.identifier = token.isLiteral() ? nullptr : token.getIdentifierInfo();
  if (begin.isMacroID()) {
    clang::CharSourceRange range = sources.getExpansionRange(begin);
    uint32_t last = sources.getFileOffset(range.getEnd());
    uint32_t length = range.isTokenRange() ? clang::Lexer::MeasureTokenLength(range.getEnd(), sources,
                                                                              m_preprocessor.getLangOpts())
                                           : 0;
    recorded.end = last + length;
  } else {
    recorded.end = recorded.begin + token.getLength();
  }
  m_file->tokens.push_back(recorded);
}

}  // namespace tarsia::jit

// The tokens of the user's files, for the split to attribute to declarations.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "clang/Lex/Preprocessor.h"
#include "jit/worker/split/split_regions.h"

namespace tarsia::jit {

/// Records the tokens of the user's files that it is told of, and the names by which the files are included.
/// The split attributes them to declarations. It is made before the parse starts, and outlives it.
class TokenRecorder {
 public:
  struct Token {
    uint32_t begin = 0;  ///< offset in the file; of the whole expansion, for tokens of a macro
    uint32_t end = 0;
    clang::tok::TokenKind kind = clang::tok::unknown;
    const clang::IdentifierInfo* identifier = nullptr;
  };
  struct File {
    std::vector<Token> tokens;
    std::vector<size_t> openmp;  ///< tokens in front of which a pragma of OpenMP's stands
    std::string path;
    Ranges skipped;  ///< regions that a condition left out: offsets
    /// Where a __has_include names its header, and whether it was found.
    std::map<uint32_t, bool> asked_headers;
    struct Included {
      std::string name;  ///< in quotes or brackets
      std::string path;  ///< of what was found
    };
    std::map<uint32_t, Included> included;  ///< by the places of the "#"
    std::map<uint32_t, bool>
        conditions;  ///< what came out of them, by the places of "if", "ifdef", "elif", …
  };
  /// `leading`: what was recorded of the main file when a text that begins like it was parsed; that part is
  /// not read again. It must outlive the parse.
  explicit TokenRecorder(clang::Preprocessor& preprocessor, const File* leading = nullptr);
  /// Notes a token that the preprocessor has handed out.
  void record(const clang::Token& token);

  /// Takes what was recorded of a file by an earlier parse, of which a precompiled form is read here.
  File& adopt(clang::FileID id, File file) {
    return m_files.insert_or_assign(id, std::move(file)).first->second;
  }

  /// A file goes by another path from now on.
  void name(clang::FileID id, const std::string& path) {
    if (const auto file = m_files.find(id); file != m_files.end()) file->second.path = path;
  }

  const std::map<clang::FileID, File>& files() const { return m_files; }
  /// As written between the quotes or brackets, by path of the file.
  const std::map<std::string, std::set<std::string>>& included_as() const { return m_included_as; }
  /// Whether the last token of all may be the last one of a declaration, or there was none.
  bool is_between_declarations() const;
  /// The places of braces that nothing closes.
  std::vector<clang::SourceLocation> open_braces() const;

 private:
  class Callbacks;
  File* file_of(clang::FileID id, clang::SourceLocation place);
  clang::Preprocessor& m_preprocessor;
  const File* m_leading;
  clang::FileID m_last;
  File* m_file = nullptr;  // of m_last; null if that is no file of the user's
  std::map<clang::FileID, File> m_files;
  std::map<std::string, std::set<std::string>> m_included_as;
  clang::tok::TokenKind m_last_kind = clang::tok::semi;
  bool m_at_openmp = false;  // the last token began a pragma of OpenMP's
};

/// Whether a location lies in a file of the user's: neither a system header nor part of a prelude.
bool is_user_file(const clang::SourceManager& sources, clang::SourceLocation location);

}  // namespace tarsia::jit

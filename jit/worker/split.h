// The split: which parts of a CUDA source the device's compiler needs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Lex/Preprocessor.h"
#include "jit/compile.h"

namespace tarsia::jit {

/// A kernel, or one instantiation of a kernel template that the host code refers to.
struct KernelUse {
  const clang::FunctionDecl* function = nullptr;
  std::string name;         ///< "ns::scale<float>", as NVRTC takes it for a name expression
  std::string mangled;      ///< Itanium name of the kernel itself (not of its stub)
  std::string stub_symbol;  ///< of the host's function that launches it
  bool extern_c = false;    ///< its mangled name is the device's
  bool overloaded = false;  ///< the name alone is ambiguous
};

/// A variable in device memory that host code may refer to.
struct DeviceVariable {
  const clang::VarDecl* variable = nullptr;
  std::string name;
  std::string mangled;
  bool constant = false;
  bool managed = false;
  uint64_t bytes = 0;
  std::string shadow_symbol;  ///< of the host's variable that stands for it
};

/// What the device's compiler gets: the user's texts with everything that is only the host's blanked out,
/// at the same lines and columns.
struct DeviceSlice {
  std::string main_file;          ///< one of `files`
  std::vector<SourceFile> files;  ///< main file and the user's headers, by the names they are included by
  std::vector<SourceFile>
      host_texts;  ///< what the host's parse saw of the user's files, in order of inclusion
  std::vector<KernelUse> kernels;
  std::vector<DeviceVariable> variables;
  bool empty() const { return kernels.empty() && variables.empty(); }
};

/// Records, while the user's files are preprocessed, their tokens as they are handed out and the names by
/// which the files are included: for the split to attribute to declarations. Must be made before the parse
/// starts and outlive it.
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
    std::string path;
  };
  explicit TokenRecorder(clang::Preprocessor& preprocessor);

  const std::map<clang::FileID, File>& files() const { return m_files; }
  /// As written between the quotes or brackets, by path of the file.
  const std::map<std::string, std::set<std::string>>& included_as() const { return m_included_as; }
  /// __TIME__ or its like was expanded in the user's text.
  bool is_volatile() const { return m_volatile; }

 private:
  class Callbacks;
  void record(const clang::Token& token);
  File* file_of(clang::FileID id, clang::SourceLocation place);
  clang::Preprocessor& m_preprocessor;
  clang::FileID m_last;
  File* m_file = nullptr;  // of m_last; null if that is no file of the user's
  std::map<clang::FileID, File> m_files;
  std::map<std::string, std::set<std::string>> m_included_as;
  bool m_volatile = false;
};

/// Whether a location lies in a file of the user's: neither a system header nor part of a prelude.
bool is_user_file(const clang::SourceManager& sources, clang::SourceLocation location);

/// Whether the body of this function is of no concern to the host: kernels and device-only functions.
bool is_device_only(const clang::Decl& decl);

/// Kernels and device variables of the translation unit, in a fixed order. To be called when all
/// instantiations are known.
void list_device_entities(clang::ASTContext& context, DeviceSlice& slice);

/// The texts for the device's compiler.
void slice_texts(clang::ASTContext& context, const clang::Preprocessor& preprocessor,
                 const TokenRecorder& tokens, DeviceSlice& slice);

}  // namespace tarsia::jit

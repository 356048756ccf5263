// The split: which parts of a CUDA source the device's compiler needs.
#pragma once

#include <map>
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
  std::string name;        ///< "ns::scale<float>", as NVRTC takes it for a name expression
  std::string mangled;     ///< Itanium name of the kernel itself (not of its stub)
  std::string stub_symbol;  ///< of the host's function that launches it
  bool nameable = true;  ///< false: extern "C" or overloaded, the mangled name is the device's
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
  std::string main_file;           ///< one of `files`
  std::vector<SourceFile> files;   ///< main file and the user's headers, by the names they are included by
  std::vector<KernelUse> kernels;
  std::vector<DeviceVariable> variables;
  bool empty() const { return kernels.empty() && variables.empty(); }
};

/// Records the tokens of the user's files as the preprocessor hands them out, for the split to attribute to
/// declarations. Must be attached before the parse starts and outlive the preprocessor's use of it.
class TokenRecorder {
 public:
  struct Token {
    uint32_t begin = 0;  ///< offset in the file; of the whole expansion, for tokens of a macro
    uint32_t end = 0;
    clang::tok::TokenKind kind = clang::tok::unknown;
    const clang::IdentifierInfo* identifier = nullptr;
  };
  explicit TokenRecorder(clang::Preprocessor& preprocessor);
  const std::map<clang::FileID, std::vector<Token>>& files() const { return m_files; }

 private:
  void record(const clang::Token& token);
  clang::Preprocessor& m_preprocessor;
  clang::FileID m_last;
  std::vector<Token>* m_tokens = nullptr;  // of m_last; null if that is no file of the user's
  std::map<clang::FileID, std::vector<Token>> m_files;
};

/// Whether a location lies in a file of the user's: neither a system header nor part of a prelude.
bool is_user_file(const clang::SourceManager& sources, clang::SourceLocation location);

/// Whether the body of this function is of no concern to the host: kernels and device-only functions.
bool is_device_only(const clang::Decl& decl);

/// Kernels and device variables of the translation unit, in a fixed order. To be called when all
/// instantiations are known.
void list_device_entities(clang::ASTContext& context, DeviceSlice& slice);

/// The texts for the device's compiler.
void slice_texts(clang::ASTContext& context, const clang::Preprocessor& preprocessor, const TokenRecorder& tokens,
                 DeviceSlice& slice);

}  // namespace tarsia::jit

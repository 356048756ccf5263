// Which functions of the user's text are exported, and the generated text that describes them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace clang {
class ASTContext;
class CXXRecordDecl;
class FunctionDecl;
class NamedDecl;
class QualType;
class SourceLocation;
class SourceManager;
}  // namespace clang

namespace tarsia::jit {

/// The symbol that a source's main gets in the module.
inline constexpr char k_main_symbol[] = "tarsia_user_main";

/// A function left out, with a reason for people.
struct Skipped {
  std::string name;
  std::string reason;
};

struct Exports {
  std::vector<const clang::FunctionDecl*> functions;
  std::vector<Skipped> skipped;
  std::vector<std::string> left_out;  ///< names of functions that could be exported but are not wanted
  /// initialize(int) of a source that includes MXNet's extension API (tarsia/mxnet/glue.h); else null.
  const clang::FunctionDecl* mxnet_initialize = nullptr;
};

/// The name of the text that Tarsia adds to a source with the functions of THC that run kernels. Nothing of
/// it is exported.
inline constexpr char k_th_routines[] = "tarsia_th_routines.cu";

/// The request's `functions`. The marks in the text (TARSIA_EXPORT) are found there.
struct ExportChoice {
  std::set<std::string> wanted;  ///< meaningful if `restricted`
  bool restricted = false;
  bool marked_alone = false;  ///< some text of the request has TARSIA_EXPORT
};

/// Whether the file of this location is one of the request's own texts.
bool in_user_text(const clang::SourceManager& sources, clang::SourceLocation location);

/// Whether it is a struct of TH's or THC's tensors, in C or in C++.
bool is_th_tensor(clang::QualType type);

/// Every function that is defined in the user's texts and can be called from outside. It is not static, no
/// member and no template, and its parameters and result have adapters. In the order of the text.
Exports list_exports(clang::ASTContext& context, const ExportChoice& choice);

/// The base type's name and the number of lanes if the record is one of CUDA's vectors ("float4" → "float",
/// 4).
std::optional<std::pair<std::string, int>> cuda_vector(const clang::CXXRecordDecl& record);

/// "ns::f", as people write it: without inline and unnamed namespaces.
std::string qualified_name(const clang::NamedDecl& decl);
/// The same, with the arguments of a template's instantiation: "ns::f<int>".
std::string exported_name(const clang::FunctionDecl& function);

/// "float ns::f(const float *x, int n)".
std::string signature_of(const clang::FunctionDecl& function);

/// "relu.cu:12".
std::string location_of(const clang::SourceManager& sources, clang::SourceLocation location);

/// A C++ string literal.
std::string string_literal(llvm::StringRef text);

}  // namespace tarsia::jit

// Precompiles a prelude with Clang.
#pragma once

#include <functional>
#include <string>

#include "jit/worker/host/clang_setup.h"
#include "jit/worker/prelude/prelude_layer.h"

namespace clang {
class ASTContext;
}

namespace tarsia::jit {

/// How headers are precompiled.
struct PreludeRules {
  bool for_host = true;  ///< bodies that only the device needs are stepped over
  /// Asked when they have been read: whether no prelude may be made of them. None: never.
  std::function<bool(clang::ASTContext&)> refuses = {};
};

enum class Precompiled { made, has_errors, refused };

/// Lets a Clang that is set up for a prelude's text precompile it, and sets `layer.names` and `layer.macros`,
/// and of what the headers do with `defines`, `layer.used` and `layer.words`. Without them, the form holds
/// all macros. Refused is a text that each compile reads differently (__TIME__), and one that the rules
/// refuse. `path` is that of the precompiled form, a virtual one.
Precompiled precompile(clang::CompilerInstance& clang, const std::string& path, SourceFileSystem& files,
                       const PreludeRules& rules, const Defines* defines, PreludeLayer& layer,
                       std::string& pch);

/// Precompiles `layer.text` (C++ or CUDA, with the request's options) on top of `layer.base`, and sets
/// what precompile() does and `layer.warnings`. False if it has errors, or is refused. `pch` is empty if the
/// headers have pragmas of OpenMP's and the request leaves open whether it wants OpenMP.
bool compile_prelude(const CompileRequest& request, Language language,
                     llvm::IntrusiveRefCntPtr<SourceFileSystem> files, PreludeLayer& layer, std::string& pch);

}  // namespace tarsia::jit

// Precompiles a prelude with Clang.
#pragma once

#include <string>

#include "jit/worker/host/clang_setup.h"
#include "jit/worker/host/prelude_layer.h"

namespace tarsia::jit {

/// Precompiles `layer.text` (C++ or CUDA, with the request's options) on top of `layer.base`, and sets
/// `layer.names`. False if it has errors.
bool compile_prelude(const CompileRequest& request, Language language,
                     llvm::IntrusiveRefCntPtr<SourceFileSystem> files, PreludeLayer& layer, std::string& pch);

}  // namespace tarsia::jit

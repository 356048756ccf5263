// Precompiles a prelude with Clang.
#pragma once

#include <string>

#include "jit/worker/host/clang_setup.h"
#include "jit/worker/prelude/prelude_layer.h"

namespace tarsia::jit {

/// Precompiles `layer.text` (C++ or CUDA, with the request's options) on top of `layer.base`, and sets
/// `layer.names` and `layer.warnings`. False if it has errors, or if each compile reads it differently
/// (__TIME__). `pch` is empty if the headers have pragmas of OpenMP's and the request leaves open whether it
/// wants OpenMP.
bool compile_prelude(const CompileRequest& request, Language language,
                     llvm::IntrusiveRefCntPtr<SourceFileSystem> files, PreludeLayer& layer, std::string& pch);

}  // namespace tarsia::jit

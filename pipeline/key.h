// The key of a request.
#pragma once

#include "cache/key.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

/// Hashes all of a resolved request that can change the module's bytes, with the build of the compiler, the
/// ABI's version and NVRTC's identity. The request's name, its time limit, the order of its headers and the
/// places of CUDA's parts change nothing, so they are left out. So are the files that the compiler reads
/// from disk; cache/manifest.h adds those.
cache::Key request_key(const jit::CompileRequest& request);

}  // namespace tarsia::pipeline

// The key of a request.
#pragma once

#include "cache/key.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

/// Hashes all of a resolved request that can change the module's bytes, with the build of the compiler, the
/// ABI's version and NVRTC's identity. Not in it, because they change nothing: the request's name, its time
/// limit, the order of its headers, where CUDA's parts lie. What the compiler reads from disk is not in it
/// either; cache/manifest.h adds that.
cache::Key request_key(const jit::CompileRequest& request);

}  // namespace tarsia::pipeline

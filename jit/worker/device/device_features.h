// Uses of CUDA that NVRTC cannot compile, found before any compiler runs.
#pragma once

#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// Looks into the user's texts as written, comments aside: Thrust, CUB's device-wide algorithms, lambdas
/// marked __device__ in host code. Each gets one error, with its place and what to do instead.
std::vector<Diagnostic> refused_features(const std::vector<SourceFile>& texts);

/// Whether host code has a lambda that is marked __device__: a type that NVRTC cannot name.
bool has_device_lambda(const SourceFile& text);

}  // namespace tarsia::jit

// A source and its options, as a program gives them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "pipeline/no_compile.h"

namespace tarsia::pipeline {

/// The sum of all texts of a source may not exceed this.
inline constexpr std::uint64_t k_max_source_bytes = std::uint64_t{64} << 20;

struct Source {
  std::string name;                      ///< for messages; no part of the key
  std::vector<jit::SourceFile> files;    ///< compiled; one whose name has no suffix may hold CUDA or not
  std::vector<jit::SourceFile> headers;  ///< virtual headers
  jit::CompileOptions options;           ///< no archs: those of the GPUs present, else sm_90
  std::chrono::milliseconds timeout{0};  ///< 0: the default
  Ban ban = Ban::none;                   ///< beside those of the thread that compiles
};

}  // namespace tarsia::pipeline

// The headers that device code gets in place of the C and C++ standard headers and of those of the host's
// libraries: texts of ours, chosen by the names that a source mentions.
//
// NVRTC has no standard headers. libcu++ has, but costs 0.3 s a compile and lays some types out differently
// from the host's libstdc++. So std comes in small parts (device_headers/tarsia/*.h), which a prelude
// includes before the user's text, and <vector> and its like are empty.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/device/nvrtc_source.h"

namespace tarsia::jit {

inline constexpr std::string_view k_device_prelude = "tarsia/prelude.h";

/// An embedded text by the name under which it is included; null if there is none.
const SourceFile* find_device_header(std::string_view name);

/// The prelude of sources that mention these names; `everything` leaves no part out.
std::string device_prelude(std::span<const SourceNames> texts, bool everything);

/// Defines what the host's compiler predefines of itself and of its platform, as far as the names are
/// mentioned.
std::string platform_macros(std::span<const SourceNames> texts);

/// Whether a header of CUDA's declares only what is built into NVRTC (cuda_runtime.h).
bool is_built_in(std::string_view name);

/// Whether a header is of a library that host code calls (cublas_v2.h, nvml.h): device code needs none of it.
bool is_host_library(std::string_view name);

/// <cub/cub.cuh> reduced to the block, warp and thread primitives that are mentioned.
std::string cub_of(std::span<const SourceNames> texts);

}  // namespace tarsia::jit

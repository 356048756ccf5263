// Tarsia's public headers as device code sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/source/sysroot.h"

namespace tarsia::jit {

/// The text without what `#if !defined(__CUDACC_RTC__)` and its like keep from NVRTC: those lines are empty,
/// all others stay where they are. Other conditions are left to NVRTC.
std::string without_host_parts(std::string_view text);

/// Tarsia's headers that device code may include, by the names that it includes them by: those that say
/// themselves what NVRTC sees of them (they mention __CUDACC_RTC__), and those that it then sees included.
/// MXNet's are not among them.
std::vector<SourceFile> public_device_headers(const SysrootPack& pack);

}  // namespace tarsia::jit

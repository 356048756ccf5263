// Fat binaries: the container in which the CUDA runtime takes device code for several architectures.
#pragma once

#include <span>
#include <string>

namespace tarsia::jit {

/// One piece of device code.
struct FatbinEntry {
  std::string arch;   ///< "sm_90" for a cubin, "compute_90" for PTX
  std::string bytes;  ///< a cubin, or PTX
};

/// The container. One cubin needs none: the runtime takes it as it is. Throws Error for an architecture that
/// is no number.
std::string make_fatbin(std::span<const FatbinEntry> entries);

}  // namespace tarsia::jit

// The functions of THC that run kernels (<tarsia/th/cuda_routines.cuh>), compiled beside sources that call
// some of them.
#pragma once

#include <string>
#include <vector>

#include "jit/worker/link/linker.h"
#include "jit/worker/source/sysroot.h"

namespace tarsia::jit {

/// The CUDA text that defines what the objects ask for of them; empty if they ask for nothing.
std::string th_routines(const std::vector<LinkInput>& objects, const SysrootPack& pack);

}  // namespace tarsia::jit

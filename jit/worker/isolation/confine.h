// Takes from the worker what compiles do not need, before it reads its first source.
#pragma once

#include <string>
#include <vector>

#include "base/cuda/cuda_parts.h"

namespace tarsia::jit {

/// Leaves this process, its threads and its children the files of the toolchain: Tarsia's own in `home`, the
/// run-time libraries, CUDA's in `cuda`, and the few of the system that libraries read. All else is the
/// client's to open (files_beyond.h). Also takes the system calls that no compile needs. Must be called while
/// there is one thread. Returns what is lacking, each for people; empty if nothing is. Cannot be undone.
std::vector<std::string> confine(const std::string& home, const CudaParts& cuda);

}  // namespace tarsia::jit

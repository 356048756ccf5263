// Remedies for names that device code lacks.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// What to write in device code in place of std::`name`, which is the host's alone: "; std::vector is not in
/// device code: ...". Empty if device code may have it.
std::string host_only_remedy(llvm::StringRef name);

/// What to write in place of a function, object or macro of C's library or of CUDA's run time that is the
/// host's alone; `is_known`: it is one of C's that the host's headers declare. Empty if it is none.
std::string host_function_remedy(llvm::StringRef name, bool is_known);

/// Whether it is a function that CUDA's compilers have built in for device code: "__syncthreads".
bool is_device_function(llvm::StringRef name);

/// CUDA's built-in variable or function whose name is nearly this one: "; did you mean 'threadIdx'?"; or
/// empty.
std::string near_builtin(llvm::StringRef name);

/// The header that defines a type of cuda::std which NVRTC's message calls incomplete: "; #include
/// <cuda/std/array>, where it is defined"; or empty.
std::string incomplete_cuda_type_remedy(llvm::StringRef message);

}  // namespace tarsia::jit

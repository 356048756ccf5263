// Tables in the host's object that register its device code with the CUDA runtime.
#pragma once

#include "jit/worker/split/split.h"

namespace clang {
class CodeGenerator;
}  // namespace clang

namespace llvm {
class Module;
}  // namespace llvm

namespace tarsia::jit {

/// Makes Clang emit the stubs of all kernels and the host's shadows of all device variables of the slice.
/// The caller calls it before the end of code generation.
void prepare_device_tables(clang::CodeGenerator& generator, DeviceSlice& slice);

/// A kernel that the slice lacks and that the host launches all the same: of a header, as Thrust's are.
struct HeaderKernel {
  std::string stub, name;  ///< symbols of the host and of the device
};

/// The kernels of headers whose stubs the module defines. `generator` has made the module.
std::vector<HeaderKernel> list_header_kernels(clang::CodeGenerator& generator, const llvm::Module& module,
                                              const DeviceSlice& slice);

/// Adds to the module the hidden arrays `tarsia_stubs_N` and `tarsia_shadows_N`: addresses in the slice's
/// order, null where there is none. `tarsia_header_kernels_N` has each header kernel's stub and name, and a
/// null behind them. Turns the host's accesses to managed variables into accesses through
/// the pointer that the CUDA runtime fills in.
void add_device_tables(llvm::Module& module, const DeviceSlice& slice,
                       const std::vector<HeaderKernel>& header_kernels, int unit);

std::string stubs_symbol(int unit);
std::string shadows_symbol(int unit);
std::string header_kernels_symbol(int unit);

}  // namespace tarsia::jit

// Device code by Clang: the whole text, as nvcc would take it, to PTX, and by nvJitLink to cubins.
//
// NVRTC takes the slice of a text. It has no host code to look at, so it cannot compile what host code alone
// names: kernels that headers launch (Thrust, CUB's device-wide algorithms), lambdas, unnamed types. Clang's
// device pass parses the same text as the host's half does, with the same headers. Whatever kernels that half
// launches are therefore there, under the same names.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/device/device_compiler.h"
#include "jit/worker/nvptx/device_preludes.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {

/// One text to compile for the device.
struct NvptxUnit {
  const CompileRequest* request = nullptr;
  const SourceFile* file = nullptr;
  std::set<std::string> kernels;       ///< by symbol: these alone are wanted; empty: all are
  DevicePreludes* preludes = nullptr;  ///< null: none are used
  /// Tells the kernels that NVRTC has compiled, by symbol: they are left out. It is asked when the text has
  /// been parsed, and may wait for NVRTC. Null: there are none.
  std::function<std::set<std::string>()> left_out;
};

struct NvptxResult {
  /// Of the fields of DeviceResult, `lowered` and `managed` stay empty: symbols are known by mangling.
  DeviceResult device;
  std::set<std::string> symbols;  ///< kernels and variables of the device code
  /// Of a unit that leaves out kernels: the others use variables of the GPU's memory, which both would have.
  bool has_variables = false;
  std::string ptx;  ///< of the last architecture
};

/// Makes a fresh file system of the request.
using MakeFiles = std::function<llvm::IntrusiveRefCntPtr<SourceFileSystem>()>;

/// Compiles a unit for all architectures of its request. Errors of the user's are diagnostics. It may run
/// beside the host's half. `cancelled` ends it early, without diagnostics.
NvptxResult compile_nvptx(const NvptxUnit& unit, const MakeFiles& make_files, PartStore& parts,
                          const std::atomic<bool>* cancelled = nullptr);

}  // namespace tarsia::jit

// The configuration of Clang for the device's half of a CUDA text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/source/source_fs.h"

namespace clang {
class CompilerInstance;
class DiagnosticConsumer;
}  // namespace clang

namespace tarsia::jit {

/// Where Tarsia's headers for this half lie.
inline constexpr char k_nvptx_headers_dir[] = "/tarsia/nvptx";

/// Adds those headers.
void add_nvptx_headers(SourceFileSystem& files);

/// Why no code can be made for this architecture ("sm_90a"); empty if it can.
std::string fault_of_arch(const std::string& arch);

/// The -cc1 arguments for one architecture. `input` is the virtual path of the main file, `prelude` that of a
/// precompiled header, or empty.
std::vector<std::string> nvptx_arguments(const CompileRequest& request, const std::string& input,
                                         const std::string& arch, const std::string& prelude);

/// A Clang set up for these arguments, ready to run an action; null if `collector` got errors.
std::unique_ptr<clang::CompilerInstance> make_device_clang(const std::vector<std::string>& arguments,
                                                           llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                           clang::DiagnosticConsumer& collector);

/// Runs it on a thread whose stack is large enough for deep templates, and waits.
void on_large_stack(const std::function<void()>& work);

/// Initialises LLVM's NVPTX target; any number of times, from any thread.
void initialize_nvptx();

}  // namespace tarsia::jit

// Configures Clang for device code.
#include "jit/worker/nvptx/nvptx_setup.h"

#include <mutex>

#include "clang/Basic/DiagnosticSema.h"
#include "clang/Basic/OffloadArch.h"
#include "clang/Basic/Stack.h"
#include "clang/Frontend/CompilerInstance.h"
#include "jit/worker/host/clang_setup.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/thread.h"

namespace tarsia::jit {
namespace {

struct OwnHeader {
  std::string name;
  std::string text;
};

const std::vector<OwnHeader>& headers() {
  static const std::vector<OwnHeader> all = {
#include "nvptx_headers.inc"
  };
  return all;
}

/// The newest PTX that ptxas of every CUDA 13 takes. Clang's builtins are there according to it.
constexpr char k_ptx_version[] = "+ptx88";

}  // namespace

void add_nvptx_headers(SourceFileSystem& files) {
  for (const OwnHeader& header : headers())
    files.add_text(std::string(k_nvptx_headers_dir) + "/" + header.name, header.text);
}

std::string fault_of_arch(const std::string& arch) {
  const clang::OffloadArch known = clang::StringToOffloadArch(arch);
  if (clang::IsNVIDIAOffloadArch(known)) return {};
  return "architecture '" + arch +
         "' is not known to Clang 22, which makes code for sm_75 to sm_121 and has no family-specific "
         "ones, as in sm_100f";
}

std::vector<std::string> nvptx_arguments(const CompileRequest& request, const std::string& input,
                                         const std::string& arch, const std::string& prelude) {
  const CompileOptions& options = request.options;
  std::vector<std::string> args = {"-triple",
                                   "nvptx64-nvidia-cuda",
                                   "-aux-triple",
                                   "x86_64-pc-linux-gnu",
                                   "-aux-target-cpu",
                                   "x86-64",
                                   "-S",
                                   "-main-file-name",
                                   input,
                                   "-fcuda-is-device",
                                   "-fcuda-allow-variadic-functions",
                                   "-mrelocation-model",
                                   "static",
                                   "-mframe-pointer=all",
                                   "-no-integrated-as",
                                   "-fno-threadsafe-statics",
                                   "-target-cpu",
                                   arch,
                                   "-target-feature",
                                   k_ptx_version,
                                   "-fgnuc-version=4.2.1",
                                   "-fno-ident",
                                   "-nostdsysteminc",
                                   "-nobuiltininc",
                                   "-fdebug-compilation-dir=.",
                                   "-fno-dwarf-directory-asm",  // ptxas takes whole names alone
                                   "-ferror-limit",
                                   "50",
                                   "-fdiagnostics-absolute-paths",
                                   "-Wall",
                                   "-Wno-unused-function",
                                   "-Wno-unused-variable",
                                   "-Wno-unused-but-set-variable",
                                   "-Wno-unused-const-variable",
                                   "-Wno-unused-private-field",
                                   "-Wno-unknown-pragmas",
                                   "-Wno-pass-failed",
                                   "-fno-pch-timestamp",
                                   "-fmacro-prefix-map=/tarsia/src/=",
                                   "-fbracket-depth",
                                   "2048",
                                   "-fno-caret-diagnostics",
                                   "-disable-llvm-verifier",
                                   "-discard-value-names",
                                   "-Wno-microsoft-redeclare-static",
                                   "-Wno-error=c++11-narrowing",
                                   "-Wno-error=register",
                                   "-Wno-error=reserved-user-defined-literal"};
  auto add = [&](auto... more) { (args.emplace_back(more), ...); };

  // nvcc optimises device code whatever it is told for the host's, unless it is to be debugged.
  if (!options.cell.empty()) add("-fincremental-extensions", "-Wno-unused-value");  // statements
  add(options.debug ? "-O0" : "-O3");
  if (!options.debug) add("-vectorize-loops", "-vectorize-slp");
  if (options.fast_math)
    add("-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-funsafe-math-optimizations",
        "-fno-signed-zeros", "-mreassociate", "-freciprocal-math", "-ffast-math", "-ffinite-math-only",
        "-complex-range=basic", "-fgpu-approx-transcendentals", "-fdenormal-fp-math-f32=preserve-sign");
  add("-ffp-contract=fast");
  if (options.debug)
    add("-debug-info-kind=constructor", "-dwarf-version=2", "-debugger-tuning=gdb");
  else if (keeps_lines(options))
    add("-debug-info-kind=line-directives-only", "-dwarf-version=2", "-debugger-tuning=gdb");
  add("-fdebug-prefix-map=" + std::string(k_source_dir) +
      "/=" + (request.source_dir.empty() ? "" : request.source_dir + "/"));
  for (const std::string& folder : folders_without_name(options)) add("-fmacro-prefix-map=" + folder + "=");
  for (const std::string& flag : options.cflags) {
    if (flag.starts_with("-W")) add(flag);
    if (flag.starts_with("-U")) add("-U", flag.substr(2));
    if (flag.starts_with("-ftemplate-depth=")) add(flag);
    if (flag.starts_with("-fbracket-depth=")) add("-fbracket-depth", flag.substr(flag.find('=') + 1));
  }

  // Clang's wrappers of the C++ library's headers make functions of theirs known on the device.
  const std::string clang_dir = k_clang_dir;
  add_folders(request, Language::cuda, {k_nvptx_headers_dir, clang_dir + "/cuda_wrappers"}, args);
  add_macros(options, args);
  add("-D", "__CUDA_ARCH_LIST__=" + cuda_arch_list(options.archs));
  add("-std=" + gnu_standard(options.std), "-fcxx-exceptions", "-fexceptions", "-fdeprecated-macro",
      "-target-sdk-version=12.9", "-Wno-unknown-cuda-version", "-Wno-vla-cxx-extension", "-x", "cuda");
  if (prelude.empty())
    add("-include", std::string(k_nvptx_headers_dir) + "/tarsia_cuda_device.h");
  else
    add("-include-pch", prelude);
  add_extended_lambda(options, args);
  add(input);
  return args;
}

std::unique_ptr<clang::CompilerInstance> make_device_clang(const std::vector<std::string>& arguments,
                                                           llvm::IntrusiveRefCntPtr<SourceFileSystem> files,
                                                           clang::DiagnosticConsumer& collector) {
  auto clang = make_plain_clang(arguments, std::move(files), collector);
  if (!clang) return nullptr;
  // The collector tells whether it is one: nvcc takes some. (Clang lets no error become a warning.)
  clang->getDiagnostics().setSeverity(clang::diag::err_typename_missing, clang::diag::Severity::Remark, {});
  return clang;
}

void on_large_stack(const std::function<void()>& work) {
  constexpr unsigned k_stack = 64u << 20;
  llvm::thread(std::optional<unsigned>(k_stack), [&] {
    clang::noteBottomOfStack();
    work();
  }).join();
}

void initialize_nvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace tarsia::jit

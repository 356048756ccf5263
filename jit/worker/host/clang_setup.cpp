// Configures Clang for one translation unit of the user's source.
#include "jit/worker/host/clang_setup.h"

#include <algorithm>
#include <array>

#include "jit/worker/source/source_fs.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"

namespace tarsia::jit {
namespace {

// The build machine's layout, kept inside the pack.
const char* const k_own_cxx[] = {"/tarsia/sysroot/usr/include/c++/12",
                                 "/tarsia/sysroot/usr/include/x86_64-linux-gnu/c++/12",
                                 "/tarsia/sysroot/usr/include/c++/12/backward"};
const char* const k_own_c[] = {"/tarsia/sysroot/usr/include/x86_64-linux-gnu", "/tarsia/sysroot/usr/include"};

std::string c_standard(const std::string&) {
  return "gnu17";
}

// g++ and nvcc without -std speak GNU's dialect, which takes all that the standard one takes.
std::string gnu_standard(const std::string& standard) {
  return standard.starts_with("c++") ? "gnu" + standard.substr(1) : standard;
}

// Places where a machine keeps its own headers; the newest libstdc++ that is there is taken.
std::vector<std::string> system_cxx() {
  for (int version = 16; version >= 9; --version) {
    std::string dir = "/usr/include/c++/" + std::to_string(version);
    if (llvm::sys::fs::is_directory(dir))
      return {dir, "/usr/include/x86_64-linux-gnu/c++/" + std::to_string(version), dir + "/backward"};
  }
  return {};
}

}  // namespace

Language language_of(const SourceFile& file, bool request_is_cuda) {
  auto dot = file.name.rfind('.');
  std::string suffix = dot == std::string::npos ? "" : file.name.substr(dot);
  if (suffix == ".c") return Language::c;
  if (suffix == ".cu") return request_is_cuda ? Language::cuda : Language::cxx;
  if (suffix.empty()) return request_is_cuda ? Language::cuda : Language::cxx;
  return Language::cxx;
}

bool known_standard(const std::string& std) {
  static constexpr std::array known{"c++11",   "c++14",   "c++17",   "c++20",   "c++23",
                                    "gnu++11", "gnu++14", "gnu++17", "gnu++20", "gnu++23"};
  return std::find(known.begin(), known.end(), std) != known.end();
}

std::vector<std::string> clang_arguments(const CompileRequest& request, Language language,
                                         const std::string& input, const std::string& prelude) {
  const CompileOptions& options = request.options;
  std::vector<std::string> args = {
      "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-main-file-name", input, "-mrelocation-model", "pic",
      "-pic-level", "2", "-target-cpu", "x86-64", "-tune-cpu", "generic", "-mconstructor-aliases",
      "-funwind-tables=2", "-fgnuc-version=4.2.1", "-fvisibility=hidden", "-fno-ident", "-nostdsysteminc",
      "-nobuiltininc", "-fdebug-compilation-dir=.", "-ferror-limit", "50", "-fdiagnostics-absolute-paths",
      "-Wall", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
      "-Wno-unused-const-variable", "-Wno-unused-private-field", "-fno-pch-timestamp",
      "-fmacro-prefix-map=/tarsia/src/=", "-fbracket-depth", "2048", "-mframe-pointer=none",
      "-fno-caret-diagnostics",
      // What g++ takes with a warning.
      "-Wno-error=c++11-narrowing", "-Wno-error=register", "-Wno-error=reserved-user-defined-literal"};
  auto add = [&](auto... more) { (args.emplace_back(more), ...); };

  add("-O" + std::to_string(options.opt));
  if (options.opt >= 2) add("-vectorize-loops", "-vectorize-slp");
  if (options.fast_math)
    add("-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-funsafe-math-optimizations",
        "-fno-signed-zeros", "-mreassociate", "-freciprocal-math", "-ffp-contract=fast", "-ffast-math",
        "-ffinite-math-only");
  if (options.debug)
    add("-debug-info-kind=constructor", "-dwarf-version=5", "-debugger-tuning=gdb");
  else if (options.lineinfo)
    add("-debug-info-kind=line-tables-only", "-dwarf-version=5", "-debugger-tuning=gdb");

  // User's folders first, then the C++ library's, Clang's, C's, and CUDA's.
  add("-I", k_source_dir, "--embed-dir=" + std::string(k_source_dir));
  for (const std::string& dir : options.include_dirs) add("-I", dir, "--embed-dir=" + dir);
  add("-internal-isystem", k_include_dir);
  if (!has_system_headers(options)) {
    if (language != Language::c)
      for (const char* dir : k_own_cxx) add("-internal-isystem", dir);
    add("-internal-isystem", k_clang_dir);
    for (const char* dir : k_own_c) add("-internal-externc-isystem", dir);
  } else {
    if (language != Language::c)
      for (const std::string& dir : system_cxx()) add("-internal-isystem", dir);
    add("-internal-isystem", k_clang_dir, "-internal-isystem", "/usr/local/include");
    add("-internal-externc-isystem", "/usr/include/x86_64-linux-gnu", "-internal-externc-isystem",
        "/usr/include");
  }
  if (request.cuda) {
    add("-internal-isystem", k_host_headers_dir);
    if (!request.cuda_parts.include_dirs.empty()) add("-internal-isystem", k_cuda_dir);
  }

  add("-D", "TARSIA_INLINE_SOURCE=1");
  for (const auto& [name, value] : options.defines) add("-D", value ? name + "=" + *value : name);

  switch (language) {
    case Language::c:
      add("-std=" + c_standard(options.std), "-x", "c");
      break;
    case Language::cxx:
      add("-std=" + gnu_standard(options.std), "-fcxx-exceptions", "-fexceptions", "-fdeprecated-macro", "-x",
          "c++");
      break;
    case Language::cuda:
      // The launch API of CUDA 9.2 and later is what Clang's code calls; it is asked for by version.
      add("-std=" + gnu_standard(options.std), "-fcxx-exceptions", "-fexceptions", "-fdeprecated-macro",
          "-aux-triple", "nvptx64-nvidia-cuda", "-target-sdk-version=12.9", "-fno-cuda-host-device-constexpr",
          "-Wno-unknown-cuda-version", "-Wno-unknown-pragmas", "-Wno-vla-cxx-extension", "-x", "cuda");
      // nvcc leaves host code unoptimised unless told otherwise, so programs that reach past the language's
      // rules (a missing return, numbers that wrap around, a float read as an int) do there what their
      // authors expect.
      add("-fno-strict-return", "-fwrapv", "-relaxed-aliasing");
      break;
  }
  if (!prelude.empty())
    add("-include-pch", prelude);
  else if (language == Language::cuda)
    add("-include", std::string(k_host_headers_dir) + "/tarsia_cuda_host.h");
  add(input);
  return args;
}

std::vector<std::string> readable_roots(const CompileRequest& request) {
  std::vector<std::string> roots = request.options.include_dirs;
  if (request.cuda)
    roots.insert(roots.end(), request.cuda_parts.include_dirs.begin(), request.cuda_parts.include_dirs.end());
  if (has_system_headers(request.options)) {
    roots.push_back("/usr/include");
    roots.push_back("/usr/local/include");
  }
  return roots;
}

void initialize_llvm() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

}  // namespace tarsia::jit

// tarsia-compiler: the worker program. Speaks the protocol (docs/protocol.md) on file descriptor 3.
//
//   tarsia-compiler --serve DIR       started by libtarsia; DIR holds the packs of headers and preludes
//   tarsia-compiler --version         says what it is built of
//   tarsia-compiler --frames          explains the frames of a crash (base/frame_format.h) from standard
//   input tarsia-compiler --make-preludes FILE [--without-cuda]
//                                     makes the preludes that are shipped beside it, of CUDA's headers too if
//                                     they are found
//
// For work on the compiler itself, without a cache:
//
//   tarsia-compiler --compile [-I DIR] [--std STD] [--arch ARCH] [--repeat N] [--trace JSON] FILE...
//                                     compiles each source, prints timings and writes FILE.so into the
//                                     current folder
//   tarsia-compiler --slice [-I DIR] [--std STD] FILE...
//                                     prints the kernels and the texts that the device's compiler would be
//                                     given
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/cuda/cuda_parts.h"
#include "base/figures/elapsed.h"
#include "base/file.h"
#include "base/frame_format.h"
#include "base/paths.h"
#include "clang/Basic/Version.h"
#include "jit/build_id.h"
#include "jit/scratch.h"
#include "jit/worker/frames.h"
#include "jit/worker/out_of_memory.h"
#include "jit/worker/worker.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"

namespace {

using namespace tarsia;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> include_dirs;
  std::vector<std::string> archs;
  std::string std, trace;
  int repeat = 1;
  bool slice = false;
};

void print(const std::vector<jit::Diagnostic>& diagnostics) {
  for (const jit::Diagnostic& d : diagnostics)
    std::fprintf(stderr, "%s:%d:%d: %s: %s\n", d.file.c_str(), d.line, d.column,
                 d.severity == Severity::note      ? "note"
                 : d.severity == Severity::warning ? "warning"
                                                   : "error",
                 d.message.c_str());
}

bool compile_file(jit::Worker& worker, const Options& options, const std::filesystem::path& path) {
  jit::CompileRequest request;
  request.name = path;
  request.files.push_back({path.filename(), read_file(path)});
  request.options.include_dirs = {std::filesystem::absolute(path).parent_path()};
  for (const std::string& dir : options.include_dirs)
    request.options.include_dirs.push_back(std::filesystem::absolute(dir));
  request.cuda = path.extension() == ".cu";
  request.options.archs = options.archs;
  if (!options.std.empty()) request.options.std = options.std;
  if (request.cuda) request.cuda_parts = find_cuda_parts();
  if (options.slice) {
    std::vector<jit::Diagnostic> diagnostics;
    for (const jit::SourceFile& file : worker.slices(request, diagnostics))
      std::printf("==> %s\n%s", file.name.c_str(), file.text.c_str());
    print(diagnostics);
    return true;
  }
  jit::NoParts parts;
  for (int round = 0; round < options.repeat; ++round) {
    const bool traced = !options.trace.empty() && round + 1 == options.repeat;
    if (traced) llvm::timeTraceProfilerInitialize(100, "tarsia-compiler");
    auto start = std::chrono::steady_clock::now();
    jit::CompileResult result = worker.compile(request, parts);
    double time = milliseconds_since(start);
    if (traced) llvm::consumeError(llvm::timeTraceProfilerWrite(options.trace, "tarsia-compiler"));
    if (round == 0) print(result.diagnostics);
    std::fprintf(stderr, "%s: %s, %.2f ms", path.c_str(), result.ok ? "compiled" : "failed", time);
    for (const auto& [step, part] : result.timings) std::fprintf(stderr, "; %s %.2f", step.c_str(), part);
    std::fprintf(stderr, "\n");
    if (!result.ok) return false;
    worker.idle();
    std::ofstream(path.filename().string() + ".so", std::ios::binary) << result.module;
  }
  return true;
}

int compile_files(jit::Worker& worker, int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    auto value = [&](const char* name) {
      if (std::strcmp(argv[i], name) != 0 || i + 1 == argc) return false;
      ++i;
      return true;
    };
    if (value("-I"))
      options.include_dirs.push_back(argv[i]);
    else if (value("--std"))
      options.std = argv[i];
    else if (value("--arch"))
      options.archs.push_back(argv[i]);
    else if (value("--repeat"))
      options.repeat = std::max(1, std::atoi(argv[i]));
    else if (value("--trace"))
      options.trace = argv[i];
    else if (!std::strcmp(argv[i], "--slice"))
      options.slice = true;
    else if (std::strcmp(argv[i], "--compile") != 0)
      options.files.push_back(argv[i]);
  }
  if (options.archs.empty()) options.archs = {"sm_90"};
  bool ok = true;
  for (const std::string& file : options.files) ok &= compile_file(worker, options, file);
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "--version")) {
    std::printf("tarsia-compiler %s\n%s\n", std::string(jit::build_id()).c_str(),
                clang::getClangFullVersion().c_str());
    return 0;
  }
  jit::leave_when_out_of_memory();
  try {
    if (argc == 2 && !std::strcmp(argv[1], k_frames_option))
      return jit::explain_frames(STDIN_FILENO, std::cout) ? 0 : 1;
    if (argc >= 2 && !std::strcmp(argv[1], "--symbolizer")) {
      jit::answer_as_symbolizer(std::cin, std::cout);
      return 0;
    }
    // An unpacked worker does not lie beside its packs. It gets their paths.
    const std::string folder = argc == 3 && !std::strcmp(argv[1], "--serve") ? argv[2] : library_dir();
    auto pack = std::make_shared<const jit::SysrootPack>(folder + "/tarsia-sysroot.pack");
    jit::Worker worker(pack, folder + "/tarsia-preludes.pack", folder);
    if (argc >= 3 && !std::strcmp(argv[1], "--make-preludes")) {
      const bool with_cuda = argc == 3 || std::strcmp(argv[3], "--without-cuda") != 0;
      worker.make_shipped_preludes(argv[2], with_cuda);
      return 0;
    }
    if (argc > 2 && (!std::strcmp(argv[1], "--compile") || !std::strcmp(argv[1], "--slice")))
      return compile_files(worker, argc, argv);
    jit::Hello hello;
    hello.build_id = jit::build_id();
    hello.compilers = {{"clang", clang::getClangFullVersion()}};
    worker.hold_parses();
    const int status = jit::serve(UniqueFd(jit::k_worker_fd), hello, worker);
    jit::remove_own_scratch();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tarsia-compiler: %s\n", error.what());
    return 1;
  }
}

// tarsia-compiler: the worker program. Speaks the protocol (docs/protocol.md) on file descriptor 3.
//
//   tarsia-compiler                   started by libtarsia
//   tarsia-compiler --version         says what it is built of
//   tarsia-compiler --compile FILE    compiles one source and writes FILE.so: for work on the compiler itself
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/cuda_parts.h"
#include "base/file.h"
#include "base/paths.h"
#include "clang/Basic/Version.h"
#include "jit/build_id.h"
#include "jit/worker/worker.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"

namespace {

using namespace tarsia;

struct NoParts final : jit::PartStore {
  std::optional<std::string> find(jit::PartKind, const std::array<unsigned char, 32>&) override { return std::nullopt; }
  void keep(jit::PartKind, const std::array<unsigned char, 32>&, std::string) override {}
};

int compile_file(jit::Worker& worker, const std::string& path) {
  jit::CompileRequest request;
  request.name = path;
  request.files.push_back({std::filesystem::path(path).filename(), read_file(path)});
  request.options.include_dirs = {std::filesystem::absolute(path).parent_path()};
  request.cuda = path.ends_with(".cu");
  request.options.archs = {"sm_90"};
  if (request.cuda) request.cuda_parts = find_cuda_parts();
  NoParts parts;
  bool ok = false;
  for (int round = 0; round < (getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 3); ++round) {
    if (round == 2) llvm::timeTraceProfilerInitialize(100, "x");
    jit::CompileResult result = worker.compile(request, parts);
    if (round == 2) { (void)!!llvm::timeTraceProfilerWrite("/tmp/trace.json", "x"); }
    for (const jit::Diagnostic& d : result.diagnostics)
      if (round == 0)
        std::fprintf(stderr, "%s:%d:%d: %s: %s\n", d.file.c_str(), d.line, d.column,
                     d.severity == Severity::note ? "note" : d.severity == Severity::warning ? "warning" : "error",
                     d.message.c_str());
    for (const auto& [step, time] : result.timings) std::fprintf(stderr, "%s %.2f ms  ", step.c_str(), time);
    std::fprintf(stderr, "\n");
    if (!result.ok) return 1;
    worker.idle();
    ok = true;
    std::ofstream(std::filesystem::path(path).filename().string() + ".so", std::ios::binary) << result.module;
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "--version")) {
    std::printf("tarsia-compiler %s\n%s\n", std::string(jit::build_id()).c_str(), clang::getClangFullVersion().c_str());
    return 0;
  }
  try {
    auto pack = std::make_shared<const jit::SysrootPack>(library_dir() + "/tarsia-sysroot.pack");
    jit::Worker worker(pack);
    if (argc == 3 && !std::strcmp(argv[1], "--compile")) return compile_file(worker, argv[2]);
    jit::Hello hello;
    hello.build_id = jit::build_id();
    hello.compilers = {{"clang", clang::getClangFullVersion()}};
    return jit::serve(UniqueFd(jit::k_worker_fd), hello, worker);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tarsia-compiler: %s\n", error.what());
    return 1;
  }
}

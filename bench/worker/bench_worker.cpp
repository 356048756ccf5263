// Measures the compile of a host-only op in C style that was never compiled before. The worker's whole
// compile, from the source to a module that can be opened, is compared with Clang alone in this process, from
// the same text to an object. Both take turns; prints the medians and their ratio.
//
//     build/release/bench_worker [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/paths.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnosticBuffer.h"
#include "jit/worker/worker.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace {

using namespace tarsia;
using Clock = std::chrono::steady_clock;

// VERSION makes each round's text new.
constexpr char k_source[] = R"(
void relu(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : VERSION.0f;
}
)";

std::string version(int k) {
  std::string text = k_source;
  return text.replace(text.find("VERSION"), 7, std::to_string(k));
}

/// Compiles as a program that embeds Clang and has no header to find: -O2, position-independent, to memory.
bool bare_clang(const std::string& text) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile("/op.cc", 0, llvm::MemoryBuffer::getMemBuffer(text));
  clang::DiagnosticOptions options;
  clang::TextDiagnosticBuffer messages;
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), options, &messages, false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  const char* arguments[] = {"-triple",
                             "x86_64-pc-linux-gnu",
                             "-emit-obj",
                             "-O2",
                             "-vectorize-loops",
                             "-vectorize-slp",
                             "-mrelocation-model",
                             "pic",
                             "-pic-level",
                             "2",
                             "-std=gnu++20",
                             "-fcxx-exceptions",
                             "-fexceptions",
                             "-disable-free",
                             "-x",
                             "c++",
                             "/op.cc"};
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics)) return false;
  clang::CompilerInstance instance(invocation);
  instance.setVirtualFileSystem(files);
  instance.createDiagnostics(&messages, false);
  instance.createFileManager();
  llvm::SmallVector<char, 0> object;
  instance.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
  clang::EmitObjAction action;
  return instance.ExecuteAction(action) && !object.empty();
}

bool tarsia_worker(jit::Worker& worker, const std::string& text) {
  jit::CompileRequest request;
  request.name = "op";
  request.files.push_back({"op.cc", text});
  jit::NoParts parts;
  return worker.compile(request, parts).ok;
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

template <class Work>
double milliseconds(const Work& work) {
  const Clock::time_point begin = Clock::now();
  if (!work()) {
    std::fprintf(stderr, "bench_worker: a compile failed\n");
    std::exit(1);
  }
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50;
  jit::Worker worker(std::make_shared<const jit::SysrootPack>(library_dir() + "/tarsia-sysroot.pack"),
                     library_dir() + "/tarsia-preludes.pack");
  constexpr int k_warm_up = 3;
  std::vector<double> ours, bare;
  for (int k = 0; k < k_warm_up + rounds; ++k) {
    const double to_module = milliseconds([&] { return tarsia_worker(worker, version(k)); });
    const double to_object = milliseconds([&] { return bare_clang(version(k)); });
    if (k < k_warm_up) continue;
    ours.push_back(to_module);
    bare.push_back(to_object);
  }
  std::printf("Host-only op, %d rounds, medians in ms\n", rounds);
  std::printf("  tarsia-compiler, source to module   %6.2f\n", median(ours));
  std::printf("  bare Clang, source to object        %6.2f\n", median(bare));
  std::printf("  tarsia / bare                       %6.2f\n", median(ours) / median(bare));
}

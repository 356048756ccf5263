// The compiler, which keeps what one compile leaves for the next.
#include "jit/worker/worker.h"

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "jit/worker/compile.h"
#include "jit/worker/isolation/confine.h"
#include "jit/worker/isolation/files_beyond.h"
#include "jit/worker/link/linker.h"
#include "jit/worker/prelude/child_writer.h"

namespace tarsia::jit {
namespace {

bool has_kernels(const CompileRequest& request) {
  if (!request.cuda) return false;
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& file : *group)
      if (file.text.find("__global__") != file.text.npos) return true;
  return false;
}

/// What a forked child gives: the process itself never holds the GPUs' devices, which sources have no use
/// for. Throws Error if the child ends otherwise.
std::vector<std::string> in_a_child(std::vector<std::string> (*ask)()) {
  ChildWriter child;
  child.start([&] { return encode(ask()); });
  const std::optional<std::string> answer = child.finish();
  if (!answer) throw Error("the process that asked the CUDA driver has failed");
  return decode_strings(*answer);
}

}  // namespace

CompileResult Worker::compile(const CompileRequest& request, PartStore& parts) {
  m_state.next_cell.wait();
  const FilesBeyond files(parts);
  if (!m_state.prepared.valid()) m_state.prepared = std::async(std::launch::async, prepare_links);
  if (has_kernels(request)) m_state.device.warm_up(request.cuda_parts.nvrtc);
  return Compile(request, parts, m_state).run();
}

bool Worker::answer_elsewhere(const CompileRequest& request, PartStore& parts) {
  const FilesBeyond files(parts);
  return m_state.held.has_any() && Compile(request, parts, m_state).answer_elsewhere();
}

std::vector<SourceFile> Worker::slices(const CompileRequest& request, std::vector<Diagnostic>& diagnostics) {
  NoParts parts;
  return Compile(request, parts, m_state).slices(diagnostics);
}

void Worker::idle() {
  m_state.next_cell.wait();
  m_state.device.precompile_headers();  // forks
  m_state.next_cell.make_ready(m_state);
}

std::vector<std::string> Worker::confine(const CudaParts& cuda) {
  return jit::confine(m_state.home, cuda);
}

std::vector<std::string> Worker::archs() {
  m_state.next_cell.wait();
  return in_a_child(&cuda_architectures);
}

}  // namespace tarsia::jit

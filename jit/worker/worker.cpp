// The compiler, which keeps what one compile leaves for the next.
#include "jit/worker/worker.h"

#include <set>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "jit/worker/compile.h"
#include "jit/worker/link/linker.h"

namespace tarsia::jit {
namespace {

bool has_kernels(const CompileRequest& request) {
  if (!request.cuda) return false;
  for (const auto* group : {&request.files, &request.headers})
    for (const SourceFile& file : *group)
      if (file.text.find("__global__") != file.text.npos) return true;
  return false;
}

}  // namespace

CompileResult Worker::compile(const CompileRequest& request, PartStore& parts) {
  if (!m_state.prepared.valid()) m_state.prepared = std::async(std::launch::async, prepare_links);
  if (has_kernels(request)) m_state.device.warm_up(request.cuda_parts.nvrtc);
  return Compile(request, parts, m_state).run();
}

bool Worker::answer_elsewhere(const CompileRequest& request) {
  NoParts parts;
  return m_state.held.has_any() && Compile(request, parts, m_state).answer_elsewhere();
}

std::vector<SourceFile> Worker::slices(const CompileRequest& request, std::vector<Diagnostic>& diagnostics) {
  NoParts parts;
  return Compile(request, parts, m_state).slices(diagnostics);
}

void Worker::idle() {
  m_state.device.precompile_headers();
}

std::vector<std::string> Worker::archs() {
  constexpr int k_major = 75, k_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
  std::set<std::string> all;
  try {
    const CudaDriver& driver = cuda_driver();
    for (int i = 0; i < cuda_device_count(); ++i) {
      CuDevice device = 0;
      int major = 0, minor = 0;
      check_cuda(driver.cuDeviceGet(&device, i), "cuDeviceGet");
      check_cuda(driver.cuDeviceGetAttribute(&major, k_major, device), "cuDeviceGetAttribute");
      check_cuda(driver.cuDeviceGetAttribute(&minor, k_minor, device), "cuDeviceGetAttribute");
      all.insert("sm_" + std::to_string(major) + std::to_string(minor));
    }
  } catch (const Error&) {
    // Without a driver or a GPU there is no architecture to name.
  }
  return {all.begin(), all.end()};
}

}  // namespace tarsia::jit

// What identifies this machine, from the kernel, CPUID and CUDA's driver.
#include "registry/measure/machine.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>

#include "base/cuda/cuda_driver.h"
#include "base/machine/cpu.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

/// Of the first core.
std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  return {};
}

std::string cpu_text() {
  static const std::string s_fixed = model_name() + ", " + std::string(cpu_level()) + ", " + cpu_identity();
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int n = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
  const char* threads = std::getenv("OMP_NUM_THREADS");
  return s_fixed + ", cores " + std::to_string(n) + ", OMP_NUM_THREADS " + (threads ? threads : "");
}

std::string gpu_text(int device) {
  constexpr int k_major = 75, k_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
  constexpr int k_multiprocessors = 16;      // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: MIG slices differ
  const CudaDriver& driver = cuda_driver();
  int version = 0, major = 0, minor = 0, n = 0;
  char name[256] = "";
  CuDevice gpu{};
  check_cuda(driver.cuDriverGetVersion(&version), "cuDriverGetVersion");
  check_cuda(driver.cuDeviceGet(&gpu, device), "cuDeviceGet");
  check_cuda(driver.cuDeviceGetName(name, sizeof name, gpu), "cuDeviceGetName");
  check_cuda(driver.cuDeviceGetAttribute(&major, k_major, gpu), "cuDeviceGetAttribute");
  check_cuda(driver.cuDeviceGetAttribute(&minor, k_minor, gpu), "cuDeviceGetAttribute");
  check_cuda(driver.cuDeviceGetAttribute(&n, k_multiprocessors, gpu), "cuDeviceGetAttribute");
  std::string kernel_module;  // the driver's own version, which cuDriverGetVersion rounds to CUDA's
  std::ifstream file("/proc/driver/nvidia/version");
  std::getline(file, kernel_module);
  return std::string(name) + ", " + std::to_string(major) + "." + std::to_string(minor) +
         ", multiprocessors " + std::to_string(n) + ", CUDA " + std::to_string(version) + ", " +
         kernel_module;
}

}  // namespace

std::string machine_identity(tarsia_device device) {
  return cpu_text() + (is_gpu(device) ? "; " + gpu_text(device.id) : "");
}

}  // namespace tarsia::registry

// A kernel of a loaded library, and where it lies on each GPU.
#pragma once

#include <tarsia/c_api.h>

#include <array>
#include <atomic>

#include "base/cuda/cuda_driver.h"
#include "registry/resources/cuda_runtime.h"
#include "registry/resources/raised_limit.h"

namespace tarsia::registry {

class Library;

/// A kernel on one GPU.
struct KernelOnDevice {
  CuFunction function = nullptr;
  CuContext context = nullptr;
  RaisedLimit shared;  ///< the limit of dynamic shared memory set so far
  std::atomic<bool> large_clusters{false};
};

/// A kernel of a library, and the runtime that its stub is registered with; null if CUDA is not linked.
struct LibraryKernel {
  LibraryKernel() = default;
  ~LibraryKernel() {
    for (auto& on : on_device) delete on.load();
  }
  LibraryKernel(const LibraryKernel&) = delete;
  LibraryKernel& operator=(const LibraryKernel&) = delete;

  tarsia_kernel kernel{};  ///< first: its address is what faces hold
  const CudaRuntime* runtime = nullptr;
  const Library* library = nullptr;
  const char* display_name = "";                                     ///< "kernel saxpy", kept_name()
  mutable std::array<std::atomic<KernelOnDevice*>, 64> on_device{};  ///< made at first use
};

}  // namespace tarsia::registry

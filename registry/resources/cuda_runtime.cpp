// Finds the CUDA runtime that is loaded in the process, and looks up its functions.
#include "registry/resources/cuda_runtime.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/fork.h"

namespace tarsia::registry {

namespace {

/// The runtimes found so far. Never destroyed: threads may launch while the process exits.
struct Runtimes {
  ForkSafeMutex mutex;  ///< guards what follows
  std::map<std::string, std::unique_ptr<CudaRuntime>> found;
};
Runtimes& g_runtimes = *new Runtimes;

}  // namespace

const CudaRuntime* find_cuda_runtime(const std::string& soname) {
  {
    const std::lock_guard lock(g_runtimes.mutex);
    if (const auto known = g_runtimes.found.find(soname); known != g_runtimes.found.end())
      return known->second.get();
  }
  // Beside the mutex, which is a leaf. The handle is kept. Work-around: the CUDA runtime does not survive
  // being unmapped, see registry/loader.cpp.
  const InLoader in_loader;
  void* library = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!library) return nullptr;
  auto found = std::make_unique<CudaRuntime>();
  auto need = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!need("cudaPeekAtLastError", found->cudaPeekAtLastError) ||
      !need("cudaGetLastError", found->cudaGetLastError) ||
      !need("cudaGetErrorName", found->cudaGetErrorName) ||
      !need("cudaGetErrorString", found->cudaGetErrorString) ||
      !need("cudaGetFuncBySymbol", found->cudaGetFuncBySymbol) ||
      !need("cudaGetSymbolAddress", found->cudaGetSymbolAddress))
    return nullptr;
  const std::lock_guard lock(g_runtimes.mutex);
  return g_runtimes.found.try_emplace(soname, std::move(found)).first->second.get();
}

}  // namespace tarsia::registry

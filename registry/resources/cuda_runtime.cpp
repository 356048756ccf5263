// Finds the CUDA runtime that is loaded in the process, and looks up its functions.
#include "registry/resources/cuda_runtime.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

namespace tarsia::registry {

const CudaRuntime* find_cuda_runtime(const std::string& soname) {
  static std::mutex s_mutex;
  static auto& runtimes = *new std::map<std::string, std::unique_ptr<CudaRuntime>>();
  std::lock_guard lock(s_mutex);
  std::unique_ptr<CudaRuntime>& runtime = runtimes[soname];
  if (runtime) return runtime.get();
  // The handle is kept. Work-around: the CUDA runtime does not survive being unmapped, see
  // registry/loader.cpp.
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
  runtime = std::move(found);
  return runtime.get();
}

}  // namespace tarsia::registry

// Maps modules ahead of their loads.
//
// The first launch of a kernel costs a context on its GPU, the runtime's registration and the copy of its
// code. All of that can be done before a library is asked for. Mapping a module makes its static objects,
// once, whoever maps it; they may find only what the module links. So a module that links more than the CUDA
// runtime and what comes with the system's compiler stays for its load: PyTorch, say, would get its operators
// early.
#include "registry/preload.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tarsia/abi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/machine/cpu.h"
#include "registry/crash/crash_handler.h"
#include "registry/crash/thread_record.h"
#include "registry/host_table.h"
#include "registry/library/elf.h"
#include "registry/library/needed_libraries.h"
#include "registry/resources/call_context.h"
#include "registry/resources/cuda_runtime.h"

namespace tarsia::registry {
namespace {

ForkSafeMutex g_mutex;                         // of g_preloaded
std::map<std::string, Preloaded> g_preloaded;  // by key

/// Whether the path leads to the open file.
bool leads_to(const std::string& path, int fd) {
  struct stat named, opened;
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

/// The soname of the CUDA runtime that it links; "" if none.
std::string runtime_of(const ElfLibrary& elf) {
  for (const std::string& name : elf.needed)
    if (name.starts_with("libcudart.so")) return name;
  return {};
}

/// Loads the kernels onto a GPU. Returns whether all of them are there.
bool load_kernels(const tarsia_module& module, const CudaRuntime& runtime, int device) {
  const CudaDriver& driver = cuda_driver();
  const CudaDeviceScope scope(device);
  const CudaRelaxedCapture relaxed;
  for (auto* kernel = module.kernels; kernel != module.kernels_end; ++kernel) {
    if (!*kernel) continue;
    const void* const stub = (*kernel)->stub_slot ? *(*kernel)->stub_slot : (*kernel)->stub;
    CuFunction function = nullptr;
    constexpr int k_registers = 4;  // CU_FUNC_ATTRIBUTE_NUM_REGS: known once the code is loaded
    int registers = 0;
    if (!stub || runtime.cudaGetFuncBySymbol(&function, stub) != 0) {
      runtime.cudaGetLastError();
      return false;
    }
    if (driver.cuFuncGetAttribute(&registers, k_registers, function) != 0) return false;
  }
  return true;
}

}  // namespace

// The path of the file, or that of its descriptor, with a number written in slashes and dots. Debuggers and
// profilers open the module by this path, from processes of their own. So the path of a descriptor names this
// process.
//
// Work-around: glibc knows a mapped library by its path as well as by its inode.
// Trigger: a module lies where a module mapped before lay, or its descriptor has the number that the other's
// had. Symptom: dlopen gives the old module back.
// Removal: dlopen takes a descriptor, or tells files of one path apart by their inodes.
std::string unique_path(const std::string& file_path, int fd) {
  static std::atomic<std::uint64_t> s_next{0};
  const std::string path = !file_path.empty() && leads_to(file_path, fd)
                               ? file_path
                               : "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
  const std::size_t name = path.rfind('/') + 1;
  std::string unique = path.substr(0, name);
  for (std::uint64_t number = s_next.fetch_add(1); number; number >>= 1) unique += (number & 1) ? "./" : "/";
  return unique + path.substr(name);
}

bool has_descriptors_to_spare(int fd) {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) < limit.rlim_cur / 4;
}

bool links_runtime_alone(const ElfLibrary& elf) {
  static constexpr std::array k_known = {"libcudart.so", "libstdc++.so",  "libgcc_s.so", "libc.so",
                                         "libm.so",      "libpthread.so", "librt.so",    "ld-linux"};
  return std::ranges::all_of(elf.needed, [](const std::string& name) {
    return std::ranges::any_of(k_known, [&](const char* known) { return name.starts_with(known); });
  });
}

bool preload(UniqueFd file, const std::string& key, std::span<const int> devices) {
  const auto is_there = [&] {
    const std::lock_guard lock(g_mutex);
    return g_preloaded.contains(key);
  };
  if (is_there()) return true;
  try {
    const Mapping bytes(file.get());
    const ElfLibrary elf = read_elf(bytes.bytes(), key);
    const bool is_module =
        std::ranges::find(elf.tarsia_symbols, TARSIA_MODULE_SYMBOL) != elf.tarsia_symbols.end();
    if (!is_module || elf.sanitizer || runtime_of(elf).empty() || !links_runtime_alone(elf) ||
        !missing_cpu_features(elf.cpu_features).empty())
      return false;
    const InLoader in_loader;
    open_needed(elf, key);
    report_crashes();
    Preloaded made{.path = unique_path({}, file.get())};
    {
      const LoadingScope loading(call_slot(), key, bytes.bytes(), {}, file.get());
      made.handle = ::dlopen(made.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (!made.handle) return false;
    const auto entry = reinterpret_cast<tarsia_module_attach_fn>(::dlsym(made.handle, TARSIA_MODULE_SYMBOL));
    const tarsia_module* module = entry ? entry(host_table()) : nullptr;
    const CudaRuntime* runtime = find_cuda_runtime(runtime_of(elf));
    bool on_any = false;
    if (module && module->abi_version == TARSIA_ABI_VERSION && runtime)
      for (const int device : devices) on_any |= load_kernels(*module, *runtime, device);
    if (on_any) {
      // What is mapped needs none; debuggers open the module by its path.
      if (has_descriptors_to_spare(file.get())) made.file = std::move(file);
      const std::lock_guard lock(g_mutex);
      // Another thread may have been quicker: its mapping stays.
      if (const auto [known, is_new] = g_preloaded.try_emplace(key); is_new) {
        known->second = std::move(made);
        return true;
      }
    }
    ::dlclose(made.handle);
    return on_any;
  } catch (const Error& error) {
    log().debug("{}: not loaded ahead: {}", key.substr(0, 12), error.what());
    return false;
  }
}

Preloaded take_preloaded(const std::string& key) {
  const std::lock_guard lock(g_mutex);
  const auto found = g_preloaded.find(key);
  if (found == g_preloaded.end()) return {};
  Preloaded taken = std::move(found->second);
  g_preloaded.erase(found);
  return taken;
}

}  // namespace tarsia::registry

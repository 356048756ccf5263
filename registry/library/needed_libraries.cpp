// Opens them where a toolkit, a wheel or Tarsia itself has them.
#include "registry/library/needed_libraries.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/cuda/cuda_parts.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"

namespace tarsia::registry {

namespace {

bool is_of_nvidia(const std::string& name) {
  return name.starts_with("libcu") || name.starts_with("libnv") || name.starts_with("libnpp");
}

bool is_open(const char* name) {
  void* const loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded) dlclose(loaded);
  return loaded != nullptr;
}

/// Initialises libomp, just opened, so that it starts anew in forked children.
///
/// Work-around: joblib forbids OpenMP to start anew in forked children.
/// Trigger: joblib was imported first: it sets KMP_INIT_AT_FORK=FALSE for an Intel OpenMP of 2019.
/// Symptom: libomp believes in a forked child that its parent's threads are there, and waits for them for
/// ever. Removal: joblib leaves KMP_INIT_AT_FORK alone.
void initialise_for_forks(void* openmp) {
  static constexpr const char* k_variable = "KMP_INIT_AT_FORK";
  const char* const value = std::getenv(k_variable);
  const auto initialise = reinterpret_cast<int (*)(void*)>(dlsym(openmp, "__kmpc_global_thread_num"));
  if (!value || !initialise) return;
  // Replacing the value of a variable that exists moves no other one: threads may read them meanwhile.
  const std::string before = value;
  ::setenv(k_variable, "TRUE", 1);
  initialise(nullptr);
  ::setenv(k_variable, before.c_str(), 1);
}

/// Opens LLVM's libomp, and never closes it: its threads outlive the modules that started them.
void open_openmp(const std::string& name, const std::string& path) {
  if (is_open(name.c_str())) {
    (void)dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    return;
  }
  // A second copy ends the process, unless it is told not to.
  const char* const allowed = std::getenv("KMP_DUPLICATE_LIB_OK");
  for (const char* other : {"libiomp5.so", "libomp.so", "libomp.so.5"})
    if (!allowed && is_open(other))
      throw LoadError(path + " needs " + name + ", and this process has " + other +
                      ", another copy of the same OpenMP, which cannot run beside it: load the library with "
                      "OpenMP in a process without that one, or set KMP_DUPLICATE_LIB_OK=TRUE at your own "
                      "risk");
  for (const std::string& candidate : openmp_libraries(library_dir())) {
    void* const opened = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
      log().warn("cannot open {}: {}", candidate, dlerror());
      continue;
    }
    if (is_open(name.c_str())) return initialise_for_forks(opened);
    dlclose(opened);  // it has another name
  }
  if (void* const opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return initialise_for_forks(opened);
  throw LoadError(path + " needs " + name +
                  ", OpenMP's run-time library, which was not found: " + std::string(k_openmp_remedy));
}

}  // namespace

void open_needed(const ElfLibrary& elf, const std::string& path) {
  for (const std::string& name : elf.needed) {
    if (is_openmp_library(name)) open_openmp(name, path);
    if (!is_of_nvidia(name) || name.starts_with("libcuda.so")) continue;
    if (void* loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      dlclose(loaded);
      continue;
    }
    const CudaParts parts = find_cuda_parts();
    std::vector<std::string> candidates;
    if (parts.cudart.ends_with("/" + name)) candidates.push_back(parts.cudart);
    for (const std::string& dir : parts.library_dirs) candidates.push_back(dir + "/" + name);
    bool opened = false;
    for (const std::string& candidate : candidates) {
      struct stat status;
      if (stat(candidate.c_str(), &status) != 0) continue;
      // Never closed. Work-around: the CUDA runtime does not survive being unmapped.
      // Trigger: a module of a process is the first to need the runtime, and goes.
      // Symptom: the exit handlers that the runtime has registered call code that is no longer there.
      // Removal: a runtime that takes its exit handlers out when it is unmapped is the oldest supported.
      opened = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
      if (opened) break;
      log().warn("cannot open {}: {}", candidate, dlerror());
    }
    if (opened) continue;
    if (void* found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      (void)found;
      continue;
    }
    throw LoadError(
        path + " needs " + name +
        ", which is neither on the loader's path nor in a CUDA toolkit or NVIDIA wheel here: install the "
        "CUDA runtime of that major version (pip install nvidia-cuda-runtime), or set TARSIA_CUDA_HOME");
  }
}

}  // namespace tarsia::registry

// The toolchain's places, for Landlock, and the order of the steps.
#include "jit/worker/isolation/confine.h"

#include <link.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "jit/readable.h"
#include "jit/scratch.h"
#include "jit/worker/isolation/landlock.h"
#include "jit/worker/isolation/system_calls.h"

namespace tarsia::jit {
namespace {

namespace fs = std::filesystem;

/// Folders that hold libraries alone. Others, such as those of conda, hold programs' own files as well.
bool is_system_folder(const std::string& folder) {
  for (const char* root :
       {"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"})
    if (is_below(folder, root)) return true;
  return false;
}

/// The libraries that this process runs on. The linker reads them, too.
void add_run_time(OpenPaths& paths) {
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
    if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/') return 0;
    auto& read = static_cast<OpenPaths*>(data)->read;
    const std::string folder = fs::path(info->dlpi_name).parent_path();
    read.push_back(is_system_folder(folder) ? folder : info->dlpi_name);
    return 0;
  };
  ::dl_iterate_phdr(add, &paths);
}

/// NVRTC opens its builtins itself, by name, once it has found them beside it.
void add_library(const std::string& path, OpenPaths& paths) {
  if (path.empty()) return;
  paths.read.push_back(path);
  const fs::path folder = fs::path(path).parent_path();
  paths.list.push_back(folder);
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins."))
      paths.read.push_back(entry.path());
}

OpenPaths toolchain(const std::string& home, const CudaParts& cuda) {
  OpenPaths paths;
  // Time zones are for __DATE__. Of /proc: memory, for held parses and allocators, and the CPU.
  paths.read = {home,
                "/etc/ld.so.cache",
                "/etc/localtime",
                "/usr/share/zoneinfo",
                "/proc/meminfo",
                "/proc/cpuinfo",
                "/proc/self/status",
                "/proc/self/maps",
                "/proc/sys/vm/overcommit_memory",
                "/sys/devices/system/cpu",
                "/dev/urandom",
                "/dev/zero"};
  paths.write = {"/dev/null"};
  add_run_time(paths);
  paths.read.insert(paths.read.end(), cuda.include_dirs.begin(), cuda.include_dirs.end());
  add_library(cuda.nvrtc, paths);
  add_library(cuda.nvjitlink, paths);
  for (const std::string& file : {cuda.cudart, cuda.libdevice})
    if (!file.empty()) paths.read.push_back(file);
  return paths;
}

}  // namespace

std::vector<std::string> confine(const std::string& home, const CudaParts& cuda) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return {
      "isolation is not for a compiler that runs under a sanitizer, which reads and starts what it likes"};
#endif
  std::vector<std::string> lacks;
  const auto add = [&](std::string lack) {
    if (!lack.empty()) lacks.push_back(std::move(lack));
  };
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return {errno_message("the kernel gives no isolation to users' processes", errno)};
  OpenPaths paths = toolchain(home, cuda);
  // NVRTC writes temporary files for the headers that it precompiles.
  paths.scratch = make_scratch();
  if (!paths.scratch.empty()) ::setenv("TMPDIR", paths.scratch.c_str(), 1);
  add(restrict_files(paths));
  add(restrict_system_calls());
  return lacks;
}

}  // namespace tarsia::jit

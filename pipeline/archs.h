// The architectures of the machine's GPUs, found without CUDA in this process.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork.h"
#include "cache/disk_store.h"

namespace tarsia::pipeline {

/// The architecture that a source is compiled for if there is no GPU.
inline constexpr char k_default_arch[] = "sm_90";

/// The default architectures. A worker is asked once for each boot, driver, set of GPU device files and
/// CUDA_VISIBLE_DEVICES, and the store keeps the answer. Without a visible GPU, nobody is asked.
/// Thread-safe.
class Archs final : public ForkAware {
 public:
  /// The device files of GPUs: "0 1 " for /dev/nvidia0 and 1; "x " if GPUs come another way (WSL); empty if
  /// there are none.
  static std::string device_files();

  /// Only tests pass another `find_devices` than device_files.
  explicit Archs(std::string (*find_devices)() = &device_files) : m_find_devices(find_devices) {
    watch_forks();
  }
  ~Archs() { forget_forks(); }

  /// Never empty. After a failure to ask, the result is k_default_arch, which is not kept. Errors that say
  /// nothing about the GPUs (Interrupted, ResourceLimit) are thrown.
  std::vector<std::string> defaults(cache::DiskStore& store,
                                    const std::function<std::vector<std::string>()>& ask);

 private:
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  std::string (*const m_find_devices)();
  std::mutex m_mutex;
  std::map<std::string, std::vector<std::string>> m_known;  ///< by device files and CUDA_VISIBLE_DEVICES
};

}  // namespace tarsia::pipeline

// The architectures of the GPUs present, found out without CUDA in this process.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork.h"
#include "cache/disk_store.h"

namespace tarsia::pipeline {

/// What a source is compiled for where no GPU is seen.
inline constexpr char k_default_arch[] = "sm_90";

/// The default architectures. A worker is asked once per boot, driver, set of GPU device files and
/// CUDA_VISIBLE_DEVICES, and the answer kept in the store; where there is no GPU or none is visible nobody is
/// asked. Thread-safe.
class Archs final : public ForkAware {
 public:
  /// The device files of GPUs: "0 1 " for /dev/nvidia0 and 1; "x " where GPUs come another way (WSL); empty
  /// where there are none.
  static std::string device_files();

  /// `find_devices` is another than device_files in tests alone.
  explicit Archs(std::string (*find_devices)() = &device_files) : m_find_devices(find_devices) {
    watch_forks();
  }
  ~Archs() { forget_forks(); }

  /// Never empty. A failure to ask gives k_default_arch and is not kept; what says nothing about the GPUs
  /// (Interrupted, ResourceLimit) is thrown.
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

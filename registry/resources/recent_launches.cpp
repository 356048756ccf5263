// A ring of names. Writers take no lock and use no atomic read-modify-write, which would slow a launch.
#include "registry/resources/recent_launches.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/fork.h"

namespace tarsia::registry {

namespace {

constexpr std::uint64_t k_kept = 64;
constexpr std::size_t k_listed = 8;

struct Entry {
  std::atomic<const char*> name{nullptr};
  std::atomic<int> device{-1};
};
std::array<Entry, k_kept> s_ring;
std::atomic<std::uint64_t> s_next{0};

/// Never destroyed: the ring points into them.
struct KeptNames {
  ForkSafeMutex mutex;  ///< guards what follows
  std::set<std::string> names;
};
KeptNames& g_kept_names = *new KeptNames;

}  // namespace

const char* kept_name(const std::string& name) {
  const std::lock_guard lock(g_kept_names.mutex);
  return g_kept_names.names.insert(name).first->c_str();
}

void note_launch(const char* kept_name, int device) noexcept {
  const std::uint64_t at = s_next.load(std::memory_order_relaxed);
  // One kernel launched over and over must not crowd out the others.
  const Entry& last = s_ring[(at - 1) % k_kept];
  if (last.name.load(std::memory_order_relaxed) == kept_name &&
      last.device.load(std::memory_order_relaxed) == device)
    return;
  s_next.store(at + 1, std::memory_order_relaxed);
  Entry& entry = s_ring[at % k_kept];
  entry.name.store(kept_name, std::memory_order_relaxed);
  entry.device.store(device, std::memory_order_relaxed);
}

std::string recent_launches() {
  std::vector<std::string> listed;
  const std::uint64_t end = s_next.load(std::memory_order_relaxed);
  for (std::uint64_t back = 1; back <= std::min(end, k_kept) && listed.size() < k_listed; ++back) {
    const Entry& entry = s_ring[(end - back) % k_kept];
    const char* name = entry.name.load(std::memory_order_relaxed);
    const int device = entry.device.load(std::memory_order_relaxed);
    if (!name) continue;
    std::string text = name;
    if (device >= 0 && cuda_device_count() > 1) text += " on GPU " + std::to_string(device);
    if (std::find(listed.begin(), listed.end(), text) == listed.end()) listed.push_back(text);
  }
  if (listed.empty()) return {};
  std::string all = "; launched before it, the latest first: ";
  for (const std::string& text : listed) all += (&text == &listed.front() ? "" : ", ") + text;
  return all +
         ". Set TARSIA_DEBUG_SYNC=1 to learn which one it was. CUDA cannot be used any more in this process";
}

bool is_fatal(CuResult result) noexcept {
  // CUDA_ERROR_ASSERT, ILLEGAL_ADDRESS to LAUNCH_FAILED, ECC_UNCORRECTABLE, HARDWARE_STACK_ERROR and their
  // like.
  return result == 214 || result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
}

bool debug_sync() noexcept {
  static std::atomic<int> s_wanted{-1};  // -1: nobody has asked
  int wanted = s_wanted.load(std::memory_order_relaxed);
  if (wanted < 0) {
    const char* text = std::getenv("TARSIA_DEBUG_SYNC");
    wanted = text && *text && std::strcmp(text, "0") != 0;
    s_wanted.store(wanted, std::memory_order_relaxed);
  }
  return wanted != 0;
}

void wait_for_debugging(const char* name, void* stream) {
  const CudaDriver& driver = cuda_driver();
  if (is_capturing_if_known(stream).value_or(true)) return;
  if (const CuResult result = driver.cuStreamSynchronize(static_cast<CuStream>(stream)))
    throw CudaError(std::string(name) + " failed: " + cuda_error_text(result) +
                    " (TARSIA_DEBUG_SYNC is set: each launch is waited for)");
}

}  // namespace tarsia::registry

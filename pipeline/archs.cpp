// Keeps the architectures of the machine's GPUs as a fact in the cache.
//
// An answer without architectures holds only for a minute, since the driver may not have been up yet. The
// time counts from the boot, which the key names, so a step of the wall clock does not matter.
#include "pipeline/archs.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

namespace tarsia::pipeline {
namespace {

constexpr std::int64_t k_none_lasts = 60;  // s

std::string text_of(const char* path) {
  std::string text;
  if (read_file(path, text, 64 << 10) != 0) return {};
  return text;
}

std::int64_t seconds_since_boot() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec;
}

/// "until:SECONDS" or architectures with blanks between.
std::string encode(const std::vector<std::string>& archs) {
  if (archs.empty()) return "until:" + std::to_string(seconds_since_boot() + k_none_lasts);
  std::string text;
  for (const std::string& arch : archs) text += (text.empty() ? "" : " ") + arch;
  return text;
}

/// Returns false if the fact has expired.
bool decode(const std::string& text, std::vector<std::string>& archs) {
  if (text.starts_with("until:")) return std::atoll(text.c_str() + 6) > seconds_since_boot();
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t blank = std::min(text.find(' ', start), text.size());
    archs.push_back(text.substr(start, blank - start));
    start = blank + 1;
  }
  return !archs.empty();
}

std::vector<std::string> or_default(std::vector<std::string> archs) {
  if (archs.empty()) archs.emplace_back(k_default_arch);
  return archs;
}

}  // namespace

std::string Archs::device_files() {
  std::string found;
  for (int i = 0; i < 16; ++i) {
    if (::access(("/dev/nvidia" + std::to_string(i)).c_str(), F_OK) == 0) found += std::to_string(i) + ' ';
  }
  if (::access("/dev/dxg", F_OK) == 0) found += "x ";
  if (found.empty() && ::access("/dev/nvidiactl", F_OK) == 0) found += "c ";
  return found;
}

std::vector<std::string> Archs::defaults(cache::DiskStore& store,
                                         const std::function<std::vector<std::string>()>& ask) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string_view chosen = visible == nullptr ? std::string_view("all") : std::string_view(visible);
  if (chosen.empty() || chosen == "-1") return or_default({});
  const std::string devices = m_find_devices();
  if (devices.empty()) return or_default({});

  const std::string place = devices + std::string(chosen);
  {
    const std::lock_guard lock(m_mutex);
    const auto known = m_known.find(place);
    if (known != m_known.end()) return known->second;
  }
  const cache::Key key = Hasher("architectures")
                             .field(text_of("/proc/sys/kernel/random/boot_id"))
                             .field(text_of("/proc/driver/nvidia/version"))
                             .field(place)
                             .finish();
  cache::Hit hit;
  std::vector<std::string> archs;
  if (store.find(cache::Kind::fact, key, true, hit) != cache::Lookup::hit ||
      !decode(hit.entry.payload, archs)) {
    try {
      archs = ask();
    } catch (const Interrupted&) {
      throw;
    } catch (const ResourceLimit&) {
      throw;
    } catch (const Error& error) {
      log().warn("the GPUs' architectures are unknown, {} is assumed: {}", k_default_arch, error.what());
      return or_default({});
    }
    store.keep(cache::Kind::fact, key, encode(archs), {});
  }
  if (archs.empty()) return or_default({});
  const std::lock_guard lock(m_mutex);
  return m_known[place] = std::move(archs);
}

}  // namespace tarsia::pipeline

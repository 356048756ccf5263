// Fills the zones, and looks whether they are what they were.
#include "registry/check/watched_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/cuda/cuda_driver.h"
#include "registry/elements/dtypes.h"
#include "registry/elements/sparse.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

// An op that misses its tensor by some rows still hits a zone. Larger zones would come from new pages of the
// system each time.
constexpr std::size_t k_zone = 32 * 1024, k_alignment = 256;

std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> s_zones{0};
  return ++s_zones * 0x9E3779B97F4A7C15;
}

}  // namespace

ZonePattern::ZonePattern() : m_state(next_seed()) {}

WatchedMemory::WatchedMemory(const void* content, std::size_t bytes, tarsia_device device, bool exact)
    : m_device(device), m_bytes(bytes), m_zone(exact ? 0 : k_zone) {
  void* block = nullptr;
  if (::posix_memalign(&block, k_alignment, std::max<std::size_t>(size(), 1)) != 0) throw std::bad_alloc();
  m_block = static_cast<unsigned char*>(block);
  if (bytes) std::memcpy(m_block + m_zone, content, bytes);
  ZonePattern pattern = m_pattern;
  for (std::size_t i = 0; i < m_zone; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern.next();
    std::memcpy(m_block + i, &word, sizeof word);
    std::memcpy(m_block + m_zone + bytes + i, &word, sizeof word);
  }
  if (!is_gpu(m_device)) return;
  try {
    m_on_device = static_cast<unsigned char*>(allocate_device(size(), m_device.id, nullptr));
    transfer(true);
  } catch (...) {
    if (m_on_device) free_device(m_on_device, m_device.id, nullptr);
    std::free(m_block);
    throw;
  }
}

WatchedMemory::~WatchedMemory() {
  if (m_on_device) free_device(m_on_device, m_device.id, nullptr);
  std::free(m_block);
}

const unsigned char* WatchedMemory::fetch() {
  if (m_on_device) transfer(false);
  return m_block + m_zone;
}

const char* WatchedMemory::damage() const {
  ZonePattern pattern = m_pattern;
  for (std::size_t i = 0; i < m_zone; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern.next();
    if (std::memcmp(m_block + i, &word, sizeof word) != 0)
      return "memory before the first element is written to";
    if (std::memcmp(m_block + m_zone + m_bytes + i, &word, sizeof word) != 0)
      return "memory behind the last element is written to";
  }
  return "";
}

void WatchedMemory::transfer(bool to_device) {
  std::int64_t n = static_cast<std::int64_t>(size());
  tarsia_tensor host{}, device{};
  host.data = m_block, host.device = {TARSIA_CPU, 0};
  device.data = m_on_device, device.device = m_device;
  for (tarsia_tensor* t : {&host, &device}) t->ndim = 1, t->dtype = k_uint8, t->shape = &n;
  to_device ? copy(device, host, nullptr) : copy(host, device, nullptr);
}

}  // namespace tarsia::registry

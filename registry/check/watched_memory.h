// Memory between two zones that nobody may write to.
#pragma once

#include <tarsia/abi.h>

#include <cstddef>
#include <cstdint>

namespace tarsia::registry {

/// The content of zones: other bytes for each memory, so that an op which copies from one zone into another
/// is found out.
class ZonePattern {
 public:
  ZonePattern();
  /// The next eight bytes; a copy of the pattern begins anew.
  std::uint64_t next() {
    m_state ^= m_state << 13, m_state ^= m_state >> 7, m_state ^= m_state << 17;
    return m_state;
  }

 private:
  std::uint64_t m_state;
};

/// A copy of a content, aligned to 256 bytes, for an op to work on. On a GPU, it has a copy on the CPU.
class WatchedMemory {
 public:
  /// `exact`: the memory has just the content's size, for AddressSanitizer, which watches what lies behind.
  WatchedMemory(const void* content, std::size_t bytes, tarsia_device device, bool exact);
  ~WatchedMemory();
  WatchedMemory(const WatchedMemory&) = delete;
  WatchedMemory& operator=(const WatchedMemory&) = delete;

  /// Its address for the op.
  void* address() const { return (m_on_device ? m_on_device : m_block) + m_zone; }
  /// Its content after the run.
  const unsigned char* fetch();
  std::size_t bytes() const { return m_bytes; }
  /// Of the fetched memory: "", or a description of the write around it.
  const char* damage() const;

 private:
  std::size_t size() const { return m_bytes + 2 * m_zone; }
  void transfer(bool to_device);

  tarsia_device m_device;
  std::size_t m_bytes, m_zone;
  ZonePattern m_pattern;
  unsigned char* m_block = nullptr;
  unsigned char* m_on_device = nullptr;
};

}  // namespace tarsia::registry

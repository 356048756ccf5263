// Leaves a store alone that does not answer, for all processes of a host.
//
//   breaker := magic boot failures until       in FILE, for one store
//   magic   := "TarsiaBr"
//   boot    := 16 bytes of the hash of the kernel's boot id
//   failures := u64, in a row; until := u64, ns of CLOCK_BOOTTIME, when the next attempt is due
//
// Numbers are little-endian. The clock is the same in all processes and cannot be set, and a file of an
// earlier boot counts for nothing. Writers replace the file; if two do so at once, one count is lost.
//
// The first failure closes the way for k_first, each further one for twice as long as the one before, up to
// k_longest. When the time is over, everybody may try: of processes that come at once, each loses one
// deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace tarsia::cache {

/// Thread-safe. Without a usable file, it serves this process alone.
class Breaker {
 public:
  static constexpr std::chrono::seconds k_first{5}, k_longest{300};

  explicit Breaker(std::string file) : m_file(std::move(file)) {}

  /// Whether the store may be asked now. Reads the file at most every 100 ms.
  bool lets_pass();
  void note_failure();
  void note_success();

 private:
  void read();
  void write() const;

  const std::string m_file;
  std::atomic<std::uint64_t> m_failures{0}, m_until{0}, m_read{0};
};

}  // namespace tarsia::cache

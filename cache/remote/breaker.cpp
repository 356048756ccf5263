// Counts failures in a file.
#include "cache/remote/breaker.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/file.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "cache/disk_store.h"

namespace tarsia::cache {
namespace {

constexpr std::string_view k_breaker_magic = "TarsiaBr";
constexpr std::size_t k_size = 8 + 16 + 8 + 8;
constexpr std::uint64_t k_fresh = 100'000'000;  // ns

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::array<unsigned char, 16> boot() {
  std::string id;
  if (read_file("/proc/sys/kernel/random/boot_id", id, 64) != 0) id.clear();
  std::array<unsigned char, 16> first;
  std::ranges::copy_n(hash_bytes(id).begin(), first.size(), first.begin());
  return first;
}

}  // namespace

bool Breaker::lets_pass() {
  const std::uint64_t time = now();
  if (time < m_until) return false;
  if (time - m_read >= k_fresh) {
    read();
    m_read = time;
  }
  return time >= m_until;
}

void Breaker::read() {
  UniqueFd fd;
  struct stat status;
  std::string bytes;
  if (m_file.empty() || open_regular(m_file, fd, status) != 0 || read_all(fd.get(), bytes, k_size) != 0 ||
      bytes.size() != k_size || !bytes.starts_with(k_breaker_magic))
    return;
  LittleReader in(std::string_view(bytes).substr(k_breaker_magic.size()));
  if (in.raw<16>() != boot()) return;
  m_failures = in.number<std::uint64_t>();
  const auto until = in.number<std::uint64_t>();
  // No file closes the way for longer than a writer would have.
  const std::uint64_t most = now() + std::chrono::nanoseconds(k_longest).count();
  m_until = until <= most ? until : 0;
}

void Breaker::write() const {
  if (m_file.empty()) return;
  std::string bytes(k_breaker_magic);
  LittleWriter(bytes).raw(boot()).number(m_failures.load()).number(m_until.load());
  DiskStore::write_note(m_file, bytes);
}

void Breaker::note_failure() {
  const std::uint64_t failures = ++m_failures;
  const auto pause = std::min<std::chrono::nanoseconds>(
      k_longest, k_first * (std::int64_t{1} << std::min<std::uint64_t>(failures - 1, 10)));
  m_until = now() + static_cast<std::uint64_t>(pause.count());
  write();
}

void Breaker::note_success() {
  if (m_failures.exchange(0) == 0) return;
  m_until = 0;
  write();
}

}  // namespace tarsia::cache

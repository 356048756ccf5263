// Adds counts up, and to the file of all processes.
#include "cache/tally.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/hash.h"
#include "base/little_endian.h"
#include "base/lock.h"
#include "base/log.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view k_tally_magic = "TarsiaCt";
constexpr std::uint32_t k_version = 1;
constexpr std::size_t k_checksum = 16;
constexpr std::size_t k_max_file = 4096;
constexpr auto k_step = 1s;

static_assert(static_cast<std::size_t>(Count::compile_time_12) ==
              static_cast<std::size_t>(Count::compile_time_0) + k_duration_ranges - 1);

constexpr Count time_count(std::size_t range) {
  return static_cast<Count>(static_cast<std::size_t>(Count::compile_time_0) + range);
}

/// Zeros if the bytes are no counts. A file of fewer or more numbers is one of another Tarsia: what both know
/// counts.
Counts parse(std::string_view bytes) {
  Counts counts;
  if (bytes.size() < k_tally_magic.size() + k_checksum || !bytes.starts_with(k_tally_magic)) return {};
  const std::string_view body = bytes.substr(0, bytes.size() - k_checksum);
  const Digest sum = hash_bytes(body);
  if (bytes.substr(body.size()) != std::string_view(reinterpret_cast<const char*>(sum.data()), k_checksum))
    return {};
  LittleReader in(body.substr(k_tally_magic.size()));
  if (in.number<std::uint32_t>() != k_version) return {};
  const auto n = in.number<std::uint32_t>();
  counts.since = static_cast<std::int64_t>(in.number<std::uint64_t>());
  for (std::uint32_t i = 0; i < n && i < k_counts; ++i) counts.numbers[i] = in.number<std::uint64_t>();
  return in.good() ? counts : Counts{};
}

std::string serialise(const Counts& counts) {
  std::string bytes(k_tally_magic);
  LittleWriter out(bytes);
  out.number(k_version).number(static_cast<std::uint32_t>(k_counts));
  out.number(static_cast<std::uint64_t>(counts.since));
  for (const std::uint64_t number : counts.numbers) out.number(number);
  const Digest sum = hash_bytes(bytes);
  bytes.append(reinterpret_cast<const char*>(sum.data()), k_checksum);
  return bytes;
}

Counts read_counts(int fd) {
  std::string bytes;
  if (::lseek(fd, 0, SEEK_SET) != 0 || read_all(fd, bytes, k_max_file) != 0) return {};
  return parse(bytes);
}

}  // namespace

Durations compile_times(const Counts& counts) {
  Durations times{.seconds = static_cast<double>(counts[Count::compile_us]) / 1e6};
  for (std::size_t i = 0; i < k_duration_ranges; ++i) times.counts[i] = counts[time_count(i)];
  return times;
}

void Tally::add(Count count) {
  add_up(count);
  const Steady::time_point last{Steady::duration(m_last.load(std::memory_order_relaxed))};
  if (Steady::now() - last >= k_step) merge(0ms);
}

void Tally::add_compile(bool gave_module, double seconds) {
  add_up(gave_module ? Count::compiled : Count::compile_failed);
  add_up(Count::compile_us, static_cast<std::uint64_t>(std::max(seconds, 0.0) * 1e6));
  add_up(time_count(duration_range(seconds)));
}

bool Tally::merge(std::chrono::milliseconds patience) {
  m_last.store(Steady::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (m_merging.test_and_set(std::memory_order_acquire)) return false;  // another thread is at it
  const bool done = add_to_file(patience);
  m_merging.clear(std::memory_order_release);
  return done;
}

bool Tally::add_to_file(std::chrono::milliseconds patience) {
  const std::array<std::uint64_t, k_counts> now = numbers();
  if (now == m_merged) return true;
  const std::string path = m_store.counts_path();
  if (path.empty()) return false;
  FileLock lock;
  if (lock.lock_until(m_store.counts_lock(), Steady::now() + patience) != FileLock::Status::locked)
    return false;
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  Counts counts = read_counts(fd.get());
  if (counts.since == 0) counts.since = ::time(nullptr);
  for (std::size_t i = 0; i < k_counts; ++i) counts.numbers[i] += now[i] - m_merged[i];
  const std::string bytes = serialise(counts);
  if (::pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    log().debug("the counts of the cache could not be kept");
    return false;
  }
  if (static_cast<std::size_t>(status.st_size) > bytes.size() &&
      ::ftruncate(fd.get(), static_cast<off_t>(bytes.size())) != 0)
    log().debug("the counts of the cache could not be cut");
  m_merged = now;
  return true;
}

std::array<std::uint64_t, k_counts> Tally::numbers() const {
  std::array<std::uint64_t, k_counts> all;
  for (std::size_t i = 0; i < k_counts; ++i) all[i] = m_counts[i].load(std::memory_order_relaxed);
  all[static_cast<std::size_t>(Count::store_failed)] = m_store.counters().store_failures;
  return all;
}

void Tally::after_fork_in_child() {
  m_merged = numbers();
  m_merging.clear();
}

Counts Tally::of_process() const {
  return {.numbers = numbers()};
}

Counts Tally::of_all() const {
  UniqueFd fd;
  struct stat status;
  const std::string path = m_store.counts_path();
  if (path.empty() || open_regular(path, fd, status) != 0) return {};
  return read_counts(fd.get());
}

}  // namespace tarsia::cache

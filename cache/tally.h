// What became of the requests to a store: hits by tier, misses by reason, compiles and their times. Counted
// in the process, and in a file for all processes.
//
//   counts := magic version count since number* checksum
//   magic  := "TarsiaCt"
//   version, count := u32; `count` numbers follow, in the order of TARSIA_CACHE_COUNTS
//   since  := i64, seconds of the epoch when the file was begun
//   number := u64
//   checksum := 16 bytes of BLAKE2b-256 over all before it
//
// Numbers are little-endian. A file of another version or with a wrong checksum is begun again.
//
// Problem: `tarsia cache stats` is a process of its own, so numbers that die with their process would always
// be zero there. A number that is added to the file at each hit would cost several system calls a hit.
// Choice: a process adds up in memory, and adds its sums to the file under a lock: after a compile, at a hit
// or miss a second or more after the last time, and when it ends. A hit does not wait for the lock, the
// others wait shortly; if it is not to be had, the sums stay for the next time. So the file lags behind, and
// a process that is killed takes along what it counted since. Rejected: atomic additions in a shared
// mapping. They cost nothing, but a full disk or a truncated file would kill the program with SIGBUS.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/figures/durations.h"
#include "base/fork.h"
#include "cache/disk_store.h"

namespace tarsia::cache {

/// The group of what is reported as a whole (compile_times).
inline constexpr const char k_times[] = "times";

// The columns: enumerator, group in reports, name in its group. The order is on disk; new ones go to the end.
// clang-format off
#define TARSIA_CACHE_COUNTS(X) \
  X(hit_memory,     "hits",   "memory")   /* a module that this process had used before */ \
  X(hit_disk,       "hits",   "disk")     \
  X(miss_absent,    "misses", "absent")   /* nothing is kept under the request's key */ \
  X(miss_changed,   "misses", "changed")  /* a file that the module was compiled from is another one now */ \
  X(miss_gone,      "misses", "gone")     /* the module was swept, pruned or cleared */ \
  X(miss_damaged,   "misses", "damaged")  /* it was not whole, and is set aside */ \
  X(miss_fault,     "misses", "fault")    /* the store could not look */ \
  X(compiled,       "",       "compiles") /* that gave a module */ \
  X(compile_failed, "",       "compile_failures") /* that gave none: errors, crashes, time-outs, interrupts */ \
  X(waited,         "",       "waits")    /* misses that were served by another caller's compile */ \
  X(forbidden,      "",       "forbidden") /* misses where no compile was allowed */ \
  X(hit_remote,     "hits",   "remote")   /* a module of a shared store */ \
  X(remote_missed,  "remote", "misses")   /* no shared store that was asked had what fits */ \
  X(remote_failed,  "remote", "failures") /* a store did not answer in time, or said that it cannot */ \
  X(remote_refused, "remote", "refused")  /* an entry was none, or was not signed as it must be */ \
  X(remote_skipped, "remote", "skipped")  /* a store was left alone, since it had failed shortly before */ \
  X(remote_sent,    "remote", "sent")     /* modules that a store took */ \
  X(remote_not_sent, "remote", "not_sent") /* … and that it did not get */ \
  X(compile_us,     k_times,  "")         /* microseconds that compiles took, and those that gave no module */ \
  X(compile_time_0,   k_times,  "")         /* how many of them took a time of the first range */ \
  X(compile_time_1,   k_times,  "") \
  X(compile_time_2,   k_times,  "") \
  X(compile_time_3,   k_times,  "") \
  X(compile_time_4,   k_times,  "") \
  X(compile_time_5,   k_times,  "") \
  X(compile_time_6,   k_times,  "") \
  X(compile_time_7,   k_times,  "") \
  X(compile_time_8,   k_times,  "") \
  X(compile_time_9,   k_times,  "") \
  X(compile_time_10,  k_times,  "") \
  X(compile_time_11,  k_times,  "") \
  X(compile_time_12,  k_times,  "") \
  X(store_failed,   "",       "store_failures") /* entries that the folder did not keep: a full disk */
// clang-format on

enum class Count : unsigned {
#define TARSIA_COUNT(enumerator, group, name) enumerator,
  TARSIA_CACHE_COUNTS(TARSIA_COUNT)
#undef TARSIA_COUNT
};

#define TARSIA_COUNT(enumerator, group, name) +1
inline constexpr std::size_t k_counts = 0 TARSIA_CACHE_COUNTS(TARSIA_COUNT);
#undef TARSIA_COUNT

struct Counts {
  std::array<std::uint64_t, k_counts> numbers{};
  std::int64_t since = 0;  ///< seconds of the epoch; 0: unknown

  std::uint64_t operator[](Count count) const { return numbers[static_cast<std::size_t>(count)]; }
};

/// Calls visit(group, name, number) for each, in order, but for those of times.
template <class Visit>
void for_each_count(const Counts& counts, Visit&& visit) {
#define TARSIA_COUNT(enumerator, group, name) \
  if (std::string_view(group) != k_times) visit(group, name, counts[Count::enumerator]);
  TARSIA_CACHE_COUNTS(TARSIA_COUNT)
#undef TARSIA_COUNT
}

/// How long compiles took, with those that gave no module.
Durations compile_times(const Counts& counts);

/// Thread-safe.
class Tally final : public ForkAware {
 public:
  explicit Tally(const DiskStore& store) : m_store(store) { watch_forks(); }
  ~Tally() { forget_forks(); }

  void add(Count count);
  /// Counts a compile that ended.
  void add_compile(bool gave_module, double seconds);
  /// Adds what this process has counted since the last time to the file. Waits up to `patience` for others
  /// that do the same. Returns whether the file has them all; a failure keeps the sums for the next time.
  bool merge(std::chrono::milliseconds patience = k_patience);

  /// This process's.
  Counts of_process() const;
  /// Those of all processes, as far as they have added theirs. Zeros if there is no file.
  Counts of_all() const;

 private:
  static constexpr std::chrono::milliseconds k_patience{20};
  using Steady = std::chrono::steady_clock;
  void add_up(Count count, std::uint64_t number = 1) {
    m_counts[static_cast<std::size_t>(count)].fetch_add(number, std::memory_order_relaxed);
  }
  bool add_to_file(std::chrono::milliseconds patience);
  /// What this process has counted, failures of the store included.
  std::array<std::uint64_t, k_counts> numbers() const;
  // A merge takes other locks, so fork() does not wait for one.
  void before_fork() override {}
  void after_fork_in_parent() override {}
  // What the parent counted, the parent adds to the file.
  void after_fork_in_child() override;

  const DiskStore& m_store;
  std::array<std::atomic<std::uint64_t>, k_counts> m_counts{};
  std::atomic<Steady::rep> m_last{Steady::now().time_since_epoch().count()};
  std::atomic_flag m_merging;
  std::array<std::uint64_t, k_counts> m_merged{};  ///< belongs to who has set m_merging
};

}  // namespace tarsia::cache

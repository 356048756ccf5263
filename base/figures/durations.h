// How long things took, counted by ranges of time: what Prometheus calls a histogram.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tarsia {

/// The longest time of a range, and how it is written.
struct DurationLimit {
  double seconds;
  const char* text;
};

/// From a small compile with a warm compiler to one that nears its time limit. Files of counters depend on
/// their number and order (cache/tally.h).
inline constexpr std::array<DurationLimit, 12> k_duration_limits{{{0.01, "0.01"},
                                                                  {0.025, "0.025"},
                                                                  {0.05, "0.05"},
                                                                  {0.1, "0.1"},
                                                                  {0.25, "0.25"},
                                                                  {0.5, "0.5"},
                                                                  {1, "1"},
                                                                  {2.5, "2.5"},
                                                                  {5, "5"},
                                                                  {10, "10"},
                                                                  {30, "30"},
                                                                  {60, "60"}}};
/// One range up to each limit, and one beyond the last.
inline constexpr std::size_t k_duration_ranges = k_duration_limits.size() + 1;

/// The range of a time; a limit belongs to the range below it.
constexpr std::size_t duration_range(double seconds) {
  std::size_t range = 0;
  while (range < k_duration_limits.size() && seconds > k_duration_limits[range].seconds) ++range;
  return range;
}

struct Durations {
  std::array<std::uint64_t, k_duration_ranges> counts{};  ///< by range; none is counted twice
  double seconds = 0;                                     ///< of all of them

  void add(double took) {
    ++counts[duration_range(took)];
    seconds += took;
  }
};

}  // namespace tarsia

// Spreads loops over the CPU's cores.
#pragma once

#include <cstdint>

namespace tarsia::registry {

/// tarsia_host.parallel. A loop inside another uses only its own thread. Loops of several threads share the
/// others: whoever is free goes to the loop that has the fewest. The number of threads is TARSIA_NUM_THREADS,
/// else OMP_NUM_THREADS, else the number of usable cores, at most 64. Throws what the body throws, and
/// ArgumentError if TARSIA_NUM_THREADS is no whole number above 0.
void parallel(std::int64_t n, std::int64_t grain,
              void (*body)(void* with, std::int64_t begin, std::int64_t end), void* with);

/// The number of threads that a loop may use. Throws as parallel().
int parallel_threads();

}  // namespace tarsia::registry

// Spreads loops over the CPU's cores.
#pragma once

#include <cstdint>

namespace tarsia::registry {

/// tarsia_host.parallel. A loop inside of another, or beside one of another thread, runs on its own thread
/// alone. How many threads there are: TARSIA_NUM_THREADS, else as many as cores may be used, at most 64.
void parallel(std::int64_t n, std::int64_t grain,
              void (*body)(void* with, std::int64_t begin, std::int64_t end), void* with);

/// How many threads a loop may use.
int parallel_threads();

}  // namespace tarsia::registry

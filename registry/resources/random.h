// Random numbers that one seed determines: ranges of a counter-based sequence, and states as MXNet keeps
// them.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>

namespace tarsia::registry {

/// Seeds all devices, those used later as well. The seed of device i is i + 127 · seed, MXNet's rule.
void seed_random(std::uint64_t seed);

struct RandomRange {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// The next n numbers of the device's sequence. Thread-safe.
RandomRange reserve_random(tarsia_device device, std::uint64_t n);

/// States that persist between calls: TARSIA_RANDOM_MT19937 on the CPU, TARSIA_RANDOM_PHILOX on a GPU, for
/// use on the current stream. They are lent to the innermost call, nobody else draws from them, and seeding
/// leaves them alone, until it ends. Calls that follow each other get the same ones; the first after seeding
/// gets them anew. Where a graph is captured they belong to it. Throws ArgumentError, CudaError, Error
/// outside of calls. Thread-safe.
void* random_states(tarsia_device device, std::int32_t kind, std::uint32_t& n);

}  // namespace tarsia::registry

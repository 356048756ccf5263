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

/// The device's persistent states: TARSIA_RANDOM_MT19937 on the CPU, TARSIA_RANDOM_PHILOX on a GPU. Made on
/// first use and again after seeding, on the current stream. Throws ArgumentError, CudaError.
void* random_states(tarsia_device device, std::int32_t kind, std::uint32_t& n);

}  // namespace tarsia::registry

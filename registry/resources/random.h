// Random numbers that one seed determines: ranges of a counter-based sequence, and states as MXNet keeps
// them.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>

namespace tarsia::registry {

/// Seeds all devices, also those used later. The seed of device i is i + 127 · seed, MXNet's rule.
void seed_random(std::uint64_t seed);

/// While it lives, this thread draws from states of its own: the sequences of others go on as if none had
/// been drawn.
class RandomApart {
 public:
  RandomApart() noexcept;
  ~RandomApart();
  RandomApart(const RandomApart&) = delete;

 private:
  bool m_before;
};

struct RandomRange {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// The next n numbers of the device's sequence. Thread-safe.
RandomRange reserve_random(tarsia_device device, std::uint64_t n);

/// States that persist between calls: TARSIA_RANDOM_MT19937 on the CPU, TARSIA_RANDOM_PHILOX on a GPU, for
/// use on the current stream. The innermost call borrows them. Until it ends, nobody else draws from them,
/// and seeding leaves them alone. Calls that follow each other get the same states; the first after seeding
/// gets new ones. During the capture of a graph, they belong to the graph. Throws ArgumentError, CudaError,
/// and Error outside of calls. Thread-safe.
void* random_states(tarsia_device device, std::int32_t kind, std::uint32_t& n);

}  // namespace tarsia::registry

// Makes random states from the seed, on the CPU and on GPUs.
#include "registry/resources/random.h"

#include <tarsia/host.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "base/cuda_driver.h"
#include "base/error.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

constexpr size_t k_devices = 65;  // the CPU, then GPUs
constexpr std::uint32_t k_cpu_states = 1024, k_gpu_states = 32768;

/// curandStatePhilox4_32_10_t of curand_philox4x32_x.h.
struct PhiloxState {
  std::uint32_t counter[4] = {};
  std::uint32_t output[4] = {};
  std::uint32_t key[2] = {};
  std::uint32_t position = 0;
  std::int32_t boxmuller_flag = 0;
  std::int32_t boxmuller_flag_double = 0;
  float boxmuller_extra = 0;
  double boxmuller_extra_double = 0;
};
static_assert(sizeof(PhiloxState) == 64);

/// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
void philox(const std::uint32_t (&counter)[4], const std::uint32_t (&key)[2], std::uint32_t (&output)[4]) {
  std::uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  for (int i = 0; i < 4; ++i) output[i] = c[i];
}

/// What curand_init(seed, sequence, 0, &state) makes.
PhiloxState init_philox(std::uint64_t seed, std::uint64_t sequence) {
  PhiloxState state;
  state.key[0] = static_cast<std::uint32_t>(seed);
  state.key[1] = static_cast<std::uint32_t>(seed >> 32);
  state.counter[2] = static_cast<std::uint32_t>(sequence);
  state.counter[3] = static_cast<std::uint32_t>(sequence >> 32);
  philox(state.counter, state.key, state.output);
  return state;
}

struct DeviceRandom {
  std::atomic<std::uint64_t> offset{0};
  std::mutex mutex;               ///< guards what follows
  std::uint64_t made_for = 0;     ///< the seeding that the states were made for; 0: none
  std::vector<std::mt19937> cpu;  ///< the states, on the CPU
  void* gpu = nullptr;            ///< the states, on a GPU
};

std::atomic<std::uint64_t> s_seed{0};
std::atomic<std::uint64_t> s_seedings{1};

DeviceRandom& random_of(tarsia_device device) {
  static auto& devices = *new std::array<DeviceRandom, k_devices>();
  const size_t index = is_gpu(device) ? static_cast<size_t>(device.id) + 1 : 0;
  if (index >= k_devices) throw ArgumentError::value_error("there is no GPU " + std::to_string(device.id));
  return devices[index];
}

std::uint64_t device_seed(tarsia_device device) {
  return static_cast<std::uint64_t>(is_gpu(device) ? device.id : 0) + 127 * s_seed.load();
}

}  // namespace

void seed_random(std::uint64_t seed) {
  s_seed = seed;
  s_seedings.fetch_add(1);
  random_of({TARSIA_CPU, 0}).offset = 0;
  for (int i = 0; i + 1 < static_cast<int>(k_devices); ++i) random_of({TARSIA_GPU, i}).offset = 0;
}

RandomRange reserve_random(tarsia_device device, std::uint64_t n) {
  return {device_seed(device), random_of(device).offset.fetch_add(n)};
}

void* random_states(tarsia_device device, std::int32_t kind, std::uint32_t& n) {
  if (kind != (is_gpu(device) ? TARSIA_RANDOM_PHILOX : TARSIA_RANDOM_MT19937))
    throw ArgumentError::value_error(is_gpu(device) ? "GPUs have Philox states"
                                                    : "the CPU has mt19937 states");
  DeviceRandom& random = random_of(device);
  const std::uint64_t seeding = s_seedings.load(), seed = device_seed(device);
  std::lock_guard lock(random.mutex);
  if (!is_gpu(device)) {
    n = k_cpu_states;
    if (random.made_for != seeding) {
      random.cpu.resize(k_cpu_states);
      for (std::uint32_t i = 0; i < k_cpu_states; ++i)
        random.cpu[i].seed(static_cast<std::mt19937::result_type>(seed + i));
      random.made_for = seeding;
    }
    return random.cpu.data();
  }
  n = k_gpu_states;
  if (random.made_for != seeding) {
    std::vector<PhiloxState> states(k_gpu_states);
    for (std::uint32_t i = 0; i < k_gpu_states; ++i) states[i] = init_philox(seed, i);
    const size_t bytes = states.size() * sizeof(PhiloxState);
    void* stream = current_stream(device.id);
    if (!random.gpu) random.gpu = allocate_device(bytes, device.id, stream);
    CudaDeviceScope scope(device.id);
    // From pageable memory: the driver has taken the bytes when it returns.
    check_cuda(cuda_driver().cuMemcpyAsync(reinterpret_cast<CuPointer>(random.gpu),
                                           reinterpret_cast<CuPointer>(states.data()), bytes,
                                           static_cast<CuStream>(stream)),
               "cuMemcpyAsync");
    random.made_for = seeding;
  }
  return random.gpu;
}

}  // namespace tarsia::registry

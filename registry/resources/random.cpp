// Lends random states to calls, made from the seed, on the CPU and on GPUs.
//
// A mutex guards the handing out of ranges. States are kept in sets. A call borrows the first free set. So
// a program whose calls follow each other, on whatever threads and streams, goes on in one sequence, as in
// MXNet. Calls at the same time draw from different sets. Seeding touches no set that is lent: a set is
// made anew when it is next borrowed.
//
// On a GPU, the kernels of a call run after the call has returned its set. An event marks their end, and
// the next borrower's stream waits for it. A graph under capture gets sets of its own that stay with it,
// since its replays know neither calls nor events.
#include "registry/resources/random.h"

#include <tarsia/host.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

constexpr size_t k_devices = 65;  // the CPU, then GPUs
constexpr std::uint32_t k_cpu_states = 1024, k_gpu_states = 32768;

thread_local bool t_is_apart = false;

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

/// Makes the state that curand_init(seed, sequence, 0, &state) makes.
PhiloxState init_philox(std::uint64_t seed, std::uint64_t sequence) {
  PhiloxState state;
  state.key[0] = static_cast<std::uint32_t>(seed);
  state.key[1] = static_cast<std::uint32_t>(seed >> 32);
  state.counter[2] = static_cast<std::uint32_t>(sequence);
  state.counter[3] = static_cast<std::uint32_t>(sequence >> 32);
  philox(state.counter, state.key, state.output);
  return state;
}

/// States of one device. One caller at a time draws from them.
struct States {
  States(tarsia_device device_, std::uint32_t index_, bool is_apart_)
      : is_apart(is_apart_), device(device_), index(index_) {}

  const bool is_apart;  ///< see RandomApart
  const tarsia_device device;
  const std::uint32_t index;  ///< of the device's sets: each has other seeds

  // Guarded by the pool's mutex.
  bool lent = false;
  std::thread::id lender{};

  // Owned by the borrower, or by the pool while nobody borrows the set.
  std::uint64_t made_for = 0;  ///< the seeding that the states were made for; 0: none
  std::vector<std::mt19937> cpu{};
  void* gpu = nullptr;
  CuEvent used = nullptr;  ///< on a GPU: after the last borrower's work
  void* stream = nullptr;  ///< on a GPU: the stream of the borrower's work
};

/// The states of a graph under capture for one of its streams.
struct Captured {
  unsigned long long capture;
  void* stream;
  States* states;
};

class RandomPool final : public ForkAware {
 public:
  /// Never destroyed: threads may draw while the process exits.
  static RandomPool& instance() {
    static std::atomic<RandomPool*> s_pool{nullptr};
    return made_once(s_pool, [] { return RandomPool(); });
  }
  ~RandomPool() { forget_forks(); }

  void seed(std::uint64_t seed) {
    const std::lock_guard lock(m_mutex);
    m_seed = seed;
    ++m_seeding;
    for (PerDevice& device : m_devices) device.offset = 0;
  }
  RandomRange reserve(tarsia_device device, std::uint64_t n) {
    PerDevice& of = at(device);
    const std::lock_guard lock(m_mutex);
    if (t_is_apart) return {seed_of(device), of.offset};
    return {seed_of(device), std::exchange(of.offset, of.offset + n)};
  }
  std::uint64_t seeding() {
    const std::lock_guard lock(m_mutex);
    return m_seeding;
  }

  /// The first free states of a device. Makes more if all are lent.
  States& borrow(tarsia_device device) {
    PerDevice& of = at(device);
    const std::lock_guard lock(m_mutex);
    for (auto& states : t_is_apart ? of.apart : of.sets)
      if (!states->lent) return lend(*states);
    if (t_is_apart)
      return lend(*of.apart.emplace_back(std::make_unique<States>(
          device, k_first_apart + static_cast<std::uint32_t>(of.apart.size()), true)));
    of.sets.push_back(std::make_unique<States>(device, of.next_index, false));
    ++of.next_index;
    return lend(*of.sets.back());
  }
  void give_back(States& states) noexcept {
    const std::lock_guard lock(m_mutex);
    states.lent = false;
  }

  /// The current seeding, and the seed that it gives these states.
  std::pair<std::uint64_t, std::uint64_t> seeds(const States& states) {
    const std::lock_guard lock(m_mutex);
    return {m_seeding, seed_of(states.device)};
  }

  /// The states of the graph that is captured on this stream; null if it has none yet.
  States* find_captured(unsigned long long capture, void* stream) {
    const std::lock_guard lock(m_mutex);
    for (const Captured& known : m_captured)
      if (known.capture == capture && known.stream == stream) return known.states;
    return nullptr;
  }
  void add_captured(const Captured& captured) {
    const std::lock_guard lock(m_mutex);
    m_captured.push_back(captured);
  }
  /// These states are apart from those that calls borrow, so the capture of a graph does not change what
  /// calls draw.
  States& borrow_for_graph(tarsia_device device) {
    PerDevice& of = at(device);
    const std::lock_guard lock(m_mutex);
    for (auto& states : of.of_graphs)
      if (!states->lent) return lend(*states);
    of.of_graphs.push_back(std::make_unique<States>(
        device, k_first_of_graphs + static_cast<std::uint32_t>(of.of_graphs.size()), false));
    return lend(*of.of_graphs.back());
  }
  /// Nobody can launch the graph any more, and it no longer runs.
  void end_graph(States& states) noexcept {
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_captured, [&](const Captured& known) { return known.states == &states; });
    states.made_for = 0;
    states.lent = false;
  }

 private:
  static constexpr std::uint32_t k_first_of_graphs = 1u << 16, k_first_apart = 1u << 17;
  struct PerDevice {
    std::uint64_t offset = 0;
    std::uint32_t next_index = 0;
    std::vector<std::unique_ptr<States>> sets, of_graphs, apart;
  };

  RandomPool() { watch_forks(); }

  PerDevice& at(tarsia_device device) {
    const size_t index = is_gpu(device) ? static_cast<size_t>(device.id) + 1 : 0;
    if (index >= k_devices) throw ArgumentError::value_error("there is no GPU " + std::to_string(device.id));
    return m_devices[index];
  }
  std::uint64_t seed_of(tarsia_device device) const {
    return static_cast<std::uint64_t>(is_gpu(device) ? device.id : 0) + 127 * m_seed;
  }
  static States& lend(States& states) {
    states.lent = true;
    states.lender = std::this_thread::get_id();
    return states;
  }

  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  // States that other threads had borrowed may be half made. The child replaces them.
  void after_fork_in_child() override {
    for (PerDevice& device : m_devices)
      for (auto* sets : {&device.sets, &device.apart})
        for (auto& states : *sets)
          if (states->lent && states->lender != std::this_thread::get_id()) {
            const States* lost = states.release();
            states = std::make_unique<States>(lost->device, lost->index, lost->is_apart);
          }
    m_mutex.unlock();
  }

  std::mutex m_mutex;  ///< guards what follows
  std::uint64_t m_seed = 0;
  std::uint64_t m_seeding = 1;
  std::array<PerDevice, k_devices> m_devices;
  std::vector<Captured> m_captured;
};

void make_cpu(States& states, std::uint64_t seed) {
  states.cpu.resize(k_cpu_states);
  for (std::uint32_t i = 0; i < k_cpu_states; ++i)
    states.cpu[i].seed(
        static_cast<std::mt19937::result_type>(seed + i + std::uint64_t{k_cpu_states} * states.index));
}

/// Uploads, in the order of the stream.
void make_gpu(States& states, std::uint64_t seed, void* stream) {
  std::vector<PhiloxState> made(k_gpu_states);
  for (std::uint32_t i = 0; i < k_gpu_states; ++i)
    made[i] = init_philox(seed, i + std::uint64_t{k_gpu_states} * states.index);
  const size_t bytes = made.size() * sizeof(PhiloxState);
  if (!states.gpu) states.gpu = allocate_device(bytes, states.device.id, stream);
  // The memory is pageable: the driver has copied the bytes when it returns.
  check_cuda(cuda_driver().cuMemcpyAsync(reinterpret_cast<CuPointer>(states.gpu),
                                         reinterpret_cast<CuPointer>(made.data()), bytes,
                                         static_cast<CuStream>(stream)),
             "cuMemcpyAsync");
}

/// Marks the end of the borrower's work. If that fails, the memory is given up: others must not write to
/// it.
void mark_used(States& states) noexcept {
  try {
    const CudaDeviceScope scope(states.device.id);
    const CudaDriver& driver = cuda_driver();
    constexpr unsigned k_disable_timing = 2;
    if (!states.used) check_cuda(driver.cuEventCreate(&states.used, k_disable_timing), "cuEventCreate");
    check_cuda(driver.cuEventRecord(states.used, static_cast<CuStream>(states.stream)), "cuEventRecord");
  } catch (const std::exception& e) {
    log().warn("random states of GPU {} are made anew: {}", states.device.id, e.what());
    if (states.gpu) free_device_anywhere(std::exchange(states.gpu, nullptr), states.device.id);
    states.made_for = 0;
  }
}

void end_loan(void* what) noexcept {
  States& states = *static_cast<States*>(what);
  if (is_gpu(states.device) && states.gpu) mark_used(states);
  RandomPool::instance().give_back(states);
}

/// Brings the borrowed states up to the newest seed, for use on the stream.
void prepare(States& states, void* stream) {
  const auto [seeding, seed] = RandomPool::instance().seeds(states);
  if (!is_gpu(states.device)) {
    if (states.made_for == seeding) return;
    states.made_for = 0;
    make_cpu(states, seed);
  } else {
    states.stream = stream;
    const CudaDeviceScope scope(states.device.id);
    if (states.gpu && states.used)
      check_cuda(cuda_driver().cuStreamWaitEvent(static_cast<CuStream>(stream), states.used, 0),
                 "cuStreamWaitEvent");
    if (states.made_for == seeding) return;
    states.made_for = 0;
    make_gpu(states, seed, stream);
  }
  states.made_for = seeding;
}

/// The states of the graph that is captured on this stream. They are made beside the capture and kept as
/// long as the graph. They go on from replay to replay.
States& states_of_graph(tarsia_device device, void* stream) {
  const CudaDriver& driver = cuda_driver();
  const auto& optional = driver.optional;
  if (!optional.cuStreamGetCaptureInfo || !optional.cuUserObjectCreate || !optional.cuGraphRetainUserObject)
    throw CudaError(
        "random states cannot be used while a CUDA graph is captured with this driver: install one of CUDA "
        "11.3 or newer, or draw from reserve_random");
  int status = 0;
  unsigned long long capture = 0;
  CuGraph graph = nullptr;
  check_cuda(optional.cuStreamGetCaptureInfo(static_cast<CuStream>(stream), &status, &capture, &graph,
                                             nullptr, nullptr),
             "cuStreamGetCaptureInfo");
  if (status != 1)
    throw CudaError("random states cannot be used: the capture of a CUDA graph on this stream has failed");
  RandomPool& pool = RandomPool::instance();
  if (States* known = pool.find_captured(capture, stream)) return *known;

  States& states = pool.borrow_for_graph(device);
  try {
    const CudaRelaxedCapture relaxed;
    const CudaDeviceScope scope(device.id);
    CuStream beside = nullptr;
    check_cuda(driver.cuStreamCreate(&beside, 1 /* CU_STREAM_NON_BLOCKING */), "cuStreamCreate");
    const auto [seeding, seed] = pool.seeds(states);
    try {
      make_gpu(states, seed, beside);
      check_cuda(driver.cuStreamSynchronize(beside), "cuStreamSynchronize");
    } catch (...) {
      driver.cuStreamDestroy(beside);
      throw;
    }
    driver.cuStreamDestroy(beside);
    pool.add_captured({capture, stream, &states});
    // The callback must not call CUDA, and does not: see end_graph.
    constexpr unsigned k_no_destructor_sync = 1, k_move = 1;
    CuUserObject object = nullptr;
    check_cuda(optional.cuUserObjectCreate(
                   &object, &states,
                   [](void* what) { RandomPool::instance().end_graph(*static_cast<States*>(what)); }, 1,
                   k_no_destructor_sync),
               "cuUserObjectCreate");
    check_cuda(optional.cuGraphRetainUserObject(graph, object, 1, k_move), "cuGraphRetainUserObject");
  } catch (...) {
    pool.end_graph(states);
    throw;
  }
  return states;
}

bool captures(tarsia_device device, void* stream) {
  const CudaDeviceScope scope(device.id);
  return is_capturing(stream);
}

}  // namespace

RandomApart::RandomApart() noexcept : m_before(std::exchange(t_is_apart, true)) {}
RandomApart::~RandomApart() {
  t_is_apart = m_before;
}

void seed_random(std::uint64_t seed) {
  RandomPool::instance().seed(seed);
}

RandomRange reserve_random(tarsia_device device, std::uint64_t n) {
  return RandomPool::instance().reserve(device, n);
}

void* random_states(tarsia_device device, std::int32_t kind, std::uint32_t& n) {
  const bool gpu = is_gpu(device);
  if (kind != (gpu ? TARSIA_RANDOM_PHILOX : TARSIA_RANDOM_MT19937))
    throw ArgumentError::value_error(gpu ? "GPUs have Philox states" : "the CPU has mt19937 states");
  if (!gpu) device = {TARSIA_CPU, 0};
  n = gpu ? k_gpu_states : k_cpu_states;
  void* stream = gpu ? current_stream(device.id) : nullptr;
  if (gpu && captures(device, stream)) return states_of_graph(device, stream).gpu;

  struct Wanted {
    tarsia_device device;
    void* stream;
    std::uint64_t seeding;
  } wanted{device, stream, RandomPool::instance().seeding()};
  // This call keeps its states. A call within it shares them, unless a seed was set since.
  auto fits = [](const Loan& loan, bool is_innermost, const void* wanted) {
    if (loan.give_back != &end_loan) return false;
    const States& states = *static_cast<States*>(loan.what);
    const Wanted& w = *static_cast<const Wanted*>(wanted);
    return states.is_apart == t_is_apart && is_gpu(states.device) == is_gpu(w.device) &&
           states.device.id == w.device.id && states.stream == w.stream &&
           (states.made_for == w.seeding || (is_innermost && states.made_for != 0));
  };
  States* states = nullptr;
  if (const Loan* known = find_loan(fits, &wanted)) {
    states = static_cast<States*>(known->what);
  } else {
    Loan& loan = new_loan();
    states = &RandomPool::instance().borrow(device);
    loan = {states, &end_loan};
    prepare(*states, stream);
  }
  return gpu ? states->gpu : states->cpu.data();
}

}  // namespace tarsia::registry

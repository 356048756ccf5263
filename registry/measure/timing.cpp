// Takes the time of each implementation. They are run in turns, so that what slows the machine down for a
// while slows all of them, and each one's time is its fastest turn. A turn of a short one has many calls, so
// that reading the clock, or recording events, costs little of it.
#include "registry/measure/timing.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/elements/relayout.h"
#include "registry/elements/tensor_math.h"
#include "registry/op/choice.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

namespace tarsia::registry {

namespace {

constexpr double k_turn = 50e-6;   // s: the least that one turn takes
constexpr double k_budget = 8e-3;  // s: of the turns of one implementation
constexpr int k_least_turns = 3, k_most_turns = 32;
constexpr double k_most_calls = 2000;    // of a turn
constexpr double k_long = 0.2;           // s: a call that is not repeated
constexpr double k_out_of_the_race = 8;  // times as slow as the fastest: it has no further turns

/// A reason not to measure.
struct Refusal {
  std::string reason;
};

/// A tensor of the measurement's own; null: absent.
class Made {
 public:
  Made() = default;
  Made(const tarsia_meta& meta, tarsia_device device)
      : m_storage(make_tensor(meta.shape, meta.ndim, meta.dtype, device)) {}
  Made(Made&& o) noexcept : m_storage(std::exchange(o.m_storage, nullptr)) {}
  ~Made() {
    if (m_storage) release(m_storage);
  }
  const tarsia_tensor* tensor() const { return m_storage ? m_storage->tensor : nullptr; }

 private:
  tarsia_storage* m_storage = nullptr;
};

/// Two events on a GPU's stream, or two readings of the clock.
class Stopwatch {
 public:
  Stopwatch(bool gpu, void* stream) : m_stream(static_cast<CuStream>(stream)) {
    if (!gpu) return;
    check_cuda(cuda_driver().cuEventCreate(&m_start, 0), "cuEventCreate");
    check_cuda(cuda_driver().cuEventCreate(&m_stop, 0), "cuEventCreate");
  }
  ~Stopwatch() {
    for (CuEvent event : {m_start, m_stop})
      if (event) cuda_driver().cuEventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  void start() {
    if (m_start) check_cuda(cuda_driver().cuEventRecord(m_start, m_stream), "cuEventRecord");
    m_began = std::chrono::steady_clock::now();
  }
  /// Seconds since start(). On a GPU, waits for the stream.
  double stop() {
    if (!m_start) return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count();
    float milliseconds = 0;
    check_cuda(cuda_driver().cuEventRecord(m_stop, m_stream), "cuEventRecord");
    check_cuda(cuda_driver().cuStreamSynchronize(m_stream), "cuStreamSynchronize");
    check_cuda(cuda_driver().cuEventElapsedTime(&milliseconds, m_start, m_stop), "cuEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  CuStream m_stream;
  CuEvent m_start = nullptr, m_stop = nullptr;
  std::chrono::steady_clock::time_point m_began;
};

bool is_float(tarsia_dtype dtype) {
  return dtype.lanes == 1 && (dtype.code == TARSIA_BFLOAT || dtype.code == TARSIA_FLOAT) &&
         (dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64);
}

/// Numbers from 0.5 to 1.5, in the same order every time: neither subnormal nor growing when they are
/// multiplied.
std::vector<char> pattern(tarsia_dtype dtype, std::uint64_t bytes) {
  std::vector<char> made(bytes);
  const std::uint64_t size = dtype.bits / 8, period = std::min(bytes / size, std::uint64_t{4096}) * size;
  for (std::uint64_t i = 0; i < period / size; ++i)
    store_float(dtype, 0.5 + static_cast<double>(i * 2654435761u % 1024) / 1024, made.data() + i * size);
  for (std::uint64_t at = period; period && at < bytes; at += period)
    std::memcpy(made.data() + at, made.data(), std::min(period, bytes - at));
  return made;
}

class Trial {
 public:
  explicit Trial(const TimingRequest& request)
      : m_request(request),
        m_info(request.bound.info()),
        m_is_gpu(is_gpu(m_info.device)),
        m_scope(m_is_gpu ? m_info.device.id : -1),
        m_stream(m_is_gpu ? current_stream(m_info.device.id) : nullptr) {}

  Measured run() {
    // 1. Refuse what cannot be measured as it will be used.
    refuse();

    // 2. Make tensors.
    const bool backward = m_request.pass == TARSIA_BACKWARD;
    for (std::uint32_t i = 0; i < m_info.n_inputs; ++i) m_inputs.push_back(made_like(m_info.inputs[i]));
    for (std::uint32_t i = 0; i < m_info.n_outputs; ++i) m_outputs.push_back(made_like(m_info.outputs[i]));
    fill_inputs();
    if (backward) {
      run_forward(*bind_to(*m_request.implementations.front()));
      for (std::uint32_t i = 0; i < m_info.n_outputs; ++i) {
        const bool is_hidden = m_info.outputs[i].flags & TARSIA_PORT_HIDDEN;
        m_out_grads.push_back(is_hidden ? Made() : made_like(m_info.outputs[i]));
        if (!is_hidden) fill(*m_out_grads.back().tensor());
      }
      for (std::uint32_t i = 0; i < m_info.n_inputs; ++i) m_in_grads.push_back(made_like(m_info.inputs[i]));
    }

    // 3. Bind each implementation, and let it run once: what is made at first is made then.
    for (const tarsia_implementation* one : m_request.implementations) {
      Runner& runner = m_runners.emplace_back();
      runner.implementation = one;
      attempt(runner, [&] {
        runner.bound = bind_to(*one);
        if (backward) run_forward(*runner.bound);  // a backward may take what its forward left in the state
        turn(runner, 1);
        const double seconds = turn(runner, 1);
        // Inputs that calls change are made anew before each turn, not before each call.
        runner.calls =
            changes_inputs()
                ? 1
                : static_cast<int>(std::clamp(k_turn / std::max(seconds, 1e-9), 1.0, k_most_calls));
        runner.seconds = runner.spent = seconds;
      });
    }

    // 4. Let them run in turns.
    for (int t = 0; t < k_most_turns; ++t) {
      double fastest = 1e9;
      for (const Runner& runner : m_runners)
        if (runner.failure.empty()) fastest = std::min(fastest, runner.seconds);
      bool is_done = true;
      for (Runner& runner : m_runners) {
        if (!runner.failure.empty() || runner.seconds > k_long ||
            (t >= k_least_turns && runner.spent > k_budget) ||
            (t && runner.seconds > k_out_of_the_race * fastest))
          continue;
        is_done = false;
        attempt(runner, [&] {
          const double seconds = turn(runner, runner.calls);
          runner.spent += seconds;
          runner.seconds = std::min(runner.seconds, seconds / runner.calls);
        });
      }
      if (is_done) break;
    }

    Measured measured;
    for (const Runner& runner : m_runners)
      measured.times.push_back({runner.implementation, name_of(m_request.entry->op(), *runner.implementation),
                                runner.failure.empty() ? runner.seconds : -1, runner.failure});
    return measured;
  }

 private:
  struct Runner {
    const tarsia_implementation* implementation = nullptr;
    Ref<BoundOp> bound;
    int calls = 1;  ///< of a turn
    double seconds = 0, spent = 0;
    std::string failure;
  };

  template <class F>
  static void attempt(Runner& runner, const F& f) {
    try {
      f();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& e) {
      runner.failure = e.what();
    }
  }

  const tarsia_tensor* sample(std::uint32_t i) const {
    const tarsia_op_request& request = m_request.request;
    if (request.size < sizeof request || !request.samples || i >= request.n_inputs) return nullptr;
    const tarsia_tensor* given = request.samples[i];
    return given && is_gpu(given->device) == m_is_gpu ? given : nullptr;
  }

  void refuse() const {
    const auto require = [&](const tarsia_meta& meta, const auto& name, bool has_sample) {
      if (!meta.present) return;
      if (meta.storage != TARSIA_DENSE) throw Refusal{name() + " is sparse"};
      if (!has_sample && !is_float(meta.dtype))
        throw Refusal{name() + " is " + describe(meta) +
                      ", whose elements matter: bind it with tensors, as in op.bind(x)"};
    };
    for (std::uint32_t i = 0; i < m_info.n_inputs; ++i)
      require(m_info.inputs[i], [&] { return m_request.bound.input_name(i); }, sample(i) != nullptr);
    for (std::uint32_t i = 0; i < m_info.n_outputs; ++i)
      require(m_info.outputs[i], [&] { return m_request.bound.output_name(i); }, true);
    if (m_is_gpu && is_capturing(m_stream)) throw Refusal{"its stream captures a CUDA graph"};
  }

  Made made_like(const tarsia_meta& meta) const { return meta.present ? Made(meta, m_info.device) : Made(); }

  void fill(const tarsia_tensor& tensor) const {
    const std::uint64_t bytes = bytes_of(tensor.shape, tensor.ndim, tensor.dtype);
    const std::vector<char> made =
        is_float(tensor.dtype) ? pattern(tensor.dtype, bytes) : std::vector<char>(bytes);
    tarsia_tensor host = tensor;
    host.device = {TARSIA_CPU, 0};
    host.byte_offset = 0;
    host.data = const_cast<char*>(made.data());
    if (bytes) copy(tensor, host, m_stream);
  }

  void fill_inputs() const {
    for (std::uint32_t i = 0; i < m_info.n_inputs; ++i) {
      const tarsia_tensor* tensor = m_inputs[i].tensor();
      if (!tensor) continue;
      const tarsia_tensor* given = sample(i);
      if (!given)
        fill(*tensor);
      else if (given->strides)
        relayout(*tensor, *given, m_stream);
      else
        copy(*tensor, *given, m_stream);
    }
  }

  bool changes_inputs() const {
    for (std::uint32_t i = 0; i < m_info.n_inputs; ++i)
      if (m_request.bound.input_flags(i) & TARSIA_PORT_MUTABLE) return true;
    return false;
  }

  Ref<BoundOp> bind_to(const tarsia_implementation& one) const {
    MeasuredPasses forced;
    forced[TARSIA_FORWARD].implementation = m_request.forward;
    forced[m_request.pass].implementation = &one;
    for (Measured& pass : forced)
      if (pass.implementation) pass.times.push_back({pass.implementation, "", 0, ""});
    return Ref<BoundOp>::adopt(new BoundOp(m_request.entry, m_request.request, std::move(forced)));
  }

  void call(BoundOp& bound, tarsia_pass pass, const std::vector<const tarsia_tensor*>& inputs,
            const std::vector<const tarsia_tensor*>& outputs) const {
    tarsia_op_call call{};
    call.size = sizeof call;
    call.n_inputs = static_cast<std::uint32_t>(inputs.size());
    call.n_outputs = static_cast<std::uint32_t>(outputs.size());
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.stream = m_stream;
    call.has_stream = m_is_gpu;
    call.pass = pass;
    if (bound.call(call)) throw_last_error();
  }

  static void add(std::vector<const tarsia_tensor*>& list, const std::vector<Made>& made) {
    for (const Made& one : made) list.push_back(one.tensor());
  }

  void run_forward(BoundOp& bound) const {
    std::vector<const tarsia_tensor*> inputs, outputs;
    add(inputs, m_inputs);
    add(outputs, m_outputs);
    try {
      call(bound, TARSIA_FORWARD, inputs, outputs);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      throw Refusal{std::string("its forward failed: ") + e.what()};
    }
  }

  /// The time of some calls.
  double turn(const Runner& runner, int calls) {
    std::vector<const tarsia_tensor*> inputs, outputs;
    const bool backward = m_request.pass == TARSIA_BACKWARD;
    if (!backward && changes_inputs()) fill_inputs();
    if (backward) add(inputs, m_out_grads);
    add(inputs, m_inputs);
    if (backward) add(inputs, m_outputs);
    if (!backward) add(outputs, m_outputs);
    for (std::uint32_t i = 0; backward && i < m_info.n_inputs; ++i)
      outputs.push_back(runner.bound->has_gradient(i) ? m_in_grads[i].tensor() : nullptr);
    Stopwatch watch(m_is_gpu, m_stream);
    watch.start();
    for (int i = 0; i < calls; ++i) call(*runner.bound, m_request.pass, inputs, outputs);
    return watch.stop();
  }

  const TimingRequest& m_request;
  const tarsia_bind_info& m_info;
  bool m_is_gpu;
  CudaDeviceScope m_scope;
  void* m_stream;
  std::vector<Made> m_inputs, m_outputs, m_out_grads, m_in_grads;
  std::vector<Runner> m_runners;
};

}  // namespace

Measured time_implementations(const TimingRequest& request) {
  Measured refused;
  try {
    const RandomApart apart;
    return Trial(request).run();
  } catch (const Refusal& refusal) {
    refused.reason = refusal.reason;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& e) {
    refused.reason = e.what();
  }
  return refused;
}

}  // namespace tarsia::registry

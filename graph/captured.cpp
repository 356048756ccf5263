// Captures and replays.
#include "graph/captured.h"

#include <tarsia/detail/argument_rules.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "graph/graph_op.h"
#include "registry/measure/measure.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

namespace tarsia::graph {

namespace {

constexpr int k_capture_thread_local = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// A stream that ends with its scope.
class OwnStream {
 public:
  OwnStream() {
    check_cuda(cuda_driver().cuStreamCreate(&m_stream, k_stream_non_blocking), "cuStreamCreate");
  }
  ~OwnStream() { cuda_driver().cuStreamDestroy(m_stream); }
  OwnStream(const OwnStream&) = delete;
  CuStream get() const { return m_stream; }

 private:
  CuStream m_stream = nullptr;
};

StorageRef new_tensor(const tarsia_meta& meta, tarsia_device device) {
  return StorageRef::adopt(registry::make_tensor(meta.shape, meta.ndim, meta.dtype, device));
}

/// Zeros: whatever a run makes of them, such as indices, is within bounds.
StorageRef zeros(const tarsia_meta& meta, tarsia_device device) {
  const StorageRef host = new_tensor(meta, {TARSIA_CPU, 0});
  std::memset(host.tensor().data, 0, registry::bytes_of(meta.shape, meta.ndim, meta.dtype));
  StorageRef tensor = new_tensor(meta, device);
  registry::copy(tensor.tensor(), host.tensor(), registry::current_stream(device.id));
  return tensor;
}

/// Keeps what the states of a graph hold, and restores it. They are kept when the constructor returns.
class KeptStates {
 public:
  explicit KeptStates(const Program& program) { keep(program); }
  void restore(void* stream) const {
    for (const State& state : m_states)
      registry::copy(state.slot->held.tensor(), state.copy.tensor(), stream);
  }

 private:
  /// Those of graphs within it, too.
  void keep(const Program& program) {
    for (const Step& step : program.steps)
      if (const Executable* inner = step.bound ? executable_of(*step.bound) : nullptr) keep(inner->program());
    for (const Slot& slot : program.slots) {
      if (!slot.is_state) continue;
      StorageRef copy = new_tensor(slot.meta, slot.device);
      void* const stream = stream_of(slot);
      registry::copy(copy.tensor(), slot.held.tensor(), stream);
      if (registry::is_gpu(slot.device)) {
        const CudaDeviceScope scope(slot.device.id);
        check_cuda(cuda_driver().cuStreamSynchronize(static_cast<CuStream>(stream)), "cuStreamSynchronize");
      }
      m_states.push_back({&slot, std::move(copy)});
    }
  }
  static void* stream_of(const Slot& slot) {
    return registry::is_gpu(slot.device) ? registry::current_stream(slot.device.id) : nullptr;
  }
  struct State {
    const Slot* slot;
    StorageRef copy;
  };
  std::vector<State> m_states;
};

void require_capturable(const registry::BoundOp& bound) {
  const Executable* executable = executable_of(bound);
  if (!executable) throw ArgumentError::type_error("the op is no graph's: a graph is captured, not an op");
  for (const Step& step : executable->program().steps) {
    const bool moves = step.kind == StepKind::copy &&
                       registry::is_gpu(executable->program().slots[step.inputs[0]].device) !=
                           registry::is_gpu(executable->program().slots[step.outputs[0]].device);
    if (!registry::is_gpu(step.device) || moves)
      throw Unsupported("graph, node '" + step.name +
                        "': it uses the CPU, and a CUDA graph holds work of a GPU alone");
  }
  for (const Slot& slot : executable->program().slots)
    if (slot.meta.storage != TARSIA_DENSE)
      throw Unsupported("graph: the value '" + slot.name +
                        "' is sparse, and its size is known only when it runs: a CUDA graph has fixed sizes");
}

bool is_like(const tarsia_tensor& one, const tarsia_tensor& other) {
  return one.ndim == other.ndim && arguments::bits_of(one.dtype) == arguments::bits_of(other.dtype) &&
         std::equal(one.shape, one.shape + one.ndim, other.shape) && registry::is_contiguous(one);
}

/// Throws ArgumentError unless a caller's tensors can be copied from or to those of a captured graph.
void require_like(const std::string& what, std::span<const tarsia_tensor* const> tensors,
                  const std::vector<StorageRef>& own, int device) {
  if (tensors.size() != own.size())
    throw ArgumentError::value_error("graph: it was captured with " + std::to_string(own.size()) + " " +
                                     what + "s and was given " + std::to_string(tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const tarsia_tensor* const one = tensors[i];
    const std::string name = "graph: " + what + " " + std::to_string(i);
    if (!one || !is_like(*one, own[i].tensor()))
      throw ArgumentError::value_error(
          name + " is not of the shape and dtype that were captured, or not contiguous");
    if (registry::is_gpu(one->device) && one->device.id != device)
      throw ArgumentError::value_error(name + " is on GPU " + std::to_string(one->device.id) +
                                       ", and the graph was captured on GPU " + std::to_string(device) +
                                       ": copy it there");
    for (std::size_t k = 0; k < own.size(); ++k)
      if (k != i && one->data && one->data == own[k].tensor().data)
        throw ArgumentError::value_error(name + " is the captured graph's own number " + std::to_string(k));
  }
}

}  // namespace

CapturedGraph::CapturedGraph(registry::Ref<registry::OpEntry> op, const tarsia_op_request& request)
    : m_device(request.device.id) {
  if (!registry::is_gpu(request.device))
    throw Unsupported(
        "graph: it is bound to the CPU, and a CUDA graph holds work of a GPU: bind it to \"gpu\"");
  if (const auto& optional = cuda_driver().optional;
      !optional.cuStreamBeginCapture || !optional.cuStreamEndCapture ||
      !optional.cuGraphInstantiateWithFlags || !optional.cuGraphLaunch || !optional.cuGraphExecDestroy ||
      !optional.cuGraphDestroy)
    throw Unsupported("the CUDA driver is too old for CUDA graphs: install one of CUDA 11.4 or newer");
  CudaDeviceScope scope(m_device);

  // 1. Bind: no other call shares this binding's memory.
  m_bound = registry::bind(std::move(op), request);
  require_capturable(*m_bound);

  // 2. Make the inputs and outputs.
  std::vector<const tarsia_tensor*> inputs, outputs;
  for (const tarsia_meta& meta : m_bound->bound().inputs()) {
    m_inputs.push_back(zeros(meta, request.device));
    inputs.push_back(&m_inputs.back().tensor());
  }
  for (const tarsia_meta& meta : m_bound->bound().outputs()) {
    m_outputs.push_back(new_tensor(meta, request.device));
    outputs.push_back(&m_outputs.back().tensor());
  }

  // 3. Run once: what is loaded and allocated on first use must not be part of a capture. Then capture.
  tarsia_op_call call{};
  call.size = sizeof call;
  call.n_inputs = static_cast<std::uint32_t>(inputs.size());
  call.n_outputs = static_cast<std::uint32_t>(outputs.size());
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.has_stream = 1;
  capture(call);
  check_cuda(cuda_driver().cuEventCreate(&m_event, k_event_disable_timing), "cuEventCreate");
}

void CapturedGraph::capture(const tarsia_op_call& given) {
  const CudaDriver& driver = cuda_driver();
  tarsia_op_call call = given;
  const KeptStates states(executable_of(*m_bound)->program());
  // The tensors were made on the current stream, whose work comes first.
  check_cuda(driver.cuStreamSynchronize(static_cast<CuStream>(registry::current_stream(m_device))),
             "cuStreamSynchronize");
  const OwnStream stream;
  call.stream = stream.get();
  const std::int32_t first = m_bound->call(call);
  states.restore(stream.get());
  if (first) registry::throw_last_error();
  check_cuda(driver.cuStreamSynchronize(stream.get()), "cuStreamSynchronize");

  check_cuda(driver.optional.cuStreamBeginCapture(stream.get(), k_capture_thread_local),
             "cuStreamBeginCapture");
  const std::int32_t code = m_bound->call(call);
  CuGraph graph = nullptr;
  const CuResult ended = driver.optional.cuStreamEndCapture(stream.get(), &graph);
  if (code) {
    if (graph) driver.optional.cuGraphDestroy(graph);
    registry::throw_last_error();
  }
  check_cuda(ended, "cuStreamEndCapture");
  const CuResult made = driver.optional.cuGraphInstantiateWithFlags(&m_exec, graph, 0);
  driver.optional.cuGraphDestroy(graph);
  check_cuda(made, "cuGraphInstantiateWithFlags");
}

CapturedGraph::~CapturedGraph() {
  try {
    CudaDeviceScope scope(m_device);
    // A graph that runs may be destroyed: CUDA keeps it until it is done. Its memory is given back behind it.
    if (m_exec) cuda_driver().optional.cuGraphExecDestroy(m_exec);
    if (m_event) cuda_driver().cuEventDestroy(m_event);
  } catch (const Error& e) {
    log().warn("a captured graph is not given back: {}", e.what());
  }
}

/// What one caller does with the tensors, on a stream: the next one, on another stream, waits for it.
class CapturedGraph::Turn {
 public:
  Turn(CapturedGraph& graph, void* stream) : m_scope(graph.m_device), m_lock(graph.m_mutex), m_graph(graph) {
    if (stream != graph.m_stream)
      check_cuda(cuda_driver().cuStreamWaitEvent(static_cast<CuStream>(stream), graph.m_event, 0),
                 "cuStreamWaitEvent");
    graph.m_stream = stream;
  }
  ~Turn() {
    if (const CuResult error =
            cuda_driver().cuEventRecord(m_graph.m_event, static_cast<CuStream>(m_graph.m_stream)))
      log().warn("a captured graph's turn has no event: CUDA's error {}", static_cast<int>(error));
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void launch() const {
    check_cuda(cuda_driver().optional.cuGraphLaunch(m_graph.m_exec, static_cast<CuStream>(m_graph.m_stream)),
               "cuGraphLaunch");
  }

 private:
  CudaDeviceScope m_scope;
  std::lock_guard<std::mutex> m_lock;
  CapturedGraph& m_graph;
};

void CapturedGraph::replay(void* stream) {
  const Turn turn(*this, stream);
  turn.launch();
}

void CapturedGraph::run(std::span<const tarsia_tensor* const> given,
                        std::span<const tarsia_tensor* const> results, void* stream) {
  require_like("input", given, m_inputs, m_device);
  require_like("output", results, m_outputs, m_device);
  const Turn turn(*this, stream);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i]->data != m_inputs[i].tensor().data) registry::copy(m_inputs[i].tensor(), *given[i], stream);
  turn.launch();
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i]->data != m_outputs[i].tensor().data)
      registry::copy(*results[i], m_outputs[i].tensor(), stream);
}

}  // namespace tarsia::graph

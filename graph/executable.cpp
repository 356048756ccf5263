// Runs the steps of a program one after the other. Everything that does not change from call to call lies
// ready in an arena: tensors, lists of pointers, and the calls of the steps. A call fills in the caller's
// addresses and goes through the steps.
#include "graph/executable.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "registry/elements/relayout.h"
#include "registry/elements/tensor_math.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

namespace tarsia::graph {

using registry::is_gpu;

namespace {

constexpr std::uint64_t k_element_alignment = 16;  // of the largest elements, complex128

/// The planned workspace of one step. Gives memory of the call where that does not suffice.
class Workspace final : public registry::ScratchSource {
 public:
  Workspace(void* data, std::uint64_t bytes, tarsia_device device)
      : m_data(static_cast<char*>(data)), m_bytes(bytes), m_device(device) {}
  void* take(std::uint64_t bytes, tarsia_device device) override {
    const std::uint64_t at = registry::scratch_piece(m_used);
    if (!is_same(device, m_device) || at > m_bytes || bytes > m_bytes - at) {
      const registry::ScratchScope of_the_call(nullptr);
      return registry::call_scratch(bytes, device);
    }
    m_used = at + bytes;
    return m_data + at;
  }

 private:
  char* m_data;
  std::uint64_t m_bytes, m_used = 0;
  tarsia_device m_device;
};

/// Copies a tensor to one that lies alike.
void copy_alike(tarsia_tensor to, tarsia_tensor from, void* stream) {
  to.strides = from.strides = nullptr;
  registry::copy(to, from, stream);
}

}  // namespace

class Executable::Arena {
 public:
  Arena(const Program& program, const MemoryPlan& plan)
      : tensors(program.slots.size()),
        sparse(program.slots.size()),
        pointers(program.slots.size()),
        output_data(program.outputs.size()) {
    m_row_major.resize(program.slots.size());
    for (SlotId id = 0; id < program.slots.size(); ++id) {
      const Slot& slot = program.slots[id];
      tarsia_tensor& tensor = tensors[id];
      tensor.device = slot.device;
      tensor.ndim = slot.meta.ndim;
      tensor.dtype = slot.meta.dtype;
      tensor.shape = const_cast<std::int64_t*>(slot.meta.shape);
      if (!slot.strides.empty()) tensor.strides = const_cast<std::int64_t*>(slot.strides.data());
      pointers[id] = &tensor;
      if (slot.source == Source::held) place(id, registry::data_of(slot.held.tensor()));
      if (slot.source == Source::sparse) {
        sparse[id].whole = tensor;
        pointers[id] = &sparse[id].whole;
      }
      const BufferId buffer = plan.buffer_of[id];
      if (buffer == k_none) continue;
      const Buffer& b = plan.buffers[buffer];
      if (b.arena != k_none)
        m_in_memory.push_back({id, b.arena, b.offset});
      else
        in_outputs.push_back(
            {id, b.output != k_none ? b.output : b.within, b.output != k_none ? 0 : b.offset});
    }
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      const Step& step = program.steps[s];
      const BufferId workspace = plan.workspace_of[s];
      workspaces.push_back(nullptr);
      if (workspace != k_none && plan.buffers[workspace].arena != k_none)
        m_workspaces_in_memory.push_back(
            {static_cast<std::uint32_t>(s), plan.buffers[workspace].arena, plan.buffers[workspace].offset});
      else if (workspace != k_none)
        workspaces_in_outputs.push_back(
            {static_cast<std::uint32_t>(s), plan.buffers[workspace].within, plan.buffers[workspace].offset});
      if (!step.bound) {
        calls.push_back({});
        continue;
      }
      tarsia_op_call call{};
      call.size = sizeof call;
      call.n_inputs = static_cast<std::uint32_t>(step.inputs.size());
      call.n_outputs = static_cast<std::uint32_t>(step.outputs.size());
      call.inputs = lists.emplace_back(list_of(program, step, step.inputs)).data();
      call.outputs = lists.emplace_back(list_of(program, step, step.outputs)).data();
      call.requests = plan.requests[s].data();
      call.has_stream = is_gpu(step.device);
      call.pass = step.pass();
      const bool is_plain = std::ranges::all_of(
          plan.requests[s], [](std::uint8_t request) { return request == TARSIA_REQUEST_WRITE; });
      if (is_plain && call.pass == TARSIA_FORWARD) call.requests = nullptr;
      calls.push_back(call);
    }
    for (SlotId id = 0; id < program.slots.size(); ++id)
      if (program.slots[id].meta.storage != TARSIA_DENSE) has_sparse = true;
  }
  ~Arena() {
    if (m_forked) cuda_driver().cuEventDestroy(m_forked);
    for (CuEvent event : m_step_events)
      if (event) cuda_driver().cuEventDestroy(event);
    for (CuStream stream : m_streams)
      if (stream) cuda_driver().cuStreamDestroy(stream);
  }

  /// Lets tensors and workspaces lie in the memory, which the arena holds until release().
  void hold(const MemoryPlan& plan, std::unique_ptr<ArenaMemory> memory) {
    m_memory = std::move(memory);
    if (m_memory->serial() == m_laid_out) return;
    m_laid_out = m_memory->serial();
    std::vector<char*> blocks;
    for (const ArenaSize& size : plan.arenas) blocks.push_back(m_memory->on(size.device));
    for (const InOutput& where : m_in_memory) place(where.slot, blocks[where.output] + where.offset);
    for (const InOutput& place : m_workspaces_in_memory)
      workspaces[place.slot] = blocks[place.output] + place.offset;
  }
  ArenaMemory* memory() const { return m_memory.get(); }
  std::unique_ptr<ArenaMemory> release() { return std::move(m_memory); }

  /// Lets the streams of the other lanes follow the caller's. They are made when they are first needed.
  void fork(const Lanes& lanes, void* stream) {
    if (lanes.n == 1) return;
    m_streams.resize(lanes.n - 1);
    m_step_events.resize(lanes.lane.size());
    record(m_forked, stream);
    for (std::uint32_t lane = 1; lane < lanes.n; ++lane) {
      CuStream& other = m_streams[lane - 1];
      if (!other) {
        const CudaDeviceScope scope(lanes.gpu[lane]);
        const CudaRelaxedCapture relaxed;
        check_cuda(cuda_driver().cuStreamCreate(&other, k_stream_non_blocking), "cuStreamCreate");
      }
      wait_for(other, m_forked);
    }
  }
  /// The stream of a step, which waits for the steps of other lanes that come before it.
  void* before_step(const Lanes& lanes, std::size_t step, void* stream) {
    if (lanes.lane[step] == k_none) return nullptr;
    void* own = lanes.lane[step] ? m_streams[lanes.lane[step] - 1] : stream;
    for (std::uint32_t other : lanes.waits[step]) wait_for(own, m_step_events[other]);
    return own;
  }
  void after_step(const Lanes& lanes, std::size_t step, void* own) {
    if (!lanes.is_waited_for[step]) return;
    CuEvent& event = m_step_events[step];
    std::optional<CudaDeviceScope> scope;  // an event is made on the GPU where it is recorded
    if (!event) scope.emplace(lanes.gpu[lanes.lane[step]]);
    record(event, own);
  }
  /// Lets the caller's stream follow the others.
  void join(const Lanes& lanes, void* stream) {
    for (std::uint32_t lane = 1; lane < lanes.n; ++lane) wait_for(stream, m_step_events[lanes.last[lane]]);
  }
  /// Says where the elements of a slot lie.
  void place(SlotId slot, void* data) {
    tensors[slot].data = data;
    if (m_row_major[slot]) m_row_major[slot]->data = data;
  }
  /// Lets a slot stand for another tensor in this call.
  void point(const Program& program, SlotId slot, const tarsia_tensor* tensor) {
    if (pointers[slot] == tensor) return;
    pointers[slot] = tensor;
    std::size_t next = 0;
    for (std::size_t s = 0; s < program.steps.size(); ++s) {
      if (!program.steps[s].bound) continue;
      for (const std::vector<SlotId>* ids : {&program.steps[s].inputs, &program.steps[s].outputs}) {
        std::vector<const tarsia_tensor*>& list = lists[next++];
        for (std::size_t i = 0; i < ids->size(); ++i)
          if ((*ids)[i] == slot) list[i] = tensor;
      }
    }
  }

  struct InOutput {
    SlotId slot;
    std::uint32_t output;
    std::uint64_t offset;
  };
  std::vector<tarsia_tensor> tensors;
  std::vector<tarsia_sparse> sparse;
  std::vector<const tarsia_tensor*> pointers;   ///< of each slot: to its tensor, or to a sparse one
  std::vector<tarsia_op_call> calls;            ///< of each step
  std::vector<void*> workspaces;                ///< of each step; null: none is planned
  std::vector<InOutput> in_outputs;             ///< slots that lie in the memory of outputs
  std::vector<InOutput> workspaces_in_outputs;  ///< the same of workspaces, by their steps
  std::vector<char*> output_data;               ///< of each output of this call
  bool has_sparse = false;
  std::unique_ptr<Flow> flow;  ///< of a program whose steps run at once
  bool has_tried_flow = false;

 private:
  std::vector<const tarsia_tensor*> list_of(const Program& program, const Step& step,
                                            const std::vector<SlotId>& slots) {
    std::vector<const tarsia_tensor*> list;
    for (SlotId slot : slots) {
      if (slot == k_none) {
        list.push_back(nullptr);
        continue;
      }
      if (!step.is_flat || program.slots[slot].strides.empty()) {
        list.push_back(pointers[slot]);
        continue;
      }
      std::unique_ptr<tarsia_tensor>& row_major = m_row_major[slot];
      if (!row_major) row_major = std::make_unique<tarsia_tensor>(tensors[slot]);
      row_major->strides = nullptr;
      list.push_back(row_major.get());
    }
    return list;
  }

  /// Of slots that flat steps take or make: the tensor as these see it. Else null.
  std::vector<std::unique_ptr<tarsia_tensor>> m_row_major;
  std::unique_ptr<ArenaMemory> m_memory;
  std::uint64_t m_laid_out = 0;                               ///< whose addresses tensors have
  std::vector<InOutput> m_in_memory, m_workspaces_in_memory;  ///< `output` is the number of an arena
  std::vector<CuStream> m_streams;                            ///< of lanes 1 and on
  std::vector<CuEvent> m_step_events;                   ///< of steps that another lane waits for; else null
  std::deque<std::vector<const tarsia_tensor*>> lists;  ///< of each step with an op: its inputs, its outputs
  CuEvent m_forked = nullptr;
};

Executable::Executable(Program program, std::shared_ptr<MemoryBuckets> buckets)
    : m_program(std::move(program)),
      m_buckets(std::move(buckets)),
      m_plan(m_buckets ? m_buckets->plan(m_program) : plan_memory(m_program)) {
  m_uses_gpu = is_gpu(m_program.device);
  const std::vector<std::int32_t> gpus = gpus_of(m_program);
  m_uses_gpu |= !gpus.empty();
  const std::int32_t home = is_gpu(m_program.device) ? m_program.device.id : gpus.empty() ? -1 : gpus.front();
  m_uses_gpus = std::ranges::any_of(gpus, [&](std::int32_t gpu) { return gpu != home; });
  const bool uses_gpu_alone =
      !m_program.steps.empty() &&
      std::ranges::all_of(m_program.steps, [](const Step& step) { return is_gpu(step.device); });
  for (const Slot& slot : m_program.slots)
    if (slot.source == Source::held) m_held.push_back(&slot);
  if (uses_gpu_alone || m_uses_gpus) m_lanes = assign_lanes(m_program, m_plan, home);
  if (!m_uses_gpu) m_flow = flow_edges(m_program, m_plan);
  const auto lies_within = [&](BufferId id, std::uint64_t on_cpu) {
    const Buffer& buffer = m_plan.buffers[id];
    if (buffer.within == k_none) return;
    m_output_alignment.resize(m_program.outputs.size(), 1);
    std::uint64_t& needed = m_output_alignment[buffer.within];
    needed = std::max(needed, is_gpu(buffer.device) ? k_gpu_alignment : on_cpu);
  };
  for (BufferId id = 0; id < m_plan.buffers.size(); ++id) lies_within(id, k_element_alignment);
  for (BufferId id : m_plan.workspace_of)
    if (id != k_none) lies_within(id, k_cpu_alignment);
  m_inputs.assign(m_program.n_inputs, k_none);
  for (SlotId id = 0; id < m_program.slots.size(); ++id)
    if (m_program.slots[id].source == Source::caller) m_inputs[m_program.slots[id].input] = id;
}

Executable::~Executable() = default;

std::unique_ptr<Executable::Arena> Executable::take(void* stream) {
  std::unique_ptr<Arena> arena;
  {
    std::lock_guard lock(m_mutex);
    if (!m_free.empty()) {
      // The one that this stream used last, else the one that was given back first.
      auto chosen = std::ranges::find_if(
          m_free, [&](const auto& one) { return one->memory() && one->memory()->stream() == stream; });
      if (chosen == m_free.end()) chosen = m_free.begin();
      arena = std::move(*chosen);
      m_free.erase(chosen);
    }
  }
  if (!arena) arena = std::make_unique<Arena>(m_program, m_plan);
  if (m_buckets)
    arena->hold(m_plan, m_buckets->pool().take(m_plan.arenas, m_program.device, stream));
  else if (!arena->memory())
    arena->hold(m_plan, std::make_unique<ArenaMemory>(m_plan.arenas, m_program.device, stream, false));
  return arena;
}

void Executable::give(std::unique_ptr<Arena> arena, void* stream) noexcept {
  try {
    if (m_uses_gpu) arena->memory()->leave(stream);
    if (m_buckets) m_buckets->pool().give(arena->release());
    std::lock_guard lock(m_mutex);
    m_free.push_back(std::move(arena));
  } catch (const std::exception& e) {
    log().warn("a graph's arena is not kept: {}", e.what());
  }
}

bool Executable::is_aligned(std::size_t output, const void* data) const {
  return m_output_alignment.empty() ||
         reinterpret_cast<std::uintptr_t>(data) % m_output_alignment[output] == 0;
}

bool Executable::overlaps_held(const void* data, std::uint64_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (const Slot* slot : m_held) {
    const auto held = reinterpret_cast<std::uintptr_t>(registry::data_of(slot->held.tensor()));
    if (begin < held + slot->bytes && held < begin + bytes) return true;
  }
  return false;
}

std::int32_t Executable::run(const Call& call) noexcept {
  return registry::guarded([&] {
    std::optional<CudaDeviceScope> home;  // of the stream
    if (m_uses_gpus) home.emplace(m_lanes.gpu[0]);

    // 1. Take an arena. What a stream captures runs later, any number of times: its arena is for it alone.
    const bool is_captured = m_uses_gpu && is_capturing(call.stream);
    std::unique_ptr<Arena> arena =
        is_captured ? std::make_unique<Arena>(m_program, m_plan) : take(call.stream);
    if (is_captured)
      arena->hold(m_plan, std::make_unique<ArenaMemory>(m_plan.arenas, m_program.device, call.stream, true));
    else if (m_uses_gpu)
      arena->memory()->enter(call.stream);

    // 2. Fill in the caller's tensors. An output that nobody wants, that shares memory with a tensor of the
    // graph's, or that begins where no buffer of the plan may, gets memory for this call. None overlaps an
    // input: bound ops see to that.
    for (std::uint32_t i = 0; i < m_inputs.size(); ++i) {
      const SlotId id = m_inputs[i];
      if (id == k_none) continue;
      if (!call.inputs[i])
        throw ArgumentError::type_error("graph: '" + m_program.slots[id].name + "' is missing, which the " +
                                        "backward pass needs");
      if (m_program.slots[id].meta.storage != TARSIA_DENSE)
        arena->point(m_program, id, call.inputs[i]);
      else
        arena->place(id, registry::data_of(*call.inputs[i]));
    }
    for (std::size_t o = 0; o < m_program.outputs.size(); ++o) {
      const Slot& slot = m_program.slots[m_program.outputs[o]];
      const tarsia_tensor* wanted = call.outputs[o];
      if (slot.source == Source::sparse) {
        if (wanted) arena->point(m_program, m_program.outputs[o], wanted);
        continue;
      }
      const bool is_own = wanted && is_aligned(o, registry::data_of(*wanted)) &&
                          !overlaps_held(registry::data_of(*wanted), slot.bytes);
      arena->output_data[o] = static_cast<char*>(is_own ? registry::data_of(*wanted)
                                                        : registry::call_scratch(slot.bytes, slot.device));
    }
    for (const Arena::InOutput& place : arena->in_outputs)
      arena->place(place.slot, arena->output_data[place.output] + place.offset);
    for (const Arena::InOutput& place : arena->workspaces_in_outputs)
      arena->workspaces[place.slot] = arena->output_data[place.output] + place.offset;

    // 3. Run the steps.
    const std::int32_t code = run_steps(*arena, call.stream);

    // 4. Bring results to where they belong.
    for (std::size_t o = 0; !code && o < m_program.outputs.size(); ++o) {
      const tarsia_tensor& made = arena->tensors[m_program.outputs[o]];
      if (call.outputs[o] && made.data && made.data != registry::data_of(*call.outputs[o]))
        registry::copy(*call.outputs[o], made, call.stream);
    }

    // 5. Give the arena back, in which nothing of the caller's is pointed to any more.
    if (arena->has_sparse) {
      for (tarsia_sparse& sparse : arena->sparse)
        for (tarsia_storage*& part : sparse.made) {
          registry::release(part);
          part = nullptr;
        }
    }
    if (is_captured) {
      std::lock_guard lock(m_mutex);
      m_captured.push_back(std::move(arena));
    } else {
      give(std::move(arena), call.stream);
    }
    if (code) registry::throw_last_error();
  });
}

std::int32_t Executable::run_step(Arena& arena, std::size_t s, void* stream) const noexcept {
  const Step& step = m_program.steps[s];
  if (step.bound) {
    tarsia_op_call& call = arena.calls[s];
    call.stream = stream;
    if (!arena.workspaces[s]) return step.bound->call(call);
    Workspace workspace(arena.workspaces[s], m_plan.buffers[m_plan.workspace_of[s]].bytes, step.device);
    const registry::ScratchScope planned(&workspace);
    return step.bound->call(call);
  }
  return registry::guarded([&] {
    const tarsia_tensor& to = arena.tensors[step.outputs[0]];
    const tarsia_tensor& from = arena.tensors[step.inputs[0]];
    const Slot &made = m_program.slots[step.outputs[0]], &read = m_program.slots[step.inputs[0]];
    if (step.kind == StepKind::sum)
      registry::add_to(to, from, stream);
    else if (made.layout != read.layout)
      registry::relayout(to, from, stream);
    else
      copy_alike(to, from, stream);
  });
}

std::int32_t Executable::run_steps(Arena& arena, void* stream) const {
  const auto named = [&](std::size_t s, std::int32_t code) {
    registry::LastError& error = registry::last_error();
    error.message = "graph, node '" + m_program.steps[s].name + "': " + error.message;
    return code;
  };
  if (m_flow) {
    if (!std::exchange(arena.has_tried_flow, true))
      arena.flow = Flow::make(static_cast<std::uint32_t>(m_program.steps.size()), *m_flow);
    if (arena.flow && arena.flow->is_usable()) {
      const Flow::Result result =
          arena.flow->run([&](std::uint32_t s) { return run_step(arena, s, nullptr); });
      return result.step == k_none ? result.code : named(result.step, result.code);
    }
  }
  if (m_lanes.n == 1) {
    for (std::size_t s = 0; s < m_program.steps.size(); ++s)
      if (const std::int32_t code = run_step(arena, s, stream)) return named(s, code);
    return 0;
  }
  arena.fork(m_lanes, stream);
  std::int32_t failed = 0;
  for (std::size_t s = 0; s < m_program.steps.size(); ++s) {
    void* own = arena.before_step(m_lanes, s, stream);
    // After a failure, nothing runs any more, but the streams are joined: memory of all of them is given
    // back.
    if (!failed)
      if (const std::int32_t code = run_step(arena, s, own)) failed = named(s, code);
    arena.after_step(m_lanes, s, own);
  }
  arena.join(m_lanes, stream);
  return failed;
}

}  // namespace tarsia::graph

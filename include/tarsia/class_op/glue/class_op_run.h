// A class operator that runs: its property infers, and its operator computes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <mxnet/operator.h>
#include <tarsia/class_op/glue/values.h>

#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace mxnet {
namespace tarsia_detail {

/// Names the op whose functions run on this thread.
class Running {
 public:
  explicit Running(const char* op) : m_outer(current_op()) { current_op() = op; }
  ~Running() { current_op() = m_outer; }
  Running(const Running&) = delete;

 private:
  const char* m_outer;
};

/// Tells whose call runs on this thread, for messages.
class RunningCall {
 public:
  explicit RunningCall(const tarsia_bind_info* info) : m_outer(current_call()) { current_call() = info; }
  ~RunningCall() { current_call() = m_outer; }
  RunningCall(const RunningCall&) = delete;

 private:
  const tarsia_bind_info* m_outer;
};

/// Runs f. A failed check becomes the error `code`; other exceptions keep their class.
template <class F>
int32_t guarded(const char* op, int32_t code, const F& f) {
  const Running running(op);
  try {
    f();
    return 0;
  } catch (const dmlc::Error& error) {
    return host()->set_error(code, error.what());
  } catch (...) {
    return host()->capture_exception();
  }
}

/// The numbers 0 to n-1, from `first` on.
inline std::vector<int> numbers(size_t n, size_t first = 0) {
  std::vector<int> all;
  for (size_t i = 0; i < n; ++i) all.push_back(static_cast<int>(first + i));
  return all;
}

/// The numbers of a property's tensors.
struct Counts {
  size_t arguments, auxiliary, outputs, visible;
  explicit Counts(const OperatorProperty& p)
      : arguments(p.ListArguments().size()),
        auxiliary(p.ListAuxiliaryStates().size()),
        outputs(static_cast<size_t>(p.NumOutputs())),
        visible(static_cast<size_t>(p.NumVisibleOutputs())) {
    CHECK(visible <= outputs) << "NumVisibleOutputs() gives " << visible << ", and NumOutputs() " << outputs;
  }
};

inline void check_size(const char* function, const char* what, size_t n, size_t wanted) {
  CHECK(n == wanted) << function << " leaves " << n << " " << what << ", and the op has " << wanted;
}

/// Fills in the metas by InferType and InferShape.
inline void infer(const OperatorProperty& property, const tarsia_bind_info* info) {
  const Counts n(property);
  std::vector<TShape> in_shape, out_shape, aux_shape;
  std::vector<int> in_type, out_type, aux_type;
  const auto read = [](const tarsia_meta& meta, std::vector<TShape>& shapes, std::vector<int>& types) {
    shapes.push_back(shape_of(meta));
    types.push_back(type_flag_of(meta.dtype));
  };
  for (size_t i = 0; i < n.arguments; ++i) read(info->inputs[i], in_shape, in_type);
  for (size_t i = 0; i < n.auxiliary; ++i) read(info->inputs[n.arguments + i], aux_shape, aux_type);
  for (size_t i = 0; i < n.outputs; ++i) read(info->outputs[i], out_shape, out_type);

  const bool has_types = property.InferType(&in_type, &out_type, &aux_type);
  const bool has_shapes = property.InferShape(&in_shape, &out_shape, &aux_shape);
  if (has_types) {
    check_size("InferType", "types of inputs", in_type.size(), n.arguments);
    check_size("InferType", "types of outputs", out_type.size(), n.outputs);
    check_size("InferType", "types of auxiliary states", aux_type.size(), n.auxiliary);
  }
  if (has_shapes) {
    check_size("InferShape", "shapes of inputs", in_shape.size(), n.arguments);
    check_size("InferShape", "shapes of outputs", out_shape.size(), n.outputs);
    check_size("InferShape", "shapes of auxiliary states", aux_shape.size(), n.auxiliary);
  }
  const auto write = [&](const std::vector<TShape>& shapes, const std::vector<int>& types, size_t i,
                         tarsia_meta& meta) {
    if (has_shapes) write_shape(shapes[i], meta);
    if (has_types && types[i] != -1) meta.dtype = dtype_of(types[i]);
  };
  for (size_t i = 0; i < n.arguments; ++i) write(in_shape, in_type, i, info->inputs[i]);
  for (size_t i = 0; i < n.auxiliary; ++i) {
    write(aux_shape, aux_type, i, info->inputs[n.arguments + i]);
    info->inputs[n.arguments + i].flags |= TARSIA_PORT_MUTABLE;
  }
  for (size_t i = 0; i < n.outputs; ++i) write(out_shape, out_type, i, info->outputs[i]);
}

/// What a property's backward needs, of output gradients, inputs and outputs in one row.
inline std::vector<int> dependencies(const OperatorProperty& property, const Counts& n) {
  const size_t first_in = n.outputs, first_out = first_in + n.arguments + n.auxiliary;
  std::vector<int> all = property.DeclareBackwardDependency(
      numbers(n.visible), numbers(n.arguments, first_in), numbers(n.outputs, first_out));
  for (int i : all)
    CHECK(i >= 0 && static_cast<size_t>(i) < first_out + n.outputs)
        << "DeclareBackwardDependency gives a number that it did not get";
  return all;
}

/// Marks what callers keep for backward: what it needs, auxiliary states, and what a forward that has left
/// hidden outputs is found by.
inline void mark_needs(const OperatorProperty& property, uint8_t* needs) {
  const Counts n(property);
  const size_t first_in = n.outputs, first_out = first_in + n.arguments + n.auxiliary;
  for (size_t i = 0; i < first_out + n.outputs; ++i) needs[i] = i >= first_in + n.arguments && i < first_out;
  for (int i : dependencies(property, n)) needs[i] = 1;
  for (size_t i = n.visible; i < n.outputs; ++i)
    if (needs[first_out + i]) {
      needs[first_out] = 1;
      if (n.arguments) needs[first_in] = 1;
    }
}

inline Context context_of(tarsia_device device) {
  return Context::Create(device.type == TARSIA_GPU ? Context::kGPU : Context::kCPU, device.id);
}

inline Operator* create_operator(const OperatorProperty& property, const tarsia_bind_info* info) {
  const Counts n(property);
  std::vector<TShape> shapes;
  std::vector<int> types;
  for (size_t i = 0; i < n.arguments; ++i) {
    shapes.push_back(shape_of(info->inputs[i]));
    types.push_back(type_flag_of(info->inputs[i].dtype));
  }
  Operator* made = property.CreateOperatorEx(context_of(info->device), &shapes, &types);
  if (!made) LOG(FATAL) << "CreateOperator made no operator";
  return made;
}

/// Hidden outputs that nobody asked for, of the last forwards of a bound op that train. Its backward finds
/// them by the memory of the first input and of the first output. What was copied elsewhere is not found.
class Remembered {
 public:
  ~Remembered() {
    for (Forward& one : m_forwards) drop(one);
  }
  /// Memory for a forward with these tensors; it takes the place of what an earlier one with them, or the
  /// oldest of many, has left.
  void begin(const void* input, const void* output) {
    for (size_t i = 0; i < m_forwards.size(); ++i)
      if (m_forwards[i].output == output || m_forwards.size() >= k_most) {
        drop(m_forwards[i]);
        m_forwards.erase(m_forwards.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    m_forwards.push_back(Forward{input, output, {}});
  }
  void* allocate(size_t i, size_t bytes, tarsia_device device, void* stream) {
    void* memory = host()->allocate(bytes ? bytes : 1, device, stream);
    if (!memory) ::tarsia::detail::throw_last(host());
    m_forwards.back().kept.push_back(Kept{i, memory, device, stream});
    return memory;
  }
  /// Null if there is none. An input or output that is null is not there, and the other one decides.
  void* find(size_t i, const void* input, const void* output) const {
    if (!input && !output) return nullptr;
    for (size_t k = m_forwards.size(); k-- > 0;) {
      const Forward& one = m_forwards[k];
      if ((output && one.output != output) || (input && one.input != input)) continue;
      for (const Kept& kept : one.kept)
        if (kept.number == i) return kept.memory;
    }
    return nullptr;
  }

 private:
  enum { k_most = 64 };  // docs/coming_from/class_operators.md and the error of Call name it
  struct Kept {
    size_t number;
    void* memory;
    tarsia_device device;
    void* stream;
  };
  struct Forward {
    const void *input, *output;
    std::vector<Kept> kept;
  };
  static void drop(Forward& one) {
    for (const Kept& kept : one.kept) host()->deallocate(kept.memory, kept.device, kept.stream);
  }
  std::vector<Forward> m_forwards;
};

/// What a bound op keeps.
struct State {
  std::unique_ptr<Operator> op;
  Remembered remembered;
};

/// One call of an operator.
class Call {
 public:
  Call(const tarsia_op_context* c, bool is_train, bool honours)
      : m_c(c),
        m_honours(honours),
        m_property(*static_cast<const OperatorProperty*>(c->info->params)),
        m_n(m_property) {
    m_stream.stream_ = static_cast<CUstream_st*>(c->stream);
    m_stream.device_ = c->device.id;
    m_context.is_train = is_train;
    m_context.run_ctx.ctx = context_of(c->device);
    m_context.run_ctx.stream =
        c->device.type == TARSIA_GPU ? static_cast<void*>(&m_stream) : static_cast<void*>(&m_cpu_stream);
  }

  void forward() {
    const tarsia_bind_info* info = m_c->info;
    std::vector<TBlob> inputs, auxiliary, outputs;
    for (size_t i = 0; i < m_n.arguments; ++i) inputs.push_back(input(i, info->inputs[i]));
    for (size_t i = 0; i < m_n.auxiliary; ++i)
      auxiliary.push_back(input(m_n.arguments + i, info->inputs[m_n.arguments + i]));
    std::vector<OpReqType> requests;
    bool remembers = false;
    for (size_t i = 0; i < m_n.outputs; ++i) {
      outputs.push_back(blob_of(m_c->outputs[i], info->outputs[i], m_c->device));
      requests.push_back(static_cast<OpReqType>(m_c->requests[i]));
      if (requests[i] != kNullOp || m_honours) continue;
      const size_t bytes = outputs[i].Size() * mshadow::mshadow_sizeof(outputs[i].type_flag_);
      requests[i] = kWriteTo;
      if (i < m_n.visible || !m_context.is_train) {
        outputs[i].dptr_ = scratch(bytes ? bytes : 1, m_c->device.type == TARSIA_GPU, m_c->device.id);
        continue;
      }
      if (!remembers) state().remembered.begin(inputs.empty() ? nullptr : inputs[0].dptr_, outputs[0].dptr_);
      remembers = true;
      outputs[i].dptr_ = state().remembered.allocate(i, bytes, m_c->device, m_c->stream);
    }
    request(m_property.ForwardResource(shapes_of(inputs)));
    op().Forward(m_context, inputs, requests, outputs, auxiliary);
  }

  void backward() {
    const tarsia_bind_info* info = m_c->info;
    const size_t first_in = m_n.outputs, first_out = first_in + m_n.arguments + m_n.auxiliary;
    std::vector<TBlob> gradients, inputs, auxiliary, outputs, results;
    for (size_t i = 0; i < m_n.visible; ++i) gradients.push_back(input(i, info->outputs[i]));
    for (size_t i = 0; i < m_n.arguments; ++i) inputs.push_back(input(first_in + i, info->inputs[i]));
    for (size_t i = 0; i < m_n.auxiliary; ++i)
      auxiliary.push_back(input(first_in + m_n.arguments + i, info->inputs[m_n.arguments + i]));
    for (size_t i = 0; i < m_n.outputs; ++i) {
      outputs.push_back(input(first_out + i, info->outputs[i]));
      if (i >= m_n.visible && !outputs[i].dptr_)
        outputs[i].dptr_ =
            state().remembered.find(i, inputs.empty() ? nullptr : inputs[0].dptr_, outputs[0].dptr_);
    }
    check_dependencies(outputs, first_out);
    std::vector<OpReqType> requests;
    for (size_t i = 0; i < m_n.arguments; ++i) {
      results.push_back(blob_of(m_c->outputs[i], info->inputs[i], m_c->device));
      requests.push_back(static_cast<OpReqType>(m_c->requests[i]));
    }
    request(m_property.BackwardResource(shapes_of(inputs)));
    op().Backward(m_context, gradients, inputs, outputs, requests, results, auxiliary);
  }

 private:
  State& state() const { return *static_cast<State*>(m_c->state); }
  Operator& op() const { return *state().op; }
  TBlob input(size_t i, const tarsia_meta& meta) const { return blob_of(m_c->inputs[i], meta, m_c->device); }
  static std::vector<TShape> shapes_of(const std::vector<TBlob>& blobs) {
    std::vector<TShape> shapes;
    for (const TBlob& blob : blobs) shapes.push_back(blob.shape_);
    return shapes;
  }
  void request(const std::vector<ResourceRequest>& requests) {
    for (const ResourceRequest& one : requests) {
      CHECK(one.type != ResourceRequest::kParallelRandom)
          << "the op requests kParallelRandom: kRandom and kTempSpace are known";
      m_context.requested.push_back(Resource(one, m_context.run_ctx.ctx));
    }
  }
  /// Throws if the caller leaves out what the property declares to need.
  void check_dependencies(const std::vector<TBlob>& outputs, size_t first_out) const {
    for (int i : dependencies(m_property, m_n)) {
      const size_t at = static_cast<size_t>(i);
      // The gradient of a visible output may be absent; few backwards look at it.
      if (at < first_out || outputs[at - first_out].dptr_ || !outputs[at - first_out].Size()) continue;
      LOG(FATAL)
          << "backward needs output '" << m_property.ListOutputs()[at - first_out]
          << "' of forward. It is not passed, and none of the last 64 forwards of this bound op that train "
             "had these tensors, in this memory: pass all outputs, hidden ones too, or call forward before";
    }
  }

  const tarsia_op_context* m_c;
  const bool m_honours;
  const OperatorProperty& m_property;
  const Counts m_n;
  mshadow::Stream<gpu> m_stream;
  mshadow::Stream<cpu> m_cpu_stream;
  OpContext m_context;
};

}  // namespace tarsia_detail
}  // namespace mxnet
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && !defined(TARSIA_SUPPORT_OBJECT) && defined(__clang__)
#pragma clang optimize on
#endif

// Graphs of ops for programs: built from values, bound like an op. docs/graph.md describes graphs.
//
//   tarsia::Graph g;
//   const tarsia::GraphValue x = g.input("x");
//   g.output(g.add("relu", {2 * x + 1}));
//   const tarsia::BoundOp bound = g.bind({tensor});
//   const tarsia::Tensor y = bound({tensor})[0];
#pragma once

#include <tarsia/bound_op.h>
#include <tarsia/c_graph.h>
#include <tarsia/library.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tarsia {

/// A value of a graph, of use as long as the graph.
///
/// `+ - * /`, `< <= > >=`, `-x` and `abs(x)` add nodes of the ops `add`, `subtract` and so on. The other
/// operand is a value of the same graph or a number, which takes the dtype of the value. They throw what
/// Graph::add throws, and ArgumentError for values of two graphs and for whole numbers that no double holds.
struct GraphValue {
  tarsia_graph_value number =
      TARSIA_NO_VALUE;            ///< its number there; TARSIA_NO_VALUE: an optional input that is absent
  tarsia_graph* graph = nullptr;  ///< where it is

  /// What stands beside an operator: a value or a number.
  class Operand {
   public:
    Operand(const GraphValue& value) : m_number(value.number), m_graph(value.graph), m_is_value(true) {}
    template <class T>
      requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, bool>)
    Operand(T number) : m_constant(static_cast<double>(number)) {
      if constexpr (std::integral<T>)
        m_is_exact = m_constant < std::ldexp(1.0, std::numeric_limits<T>::digits) &&
                     static_cast<T>(m_constant) == number;
    }

   private:
    friend struct GraphValue;
    tarsia_graph_value m_number = TARSIA_NO_VALUE;
    tarsia_graph* m_graph = nullptr;
    double m_constant = 0;
    bool m_is_value = false;
    bool m_is_exact = true;  ///< the constant is the number
  };

  friend GraphValue operator+(const Operand& a, const Operand& b) { return node("add", a, b); }
  friend GraphValue operator-(const Operand& a, const Operand& b) { return node("subtract", a, b); }
  friend GraphValue operator*(const Operand& a, const Operand& b) { return node("multiply", a, b); }
  friend GraphValue operator/(const Operand& a, const Operand& b) { return node("divide", a, b); }
  friend GraphValue operator<(const Operand& a, const Operand& b) { return node("less", a, b); }
  friend GraphValue operator<=(const Operand& a, const Operand& b) { return node("less_equal", a, b); }
  friend GraphValue operator>(const Operand& a, const Operand& b) { return node("greater", a, b); }
  friend GraphValue operator>=(const Operand& a, const Operand& b) { return node("greater_equal", a, b); }
  friend GraphValue operator-(const GraphValue& x) { return node("negative", x); }
  friend GraphValue abs(const GraphValue& x) { return node("abs", x); }

 private:
  static inline GraphValue node(const char* op, const Operand& a, const Operand& b);
  static inline GraphValue node(const char* op, const GraphValue& x);
};

/// What is known of an input before the graph is bound.
struct GraphInput {
  std::optional<std::vector<int64_t>> shape =
      std::nullopt;                           ///< -1: an unknown extent; none: an unknown shape
  std::optional<DType> dtype = std::nullopt;  ///< none: any
  tarsia_storage_type storage = TARSIA_DENSE;
};

namespace detail {

/// Adds a node and returns all of its outputs that callers get. `name` may be null.
inline std::vector<GraphValue> add_node(tarsia_graph* graph, const char* op, const char* name,
                                        std::span<const GraphValue> inputs, const Attributes& attributes,
                                        const std::optional<Device>& device) {
  std::vector<tarsia_graph_value> numbers;
  for (const GraphValue& input : inputs) {
    if (input.number != TARSIA_NO_VALUE && input.graph != graph)
      wrong_value("graph, " + std::string(op) + ": a value of another graph cannot be used here");
    numbers.push_back(input.number);
  }
  Lists lists;
  std::vector<const char*> names;
  std::vector<tarsia_value> values;
  for (const auto& [key, value] : attributes) {
    names.push_back(key.c_str());
    values.push_back(std::visit([&](const auto& v) { return to_value(v, lists); }, value));
  }
  tarsia_graph_node node{};
  node.size = sizeof(node);
  node.op = op;
  node.name = name;
  node.n_inputs = static_cast<uint32_t>(numbers.size());
  node.inputs = numbers.data();
  node.n_attributes = static_cast<uint32_t>(names.size());
  node.attribute_names = names.data();
  node.attributes = values.data();
  node.has_device = device.has_value();
  if (device) node.device = *device;
  std::vector<tarsia_graph_value> outputs(1024);
  auto n = static_cast<uint32_t>(outputs.size());
  check(tarsia_graph_add(graph, &node, outputs.data(), &n));
  std::vector<GraphValue> made;
  for (uint32_t i = 0; i < n; ++i) made.push_back({outputs[i], graph});
  return made;
}

}  // namespace detail

inline GraphValue GraphValue::node(const char* op, const GraphValue& x) {
  if (!x.graph) detail::wrong_value("graph, " + std::string(op) + ": an absent value has no operators");
  return detail::add_node(x.graph, op, nullptr, {&x, 1}, {}, {}).at(0);
}

inline GraphValue GraphValue::node(const char* op, const Operand& a, const Operand& b) {
  for (const Operand* operand : {&a, &b}) {
    if (operand->m_is_value && !operand->m_graph)
      detail::wrong_value("graph, " + std::string(op) + ": an absent value has no operators");
    if (!operand->m_is_exact)
      detail::wrong_value("graph, " + std::string(op) +
                          ": the number has more digits than a double; put it in as a constant");
  }
  const Operand& value = a.m_is_value ? a : b;
  const GraphValue like{value.m_number, value.m_graph};
  const auto to_value = [&](const Operand& operand) -> GraphValue {
    if (operand.m_is_value) return {operand.m_number, operand.m_graph};
    return detail::add_node(like.graph, "fill", nullptr, {&like, 1}, {{"value", operand.m_constant}}, {})
        .at(0);
  };
  const GraphValue operands[] = {to_value(a), to_value(b)};
  return detail::add_node(like.graph, op, nullptr, operands, {}, {}).at(0);
}

/// A run of a graph as a CUDA graph, which launches all of its kernels at once. Its tensors lie at fixed
/// addresses, on the GPU that it was captured on, and live until its work is done. Calls from several threads
/// take turns. One thread at a time fills inputs(), replays and reads outputs().
class CapturedGraph {
 public:
  /// Takes over what tarsia_graph_capture made.
  explicit CapturedGraph(tarsia_captured_graph* captured) : m_captured(captured) {}
  CapturedGraph(CapturedGraph&& o) noexcept : m_captured(std::exchange(o.m_captured, nullptr)) {}
  CapturedGraph& operator=(CapturedGraph&& o) noexcept {
    std::swap(m_captured, o.m_captured);
    return *this;
  }
  ~CapturedGraph() { tarsia_captured_free(m_captured); }

  /// The graph's inputs in their order, to be filled before a replay.
  std::vector<Tensor> inputs() const { return tensors(tarsia_captured_input); }
  /// The graph's outputs in their order, which the next replay overwrites.
  std::vector<Tensor> outputs() const { return tensors(tarsia_captured_output); }

  /// Launches the work on a stream without waiting. A replay on another stream waits for the one before.
  /// Throws CudaError.
  void replay(Stream stream = {}) const { detail::check(tarsia_captured_replay(m_captured, stream)); }

  /// Copies tensors of the CPU or of its GPU to the inputs, replays, and returns copies of the outputs, all
  /// in the order of a stream. Waits only for tensors on the CPU. A call on another stream waits for the one
  /// before. Throws ArgumentError that names the tensor whose shape, dtype or GPU does not fit, CudaError,
  /// OutOfMemory.
  std::vector<Tensor> operator()(const std::vector<Tensor>& given, Stream stream = {}) const {
    std::vector<const tarsia_tensor*> inputs, results;
    for (const Tensor& tensor : given) inputs.push_back(tensor.get());
    std::vector<Tensor> made;
    for (const Tensor& output : outputs()) {
      const Ordered memory(output.device().id, stream);
      made.push_back(empty(output.shape(), output.dtype(), output.device()));
      results.push_back(made.back().get());
    }
    detail::check(tarsia_captured_run(m_captured, inputs.data(), inputs.size(), results.data(),
                                      results.size(), stream));
    return made;
  }

  /// The handle of the C interface, borrowed.
  tarsia_captured_graph* get() const { return m_captured; }

 private:
  /// While it lives, memory of a GPU is handed out in the order of a stream.
  class Ordered {
   public:
    Ordered(int device, Stream stream) : m_device(device), m_before(tarsia_get_stream(device)) {
      tarsia_set_stream(device, stream);
    }
    ~Ordered() { tarsia_set_stream(m_device, m_before); }
    Ordered(const Ordered&) = delete;
    Ordered& operator=(const Ordered&) = delete;

   private:
    int m_device;
    void* m_before;
  };

  std::vector<Tensor> tensors(tarsia_storage* (*get)(const tarsia_captured_graph*, uint32_t)) const {
    std::vector<Tensor> all;
    for (uint32_t i = 0; tarsia_storage* storage = get(m_captured, i); ++i) {
      tarsia_storage_retain(storage);
      all.push_back(Tensor::own(storage));
    }
    return all;
  }

  tarsia_captured_graph* m_captured;
};

/// A graph of registered ops. One thread at a time builds it; what is const may be called from several.
class Graph {
 public:
  /// Makes an empty graph.
  Graph() { detail::check(tarsia_graph_create(&m_graph)); }
  Graph(Graph&& o) noexcept : m_graph(std::exchange(o.m_graph, nullptr)) {}
  Graph& operator=(Graph&& o) noexcept {
    std::swap(m_graph, o.m_graph);
    return *this;
  }
  ~Graph() { tarsia_graph_free(m_graph); }

  /// Adds an input. What is said of it is checked when the graph is bound. Throws ArgumentError for a name
  /// that is taken.
  GraphValue input(const std::string& name, const GraphInput& known = {}) {
    const tarsia_meta meta = meta_of(known, name);
    GraphValue value{TARSIA_NO_VALUE, m_graph};
    detail::check(tarsia_graph_input(m_graph, name.c_str(), &meta, &value.number));
    return value;
  }
  /// Adds a tensor that never changes. The graph shares it. Throws ArgumentError, also for one that owns no
  /// memory.
  GraphValue constant(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_CONSTANT, tensor, name);
  }
  /// Adds a tensor that its owner may change between calls. The graph shares it. Throws what constant()
  /// throws.
  GraphValue parameter(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_PARAMETER, tensor, name);
  }
  /// Adds a tensor that ops of the graph change. The graph shares it. Throws what constant() throws.
  GraphValue state(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_STATE, tensor, name);
  }

  /// Adds an op and returns all of its outputs that callers get. An empty name stands for one made from the
  /// op's. With a device, it runs there, else where the graph is bound. Throws NotFound, and ArgumentError
  /// for attributes and numbers of inputs that it does not take.
  std::vector<GraphValue> add_all(const std::string& op, const std::vector<GraphValue>& inputs,
                                  const Attributes& attributes = {}, const std::string& name = "",
                                  std::optional<Device> device = {}) {
    return detail::add_node(m_graph, op.c_str(), name.empty() ? nullptr : name.c_str(), inputs, attributes,
                            device);
  }
  /// Adds an op and returns its first output. Throws what add_all() throws.
  GraphValue add(const std::string& op, const std::vector<GraphValue>& inputs,
                 const Attributes& attributes = {}, const std::string& name = "",
                 std::optional<Device> device = {}) {
    return add_all(op, inputs, attributes, name, device).at(0);
  }

  /// Makes a value a result. Results come in the order of these calls. Throws ArgumentError for a name that
  /// is taken.
  void output(GraphValue value, const std::string& name = "") {
    detail::check(tarsia_graph_output(m_graph, number_of(value), name.empty() ? nullptr : name.c_str()));
  }
  /// Adds the gradient of `loss`, weighted by `seed` (by default ones), with respect to each value of `wrt`.
  /// Throws Unsupported for an op without backward, and ArgumentError.
  std::vector<GraphValue> gradient(GraphValue loss, const std::vector<GraphValue>& wrt,
                                   GraphValue seed = {}) {
    std::vector<tarsia_graph_value> numbers, found(wrt.size());
    for (const GraphValue& value : wrt) numbers.push_back(number_of(value));
    detail::check(tarsia_graph_gradient(m_graph, number_of(loss), number_of(seed), numbers.data(),
                                        static_cast<uint32_t>(numbers.size()), found.data()));
    std::vector<GraphValue> gradients;
    for (tarsia_graph_value value : found) gradients.push_back({value, m_graph});
    return gradients;
  }

  /// Infers what is known of each value, by GraphValue::number, if that is known of the inputs, in their
  /// order. Nothing is chosen or planned. Throws ArgumentError that names the node where shapes or dtypes
  /// contradict each other, and OpError.
  std::vector<GraphInput> infer(const std::vector<GraphInput>& inputs, Device device = {}) const {
    std::vector<tarsia_meta> given;
    for (const GraphInput& input : inputs) given.push_back(meta_of(input, std::to_string(given.size())));
    std::vector<tarsia_meta> metas(tarsia_graph_values(m_graph));
    detail::check(
        tarsia_graph_infer(m_graph, given.data(), static_cast<uint32_t>(given.size()), device, metas.data()));
    std::vector<GraphInput> values;
    for (const tarsia_meta& meta : metas) {
      GraphInput& value = values.emplace_back();
      if (meta.ndim >= 0) value.shape.emplace(meta.shape, meta.shape + meta.ndim);
      if (meta.dtype.code != TARSIA_ANY_DTYPE) value.dtype = meta.dtype;
      if (meta.storage != TARSIA_ANY_STORAGE) value.storage = static_cast<tarsia_storage_type>(meta.storage);
    }
    return values;
  }

  /// Infers, chooses implementations and plans memory for tensors of these shapes, on their device. The bound
  /// op takes the graph's inputs in their order and gives its outputs; calls may overlap. Throws what
  /// Op::bind throws, and ArgumentError for a graph without outputs.
  BoundOp bind(const std::vector<Tensor>& inputs, tarsia_choice choice = TARSIA_CHOICE_OF_PROCESS) const {
    return op().bind(inputs, {}, choice);
  }
  /// Binds to inputs some of which are sparse. Throws what bind() throws.
  BoundOp bind_any(const std::vector<AnyTensor>& inputs) const { return op().bind_any(inputs); }

  /// Binds, and captures a run on the GPU of these tensors as a CUDA graph. It runs once with zeros, which
  /// leaves states as they were. Throws what bind() throws, Unsupported for a graph that uses the CPU, and
  /// CudaError.
  CapturedGraph capture(const std::vector<Tensor>& inputs,
                        tarsia_choice choice = TARSIA_CHOICE_OF_PROCESS) const {
    tarsia_captured_graph* captured = nullptr;
    detail::AnyViews views;
    for (const Tensor& t : inputs) views.add(t);
    const Op made = op();
    Op::request(views, BoundOp::device_of(inputs), {}, [&](tarsia_op_request request) {
      request.choice = choice;
      detail::check(tarsia_graph_capture(made.get(), &request, &captured));
    });
    return CapturedGraph(captured);
  }

  /// Makes an op of the graph as it is now: its inputs and outputs are the graph's. A differentiable one has
  /// a backward, and its forward keeps what that needs as hidden outputs. Throws ArgumentError for a graph
  /// without outputs, and Unsupported.
  Op op(bool differentiable = false) const { return op_without_name(differentiable, 0); }
  /// The same for shapes that change from call to call. Its bindings and calls share plans of memory, one for
  /// each bucket of shapes, and the memory itself while none of them runs. Throws what op() throws.
  Op dynamic_op(bool differentiable = false) const {
    return op_without_name(differentiable, TARSIA_GRAPH_DYNAMIC);
  }
  /// What the bindings of such an op share.
  struct Shared {
    uint64_t plans = 0;       ///< the plans of memory that they have needed so far
    uint64_t kept_bytes = 0;  ///< the memory that no call uses just now
  };
  /// Tells what bindings share, of dynamic_op() or of an op that register_as() has registered. Throws
  /// ArgumentError for other ops.
  static Shared shared(const Op& op) {
    Shared found;
    detail::check(tarsia_graph_shared(op.get(), &found.plans, &found.kept_bytes));
    return found;
  }
  /// Registers the graph as it is now as an op, which other graphs take as any other, until the library is
  /// unloaded. Throws what op() throws, and ArgumentError for what is no name.
  Library register_as(const std::string& name, bool differentiable = false) const {
    tarsia_library* library = nullptr;
    op_as(name.c_str(), differentiable, 0, &library);
    return Library(library);
  }

  /// Writes the graph as JSON, its tensors included.
  std::string to_json() const {
    char* text = nullptr;
    detail::check(tarsia_graph_to_json(m_graph, &text));
    return taken(text);
  }
  /// Reads what to_json() wrote. Its constants, parameters and states lie on `device`; without one, where the
  /// text says. Throws ArgumentError that names the node, NotFound for an op, and CudaError for a GPU that is
  /// not there.
  static Graph from_json(std::string_view text, std::optional<Device> device = {}) {
    tarsia_graph* graph = nullptr;
    detail::check(tarsia_graph_from_json(text.data(), text.size(), device ? &*device : nullptr, &graph));
    return Graph(graph);
  }

  /// Describes the plan of a graph's bound op as JSON; docs/graph.md says what is in it. Throws ArgumentError
  /// for other bound ops.
  static std::string plan(const BoundOp& bound) {
    char* text = nullptr;
    detail::check(tarsia_graph_plan(bound.get(), &text));
    return taken(text);
  }
  /// Draws the plan as SVG: memory over time. Throws what plan() throws.
  static std::string plan_svg(const BoundOp& bound) {
    char* text = nullptr;
    detail::check(tarsia_graph_plan_svg(bound.get(), &text));
    return taken(text);
  }

  /// The handle of the C interface, borrowed.
  tarsia_graph* get() const { return m_graph; }

 private:
  explicit Graph(tarsia_graph* graph) : m_graph(graph) {}
  static tarsia_meta meta_of(const GraphInput& known, const std::string& name) {
    tarsia_meta meta{};
    meta.present = 1;
    meta.storage = static_cast<uint8_t>(known.storage);
    meta.dtype = known.dtype.value_or(DType{TARSIA_ANY_DTYPE, 0, 0});
    meta.ndim = -1;
    if (!known.shape) return meta;
    if (known.shape->size() > TARSIA_MAX_NDIM)
      detail::wrong_value("graph, input '" + name + "': a tensor has " + std::to_string(TARSIA_MAX_NDIM) +
                          " dimensions at most");
    meta.ndim = static_cast<int32_t>(known.shape->size());
    std::ranges::copy(*known.shape, meta.shape);
    return meta;
  }
  static std::string taken(char* text) {
    const std::string copy = text;
    tarsia_free(text);
    return copy;
  }
  Op op_without_name(bool differentiable, uint32_t flags) const {
    tarsia_library* library = nullptr;
    Op made = op_as(nullptr, differentiable, flags, &library);
    tarsia_library_release(library);  // the op keeps it
    return made;
  }
  Op op_as(const char* name, bool differentiable, uint32_t flags, tarsia_library** library) const {
    if (differentiable) flags |= TARSIA_GRAPH_DIFFERENTIABLE;
    tarsia_op_handle* op = nullptr;
    detail::check(tarsia_graph_op(m_graph, name, flags, &op, library));
    return Op::own(op);
  }
  tarsia_graph_value number_of(const GraphValue& value) const {
    if (value.number != TARSIA_NO_VALUE && value.graph != m_graph)
      detail::wrong_value("graph: a value of another graph cannot be used here");
    return value.number;
  }
  GraphValue add_tensor(tarsia_graph_tensor_kind kind, const Tensor& tensor, const std::string& name) {
    if (!tensor.storage())
      detail::wrong_value("a tensor of a graph owns its memory: make it with tarsia::empty");
    GraphValue value{TARSIA_NO_VALUE, m_graph};
    detail::check(tarsia_graph_tensor(m_graph, kind, name.empty() ? nullptr : name.c_str(), tensor.storage(),
                                      &value.number));
    return value;
  }

  tarsia_graph* m_graph = nullptr;
};

}  // namespace tarsia

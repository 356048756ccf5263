// The description of an op whose functions are those of a graph.
#include "graph/graph_op.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "graph/gradient.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"

namespace tarsia::graph {

namespace {

using registry::guarded;

[[noreturn]] void throw_made_of_itself(const std::string& name) {
  throw ArgumentError::value_error("graph: the op '" + name +
                                   "' would be made of itself: register it under a name that none of its "
                                   "nodes has, nor those of the graphs that they are");
}

/// How many graphs' inference is within that of another, on this thread.
thread_local constinit int t_depth = 0;

class Depth {
 public:
  explicit Depth(const std::string& name) {
    constexpr int k_most = 100;
    if (t_depth >= k_most) throw_made_of_itself(name);
    ++t_depth;
  }
  ~Depth() { --t_depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

/// What binding a graph's op makes: its state.
struct BoundGraph {
  tarsia_device device;
  std::unique_ptr<Executable> forward;
  // If the op has a backward:
  Entries entries;                        ///< of the backward graph
  std::vector<tarsia_meta> metas;         ///< of its values
  std::unique_ptr<Executable> backward;   ///< takes what the forward pass has kept
  std::unique_ptr<Executable> recompute;  ///< runs the forward pass again; made when it is first needed
  std::once_flag recompute_made;
};

/// What inference found, for create_state: the params of a binding.
struct Inferred {
  Entries entries;
  std::vector<tarsia_meta> metas;
};

/// The description and all that it points to. Lives until the registry and all bindings are done with it.
class GraphOp {
 public:
  GraphOp(const Graph& graph, const GraphOpOptions& options)
      : m_name(options.is_registered ? options.name : "graph"), m_forward(graph) {
    if (options.is_dynamic || options.is_registered) m_buckets = std::make_shared<MemoryBuckets>();
    if (!detail::is_identifier(m_name))
      throw ArgumentError::value_error("graph: '" + m_name +
                                       "' cannot name an op: write letters, digits and underscores");
    if (graph.outputs().empty())
      throw ArgumentError::value_error("graph: it has no output: name one with g.output(value)");
    if (options.is_registered)
      for (const Node& node : graph.nodes())
        if (node.kind == NodeKind::op && node.op == m_name) throw_made_of_itself(m_name);
    m_n_visible = static_cast<std::uint32_t>(graph.outputs().size());
    if (options.is_differentiable) make_backward();
    for (NodeId id : m_forward.inputs()) add_port(m_inputs, m_forward.node(id).name, 0);
    for (std::size_t i = 0; i < m_forward.outputs().size(); ++i)
      add_port(m_outputs, m_forward.outputs()[i].name, i < m_n_visible ? 0 : TARSIA_PORT_HIDDEN);
    for (std::size_t i = 0; i < m_gradients.size(); ++i)
      if (m_gradients[i] == k_none) m_inputs[i].flags |= TARSIA_PORT_NO_GRADIENT;
    const bool draws_random = look_at_ops();
    add_implementations();
    m_op.size = sizeof m_op;
    m_op.flags = TARSIA_OP_INFERS_STORAGE | TARSIA_OP_SHARED_STATE | (draws_random ? TARSIA_OP_RANDOM : 0);
    m_op.name = m_name.c_str();
    m_op.description = "A graph of ops.";
    m_op.location = "";
    m_op.n_inputs = static_cast<std::uint32_t>(m_inputs.size());
    m_op.n_outputs = static_cast<std::uint32_t>(m_outputs.size());
    m_op.n_implementations = static_cast<std::uint32_t>(m_implementations.size());
    m_op.inputs = m_inputs.data();
    m_op.outputs = m_outputs.data();
    m_op.implementations = m_implementations.data();
    m_op.user = this;
    m_op.create_params = [](void*, const tarsia_bind_info*, void** params) {
      return guarded([&] { *params = new Inferred(); });
    };
    m_op.destroy_params = [](void*, void* params) { delete static_cast<Inferred*>(params); };
    m_op.infer = &infer_op;
    m_op.create_state = &create_state;
    m_op.destroy_state = [](void*, void* state) { delete static_cast<BoundGraph*>(state); };
  }
  GraphOp(const GraphOp&) = delete;

  const tarsia_op& op() const { return m_op; }
  MemoryBuckets* buckets() const { return m_buckets.get(); }
  static bool is_graph(const tarsia_op& op) { return op.infer == &infer_op; }
  bool changes_own_state() const { return m_changes_own; }

 private:
  void add_port(std::vector<tarsia_port>& ports, const std::string& name, std::uint32_t flags) {
    m_names.push_back(name);
    ports.push_back({m_names.back().c_str(), "", flags});
  }

  /// Marks the inputs that an op changes. Returns whether an op draws random numbers.
  bool look_at_ops() {
    bool draws_random = false;
    const Entries entries = find_ops(m_forward);
    for (NodeId id = 0; id < entries.size(); ++id) {
      if (!entries[id]) continue;
      const tarsia_op& op = entries[id]->op();
      draws_random |= (op.flags & TARSIA_OP_RANDOM) != 0;
      m_changes_own |= graph::changes_own_state(*entries[id]);
      const std::vector<ValueId>& values = m_forward.node(id).inputs;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool changes = m_forward.node(id).flags[i] & TARSIA_PORT_MUTABLE;
        if (!changes || values[i] == k_none) continue;
        m_changes = true;
        m_changes_own |= m_forward.node_of(values[i]).kind == NodeKind::state;
        for (std::size_t k = 0; k < m_inputs.size(); ++k)
          if (m_forward.node(m_forward.inputs()[k]).outputs[0] == values[i])
            m_inputs[k].flags |= TARSIA_PORT_MUTABLE;
      }
    }
    m_changes |= m_changes_own;
    return draws_random;
  }

  void add_implementations() {
    for (std::uint32_t pass : {TARSIA_FORWARD, TARSIA_BACKWARD})
      for (std::int32_t device : {TARSIA_CPU, TARSIA_GPU}) {
        if (pass == TARSIA_BACKWARD && m_backward_outputs.empty()) continue;
        tarsia_implementation implementation{};
        implementation.size = sizeof implementation;
        implementation.pass = pass;
        implementation.device_type = device;
        implementation.requests = 1u << TARSIA_REQUEST_WRITE | 1u << TARSIA_REQUEST_NULL;
        implementation.storage_any = 1;
        implementation.name = "graph";
        implementation.run = pass == TARSIA_FORWARD ? &run_forward : &run_backward;
        implementation.run_user = this;
        m_implementations.push_back(implementation);
      }
  }

  /// Adds the gradients of the outputs with respect to the inputs. The values of the forward pass that they
  /// need, and that are neither inputs nor outputs, become hidden outputs of the op.
  void make_backward() {
    m_backward = m_forward;
    std::vector<ValueId> wrt;
    std::vector<Seed> seeds;
    const auto n_nodes = static_cast<NodeId>(m_forward.nodes().size());
    for (NodeId id : m_forward.inputs()) wrt.push_back(m_forward.node(id).outputs[0]);
    for (std::uint32_t i = 0; i < m_n_visible; ++i) {
      const ValueId gradient =
          m_backward.add_input("tarsia_gradient_" + std::to_string(i), registry::unknown_meta());
      seeds.push_back({m_forward.outputs()[i].value, gradient});
    }
    m_gradients = add_gradient(m_backward, seeds, wrt);
    for (ValueId& gradient : m_gradients)  // inputs on which no output depends have none
      if (m_backward.node_of(gradient).kind == NodeKind::fill) gradient = k_none;
    const auto is_output = [&](ValueId value) {
      return std::ranges::any_of(m_forward.outputs(), [&](const Output& o) { return o.value == value; });
    };
    for (NodeId id = n_nodes; id < m_backward.nodes().size(); ++id)
      for (ValueId input : m_backward.node(id).inputs)
        if (input != k_none && m_backward.values()[input].node < n_nodes &&
            m_backward.node_of(input).kind == NodeKind::op && !is_output(input))
          m_forward.add_output(input, "tarsia_kept_" + std::to_string(m_forward.outputs().size()));

    // In backward, callers give the output gradients, the inputs and the outputs.
    const auto n_outputs = static_cast<std::uint32_t>(m_forward.outputs().size());
    const auto n_inputs = static_cast<std::uint32_t>(wrt.size());
    for (std::uint32_t i = 0; i < m_n_visible; ++i) m_given.push_back({seeds[i].gradient, i});
    for (std::uint32_t i = 0; i < n_inputs; ++i) m_given.push_back({wrt[i], n_outputs + i});
    for (std::uint32_t i = 0; i < n_outputs; ++i)
      m_given.push_back({m_forward.outputs()[i].value, n_outputs + n_inputs + i});
    for (std::size_t i = 0; i < m_gradients.size(); ++i)
      if (m_gradients[i] != k_none)
        m_backward_outputs.push_back({"gradient_" + std::to_string(i), m_gradients[i]});
  }

  static std::int32_t infer_op(void* self, const tarsia_bind_info* info) {
    return guarded([&] {
      const GraphOp& op = *static_cast<GraphOp*>(self);
      const Depth depth(op.m_name);
      Inferred& inferred = *static_cast<Inferred*>(info->params);
      inferred.entries = find_ops(op.m_forward);
      inferred.metas = infer(op.m_forward, inferred.entries, {info->inputs, info->n_inputs},
                             {info->outputs, info->n_outputs}, info->device);
      const std::vector<tarsia_meta>& metas = inferred.metas;
      for (std::uint32_t i = 0; i < info->n_inputs; ++i) {
        const std::uint16_t flags = info->inputs[i].flags;
        info->inputs[i] = metas[op.m_forward.node(op.m_forward.inputs()[i]).outputs[0]];
        info->inputs[i].flags = flags;
      }
      for (std::uint32_t i = 0; i < info->n_outputs; ++i)
        info->outputs[i] = metas[op.m_forward.outputs()[i].value];
    });
  }

  static std::int32_t create_state(void* self, const tarsia_bind_info* info, void** state) {
    return guarded([&] {
      const GraphOp& op = *static_cast<GraphOp*>(self);
      auto bound = std::make_unique<BoundGraph>();
      bound->device = info->device;

      // 1. Take what inference has found.
      const Graph& graph = op.m_forward;
      const auto [entries, metas] = std::move(*static_cast<Inferred*>(info->params));
      require_complete(graph, metas);

      // 2. Choose implementations, plan memory, and make ready to run.
      std::vector<Given> given;
      for (std::uint32_t i = 0; i < graph.inputs().size(); ++i)
        given.push_back({graph.node(graph.inputs()[i]).outputs[0], i});
      bound->forward = std::make_unique<Executable>(make_program({graph, entries, metas, info->device, given,
                                                                  info->n_inputs, graph.outputs(), nullptr}),
                                                    op.m_buckets);

      // 3. The same for the backward pass, which uses the bound ops of the forward pass.
      if (!op.m_backward_outputs.empty()) {
        bound->entries = find_ops(op.m_backward);
        std::vector<tarsia_meta> known;
        for (std::uint32_t i = 0; i < info->n_inputs; ++i) known.push_back(info->inputs[i]);
        for (std::uint32_t i = 0; i < op.m_n_visible; ++i) known.push_back(metas[graph.outputs()[i].value]);
        bound->metas = infer(op.m_backward, bound->entries, known, {}, info->device);
        require_complete(op.m_backward, bound->metas);
        bound->backward = op.make_backward_executable(*bound, op.m_given);
      }
      *state = bound.release();
    });
  }

  static std::int32_t run_forward(void*, const tarsia_op_context* context) {
    Executable& forward = *static_cast<BoundGraph*>(context->state)->forward;
    const std::uint8_t* requests = context->requests;
    if (std::find(requests, requests + context->n_outputs, TARSIA_REQUEST_NULL) ==
        requests + context->n_outputs)
      return forward.run({context->inputs, context->outputs, context->stream});
    std::int32_t code = 0;
    const std::int32_t failed = guarded([&] {
      std::vector<const tarsia_tensor*> outputs;
      for (std::uint32_t i = 0; i < context->n_outputs; ++i) outputs.push_back(wanted_output(*context, i));
      code = forward.run({context->inputs, outputs.data(), context->stream});
    });
    return failed ? failed : code;
  }

  /// Output i of a call; null if nobody wants it.
  static const tarsia_tensor* wanted_output(const tarsia_op_context& context, std::uint32_t i) {
    return context.requests[i] == TARSIA_REQUEST_NULL ? nullptr : context.outputs[i];
  }

  static std::int32_t run_backward(void* self, const tarsia_op_context* context) {
    const GraphOp& op = *static_cast<GraphOp*>(self);
    std::int32_t code = 0;
    const std::int32_t failed = guarded([&] {
      auto& bound = *static_cast<BoundGraph*>(context->state);
      std::vector<const tarsia_tensor*> outputs;
      for (std::size_t i = 0; i < op.m_gradients.size(); ++i)
        if (op.m_gradients[i] != k_none)
          outputs.push_back(wanted_output(*context, static_cast<std::uint32_t>(i)));
      const std::uint32_t n_saved = op.m_n_visible + static_cast<std::uint32_t>(op.m_inputs.size());
      const bool has_all = std::all_of(op.m_given.begin(), op.m_given.end(), [&](const Given& given) {
        return context->inputs[given.input] != nullptr;
      });
      Executable* backward = bound.backward.get();
      if (!has_all) {
        // Without them, the forward pass runs again, which has to be as if it had not.
        if (op.m_changes || op.m_op.flags & TARSIA_OP_RANDOM)
          throw ArgumentError::value_error(
              std::string("graph: it ") + (op.m_changes ? "changes states" : "draws random numbers") +
              ", so its backward needs all outputs of its forward, hidden ones too");
        std::call_once(bound.recompute_made, [&] {
          bound.recompute = op.make_backward_executable(bound, {op.m_given.data(), n_saved});
        });
        backward = bound.recompute.get();
      }
      code = backward->run({context->inputs, outputs.data(), context->stream});
    });
    return failed ? failed : code;
  }

  /// The backward pass from these values, of which the forward pass has made some.
  std::unique_ptr<Executable> make_backward_executable(const BoundGraph& bound,
                                                       std::span<const Given> given) const {
    const auto n_inputs =
        static_cast<std::uint32_t>(2 * m_forward.outputs().size() + m_forward.inputs().size());
    return std::make_unique<Executable>(
        make_program({m_backward, bound.entries, bound.metas, bound.device, given, n_inputs,
                      m_backward_outputs, &bound.forward->program().bound}),
        m_buckets);
  }

  std::string m_name;
  Graph m_forward;
  std::uint32_t m_n_visible = 0;             ///< outputs that callers get
  std::shared_ptr<MemoryBuckets> m_buckets;  ///< null: each binding has a plan and arenas of its own
  bool m_changes = false;                    ///< an op changes a state or an input
  bool m_changes_own = false;                ///< it is a state of this graph, or of one within it
  Graph m_backward;                          ///< the forward pass, and the nodes of its gradient
  std::vector<Given> m_given;                ///< of the backward pass
  std::vector<ValueId> m_gradients;          ///< of each input; k_none: it has none
  std::vector<Output> m_backward_outputs;    ///< those that there are
  std::deque<std::string> m_names;
  std::vector<tarsia_port> m_inputs, m_outputs;
  std::vector<tarsia_implementation> m_implementations;
  tarsia_op m_op{};
};

}  // namespace

registry::Ref<registry::OpEntry> make_op(const Graph& graph, const GraphOpOptions& options,
                                         registry::Ref<registry::Library>* library) {
  auto op = std::make_unique<GraphOp>(graph, options);
  const tarsia_op* description = &op->op();
  void* user = op.release();
  const auto release = [](void* given) { delete static_cast<GraphOp*>(given); };
  const std::string name = options.is_registered ? "graph " + options.name : "graph";
  const bool is_registered = options.is_registered;
  registry::Ref<registry::Library> made =
      is_registered ? registry::Library::define(name, {&description, 1}, release, user)
                    : registry::Library::hold(name, {&description, 1}, release, user);
  *library = made;
  return registry::Ref<registry::OpEntry>::adopt(new registry::OpEntry(description, std::move(made)));
}

MemoryBuckets* buckets_of(const registry::OpEntry& op) {
  return GraphOp::is_graph(op.declared()) ? static_cast<const GraphOp*>(op.declared().user)->buckets()
                                          : nullptr;
}

bool changes_own_state(const registry::OpEntry& op) {
  return GraphOp::is_graph(op.declared()) &&
         static_cast<const GraphOp*>(op.declared().user)->changes_own_state();
}

Executable* executable_of(const registry::BoundOp& bound) {
  if (!GraphOp::is_graph(*bound.bound().info().declared)) return nullptr;
  return static_cast<BoundGraph*>(bound.state())->forward.get();
}

}  // namespace tarsia::graph

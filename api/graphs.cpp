// Graphs of ops: the C ABI over graph/.
#include <tarsia/c_graph.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/handles.h"
#include "api/json_text.h"
#include "api/text.h"
#include "base/error.h"
#include "graph/captured.h"
#include "graph/gradient.h"
#include "graph/graph.h"
#include "graph/graph_json.h"
#include "graph/graph_op.h"
#include "graph/infer.h"
#include "graph/plan_report.h"
#include "registry/resources/last_error.h"

using namespace tarsia;
using namespace tarsia::api;
using graph::Graph;
using graph::k_none;
using registry::guarded;

namespace {

Graph* graph_of(tarsia_graph* given) {
  return reinterpret_cast<Graph*>(given);
}
const Graph* graph_of(const tarsia_graph* given) {
  return reinterpret_cast<const Graph*>(given);
}

std::string text_or_none(const char* text) {
  return text ? text : "";
}

graph::Executable& executable_of(const tarsia_bound_op* bound) {
  graph::Executable* found = graph::executable_of(*api::from_c(bound));
  if (!found) throw ArgumentError::type_error("the bound op is no graph's");
  return *found;
}

}  // namespace

static_assert(TARSIA_NO_VALUE == k_none);

int32_t tarsia_graph_create(tarsia_graph** made) {
  return guarded([&] { *made = reinterpret_cast<tarsia_graph*>(new Graph()); });
}

void tarsia_graph_free(tarsia_graph* given) {
  delete graph_of(given);
}

int32_t tarsia_graph_input(tarsia_graph* given, const char* name, const tarsia_meta* known,
                           tarsia_graph_value* value) {
  return guarded([&] {
    *value = graph_of(given)->add_input(text_or_none(name), known ? *known : registry::unknown_meta());
  });
}

int32_t tarsia_graph_tensor(tarsia_graph* given, tarsia_graph_tensor_kind kind, const char* name,
                            tarsia_storage* tensor, tarsia_graph_value* value) {
  return guarded([&] {
    if (kind < TARSIA_GRAPH_CONSTANT || kind > TARSIA_GRAPH_STATE)
      throw ArgumentError::value_error("a tensor of a graph is a constant, a parameter or a state");
    registry::retain(tensor);
    *value = graph_of(given)->add_tensor(static_cast<graph::NodeKind>(kind), text_or_none(name),
                                         graph::StorageRef::adopt(tensor));
  });
}

int32_t tarsia_graph_add(tarsia_graph* given, const tarsia_graph_node* node, tarsia_graph_value* outputs,
                         uint32_t* n_outputs) {
  return guarded([&] {
    graph::OpNode op;
    op.op = text_or_none(node->op);
    op.name = text_or_none(node->name);
    op.inputs.assign(node->inputs, node->inputs + node->n_inputs);
    for (uint32_t i = 0; i < node->n_attributes; ++i)
      op.attributes.push_back({node->attribute_names[i], graph::AttributeValue(node->attributes[i])});
    if (node->has_device) op.device = node->device;
    Graph& to = *graph_of(given);
    const graph::Node& made = to.node(to.add_op(std::move(op)));
    const uint32_t room = *n_outputs;
    *n_outputs = 0;
    for (uint32_t i = 0; i < made.outputs.size(); ++i) {
      if (made.hidden[i]) continue;
      if (*n_outputs == room)
        throw ArgumentError::value_error("there is no room for the outputs of '" + made.name + "'");
      outputs[(*n_outputs)++] = made.outputs[i];
    }
  });
}

int32_t tarsia_graph_output(tarsia_graph* given, tarsia_graph_value value, const char* name) {
  return guarded([&] { graph_of(given)->add_output(value, text_or_none(name)); });
}

int32_t tarsia_graph_gradient(tarsia_graph* given, tarsia_graph_value loss, tarsia_graph_value seed,
                              const tarsia_graph_value* wrt, uint32_t n, tarsia_graph_value* gradients) {
  return guarded([&] {
    const graph::Seed seeds[] = {{loss, seed}};
    std::ranges::copy(graph::add_gradient(*graph_of(given), seeds, {wrt, n}), gradients);
  });
}

int32_t tarsia_graph_to_json(const tarsia_graph* given, char** json) {
  return guarded([&] { *json = give_text(graph::to_json(*graph_of(given))); });
}

int32_t tarsia_graph_from_json(const char* json, uint64_t bytes, const tarsia_device* device,
                               tarsia_graph** made) {
  return guarded([&] {
    const std::optional<tarsia_device> on = device ? std::optional(*device) : std::nullopt;
    *made = reinterpret_cast<tarsia_graph*>(new Graph(graph::from_json({json, bytes}, on)));
  });
}

int32_t tarsia_graph_infer(const tarsia_graph* given, const tarsia_meta* inputs, uint32_t n_inputs,
                           tarsia_device device, tarsia_meta* values) {
  return guarded([&] {
    const Graph& asked = *graph_of(given);
    if (n_inputs != asked.inputs().size())
      throw ArgumentError::value_error("graph: it has " + std::to_string(asked.inputs().size()) +
                                       " inputs, not " + std::to_string(n_inputs));
    std::vector<tarsia_meta> known(inputs, inputs + n_inputs);
    for (tarsia_meta& one : known)
      if (!one.present) one = registry::unknown_meta();
    std::ranges::copy(graph::infer(asked, graph::find_ops(asked), known, {}, device), values);
  });
}

uint32_t tarsia_graph_values(const tarsia_graph* given) {
  return static_cast<uint32_t>(graph_of(given)->values().size());
}

int32_t tarsia_graph_describe(const tarsia_graph* given, char** json) {
  return guarded([&] {
    const Graph& described = *graph_of(given);
    nlohmann::json out;
    out["inputs"] = nlohmann::json::array();
    out["outputs"] = nlohmann::json::array();
    out["nodes"] = nlohmann::json::array();
    for (graph::NodeId id : described.inputs())
      out["inputs"].push_back({{"name", described.node(id).name}, {"value", described.node(id).outputs[0]}});
    for (const graph::Output& output : described.outputs())
      out["outputs"].push_back({{"name", output.name}, {"value", output.value}});
    for (const graph::Node& node : described.nodes())
      out["nodes"].push_back(
          {{"name", node.name}, {"op", node.op}, {"inputs", node.inputs}, {"outputs", node.outputs}});
    *json = give_json(out);
  });
}

int32_t tarsia_graph_op(const tarsia_graph* given, const char* name, uint32_t flags, tarsia_op_handle** op,
                        tarsia_library** library) {
  return guarded([&] {
    registry::Ref<registry::Library> owner;
    registry::Ref<registry::OpEntry> made =
        graph::make_op(*graph_of(given),
                       {.is_registered = name != nullptr,
                        .name = text_or_none(name),
                        .is_dynamic = (flags & TARSIA_GRAPH_DYNAMIC) != 0,
                        .is_differentiable = (flags & TARSIA_GRAPH_DIFFERENTIABLE) != 0},
                       &owner);
    *op = to_c(made.detach());
    *library = to_c(owner.detach());
  });
}

int32_t tarsia_graph_shared(const tarsia_op_handle* op, uint64_t* n_plans, uint64_t* bytes) {
  return guarded([&] {
    graph::MemoryBuckets* buckets = graph::buckets_of(*api::from_c(op));
    if (!buckets)
      throw ArgumentError::type_error(
          "the op is no graph whose bindings share memory: make it with TARSIA_GRAPH_DYNAMIC or a name");
    *n_plans = buckets->n_planned();
    *bytes = buckets->pool().bytes();
  });
}

int32_t tarsia_graph_plan(const tarsia_bound_op* bound, char** json) {
  return guarded([&] {
    const graph::Executable& planned = executable_of(bound);
    *json = give_text(graph::plan_json(planned.program(), planned.plan()));
  });
}

int32_t tarsia_graph_plan_svg(const tarsia_bound_op* bound, char** svg) {
  return guarded([&] {
    const graph::Executable& planned = executable_of(bound);
    *svg = give_text(graph::plan_svg(planned.program(), planned.plan()));
  });
}

namespace {

graph::CapturedGraph* graph_of(tarsia_captured_graph* given) {
  return reinterpret_cast<graph::CapturedGraph*>(given);
}
const graph::CapturedGraph* graph_of(const tarsia_captured_graph* given) {
  return reinterpret_cast<const graph::CapturedGraph*>(given);
}

}  // namespace

int32_t tarsia_graph_capture(tarsia_op_handle* op, const tarsia_op_request* request,
                             tarsia_captured_graph** captured) {
  return guarded([&] {
    *captured = reinterpret_cast<tarsia_captured_graph*>(
        new graph::CapturedGraph(registry::Ref(api::from_c(op)), *request));
  });
}

void tarsia_captured_free(tarsia_captured_graph* captured) {
  delete graph_of(captured);
}

tarsia_storage* tarsia_captured_input(const tarsia_captured_graph* captured, uint32_t i) {
  const auto& inputs = graph_of(captured)->inputs();
  return i < inputs.size() ? inputs[i].get() : nullptr;
}

tarsia_storage* tarsia_captured_output(const tarsia_captured_graph* captured, uint32_t i) {
  const auto& outputs = graph_of(captured)->outputs();
  return i < outputs.size() ? outputs[i].get() : nullptr;
}

int32_t tarsia_captured_replay(tarsia_captured_graph* captured, void* stream) {
  return guarded([&] { graph_of(captured)->replay(stream); });
}

int32_t tarsia_captured_run(tarsia_captured_graph* captured, const tarsia_tensor* const* given,
                            uint64_t n_given, const tarsia_tensor* const* results, uint64_t n_results,
                            void* stream) {
  return guarded([&] { graph_of(captured)->run({given, n_given}, {results, n_results}, stream); });
}

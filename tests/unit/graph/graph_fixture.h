// Ops and random graphs for the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tarsia/detail/argument_rules.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/graph_op.h"
#include "registry/library/library.h"
#include "registry/op/bound_op.h"
#include "registry/op/op_registry.h"
#include "registry/resources/last_error.h"

namespace tarsia::graph {

inline constexpr tarsia_dtype k_float32{TARSIA_FLOAT, 32, 1};

inline float* floats(const tarsia_tensor* tensor) {
  return static_cast<float*>(registry::data_of(*tensor));
}
using arguments::element_count;

/// An op of tensors of one shape that is defined by the test program. `flags`: of its inputs.
class TestOp {
 public:
  using Run = void (*)(const tarsia_op_context&);
  TestOp(const char* name, std::uint32_t n_inputs, std::uint32_t n_outputs, Run forward,
         std::vector<tarsia_inplace> pairs = {}, Run backward = nullptr, std::uint32_t flags = 0)
      : m_pairs(std::move(pairs)) {
    static constexpr const char* k_inputs[] = {"a", "b", "c"};
    static constexpr const char* k_outputs[] = {"y", "z"};
    for (std::uint32_t i = 0; i < n_inputs; ++i) m_inputs.push_back({k_inputs[i], "", flags});
    for (std::uint32_t i = 0; i < n_outputs; ++i) m_outputs.push_back({k_outputs[i], "", 0});
    add(TARSIA_FORWARD, forward);
    if (backward) add(TARSIA_BACKWARD, backward);
    m_op.size = sizeof m_op;
    m_op.name = name;
    m_op.description = m_op.location = "";
    m_op.n_inputs = n_inputs;
    m_op.n_outputs = n_outputs;
    m_op.inputs = m_inputs.data();
    m_op.outputs = m_outputs.data();
    m_op.n_implementations = static_cast<std::uint32_t>(m_implementations.size());
    m_op.implementations = m_implementations.data();
    const tarsia_op* op = &m_op;
    m_library = registry::Library::define("test ops", {&op, 1}, nullptr, nullptr);
  }
  TestOp(const TestOp&) = delete;
  ~TestOp() { registry::OpRegistry::instance().remove(*m_library); }

 private:
  void add(tarsia_pass pass, Run run) {
    tarsia_implementation implementation{};
    implementation.size = sizeof implementation;
    implementation.pass = static_cast<std::uint32_t>(pass);
    implementation.device_type = TARSIA_CPU;
    implementation.requests = 1u << TARSIA_REQUEST_WRITE;
    implementation.name = "";
    implementation.run = [](void* user, const tarsia_op_context* context) -> std::int32_t {
      return registry::guarded([&] { reinterpret_cast<Run>(user)(*context); });
    };
    implementation.run_user = reinterpret_cast<void*>(run);
    if (pass == TARSIA_FORWARD) {
      implementation.inplace = m_pairs.data();
      implementation.n_inplace = static_cast<std::uint32_t>(m_pairs.size());
    }
    m_implementations.push_back(implementation);
  }

  std::vector<tarsia_inplace> m_pairs;
  std::vector<tarsia_port> m_inputs, m_outputs;
  std::vector<tarsia_implementation> m_implementations;
  tarsia_op m_op{};
  registry::Ref<registry::Library> m_library;
};

class GraphTest : public testing::Test {
 protected:
  static void each(const tarsia_op_context& c, float (*f)(float)) {
    for (std::int64_t i = 0, n = element_count(*c.outputs[0]); i < n; ++i)
      floats(c.outputs[0])[i] = f(floats(c.inputs[0])[i]);
  }
  TestOp m_twice{"u_twice", 1,
                 1,         [](const tarsia_op_context& c) { each(c, [](float x) { return x + x; }); },
                 {{0, 0}},  [](const tarsia_op_context& c) { each(c, [](float x) { return x + x; }); }};
  TestOp m_next{"u_next", 1, 1,
                [](const tarsia_op_context& c) { each(c, [](float x) { return x * 0.5f + 1; }); }};
  TestOp m_minus{"u_minus",
                 2,
                 1,
                 [](const tarsia_op_context& c) {
                   for (std::int64_t i = 0, n = element_count(*c.outputs[0]); i < n; ++i)
                     floats(c.outputs[0])[i] = floats(c.inputs[0])[i] - 0.25f * floats(c.inputs[1])[i];
                 },
                 {{0, 0}, {1, 0}}};
  TestOp m_both{"u_both",
                1,
                2,
                [](const tarsia_op_context& c) {
                  for (std::int64_t i = 0, n = element_count(*c.outputs[0]); i < n; ++i) {
                    const float x = floats(c.inputs[0])[i];
                    floats(c.outputs[0])[i] = x - 1;
                    floats(c.outputs[1])[i] = x * 0.75f;
                  }
                },
                {{0, 1}}};

  static tarsia_meta meta(std::vector<std::int64_t> shape) {
    tarsia_meta m = registry::unknown_meta();
    m.ndim = static_cast<std::int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), m.shape);
    m.dtype = k_float32;
    m.storage = TARSIA_DENSE;
    return m;
  }

  /// A graph of `n` nodes of the ops above over two inputs, with up to four outputs. `prefix`: "m_" for those
  /// of modules/graph_ops.cc, which compute the same.
  static Graph random_graph(std::mt19937& random, int n, const std::string& prefix = "u_") {
    Graph g;
    std::vector<ValueId> values{g.add_input("x", registry::unknown_meta()),
                                g.add_input("v", registry::unknown_meta())};
    const auto pick = [&] {
      // Late values more often, so that graphs are deep, too.
      const std::size_t back =
          std::min<std::size_t>(values.size() - 1, random() % 3 ? random() % 3 : random() % values.size());
      return values[values.size() - 1 - back];
    };
    for (int i = 0; i < n; ++i) {
      static constexpr const char* k_ops[] = {"twice", "next", "minus", "both"};
      OpNode node;
      node.op = prefix + k_ops[random() % 4];
      node.inputs.push_back(pick());
      if (node.op.ends_with("_minus")) node.inputs.push_back(pick());
      for (ValueId output : std::vector<ValueId>(g.node(g.add_op(std::move(node))).outputs))
        values.push_back(output);
    }
    for (int i = 0, outputs = 1 + static_cast<int>(random() % 4); i < outputs; ++i) g.add_output(pick());
    return g;
  }

  /// Two inputs of `n` floats each for them.
  static std::vector<std::vector<float>> random_inputs(std::mt19937& random, std::size_t n) {
    std::vector<std::vector<float>> inputs(2, std::vector<float>(n));
    for (std::vector<float>& input : inputs)
      for (float& x : input) x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
    return inputs;
  }

  /// What the ops of GraphTest compute, without a plan.
  static std::vector<std::vector<float>> unplanned(const Graph& g,
                                                   const std::vector<std::vector<float>>& inputs) {
    const std::size_t n = inputs.at(0).size();
    std::vector<std::vector<float>> values(g.values().size());
    std::size_t next = 0;
    for (const Node& node : g.nodes()) {
      if (node.kind == NodeKind::input) {
        values[node.outputs[0]] = inputs[next++];
        continue;
      }
      for (ValueId output : node.outputs) values[output].resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        const float a = values[node.inputs[0]][i];
        float& y = values[node.outputs[0]][i];
        if (node.op.ends_with("_twice")) y = a + a;
        if (node.op.ends_with("_next")) y = a * 0.5f + 1;
        if (node.op.ends_with("_minus")) y = a - 0.25f * values[node.inputs[1]][i];
        if (node.op.ends_with("_both")) {
          y = a - 1;
          values[node.outputs[1]][i] = a * 0.75f;
        }
      }
    }
    std::vector<std::vector<float>> outputs;
    for (const Output& output : g.outputs()) outputs.push_back(values[output.value]);
    return outputs;
  }

  static registry::Ref<registry::BoundOp> bind(const Graph& g, const std::vector<tarsia_meta>& inputs) {
    registry::Ref<registry::Library> library;
    return bind(make_op(g, {}, &library), inputs);
  }
  static registry::Ref<registry::BoundOp> bind(registry::Ref<registry::OpEntry> op,
                                               const std::vector<tarsia_meta>& inputs) {
    tarsia_op_request request{};
    request.size = sizeof request;
    request.n_inputs = static_cast<std::uint32_t>(inputs.size());
    request.inputs = inputs.data();
    request.device = {TARSIA_CPU, 0};
    return registry::Ref<registry::BoundOp>::adopt(new registry::BoundOp(std::move(op), request));
  }

  /// The outputs of a bound graph for inputs of n floats each.
  static std::vector<std::vector<float>> run(registry::BoundOp& bound,
                                             std::vector<std::vector<float>> inputs) {
    std::int64_t n = static_cast<std::int64_t>(inputs.at(0).size());
    const auto view = [&](std::vector<float>& data) {
      tarsia_tensor tensor{};
      tensor.data = data.data();
      tensor.device = {TARSIA_CPU, 0};
      tensor.ndim = 1;
      tensor.dtype = k_float32;
      tensor.shape = &n;
      return tensor;
    };
    std::vector<std::vector<float>> outputs(bound.bound().outputs().size(),
                                            std::vector<float>(inputs[0].size(), -7));
    std::vector<tarsia_tensor> tensors;
    for (std::vector<float>& input : inputs) tensors.push_back(view(input));
    for (std::vector<float>& output : outputs) tensors.push_back(view(output));
    std::vector<const tarsia_tensor*> all;
    for (const tarsia_tensor& tensor : tensors) all.push_back(&tensor);
    tarsia_op_call call{};
    call.size = sizeof call;
    call.n_inputs = static_cast<std::uint32_t>(inputs.size());
    call.n_outputs = static_cast<std::uint32_t>(outputs.size());
    call.inputs = all.data();
    call.outputs = all.data() + inputs.size();
    if (bound.call(call)) registry::throw_last_error();
    return outputs;
  }
};

}  // namespace tarsia::graph

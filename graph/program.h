// The second pass over a graph: the implementation of each node is chosen, and steps are what is left to run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/infer.h"
#include "registry/op/bound_op.h"

namespace tarsia::graph {

using SlotId = std::uint32_t;

/// Where a slot's memory comes from.
enum class Source : std::uint8_t {
  caller,   ///< given: an input of the graph
  held,     ///< a constant, parameter or state, or a copy of a constant
  planned,  ///< a step makes it; the memory plan says where
  sparse    ///< a step makes it, and its size is known only then
};

/// A tensor of one run: a value on a device.
struct Slot {
  std::string name;
  tarsia_meta meta;
  tarsia_device device;
  registry::Layout layout;            ///< empty: row-major
  std::vector<std::int64_t> strides;  ///< of `layout`; empty: row-major
  Source source = Source::planned;
  std::uint32_t input = k_none;   ///< caller: the number under which it is given
  StorageRef held;                ///< held
  bool is_state = false;          ///< held: ops change it
  std::uint32_t output = k_none;  ///< which output of the graph it is
  std::uint64_t bytes = 0;        ///< of a dense one
};

enum class StepKind : std::uint8_t { forward, backward, sum, copy };

/// Whether two devices are one. Managed memory is that of its GPU.
inline bool is_same(tarsia_device a, tarsia_device b) {
  return registry::is_gpu(a) == registry::is_gpu(b) && a.id == b.id;
}

/// One thing to do. Slots stand in the order that the op's implementation takes.
struct Step {
  StepKind kind = StepKind::forward;
  std::string name;  ///< the node's
  registry::Ref<registry::BoundOp> bound;
  std::vector<SlotId> inputs;   ///< k_none: absent
  std::vector<SlotId> outputs;  ///< k_none: nobody wants it
  std::vector<SlotId> add_to;   ///< for each output the slot whose memory it continues and adds to, or k_none
  tarsia_device device;
  bool is_flat = false;            ///< its op sees each tensor as row-major: all lie alike
  bool changes_own_state = false;  ///< its op is a graph that changes states which it holds

  /// Of a step with a bound op.
  tarsia_pass pass() const { return kind == StepKind::backward ? TARSIA_BACKWARD : TARSIA_FORWARD; }
};

/// A text about a node, for people and for plans.
struct NodeText {
  std::string node;
  std::string text;
  bool is_of_storage = false;  ///< of a conversion: of a storage type, within the call of the node's op
};

/// A value that a caller gives, and the number under which it does.
struct Given {
  ValueId value;
  std::uint32_t input;
};

/// The bound op of each node; null where there is none.
using BoundOps = std::vector<registry::Ref<registry::BoundOp>>;

struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<SlotId> outputs;  ///< of the graph
  std::uint32_t n_inputs = 0;
  BoundOps bound;
  tarsia_device device;
  std::vector<NodeText> implementations;
  std::vector<NodeText> conversions;  ///< of storage types and layouts, and between devices
};

/// What make_program works on.
struct ProgramRequest {
  const Graph& graph;
  const Entries& entries;
  std::span<const tarsia_meta> metas;  ///< of all values, complete
  tarsia_device device;
  std::span<const Given> given;  ///< nodes that only these depend on do not run
  std::uint32_t n_inputs;        ///< how many tensors a caller gives
  std::span<const Output> outputs;
  const BoundOps* bound = nullptr;  ///< bound ops to use again, of nodes whose backward runs; null: none
};

/// Chooses implementations and lists the steps that the outputs need. Nodes that nobody needs are left out,
/// unless they change a state, or an input where it lies. Throws Unsupported where no implementation applies,
/// and what binding throws; errors name the node.
Program make_program(const ProgramRequest& request);

}  // namespace tarsia::graph

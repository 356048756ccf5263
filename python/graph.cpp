// A graph's handle. Values are their numbers, and descriptions are JSON; the package makes objects of them.
#include "python/graph.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tarsia/c_graph.h>
#include <tarsia/detail/names.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "python/call/call.h"
#include "python/call/result.h"
#include "python/checked.h"
#include "python/core/errors.h"
#include "python/core/waiting.h"
#include "python/op/attributes.h"
#include "python/op/bound_op.h"
#include "python/op/op.h"
#include "python/op/op_infer.h"
#include "python/op/op_request.h"
#include "python/op/op_text.h"
#include "python/op/outputs.h"
#include "python/op/sparse.h"
#include "python/tensor/shared_argument.h"
#include "python/tensor/stream.h"
#include "python/tensor/tensor.h"
#include "python/tensor/view.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

constexpr uint32_t k_most_outputs = 1024;

[[noreturn]] void fail() {
  throw nb::python_error();
}

/// After wait_for().
void check_wait(int32_t code) {
  if (raise_interruption()) fail();
  check(code);
}

tarsia_meta meta_from(const std::string& who, nb::handle shape, nb::handle dtype,
                      const std::string& storage) {
  tarsia_meta meta = meta_of(nullptr);
  meta.present = 1;
  meta.storage = tarsia::detail::storage_named(storage);
  if (meta.storage == TARSIA_ANY_STORAGE) {
    raise_argument_error(
        true, who + ": there is no storage '" + storage + "'; there are 'dense', 'row_sparse', 'csr'");
    fail();
  }
  if (!read_meta(who, shape.ptr(), dtype.ptr(), meta)) fail();
  return meta;
}

/// Reads a tensor that a graph takes, of any kind that ops take; `what` names it in errors. Null with an
/// error set on failure.
const tarsia_tensor* read_for_graph(Frame& frame, nb::handle array, bool writes, const std::string& what) {
  tarsia_op named{};
  named.name = "graph";
  named.description = what.c_str();
  return read_tensor(
      frame, named, array.ptr(), writes,
      [](const tarsia_op& op, uint32_t) { return std::string(op.description); }, 0);
}

/// (shape, dtype, device, storage) of a tensor that ops take, as bind() of a tarsia.Graph takes them; None of
/// what is none.
nb::object tensor_spec(nb::handle array, const std::string& what) {
  Frame frame;
  frame.callee = "graph";
  const bool may_be_dense =
      protocol_of(Py_TYPE(array.ptr())).kind != ProtocolKind::none || own_interface(array.ptr());
  const tarsia_tensor* tensor =
      may_be_dense ? read_for_graph(frame, array, false, what) : read_sparse(frame, array.ptr());
  if (!tensor && PyErr_Occurred()) fail();
  if (!tensor) return nb::none();
  const tarsia_device device = device_of(frame);
  const tarsia_meta meta = meta_of(tensor, storage_of(frame, tensor));
  return nb::steal(Py_BuildValue("(NNsN)", shape_object(meta), dtype_object(meta),
                                 tarsia::detail::device_name(device).c_str(), storage_object(meta)));
}

/// A graph's op that is registered under a name while this lives.
class RegisteredGraph {
 public:
  RegisteredGraph(tarsia_op_handle* op, tarsia_library* library) : m_library(library) {
    tarsia_op_release(op);
  }
  ~RegisteredGraph() { tarsia_library_release(m_library); }
  RegisteredGraph(const RegisteredGraph&) = delete;

 private:
  tarsia_library* m_library;
};

class GraphHandle {
 public:
  GraphHandle() { check(tarsia_graph_create(&m_graph)); }
  GraphHandle(const std::string& json, nb::handle on) {
    const tarsia_device device = on.is_none() ? tarsia_device{} : device_from(on);
    const int32_t code = wait_for("the graph", [&] {
      return tarsia_graph_from_json(json.data(), json.size(), on.is_none() ? nullptr : &device, &m_graph);
    });
    if (raise_interruption()) {
      tarsia_graph_free(m_graph);
      throw nb::python_error();
    }
    check(code);
  }
  ~GraphHandle() { tarsia_graph_free(m_graph); }
  GraphHandle(const GraphHandle&) = delete;

  uint32_t input(const std::string& name, nb::handle shape, nb::handle dtype, const std::string& storage) {
    const tarsia_meta meta = meta_from("graph, input '" + name + "'", shape, dtype, storage);
    tarsia_graph_value value = 0;
    check(tarsia_graph_input(m_graph, name.c_str(), &meta, &value));
    return value;
  }

  uint32_t tensor(int kind, const std::string& name, nb::handle array) {
    Frame frame;
    frame.callee = "graph";
    std::string what = kind == TARSIA_GRAPH_CONSTANT    ? "the constant"
                       : kind == TARSIA_GRAPH_PARAMETER ? "the parameter"
                                                        : "the state";
    if (!name.empty()) what += " '" + name + "'";
    const tarsia_tensor* given = read_for_graph(frame, array, kind == TARSIA_GRAPH_STATE, what);
    if (!given) fail();
    const bool is_sparse = storage_of(frame, given) != TARSIA_DENSE;
    if (is_sparse || !is_contiguous(*given)) {
      raise_argument_error(true, "graph: " + what +
                                     (is_sparse ? " is sparse, as inputs alone may be: pass it as an input"
                                                : " is not contiguous: pass a contiguous copy"));
      fail();
    }
    tarsia_storage* storage = nullptr;
    {
      const Call call(frame);
      if (kind == TARSIA_GRAPH_CONSTANT) {
        const tarsia_tensor& from = *given;
        check(tarsia_empty(from.shape, from.ndim, from.dtype, from.device, &storage));
        const int32_t code = tarsia_copy(storage->tensor, &from, frame.stream);
        // Calls on any stream may read it.
        const int32_t done =
            code || from.device.type != TARSIA_GPU ? code : tarsia_synchronize(from.device.id, frame.stream);
        if (done) tarsia_storage_release(storage);
        check(done);
      } else {
        storage = share_argument(frame, given);
        if (!storage) check(TARSIA_OP_ERROR);
      }
    }
    tarsia_graph_value value = 0;
    const int32_t code = tarsia_graph_tensor(m_graph, static_cast<tarsia_graph_tensor_kind>(kind),
                                             name.empty() ? nullptr : name.c_str(), storage, &value);
    tarsia_storage_release(storage);
    check(code);
    return value;
  }

  std::vector<uint32_t> add(nb::handle op, const std::string& name, const std::vector<uint32_t>& inputs,
                            const nb::tuple& names, const nb::tuple& values, nb::handle device) {
    const OpRef found = registered_op(op.ptr());
    if (!found) fail();
    const tarsia_op& description = *tarsia_op_describe(found.get());
    Frame frame;
    Attributes attributes;
    std::vector<PyObject*> given;
    for (nb::handle value : values) given.push_back(value.ptr());
    if (!read_attributes(frame, description, names.ptr(), given.data(), attributes)) fail();
    tarsia_graph_node node{};
    node.size = sizeof node;
    node.op = description.name;
    node.name = name.empty() ? nullptr : name.c_str();
    node.n_inputs = static_cast<uint32_t>(inputs.size());
    node.inputs = inputs.data();
    node.n_attributes = static_cast<uint32_t>(attributes.names.size());
    node.attribute_names = attributes.names.data();
    node.attributes = attributes.values.data();
    if (!device.is_none()) {
      node.has_device = 1;
      node.device = device_from(device);
    }
    std::vector<uint32_t> outputs(k_most_outputs);
    uint32_t n = k_most_outputs;
    check_wait(
        wait_for(description.name, [&] { return tarsia_graph_add(m_graph, &node, outputs.data(), &n); }));
    outputs.resize(n);
    return outputs;
  }

  void output(uint32_t value, const std::string& name) {
    check(tarsia_graph_output(m_graph, value, name.empty() ? nullptr : name.c_str()));
  }

  std::vector<uint32_t> gradient(uint32_t loss, uint32_t seed, const std::vector<uint32_t>& wrt) {
    std::vector<uint32_t> gradients(wrt.size());
    check_wait(wait_for("the gradient", [&] {
      return tarsia_graph_gradient(m_graph, loss, seed, wrt.data(), static_cast<uint32_t>(wrt.size()),
                                   gradients.data());
    }));
    return gradients;
  }

  std::string to_json() const {
    char* json = nullptr;
    const int32_t code = tarsia_graph_to_json(m_graph, &json);
    return taken(code, json);
  }
  std::string describe() const {
    char* json = nullptr;
    const int32_t code = tarsia_graph_describe(m_graph, &json);
    return taken(code, json);
  }

  /// (shape, dtype, storage) of each value, for inputs of which that is known; None: nothing is.
  nb::list infer(const nb::list& inputs, nb::handle device) const {
    std::vector<tarsia_meta> known;
    for (nb::handle input : inputs)
      known.push_back(input.is_none()
                          ? tarsia_meta{}
                          : meta_from("graph", input[0], input[1], nb::cast<std::string>(input[2])));
    std::vector<tarsia_meta> values(tarsia_graph_values(m_graph));
    const tarsia_device on = device_from(device);
    check_wait(wait_for("the graph", [&] {
      return tarsia_graph_infer(m_graph, known.data(), static_cast<uint32_t>(known.size()), on,
                                values.data());
    }));
    nb::list found;
    for (const tarsia_meta& value : values)
      found.append(
          nb::steal(Py_BuildValue("(NNN)", shape_object(value), dtype_object(value), storage_object(value))));
    return found;
  }

  /// Binds for inputs of (shape, dtype, storage), on a device.
  nb::object bind(const nb::list& inputs, nb::handle device, nb::handle implementation, bool dynamic) {
    std::vector<tarsia_meta> metas;
    for (nb::handle input : inputs)
      metas.push_back(meta_from("graph", input[0], input[1], nb::cast<std::string>(input[2])));
    const OpRef owned = dynamic ? dynamic_op() : make_op(0);
    tarsia_op_handle* op = owned.get();
    const Attributes attributes;
    tarsia_op_request request = request_for(metas, attributes, device_from(device));
    if (!read_choice("graph", implementation.ptr(), request.choice)) fail();
    tarsia_bound_op* bound = nullptr;
    const int32_t code = wait_for("the graph", [&] { return tarsia_op_bind(op, &request, &bound); });
    if (raise_interruption()) {
      tarsia_bound_release(bound);
      throw nb::python_error();
    }
    check(code);
    PyObject* made = make_bound(op, bound, request.device, request.choice);
    if (!made) fail();
    return nb::steal(made);
  }

  /// Called when the graph changes.
  void forget() {
    OpRef old;
    const std::lock_guard lock(m_mutex);
    std::swap(old, m_dynamic);
  }

  /// (plans, bytes) that bindings of calls share.
  std::pair<uint64_t, uint64_t> shared() {
    const std::lock_guard lock(m_mutex);
    uint64_t plans = 0, bytes = 0;
    if (m_dynamic) check(tarsia_graph_shared(m_dynamic.get(), &plans, &bytes));
    return {plans, bytes};
  }

  nb::object register_as(const std::string& name, bool differentiable) const {
    tarsia_op_handle* op = nullptr;
    tarsia_library* library = nullptr;
    check_wait(wait_for(name.c_str(), [&] {
      return tarsia_graph_op(m_graph, name.c_str(), differentiable ? TARSIA_GRAPH_DIFFERENTIABLE : 0, &op,
                             &library);
    }));
    return nb::cast(new RegisteredGraph(op, library), nb::rv_policy::take_ownership);
  }

 private:
  OpRef make_op(uint32_t flags) const {
    tarsia_op_handle* op = nullptr;
    tarsia_library* library = nullptr;
    check_wait(
        wait_for("the graph", [&] { return tarsia_graph_op(m_graph, nullptr, flags, &op, &library); }));
    tarsia_library_release(library);  // the op keeps it
    return OpRef(op);
  }
  /// The op of the graph as it is, whose bindings share memory.
  OpRef dynamic_op() {
    {
      const std::lock_guard lock(m_mutex);
      if (m_dynamic) return OpRef::borrow(m_dynamic.get());
    }
    OpRef made = make_op(TARSIA_GRAPH_DYNAMIC);  // without the lock: it gives the GIL away
    const std::lock_guard lock(m_mutex);
    if (!m_dynamic) std::swap(m_dynamic, made);
    return OpRef::borrow(m_dynamic.get());
  }

  /// (is_gpu, number).
  static tarsia_device device_from(nb::handle device) {
    return nb::cast<bool>(device[0]) ? tarsia_device{TARSIA_GPU, nb::cast<int32_t>(device[1])}
                                     : tarsia_device{TARSIA_CPU, 0};
  }

  tarsia_graph* m_graph = nullptr;
  std::mutex m_mutex;  ///< of the next
  OpRef m_dynamic;     ///< empty: nobody has called the graph since it changed
};

/// A captured graph. Its tensors are fixed; run() copies to and from them.
class CapturedGraph {
 public:
  explicit CapturedGraph(nb::handle bound) : m_captured(capture_bound(bound.ptr())) {
    if (!m_captured) fail();
  }
  ~CapturedGraph() { tarsia_captured_free(m_captured); }
  CapturedGraph(const CapturedGraph&) = delete;

  nb::list inputs() const { return tensors(tarsia_captured_input); }
  nb::list outputs() const { return tensors(tarsia_captured_output); }

  /// Copies the arrays to the inputs, replays, and gives copies of the outputs, on the arrays' stream.
  nb::tuple run(const nb::list& arrays) const {
    Frame frame;
    frame.callee = "graph";
    std::vector<const tarsia_tensor*> given;
    for (nb::handle array : arrays) {
      given.push_back(read_for_graph(frame, array, false, "input " + std::to_string(given.size())));
      if (!given.back()) fail();
    }
    const Call call(frame);
    void* stream = stream_of_call(frame);
    std::vector<std::unique_ptr<tarsia_storage, Release>> made;
    std::vector<const tarsia_tensor*> results;
    for (uint32_t i = 0; const tarsia_storage* output = tarsia_captured_output(m_captured, i); ++i) {
      const tarsia_tensor& like = *output->tensor;
      made.emplace_back(tarsia_get_host()->empty(like.shape, like.ndim, like.dtype, like.device));
      if (!made.back()) check(TARSIA_CUDA_ERROR);
      results.push_back(made.back()->tensor);
    }
    int32_t code;
    {
      const Unlocked unlocked;  // it waits for tensors of the CPU, and for other threads' turns
      code =
          tarsia_captured_run(m_captured, given.data(), given.size(), results.data(), results.size(), stream);
    }
    check(code);
    nb::list objects;
    for (auto& storage : made) {
      PyObject* object = tensor_object(frame, storage.release());
      if (!object) fail();
      objects.append(nb::steal(object));
    }
    return nb::tuple(objects);
  }

  /// Launches it on a stream: an int or an object of a framework; None: CUDA's default stream.
  void replay(nb::handle stream) const {
    void* handle = nullptr;
    if (!stream.is_none() && read_stream(stream.ptr(), &handle) != StreamRead::ok) {
      if (!PyErr_Occurred())
        raise_argument_error(false, "graph: a stream is needed, not " + describe_argument(stream.ptr()));
      fail();
    }
    check(tarsia_captured_replay(m_captured, handle));
  }

 private:
  struct Release {
    void operator()(tarsia_storage* storage) const { release(storage); }
  };

  nb::list tensors(tarsia_storage* (*get)(const tarsia_captured_graph*, uint32_t)) const {
    nb::list list;
    for (uint32_t i = 0; tarsia_storage* storage = get(m_captured, i); ++i) {
      retain(storage);
      PyObject* object = wrap_storage(storage, nullptr);
      if (!object) fail();
      list.append(nb::steal(object));
    }
    return list;
  }

  tarsia_captured_graph* m_captured;
};

std::string plan(nb::handle bound) {
  const tarsia_bound_op* handle = bound_of(bound.ptr());
  if (!handle) fail();
  char* json = nullptr;
  const int32_t code = tarsia_graph_plan(handle, &json);
  return taken(code, json);
}

std::string plan_svg(nb::handle bound) {
  const tarsia_bound_op* handle = bound_of(bound.ptr());
  if (!handle) fail();
  char* svg = nullptr;
  const int32_t code = tarsia_graph_plan_svg(handle, &svg);
  return taken(code, svg);
}

}  // namespace

void add_graph(nb::module_& module) {
  [[maybe_unused]] const nb::class_<RegisteredGraph> registered(module, "RegisteredGraph");
  nb::class_<GraphHandle>(module, "GraphHandle")
      .def(nb::init<>())
      .def(nb::init<const std::string&, nb::handle>(), nb::arg("json"), nb::arg("device").none())
      .def("input", &GraphHandle::input, nb::arg("name"), nb::arg("shape").none(), nb::arg("dtype").none(),
           nb::arg("storage"))
      .def("tensor", &GraphHandle::tensor, nb::arg("kind"), nb::arg("name"), nb::arg("array").none())
      .def("add", &GraphHandle::add, nb::arg("op"), nb::arg("name"), nb::arg("inputs"), nb::arg("names"),
           nb::arg("values"), nb::arg("device").none())
      .def("output", &GraphHandle::output)
      .def("gradient", &GraphHandle::gradient)
      .def("to_json", &GraphHandle::to_json)
      .def("describe", &GraphHandle::describe)
      .def("infer", &GraphHandle::infer)
      .def("bind", &GraphHandle::bind, nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("forget", &GraphHandle::forget)
      .def("shared", &GraphHandle::shared)
      .def("register_as", &GraphHandle::register_as);
  nb::class_<CapturedGraph>(module, "CapturedGraph")
      .def(nb::init<nb::handle>())
      .def_prop_ro("inputs", &CapturedGraph::inputs)
      .def_prop_ro("outputs", &CapturedGraph::outputs)
      .def("run", &CapturedGraph::run)
      .def("replay", &CapturedGraph::replay, nb::arg("stream").none());
  module.def("tensor_spec", tensor_spec, nb::arg().none(), nb::arg());
  module.def("graph_plan", plan);
  module.def("graph_plan_svg", plan_svg);
  module.def("set_graph_value",
             [](nb::handle type, nb::handle add) { set_graph_value(type.ptr(), add.ptr()); });
}

}  // namespace tarsia::python

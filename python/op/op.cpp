// tarsia.Op: a registered operation by name. It follows the registry: if another library takes the name
// over, the next binding uses that library's code.
#include "python/op/op.h"

#include <tarsia/detail/support.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/call/call.h"
#include "python/core/describe.h"
#include "python/core/errors.h"
#include "python/core/pickling.h"
#include "python/core/waiting.h"
#include "python/op/bound_op.h"
#include "python/op/last_call.h"
#include "python/op/named_inputs.h"
#include "python/op/op_infer.h"
#include "python/op/op_request.h"
#include "python/op/op_text.h"
#include "python/op/sparse.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct OpObject {
  PyObject head;
  vectorcallfunc vectorcall;
  tarsia_op_handle* handle;  ///< owned
  uint64_t generation;       ///< of the registry when `handle` was found
  LastCall* last;
};

OpObject* self_of(PyObject* object) {
  return reinterpret_cast<OpObject*>(object);
}

/// The op when it was looked up last.
OpRef kept_op(PyObject* object) {
  const Exclusive exclusive(object);
  return OpRef::borrow(self_of(object)->handle);
}

/// Looks the op up, and compiles it if it is one of Tarsia's own. False with an error set.
bool load_op(const char* name, tarsia_op_handle** op) {
  const int32_t code = wait_for(name, [&] { return tarsia_op_load(name, op); });
  if (raise_interruption()) {
    tarsia_op_release(std::exchange(*op, nullptr));
    return false;
  }
  if (code) raise_last_error();
  return code == 0;
}

/// Looks the op up again if the registry has changed. False with an error set if the op is gone. The caller
/// has the object to itself.
bool refresh(OpObject* self) {
  const uint64_t generation = tarsia_op_generation();
  if (generation == self->generation) [[likely]]
    return true;
  tarsia_op_handle* found = nullptr;
  const std::string name = tarsia_op_describe(self->handle)->name;  // the handle may go while it is compiled
  if (tarsia_op_find(name.c_str(), &found) && !load_op(name.c_str(), &found)) return false;
  const OpRef old(std::exchange(self->handle, found));  // ends last: that may run code of its library
  self->generation = generation;
  const LastCall forgotten = std::exchange(*self->last, {});
  return true;
}

/// The registry's op of the name when a call begins. The call works with this alone. The code that it runs
/// may be Python's, and another thread may get the GIL meanwhile; either may refresh the tarsia.Op.
class Current {
 public:
  explicit Current(PyObject* object) : m_self(self_of(object)) {
    const Exclusive exclusive(object);
    if (!refresh(m_self)) return;
    m_op = OpRef::borrow(m_self->handle);
    m_generation = m_self->generation;
  }
  /// False with an error set if the op is gone.
  explicit operator bool() const { return static_cast<bool>(m_op); }
  const tarsia_op& operator*() const { return *tarsia_op_describe(m_op.get()); }
  const tarsia_op* operator->() const { return tarsia_op_describe(m_op.get()); }
  tarsia_op_handle* get() const { return m_op.get(); }
  PyObject* object() const { return &m_self->head; }
  /// What the last call found if it belongs to this op; else null. The caller has object() to itself.
  LastCall* last() const { return m_self->generation == m_generation ? m_self->last : nullptr; }

 private:
  OpObject* m_self;
  OpRef m_op;
  uint64_t m_generation = 0;
};

/// Calls `run` with the request of binding to inputs that were read, without the GIL. False with an error
/// set.
template <class Run>
bool with_request(const Current& op, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                  PyObject* names, PyObject* const* values, uint32_t choice, const Run& run) {
  Attributes attributes;
  if (!read_attributes(frame, *op, names, values, attributes)) return false;
  std::vector<tarsia_meta> metas;
  for (uint32_t i = 0; i < n; ++i)
    metas.push_back(inputs[i] ? meta_of(inputs[i], storage_of(frame, inputs[i])) : meta_of(nullptr));
  tarsia_op_request request = request_for(metas, attributes, device_of(frame));
  request.choice = choice;
  request.samples = inputs;
  int32_t code;
  {
    const Call call(frame);
    const Unlocked unlocked(true);
    code = run(request);
  }
  if (frame.interrupted) {  // implementations may run, to be timed
    raise_interruption_of_call();
    return false;
  }
  if (code) raise_last_error();
  return code == 0;
}

/// The op's description, with the inputs that the attributes among these keywords bring. Null with an error
/// set on failure.
std::shared_ptr<const tarsia_op> described(const Current& op, PyObject* names, PyObject* const* values) {
  if (!TARSIA_DETAIL_GIVES(*op, name_inputs) ||
      op->flags & TARSIA_OP_ANY_ATTRIBUTES)  // of the latter, inputs may be attributes
    return {std::shared_ptr<void>(), op.operator->()};
  Ref own;  // attributes alone
  std::vector<PyObject*> own_values;
  if (!declared_attributes(*op, names, values, own, own_values)) return nullptr;
  std::shared_ptr<const OpWithInputs> found;
  {
    const Exclusive exclusive(op.object());
    if (const LastCall* last = op.last())
      if (const auto* kept = last->described.find(own.get(), own_values.data())) found = *kept;
  }
  if (!found) {
    const auto asked = std::make_shared<OpWithInputs>();
    if (!asked->ask(op.get(), own.get(), own_values.data())) return nullptr;
    found = asked;
    const Exclusive exclusive(op.object());
    if (LastCall* last = op.last()) last->described.keep(found, own.get(), own_values.data());
  }
  return {found, &found->op()};
}

/// Binds for inputs that were read. Null with an error set on failure.
PyObject* bind_for(const Current& op, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                   PyObject* names, PyObject* const* values, uint32_t choice = TARSIA_CHOICE_OF_PROCESS) {
  tarsia_bound_op* bound = nullptr;
  if (!with_request(op, frame, inputs, n, names, values, choice, [&](const tarsia_op_request& request) {
        return tarsia_op_bind(op.get(), &request, &bound);
      }))
    return nullptr;
  Ref object(make_bound(op.get(), bound, device_of(frame), choice));
  if (object && !warn_of_conversions(*op, bound, TARSIA_FORWARD)) return nullptr;
  return object.release();
}

/// The keywords of bind and explain: attributes, and `implementation`, unless that is an attribute.
struct BindKeywords {
  Ref names;
  std::vector<PyObject*> values;
  uint32_t choice = TARSIA_CHOICE_OF_PROCESS;

  /// False with an error set.
  bool read(const tarsia_op& op, PyObject* given, PyObject* const* given_values) {
    const Py_ssize_t n = given ? PyTuple_Size(given) : 0;
    const Ref list(PyList_New(0));
    if (!list) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* name = PyTuple_GetItem(given, i);
      if (text_of(name) == "implementation" && !has_attribute(op, "implementation")) {
        if (!read_choice(op.name, given_values[i], choice)) return false;
        continue;
      }
      if (PyList_Append(list.get(), name) != 0) return false;
      values.push_back(given_values[i]);
    }
    names = Ref(values.empty() ? nullptr : PyList_AsTuple(list.get()));
    return values.empty() || names;
  }

 private:
  static bool has_attribute(const tarsia_op& op, const char* name) {
    for (uint32_t i = 0; i < op.n_attributes; ++i)
      if (!std::strcmp(op.attributes[i].name, name)) return true;
    return false;
  }
};

/// op.explain(*inputs, **attributes).
PyObject* explain(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    const Current op(object);
    if (!op) return nullptr;
    const auto with_inputs = described(op, names, args + n);
    if (!with_inputs) return nullptr;
    if (names) {
      NamedInputs named;
      if (named.take(*with_inputs, args, static_cast<uint32_t>(n), names))
        return explain(object, named.args(), named.n(), named.names());
      if (PyErr_Occurred()) return nullptr;
    }
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(n);
    if (!read_inputs(frame, *with_inputs, args, static_cast<uint32_t>(n), inputs)) return nullptr;
    char* text = nullptr;
    BindKeywords keywords;
    if (!keywords.read(*op, names, args + n)) return nullptr;
    if (!with_request(op, frame, inputs, static_cast<uint32_t>(n), keywords.names.get(),
                      keywords.values.data(), keywords.choice, [&](const tarsia_op_request& request) {
                        return tarsia_op_explain(op.get(), &request, &text);
                      }))
      return nullptr;
    PyObject* explanation = PyUnicode_FromString(text);
    tarsia_free(text);
    return explanation;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* bind(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    const Current op(object);
    if (!op) return nullptr;
    const auto with_inputs = described(op, names, args + n);
    if (!with_inputs) return nullptr;
    if (names) {
      NamedInputs named;
      if (named.take(*with_inputs, args, static_cast<uint32_t>(n), names))
        return bind(object, named.args(), named.n(), named.names());
      if (PyErr_Occurred()) return nullptr;
    }
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(n);
    if (!read_inputs(frame, *with_inputs, args, static_cast<uint32_t>(n), inputs)) return nullptr;
    BindKeywords keywords;
    if (!keywords.read(*op, names, args + n)) return nullptr;
    return bind_for(op, frame, inputs, static_cast<uint32_t>(n), keywords.names.get(), keywords.values.data(),
                    keywords.choice);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// Takes `out` and `req` out of the keywords. The rest are the attributes.
bool split_output_arguments(PyObject* names, PyObject* const* values, OutputArguments& output_arguments,
                            Ref& attribute_names, std::vector<PyObject*>& attributes) {
  const Py_ssize_t n = PyTuple_Size(names);
  const Ref list(PyList_New(0));
  for (Py_ssize_t i = 0; list && i < n; ++i) {
    PyObject* name = PyTuple_GetItem(names, i);
    const std::string text = text_of(name);
    if (text == "out" || text == "req") {
      (text == "out" ? output_arguments.out : output_arguments.req) =
          values[i] == Py_None ? nullptr : values[i];
      continue;
    }
    if (PyList_Append(list.get(), name) != 0) return false;
    attributes.push_back(values[i]);
  }
  attribute_names = Ref(list ? PyList_AsTuple(list.get()) : nullptr);
  return static_cast<bool>(attribute_names);
}

/// The binding of the last call if it fits this call too; else empty.
Ref bound_as_last(const Current& op, PyObject* names, PyObject* const* values, const Frame& frame,
                  const tarsia_tensor* const* inputs, uint32_t n) {
  const Exclusive exclusive(op.object());
  const LastCall* last = op.last();
  const Ref* bound = last ? last->binding.find(names, values) : nullptr;
  return bound && is_bound_for(bound->get(), frame, inputs, n) ? Ref::borrow(bound->get()) : Ref();
}

/// Keeps a binding for the next call. Does not keep one with state, which belongs to one binding alone, or
/// one during whose making the registry changed.
void remember(const Current& op, PyObject* bound, PyObject* names, PyObject* const* values) {
  if (op->create_state && !(op->flags & TARSIA_OP_SHARED_STATE)) return;
  const Exclusive exclusive(op.object());
  if (LastCall* last = op.last()) last->binding.keep(Ref::borrow(bound), names, values);
}

/// A new binding, which is kept for the next call. Empty with an error set on failure.
Ref bound_anew(const Current& op, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
               PyObject* names, PyObject* const* values) {
  Ref bound(bind_for(op, frame, inputs, n, names, values));
  if (bound) remember(op, bound.get(), names, values);
  return bound;
}

/// The binding of the last call if it fits this call too; else a new one. Empty with an error set on failure.
Ref bound_for(const Current& op, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
              PyObject* names, PyObject* const* values) {
  Ref bound = bound_as_last(op, names, values, frame, inputs, n);
  return bound ? std::move(bound) : bound_anew(op, frame, inputs, n, names, values);
}

PyObject* call_with(PyObject* object, PyObject* const* args, uint32_t n, PyObject* names) {
  // 1. Take the registry's op of the name. From here on the call works with this one.
  const Current op(object);
  if (!op) return nullptr;

  // 2. Read the inputs.
  const auto with_inputs = described(op, names, args + n);
  if (!with_inputs) return nullptr;
  Frame frame;
  auto** inputs = frame.room_for<const tarsia_tensor*>(n);
  if (!read_inputs(frame, *with_inputs, args, n, inputs)) return nullptr;

  // 3. Run the binding of the last call if it fits this call too.
  if (const Ref bound = bound_as_last(op, names, args + n, frame, inputs, n))
    return run_bound(bound.get(), frame, inputs, n, {});

  // 4. Begin anew with inputs that keywords name in their places.
  if (names) {
    NamedInputs named;
    if (named.take(*with_inputs, args, n, names))
      return call_with(object, named.args(), named.n(), named.names());
    if (PyErr_Occurred()) return nullptr;
  }

  // 5. Take `out` and `req` out of the keywords. The rest are the attributes.
  OutputArguments output_arguments;
  Ref attribute_names;
  std::vector<PyObject*> attributes;
  if (names && !split_output_arguments(names, args + n, output_arguments, attribute_names, attributes))
    return nullptr;

  // 6. Bind, unless the last call of these attributes did. Without `out` and `req`, step 3 has looked.
  PyObject* names_left = attributes.empty() ? nullptr : attribute_names.get();
  const bool is_new = !names || attributes.size() == static_cast<size_t>(PyTuple_Size(names));
  const Ref bound = is_new ? bound_anew(op, frame, inputs, n, names_left, attributes.data())
                           : bound_for(op, frame, inputs, n, names_left, attributes.data());
  if (!bound) return nullptr;

  // 7. Run.
  return run_bound(bound.get(), frame, inputs, n, output_arguments);
}

/// op.backward(out_grads, inputs, outputs=None, out=None, req=None, **attributes).
PyObject* backward_with(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Current op(object);
  if (!op) return nullptr;
  if (n != 2 && n != 3) {
    raise_argument_error(
        false,
        std::string(op->name) + ": backward takes out_grads, inputs and outputs, each a tensor or a list");
    return nullptr;
  }
  OutputArguments output_arguments;
  Ref attribute_names;
  std::vector<PyObject*> attributes;
  if (names && !split_output_arguments(names, args + n, output_arguments, attribute_names, attributes))
    return nullptr;
  const bool is_list = PyList_Check(args[1]) || PyTuple_Check(args[1]);
  const Ref items(is_list ? run_python<PySequence_Tuple>(args[1]) : PyTuple_Pack(1, args[1]));
  if (!items) return nullptr;
  std::vector<PyObject*> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_Size(items.get()); ++i)
    tensors.push_back(PyTuple_GetItem(items.get(), i));
  const auto n_tensors = static_cast<uint32_t>(tensors.size());
  Frame frame;
  auto** inputs = frame.room_for<const tarsia_tensor*>(n_tensors);
  if (!read_inputs(frame, *op, tensors.data(), n_tensors, inputs)) return nullptr;
  PyObject* names_left = attributes.empty() ? nullptr : attribute_names.get();
  const Ref bound = bound_for(op, frame, inputs, n_tensors, names_left, attributes.data());
  if (!bound) return nullptr;
  return run_backward(bound.get(), args, n, output_arguments);
}

PyObject* backward(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    return backward_with(object, args, n, names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// op._count(**attributes).
PyObject* count(PyObject* object, PyObject* const* args, Py_ssize_t, PyObject* names) {
  try {
    const Current op(object);
    return op ? count_op(op.get(), names, args) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// op._ports(**attributes).
PyObject* ports(PyObject* object, PyObject* const* args, Py_ssize_t, PyObject* names) {
  try {
    const Current op(object);
    if (!op) return nullptr;
    OpWithInputs with_inputs;
    if (!with_inputs.ask(op.get(), names, args)) return nullptr;
    return describe_ports(with_inputs.op().inputs, with_inputs.op().n_inputs);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// op.infer(shapes, dtypes, storages, **attributes).
PyObject* infer(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    const Current op(object);
    if (!op) return nullptr;
    if (n != 2 && n != 3) {
      raise_argument_error(false, std::string(op->name) +
                                      ": infer takes the inputs' shapes and dtypes, and storages if they "
                                      "matter, None for what is unknown");
      return nullptr;
    }
    return infer_op(op.get(), args[0], args[1], n == 3 && args[2] != Py_None ? args[2] : nullptr, names,
                    args + n);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// The type of a graph's values, and what adds a node; null before set_graph_value().
PyObject *g_graph_value = nullptr, *g_add_node = nullptr;

bool has_graph_value(PyObject* const* args, Py_ssize_t n) {
  const auto is_value = [](PyObject* one) {
    return reinterpret_cast<PyObject*>(Py_TYPE(one)) == g_graph_value;
  };
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (is_value(args[i])) return true;
    // The input of any number of tensors may be a list.
    if (PyList_Check(args[i]) && PyList_Size(args[i]) > 0 && is_value(PyList_GetItem(args[i], 0)))
      return true;
    if (PyTuple_Check(args[i]) && PyTuple_Size(args[i]) > 0 && is_value(PyTuple_GetItem(args[i], 0)))
      return true;
  }
  return false;
}

/// A call with a graph's values: a node in place of a run.
PyObject* add_node(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Ref inputs(PyTuple_New(n)), attributes(PyDict_New());
  if (!inputs || !attributes) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyTuple_SetItem(inputs.get(), i, Ref::borrow(args[i]).release()) != 0) return nullptr;
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); ++i)
    if (PyDict_SetItem(attributes.get(), PyTuple_GetItem(names, i), args[n + i]) != 0) return nullptr;
  return call_objects(g_add_node, object, inputs.get(), attributes.get());
}

/// op(*inputs, out=None, req=None, **attributes): binds and calls.
PyObject* call(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  try {
    if (g_graph_value && has_graph_value(args, PyVectorcall_NARGS(nargs) + (names ? PyTuple_Size(names) : 0)))
        [[unlikely]]
      return add_node(object, args, PyVectorcall_NARGS(nargs), names);
    return call_with(object, args, static_cast<uint32_t>(PyVectorcall_NARGS(nargs)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  OpObject* self = self_of(object);
  delete self->last;
  tarsia_op_release(self->handle);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* repr(PyObject* object) {
  return PyUnicode_FromFormat("<tarsia.Op %s>", op_text(*tarsia_op_describe(kept_op(object).get())).c_str());
}

PyObject* get_name(PyObject* object, void*) {
  return PyUnicode_FromString(tarsia_op_describe(kept_op(object).get())->name);
}

PyObject* get_doc(PyObject* object, void*) {
  return string(op_doc(*tarsia_op_describe(kept_op(object).get())));
}

PyObject* get_description(PyObject* object, void*) {
  const Current op(object);
  return op ? describe_op(*op) : nullptr;
}

PyMethodDef g_methods[] = {
    TARSIA_PICKLING_METHODS,
    {"bind", as_method(bind), METH_FASTCALL | METH_KEYWORDS,
     "bind($self, /, *inputs, implementation=None, **attributes)\n--\n\nParses the attributes, infers shapes "
     "and dtypes from the inputs and chooses the implementation; gives a BoundOp for calls with tensors of "
     "these shapes and dtypes. Keywords may name inputs, too. Of several implementations, 'measure' takes "
     "the "
     "fastest on this machine, 'priority' the first by priority; None does what TARSIA_IMPLEMENTATION says."},
    {"explain", as_method(explain), METH_FASTCALL | METH_KEYWORDS,
     "explain($self, /, *inputs, implementation=None, **attributes)\n--\n\nSays which implementations bind() "
     "would choose, and "
     "why it "
     "would not choose each other."},
    {"backward", as_method(backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, /, out_grads, inputs, outputs=None, *, out=None, req=None, **attributes)\n--\n\nBinds "
     "for "
     "the inputs and gives a tuple of their gradients, as BoundOp.backward does. An op with state has to be "
     "bound "
     "once for both."},
    {"_count", as_method(count), METH_FASTCALL | METH_KEYWORDS,
     "_count($self, /, **attributes)\n--\n\nThe numbers of inputs and outputs with these attributes."},
    {"_ports", as_method(ports), METH_FASTCALL | METH_KEYWORDS,
     "_ports($self, /, **attributes)\n--\n\nThe names and flags of the inputs with these attributes."},
    {"infer", as_method(infer), METH_FASTCALL | METH_KEYWORDS,
     "infer($self, shapes, dtypes, storages=..., /, **attributes)\n--\n\nInfers without tensors. Takes a "
     "shape and a dtype "
     "for "
     "each input, None for what is unknown, within shapes too, and the shape False for an optional input "
     "that is not there; gives two lists, shapes and dtypes, of the "
     "inputs and then the outputs, None for what stays unknown. Storages are 'dense', 'row_sparse' or 'csr'; "
     "a third list, of all storages, is given where they were."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef g_properties[] = {{"name", get_name, nullptr, "The name it is registered under.", nullptr},
                              {"__name__", get_name, nullptr, nullptr, nullptr},
                              {"__doc__", get_doc, nullptr, nullptr, nullptr},
                              {"_description", get_description, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot g_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_new, reinterpret_cast<void*>(refuse_new<"tarsia.op gives one by its name">)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_methods, g_methods},
                         {Py_tp_getset, g_properties},
                         {Py_tp_members, g_members},
                         {0, nullptr}};
PyType_Spec g_spec = {"tarsia.Op", sizeof(OpObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                      g_slots};

/// Waits for compiles of load_inline(wait=False), one of which may register the op. Returns whether there
/// were any.
bool wait_for_compiles() {
  const Ref module = loaded_module("tarsia._pending");
  const Ref answer(module ? call_method(module.get(), "wait_for_all", nullptr) : nullptr);
  PyErr_Clear();
  return answer.get() == Py_True;
}

}  // namespace

bool add_op_types(PyObject* module) {
  return add_type(module, g_spec, "Op", g_type) && add_bound_type(module);
}

OpRef registered_op(PyObject* op) {
  if (Py_TYPE(op) != g_type) {
    raise_argument_error(false, "expected a tarsia.Op");
    return {};
  }
  const Exclusive exclusive(op);
  return refresh(self_of(op)) ? OpRef::borrow(self_of(op)->handle) : OpRef();
}

void set_graph_value(PyObject* type, PyObject* add) {
  Ref::borrow(type).release();
  Ref::borrow(add).release();
  g_add_node = add;
  g_graph_value = type;
}

PyObject* find_op(const char* name) {
  uint64_t generation = tarsia_op_generation();
  tarsia_op_handle* handle = nullptr;
  int32_t code = tarsia_op_find(name, &handle);
  if (code && wait_for_compiles()) {
    generation = tarsia_op_generation();
    code = tarsia_op_find(name, &handle);
  }
  if (code && !load_op(name, &handle))
    return nullptr;  // the generation is an old one: it is looked up once more
  OpRef found(handle);
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) return nullptr;
  OpObject* self = self_of(object);
  self->handle = found.release();
  self->generation = generation;
  self->last = new LastCall;
  self->vectorcall = call;
  return object;
}

}  // namespace tarsia::python

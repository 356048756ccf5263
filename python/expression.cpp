// Calls of expressions. The compiled function takes each parameter in turn (a tensor, or a number by value;
// an output that is to be made is an absent tensor), then the size of an elementwise loop, or the axes and
// keepdims of a reduction.
#include "expression.h"

#include <cstring>
#include <string>
#include <vector>

#include "convert.h"
#include "dtype.h"
#include "errors.h"
#include "explain.h"
#include "function.h"
#include "stream.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

constexpr int k_no_letter = -1;
constexpr int k_most_letters = 64;
constexpr uint32_t k_number = 1u << 31;  ///< in a key: the parameter is a number by value

struct Parameter {
  std::string name;
  Ref key;           ///< the name, interned
  std::string type;  ///< as written
  int letter;        ///< k_no_letter: the type is `dtype`
  tarsia_dtype dtype;
  bool is_raw, is_output, is_inout;
};

/// What was compiled for these types.
struct Variant {
  std::vector<uint32_t> key;
  Ref function;
};

struct State {
  std::string name;
  std::vector<Parameter> params;
  std::vector<std::string> letters;
  uint32_t n_inputs = 0;
  bool is_reduction = false;
  bool takes_size = false;  ///< all inputs are raw
  Ref recipe;               ///< compiles: recipe.compile(gpu, dtypes, numbers)
  std::vector<Variant> variants;
  size_t last = 0;
};

struct ExpressionObject {
  PyObject head;
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  State* state;
};

ExpressionObject* self_of(PyObject* object) {
  return reinterpret_cast<ExpressionObject*>(object);
}

/// One call.
class Calling {
 public:
  Calling(State& state, Frame& frame)
      : m_state(state), m_frame(frame), m_n(static_cast<uint32_t>(state.params.size())) {
    m_given = frame.room_for<PyObject*>(m_n);
    m_views = frame.room_for<View*>(m_n);
    m_dtypes = frame.room_for<tarsia_dtype>(m_n);
    m_key = frame.room_for<uint32_t>(m_n + 1);
    std::memset(m_given, 0, m_n * sizeof *m_given);
    std::memset(m_views, 0, m_n * sizeof *m_views);
  }

  PyObject* run(PyObject* const* args, uint32_t n, PyObject* names) {
    if (!assign(args, n, names) || !read() || !check_size() || !check_devices() || !deduce()) return nullptr;
    PyObject* function = find();
    if (!function) return nullptr;
    auto* values = m_frame.room_for<tarsia_value>(m_n + 2);
    for (uint32_t i = 0; i < m_n; ++i)
      if (!set_value(i, values[i])) return nullptr;
    uint32_t n_values = m_n;
    const auto add = [&](int64_t number) {
      tarsia_value& value = values[n_values++];
      value.i = number;
      value.kind = TARSIA_KIND_INT;
      value.size = 0;
    };
    if (m_state.is_reduction) {
      int64_t axes = 0;
      if (!read_axes(axes)) return nullptr;
      add(axes);
      add(m_keepdims);
    } else {
      add(m_size);
    }
    return call_function(function, m_frame, values, n_values);
  }

 private:
  const Parameter& param(uint32_t i) const { return m_state.params[i]; }
  std::string title(uint32_t i) const {
    return m_state.name + ": " + (param(i).is_output ? "output '" : "input '") + param(i).name + "'";
  }
  bool refuse(bool is_value_error, const std::string& message, Ref cause = {}) const {
    raise_argument_error(is_value_error, message, std::move(cause));
    return false;
  }

  // ---- arguments ----

  bool assign(PyObject* const* args, uint32_t n, PyObject* names) {
    if (n > m_n)
      return refuse(false, m_state.name + ": takes " + std::to_string(m_state.n_inputs) + " inputs and " +
                               std::to_string(m_n - m_state.n_inputs) + " outputs, got " + std::to_string(n) +
                               " arguments");
    for (uint32_t i = 0; i < n; ++i)
      if (args[i] != Py_None || !param(i).is_output) m_given[i] = args[i];
    const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t k = 0; k < n_names; ++k)
      if (!assign_by_name(PyTuple_GetItem(names, k), args[n + k])) return false;
    for (uint32_t i = 0; i < m_state.n_inputs; ++i)
      if (!m_given[i]) return refuse(false, title(i) + " is missing");
    return true;
  }

  bool assign_by_name(PyObject* key, PyObject* object) {
    for (uint32_t i = 0; i < m_n; ++i) {
      if (param(i).key.get() != key && PyUnicode_Compare(param(i).key.get(), key) != 0) continue;
      if (m_given[i]) return refuse(false, title(i) + " is given twice");
      if (object != Py_None || !param(i).is_output) m_given[i] = object;
      return true;
    }
    const std::string name = text_of(key);
    if (name == "out") return assign_out(object);
    if (name == "stream") {
      if (object == Py_None) return true;
      const StreamRead read = read_stream(object, &m_frame.stream);
      if (read == StreamRead::not_a_stream)
        return refuse(false, m_state.name +
                                 ": stream must be a CUDA stream (int, torch.cuda.Stream, anything with "
                                 "__cuda_stream__, or None), got " +
                                 describe_argument(object));
      return m_frame.has_stream = read == StreamRead::ok;
    }
    if (m_state.is_reduction && name == "axis") {
      m_axis = object;
      return true;
    }
    if (m_state.is_reduction && name == "keepdims") {
      const int truth = PyObject_IsTrue(object);
      m_keepdims = truth;
      return truth >= 0;
    }
    if (!m_state.is_reduction && name == "size") {
      if (object == Py_None) return true;
      m_size = PyLong_AsLongLong(object);
      if (m_size == -1 && PyErr_Occurred()) return false;
      if (m_size < 0)
        return refuse(true, m_state.name + ": size must not be negative, got " + std::to_string(m_size));
      return true;
    }
    return refuse(false,
                  m_state.name + ": there is no parameter '" + name + "', and " +
                      (m_state.is_reduction ? "axis, keepdims, out and stream" : "out, size and stream") +
                      " are all that is taken besides");
  }

  bool assign_out(PyObject* object) {
    if (object == Py_None) return true;
    const uint32_t n_out = m_n - m_state.n_inputs;
    const bool is_tuple = PyTuple_Check(object), is_list = PyList_Check(object);
    const Py_ssize_t n = is_tuple ? PyTuple_Size(object) : is_list ? PyList_Size(object) : 1;
    if (n != static_cast<Py_ssize_t>(n_out))
      return refuse(false,
                    m_state.name + ": out takes " +
                        (n_out == 1 ? "a tensor" : "a tuple of " + std::to_string(n_out) + " tensors") +
                        ", got " +
                        (is_tuple || is_list ? std::to_string(n) + " of them" : describe_argument(object)));
    for (uint32_t k = 0; k < n_out; ++k) {
      PyObject* item = is_tuple ? PyTuple_GetItem(object, k) : is_list ? PyList_GetItem(object, k) : object;
      const uint32_t i = m_state.n_inputs + k;
      if (item == Py_None) continue;
      if (m_given[i]) return refuse(false, title(i) + " is given twice");
      m_given[i] = item;
    }
    return true;
  }

  /// Reads the tensors; what is none is a number.
  bool read() {
    for (uint32_t i = 0; i < m_n; ++i) {
      PyObject* object = m_given[i];
      const bool is_output = param(i).is_output;
      if (!object) {
        if (param(i).is_raw)
          return refuse(false, title(i) + " is raw: it has to be given, since nothing tells its shape");
        if (param(i).is_inout) return refuse(false, title(i) + " is read too (inout): it has to be given");
        continue;
      }
      if (speaker_of(Py_TYPE(object)).speaks == Speaks::nothing) {
        if (is_output || param(i).is_raw)
          return refuse(false, title(i) + " must be a tensor, got " + describe_argument(object));
        continue;
      }
      if (!read_tensor(i, object)) return false;
    }
    return true;
  }

  bool read_tensor(uint32_t i, PyObject* object) {
    View* view = m_frame.new_view(object);
    const Why why = view_of(m_frame, *view);
    if (why == Why::failed) return false;
    if (why == Why::unreadable) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      PyErr_NormalizeException(&type, &value, &traceback);
      Ref cause(value);
      Py_XDECREF(type);
      Py_XDECREF(traceback);
      const Ref text(value ? PyObject_Str(value) : nullptr);
      return refuse(true,
                    title(i) + " is a " + type_name(Py_TYPE(object)) +
                        " whose memory cannot be read: " + text_of(text.get()),
                    std::move(cause));
    }
    if (why == Why::masked || why == Why::element_type)
      return refuse(false, title(i) + " " + explain_elements(why, param(i).name, object));
    if (why == Why::mixed || why == Why::deleted)
      return refuse(why == Why::deleted, title(i) + " " + explain_state(why, m_frame, object, param(i).name));
    if (why == Why::strides)
      return refuse(true, title(i) + " has strides that are no multiple of its elements; pass a copy");
    if (why != Why::fits)
      return refuse(false, title(i) + " must be a tensor or a number, got " + describe_argument(object));
    const tarsia_tensor& tensor = view->tensor;
    if (!tensor.data && element_count(tensor) != 0)
      return refuse(true, title(i) + " has no memory: it is a fake or meta tensor");
    if (view->read_only && param(i).is_output)
      return refuse(true, title(i) + " is read-only; pass one that can be written to");
    if (!is_contiguous(tensor) && is_changed_lazily(object))
      return refuse(true, title(i) + " is negated lazily; pass " + param(i).name + ".resolve_neg()");
    if (tensor.dtype.lanes != 1)
      return refuse(false, title(i) + " has elements of " + dtype_name(tensor.dtype) +
                               ", which expressions do not take");
    m_views[i] = view;
    return true;
  }

  /// An elementwise loop's shape is that of its tensors; where none tells it, there has to be a size.
  bool check_size() const {
    if (m_state.is_reduction) return true;
    bool is_told = false;
    for (uint32_t i = 0; i < m_n; ++i) {
      if (!m_views[i] || param(i).is_raw) continue;
      if (m_size >= 0)
        return refuse(false, m_state.name +
                                 ": size is for calls without a tensor that tells the shape; here '" +
                                 param(i).name + "' does");
      is_told = true;
    }
    if (!is_told && m_size < 0 && m_state.takes_size)
      return refuse(true,
                    m_state.name + ": no tensor tells how many elements there are; pass size=, or out=");
    return true;
  }

  static bool on_cpu(tarsia_device device) {
    return device.type == TARSIA_CPU || device.type == TARSIA_GPU_HOST;
  }

  bool check_devices() {
    int first = -1;
    for (uint32_t i = 0; i < m_n; ++i) {
      if (!m_views[i]) continue;
      const tarsia_device device = m_views[i]->tensor.device;
      if (device.type == TARSIA_GPU_MANAGED) continue;
      if (!on_cpu(device) && device.type != TARSIA_GPU)
        return refuse(true,
                      title(i) + " must be on the CPU or a CUDA GPU, got " + describe_argument(m_given[i]));
      if (first < 0) first = static_cast<int>(i);
      const tarsia_device other = m_views[first]->tensor.device;
      if (on_cpu(device) != on_cpu(other) || (!on_cpu(device) && device.id != other.id))
        return refuse(true, m_state.name + ": all tensors have to be on one device: '" + param(first).name +
                                "' is " + describe_argument(m_given[first]) + ", '" + param(i).name +
                                "' is " + describe_argument(m_given[i]));
    }
    m_gpu = m_frame.gpu >= 0;
    return true;
  }

  // ---- types ----

  bool deduce() {
    const size_t n_letters = m_state.letters.size();
    tarsia_dtype letters[k_most_letters];
    int tellers[k_most_letters];
    for (size_t k = 0; k < n_letters; ++k) tellers[k] = -1;
    for (uint32_t i = 0; i < m_n; ++i) {
      if (!m_views[i]) continue;
      const tarsia_dtype dtype = m_views[i]->tensor.dtype;
      const int letter = param(i).letter;
      if (letter == k_no_letter) {
        if (!(dtype == param(i).dtype)) return wrong_dtype(i);
        continue;
      }
      if (tellers[letter] < 0) {
        if (!is_supported(dtype))
          return refuse(
              false, title(i) + " has elements of " + dtype_name(dtype) + ", which expressions do not take");
        letters[letter] = dtype;
        tellers[letter] = static_cast<int>(i);
      } else if (!(letters[letter] == dtype)) {
        const uint32_t teller = static_cast<uint32_t>(tellers[letter]);
        return refuse(false, m_state.name + ": " + m_state.letters[letter] + " is " +
                                 dtype_name(letters[letter]) + " by '" + param(teller).name + "' and " +
                                 dtype_name(dtype) + " by '" + param(i).name +
                                 "'; convert one of them, or give it a type letter of its own");
      }
    }
    for (uint32_t i = 0; i < m_n; ++i) {
      const int letter = param(i).letter;
      if (letter != k_no_letter && m_given[i] && !m_views[i] &&
          (tellers[letter] < 0 || !m_views[tellers[letter]]))
        if (!widen(i, letters[letter], tellers[letter])) return false;
    }
    for (uint32_t i = 0; i < m_n; ++i) {
      const int letter = param(i).letter;
      if (letter != k_no_letter && tellers[letter] < 0)
        return refuse(false,
                      title(i) + " has the type " + m_state.letters[letter] +
                          ", which no input tells; pass out=, or declare it with a type such as float");
      m_dtypes[i] = letter == k_no_letter ? param(i).dtype : letters[letter];
      m_key[i] = bits_of(m_dtypes[i]) | (m_given[i] && !m_views[i] ? k_number : 0);
    }
    m_key[m_n] = m_gpu;
    return true;
  }

  static bool is_supported(tarsia_dtype dtype) {
    switch (dtype.code) {
      case TARSIA_BOOL:
        return dtype.bits == 8;
      case TARSIA_INT:
      case TARSIA_UINT:
        return dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
      case TARSIA_FLOAT:
        return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
      case TARSIA_BFLOAT:
        return dtype.bits == 16;
      default:
        return false;
    }
  }

  bool wrong_dtype(uint32_t i) {
    const std::string wanted = dtype_name(param(i).dtype);
    return refuse(false, title(i) + " is declared as " + param(i).type + ", which is " + wanted +
                             ", and was given " + describe_argument(m_given[i]) +
                             "; convert it, or declare it with a type letter such as T");
  }

  /// A type letter that no tensor tells is what Python's numbers are in NumPy: bool, int64, float64; NumPy's
  /// own numbers have their type.
  bool widen(uint32_t i, tarsia_dtype& dtype, int& teller) {
    PyObject* object = m_given[i];
    tarsia_dtype mine{};
    const auto rank = [](tarsia_dtype d) {
      return d.code == TARSIA_BOOL ? 0 : d.code == TARSIA_FLOAT || d.code == TARSIA_BFLOAT ? 2 : 1;
    };
    if (PyBool_Check(object)) {
      mine = {TARSIA_BOOL, 8, 1};
    } else if (PyLong_Check(object)) {
      mine = {TARSIA_INT, 64, 1};
    } else if (PyFloat_CheckExact(object)) {
      mine = {TARSIA_FLOAT, 64, 1};
    } else {
      const Ref own = attribute_or_null(object, "dtype");
      const Ref name = own ? attribute_or_null(own.get(), "name") : Ref();
      if (name && PyUnicode_Check(name.get())) mine = dtype_named(text_of(name.get()));
      if (!is_supported(mine)) {
        if (!PyFloat_Check(object))
          return refuse(false, title(i) + " must be a tensor or a number, got " + describe_argument(object));
        mine = {TARSIA_FLOAT, 64, 1};
      }
    }
    if (teller < 0 || rank(mine) > rank(dtype) || (rank(mine) == rank(dtype) && mine.bits > dtype.bits)) {
      dtype = mine;
      teller = static_cast<int>(i);
    }
    return true;
  }

  // ---- the function ----

  PyObject* find() {
    std::vector<Variant>& variants = m_state.variants;
    const size_t bytes = (m_n + 1) * sizeof(uint32_t);
    if (m_state.last < variants.size() && !std::memcmp(variants[m_state.last].key.data(), m_key, bytes))
        [[likely]]
      return variants[m_state.last].function.get();
    for (size_t k = 0; k < variants.size(); ++k)
      if (!std::memcmp(variants[k].key.data(), m_key, bytes)) {
        m_state.last = k;
        return variants[k].function.get();
      }
    return compile();
  }

  PyObject* compile() {
    Ref dtypes(PyTuple_New(m_n)), numbers(PyTuple_New(m_n));
    if (!dtypes || !numbers) return nullptr;
    for (uint32_t i = 0; i < m_n; ++i) {
      PyObject* name = PyUnicode_FromString(dtype_name(m_dtypes[i]).c_str());
      if (!name || PyTuple_SetItem(dtypes.get(), i, name) != 0) return nullptr;
      PyTuple_SetItem(numbers.get(), i, PyBool_FromLong((m_key[i] & k_number) != 0));
    }
    Ref function(PyObject_CallMethod(m_state.recipe.get(), "compile", "OOO", m_gpu ? Py_True : Py_False,
                                     dtypes.get(), numbers.get()));
    if (!function) return nullptr;
    if (!is_function(function.get())) {
      PyErr_SetString(PyExc_SystemError, "an expression was compiled to something that is no function");
      return nullptr;
    }
    m_state.last = m_state.variants.size();
    m_state.variants.push_back({std::vector<uint32_t>(m_key, m_key + m_n + 1), std::move(function)});
    return m_state.variants.back().function.get();
  }

  bool set_value(uint32_t i, tarsia_value& value) {
    if (!m_given[i] || m_views[i]) {
      value.t = m_views[i] ? &m_views[i]->tensor : nullptr;
      value.kind = TARSIA_KIND_TENSOR;
      value.size = 0;
      return true;
    }
    Param number{};
    const tarsia_dtype dtype = m_dtypes[i];
    number.type.dtype = dtype;
    number.type.kind = dtype.code == TARSIA_BOOL                               ? TARSIA_KIND_BOOL
                       : dtype.code == TARSIA_INT || dtype.code == TARSIA_UINT ? TARSIA_KIND_INT
                                                                               : TARSIA_KIND_FLOAT;
    const Why why = convert(m_frame, number, Fit::any, m_given[i], value);
    if (why == Why::fits) return true;
    if (why == Why::failed) return false;
    PyErr_Clear();
    const std::string name = dtype_name(dtype);
    if (why == Why::range)
      return refuse(true, title(i) + " is " + name + ", which does not hold " + short_repr(m_given[i]));
    return refuse(false, title(i) + " is " + name + ": a tensor or a number of that kind, got " +
                             describe_argument(m_given[i]));
  }

  // ---- axes ----

  /// One bit for each axis that is reduced.
  bool read_axes(int64_t& axes) {
    int ndim = 0;
    for (uint32_t i = 0; i < m_state.n_inputs; ++i)
      if (m_views[i] && !param(i).is_raw) ndim = std::max<int>(ndim, m_views[i]->tensor.ndim);
    if (!m_axis || m_axis == Py_None) {
      axes = ndim >= 63 ? -1 : (int64_t(1) << ndim) - 1;
      return true;
    }
    const bool is_tuple = PyTuple_Check(m_axis), is_list = PyList_Check(m_axis);
    const Py_ssize_t n = is_tuple ? PyTuple_Size(m_axis) : is_list ? PyList_Size(m_axis) : 1;
    for (Py_ssize_t k = 0; k < n; ++k) {
      PyObject* item = is_tuple ? PyTuple_GetItem(m_axis, k) : is_list ? PyList_GetItem(m_axis, k) : m_axis;
      if (PyBool_Check(item) || !PyIndex_Check(item))
        return refuse(false, m_state.name + ": axis must be an int, a tuple of ints or None, got " +
                                 describe_argument(item));
      Py_ssize_t axis = PyNumber_AsSsize_t(item, PyExc_IndexError);
      if (axis == -1 && PyErr_Occurred()) return false;
      if (axis < -ndim || axis >= ndim)
        return refuse(true, m_state.name + ": axis " + std::to_string(axis) +
                                " is out of range for inputs of " + std::to_string(ndim) + " dimensions");
      if (axis < 0) axis += ndim;
      const int64_t bit = int64_t(1) << axis;
      if (axes & bit)
        return refuse(true, m_state.name + ": axis " + std::to_string(axis) + " is given twice");
      axes |= bit;
    }
    return true;
  }

  State& m_state;
  Frame& m_frame;
  uint32_t m_n;
  PyObject** m_given;      ///< by parameter, null where left out
  View** m_views;          ///< of those that are tensors
  tarsia_dtype* m_dtypes;  ///< by parameter
  uint32_t* m_key;
  bool m_gpu = false;
  PyObject* m_axis = nullptr;
  int m_keepdims = 0;
  int64_t m_size = -1;
};

PyObject* call(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  try {
    Frame frame;
    return Calling(*self_of(object)->state, frame)
        .run(args, static_cast<uint32_t>(PyVectorcall_NARGS(nargs)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  if (const State* state = self_of(object)->state) Py_VISIT(state->recipe.get());
  return 0;
}

int clear(PyObject* object) {
  if (State* state = self_of(object)->state) state->recipe = Ref();
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self_of(object)->weak_references) PyObject_ClearWeakRefs(object);
  delete self_of(object)->state;
  PyObject_GC_Del(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

/// Attributes that are not its own are those of the recipe: __name__, __doc__, __signature__, source, …
PyObject* get_attribute(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
  const std::string text = text_of(name);
  if (text == "__doc__" || text == "__module__") {
    found = PyObject_GetAttr(self_of(object)->state->recipe.get(), name);
  } else {
    found = PyObject_GenericGetAttr(object, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) && text != "compile") {
      PyErr_Clear();
      found = PyObject_GetAttr(self_of(object)->state->recipe.get(), name);
    }
  }
  return found;
}

PyObject* repr(PyObject* object) {
  return PyObject_Repr(self_of(object)->state->recipe.get());
}

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ExpressionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ExpressionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_members, g_members},
                         {0, nullptr}};

PyType_Spec g_spec = {
    "tarsia.Expression", sizeof(ExpressionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
    g_slots};

/// params: a list of (name, type as written, number of its letter or -1, dtype's name, raw, output, inout).
nb::object make(nb::object recipe, const char* name, nb::list params, nb::list letters, bool is_reduction) {
  auto* state = new State();
  state->name = name;
  state->is_reduction = is_reduction;
  state->takes_size = true;
  state->recipe = Ref::borrow(recipe.ptr());
  for (nb::handle letter : letters) state->letters.emplace_back(nb::borrow<nb::str>(letter).c_str());
  for (nb::handle item : params) {
    Parameter p;
    p.name = nb::borrow<nb::str>(item[0]).c_str();
    p.key = Ref(PyUnicode_InternFromString(p.name.c_str()));
    p.type = nb::borrow<nb::str>(item[1]).c_str();
    p.letter = nb::cast<int>(item[2]);
    p.dtype = dtype_named(nb::borrow<nb::str>(item[3]).c_str());
    p.is_raw = nb::cast<bool>(item[4]);
    p.is_output = nb::cast<bool>(item[5]);
    p.is_inout = nb::cast<bool>(item[6]);
    state->n_inputs += !p.is_output;
    state->takes_size &= p.is_raw || p.is_output;
    state->params.push_back(std::move(p));
  }
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) {
    delete state;
    throw nb::python_error();
  }
  self_of(object)->vectorcall = call;
  self_of(object)->state = state;
  return nb::steal(object);
}

}  // namespace

bool add_expression(nb::module_& module) {
  if (!add_type(module.ptr(), g_spec, "Expression", g_type)) return false;
  module.def("make_expression", make);
  return true;
}

}  // namespace tarsia::python

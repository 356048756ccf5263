// The types of kernels and of their launches. A launch with plain tensors, ints and floats makes no Python
// object, takes no lock and allocates nothing.
#include "kernel.h"

#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "call.h"
#include "errors.h"
#include "stream.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_kernel_type = nullptr;
PyTypeObject* g_launch_type = nullptr;

/// A kernel with what is worked out once.
struct KernelPlan {
  KernelPlan(const tarsia_kernel* described, const char* library_name)
      : kernel(described),
        as_function{sizeof(tarsia_function),
                    TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM,
                    described->name,
                    described->signature,
                    described->location,
                    described->n_params,
                    described->n_params,
                    described->params,
                    {},
                    nullptr},
        plan(*described, &as_function, library_name) {}

  const tarsia_kernel* kernel;
  tarsia_function as_function;
  Plan plan;
};

using Plans = std::vector<std::unique_ptr<KernelPlan>>;

struct KernelObject {
  PyObject head;
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* recipe;  ///< what its source is compiled from, or null
  tarsia_library* library;
  Plans* plans;
  char release_gil;
};

struct LaunchObject {
  PyObject head;
  vectorcallfunc vectorcall;
  KernelObject* kernel;  ///< owned
  tarsia_launch how;
};

KernelObject* kernel_of(PyObject* object) {
  return reinterpret_cast<KernelObject*>(object);
}
LaunchObject* launch_of(PyObject* object) {
  return reinterpret_cast<LaunchObject*>(object);
}
const KernelPlan& first_of(PyObject* object) {
  return *kernel_of(object)->plans->front();
}
std::string title(const KernelObject* self) {
  return std::string("kernel ") + self->plans->front()->kernel->name;
}
PyObject* string(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace");
}

PyObject* raise_type_error(const std::string& text) {
  return raise_argument_error(false, text, Ref());
}
PyObject* raise_value_error(const std::string& text) {
  return raise_argument_error(true, text, Ref());
}

// ---- how it is launched ----

/// A number of blocks, threads or bytes. What no GPU takes is said at the launch.
bool read_number(const KernelObject* self, PyObject* object, const char* what, uint32_t& number) {
  Ref index;
  if (!PyLong_CheckExact(object)) {
    if (!PyIndex_Check(object) || PyBool_Check(object) ||
        speaker_of(Py_TYPE(object)).speaks != Speaks::nothing) {
      raise_type_error(title(self) + ": " + what + " must be an int, got " + describe_argument(object));
      return false;
    }
    index = Ref(PyNumber_Index(object));
    if (!index) return false;
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index ? index.get() : object, &overflow);
  if (overflow || value < 0 || value > 0xffffffffLL) {
    raise_value_error(title(self) + ": " + what + " must be from 0 to 4294967295, got " + short_repr(object));
    return false;
  }
  number = static_cast<uint32_t>(value);
  return true;
}

/// An int, or a tuple or list of up to three.
bool read_extents(const KernelObject* self, PyObject* object, const char* what, uint32_t (&extents)[3]) {
  extents[1] = extents[2] = 1;
  const bool tuple = PyTuple_Check(object);
  if (!tuple && !PyList_Check(object)) {
    if (PyIndex_Check(object)) return read_number(self, object, what, extents[0]);
    raise_type_error(title(self) + ": the " + what + " must be an int or a tuple of up to three, got " +
                     describe_argument(object));
    return false;
  }
  const Py_ssize_t n = tuple ? PyTuple_Size(object) : PyList_Size(object);
  if (n < 1 || n > 3) {
    raise_value_error(title(self) + ": the " + what + " must have one to three extents, got " +
                      short_repr(object));
    return false;
  }
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!read_number(self, tuple ? PyTuple_GetItem(object, i) : PyList_GetItem(object, i), what, extents[i]))
      return false;
  return true;
}

bool read_launch_stream(const KernelObject* self, PyObject* object, tarsia_launch& how) {
  if (object == Py_None) return true;
  const StreamRead read = read_stream(object, &how.stream);
  if (read == StreamRead::not_a_stream)
    raise_type_error(
        title(self) +
        ": the stream must be an int, a torch.cuda.Stream, anything with __cuda_stream__, or None "
        "for the current one, got " +
        describe_argument(object));
  how.has_stream = 1;
  return read == StreamRead::ok;
}

tarsia_launch nowhere() {
  tarsia_launch how{};
  how.size = sizeof how;
  how.device = -1;
  return how;
}

// ---- launching ----

/// Raises what keeps the overloads from taking the arguments.
PyObject* raise_mismatch(KernelObject* self, const Arguments& arguments) {
  std::string message;
  bool is_value_error = true;
  Ref cause;
  for (const auto& one : *self->plans) {
    const Plan& plan = one->plan;
    Frame frame;
    Mismatch mismatch;
    uint32_t n_values = 0;
    auto* values = frame.room_for<tarsia_value>(plan.n_params + 1);
    if (match(frame, plan, Fit::any, arguments, values, n_values, mismatch)) continue;
    if (mismatch.why == Why::failed) return nullptr;
    Explanation explanation = explain(plan, frame, mismatch);
    is_value_error &= explanation.is_value_error;
    if (self->plans->size() == 1) {
      message = title(self) + ": " + explanation.text + "\n  in " + describe(plan);
      cause = std::move(explanation.cause);
    } else {
      message += "\n  " + describe(plan) + "\n    " + explanation.text;
    }
  }
  if (self->plans->size() > 1) message = title(self) + ": no overload fits" + message;
  return raise_argument_error(is_value_error, message, std::move(cause));
}

PyObject* run(KernelObject* self, const KernelPlan& plan, Frame& frame, tarsia_launch how,
              const tarsia_value* values) {
  if (frame.gpu >= 0) {
    how.device = frame.gpu;
    if (!how.has_stream) {
      how.stream = stream_of_call(frame);
      how.has_stream = 1;
    }
  }
  int32_t code;
  {
    const Unlocked unlocked(self->release_gil);
    code = tarsia_kernel_launch_values(plan.kernel, &how, values);
  }
  if (code != 0) [[unlikely]]
    return raise_last_error();
  Py_RETURN_NONE;
}

PyObject* launch_overloaded(KernelObject* self, const tarsia_launch& how, const Arguments& arguments) {
  for (const Fit fit : {Fit::exact, Fit::any}) {
    if (fit == Fit::exact && self->plans->size() == 1) continue;
    for (const auto& one : *self->plans) {
      Frame frame;
      frame.has_stream = how.has_stream;
      frame.stream = how.stream;
      Mismatch mismatch;
      uint32_t n_values = 0;
      auto* values = frame.room_for<tarsia_value>(one->plan.n_params + 1);
      if (match(frame, one->plan, fit, arguments, values, n_values, mismatch))
        return run(self, *one, frame, how, values);
      if (mismatch.why == Why::failed) return nullptr;
      if (mismatch.why == Why::unreadable) PyErr_Clear();
    }
  }
  return raise_mismatch(self, arguments);
}

PyObject* launch(KernelObject* self, const tarsia_launch& how, const Arguments& arguments) {
  const KernelPlan& only = *self->plans->front();
  const uint32_t n = only.plan.n_params;
  if (arguments.names || arguments.n_positional != n || self->plans->size() != 1) [[unlikely]]
    return launch_overloaded(self, how, arguments);
  Frame frame;
  frame.given = arguments.items;
  frame.n_given = n;
  frame.has_stream = how.has_stream;
  frame.stream = how.stream;
  auto* values = frame.room_for<tarsia_value>(n);
  for (uint32_t i = 0; i < n; ++i) {
    const Why why = convert(frame, only.plan.params[i], Fit::any, arguments.items[i], values[i]);
    if (why == Why::fits) [[likely]]
      continue;
    if (why == Why::failed) return nullptr;
    if (why == Why::unreadable) PyErr_Clear();
    return raise_mismatch(self, arguments);
  }
  return run(self, only, frame, how, values);
}

template <class F>
PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* call_launch(PyObject* object, PyObject* const* args, size_t n, PyObject* names) {
  return guarded([&] {
    const LaunchObject* self = launch_of(object);
    return launch(self->kernel, self->how, {args, static_cast<uint32_t>(PyVectorcall_NARGS(n)), names});
  });
}

PyObject* call_kernel(PyObject* object, PyObject* const*, size_t, PyObject*) {
  const KernelObject* self = kernel_of(object);
  const std::string name = self->plans->front()->kernel->name;
  return raise_type_error(title(self) +
                          " is called with a grid and a block: k[grid, block](...), or "
                          "k.launch(..., grid=, block=)");
}

/// kernel[grid, block], [grid, block, shared_bytes], [grid, block, shared_bytes, stream].
PyObject* subscript(PyObject* object, PyObject* key) {
  return guarded([&]() -> PyObject* {
    KernelObject* self = kernel_of(object);
    const Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : -1;
    if (n < 2 || n > 4)
      return raise_type_error(title(self) +
                              ": write k[grid, block], k[grid, block, shared_bytes] or k[grid, "
                              "block, shared_bytes, stream], got k[" +
                              short_repr(key) + "]");
    tarsia_launch how = nowhere();
    if (!read_extents(self, PyTuple_GetItem(key, 0), "grid", how.grid) ||
        !read_extents(self, PyTuple_GetItem(key, 1), "block", how.block) ||
        (n > 2 &&
         !read_number(self, PyTuple_GetItem(key, 2), "the shared memory in bytes", how.shared_bytes)) ||
        (n > 3 && !read_launch_stream(self, PyTuple_GetItem(key, 3), how)))
      return nullptr;
    PyObject* made = PyType_GenericAlloc(g_launch_type, 0);
    if (!made) return nullptr;
    LaunchObject* launched = launch_of(made);
    launched->vectorcall = call_launch;
    Py_INCREF(object);
    launched->kernel = self;
    launched->how = how;
    return made;
  });
}

/// The keywords of launch() that are its own.
enum class Keyword : uint8_t { grid, block, shared, stream, cluster, cooperative, none };

Keyword keyword_of(PyObject* name) {
  static constexpr const char* k_texts[] = {"grid", "block", "shared", "stream", "cluster", "cooperative"};
  static PyObject* s_names[std::size(k_texts)];
  // Names in a program's text are interned: mostly it is the very object.
  for (size_t i = 0; i < std::size(k_texts); ++i)
    if (s_names[i] == name) return static_cast<Keyword>(i);
  for (size_t i = 0; i < std::size(k_texts); ++i)
    if (PyUnicode_CompareWithASCIIString(name, k_texts[i]) == 0) {
      if (!s_names[i]) s_names[i] = PyUnicode_InternFromString(k_texts[i]);
      return static_cast<Keyword>(i);
    }
  return Keyword::none;
}

bool read_keyword(const KernelObject* self, Keyword keyword, PyObject* value, tarsia_launch& how) {
  switch (keyword) {
    case Keyword::grid:
      return read_extents(self, value, "grid", how.grid);
    case Keyword::block:
      return read_extents(self, value, "block", how.block);
    case Keyword::shared:
      return read_number(self, value, "the shared memory in bytes", how.shared_bytes);
    case Keyword::stream:
      return read_launch_stream(self, value, how);
    case Keyword::cluster:
      if (value == Py_None) return true;
      if (!read_extents(self, value, "cluster", how.cluster)) return false;
      if (how.cluster[0]) return true;
      raise_value_error(title(self) + ": the cluster must have 1 or more blocks along x");
      return false;
    default:
      const int truth = PyObject_IsTrue(value);
      how.cooperative = truth > 0;
      return truth >= 0;
  }
}

/// kernel.launch(*args, grid=, block=, shared=0, stream=None, cluster=None, cooperative=False).
PyObject* launch_by_name(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    KernelObject* self = kernel_of(object);
    tarsia_launch how = nowhere();
    const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    // The kernel's own arguments by name, which are rare.
    std::vector<PyObject*> rest, rest_names;
    bool has_grid = false, has_block = false;
    for (Py_ssize_t i = 0; i < n_names; ++i) {
      PyObject* name = PyTuple_GetItem(names, i);
      const Keyword keyword = keyword_of(name);
      if (keyword == Keyword::none) {
        if (rest.empty()) rest.assign(args, args + n);
        rest.push_back(args[n + i]);
        rest_names.push_back(name);
        continue;
      }
      has_grid |= keyword == Keyword::grid;
      has_block |= keyword == Keyword::block;
      if (!read_keyword(self, keyword, args[n + i], how)) return nullptr;
    }
    if (!has_grid || !has_block)
      return raise_type_error(title(self) + ": launch() is missing " + (has_grid ? "block=" : "grid="));
    if (rest_names.empty()) return launch(self, how, {args, static_cast<uint32_t>(n), nullptr});
    const Ref kept(PyTuple_New(static_cast<Py_ssize_t>(rest_names.size())));
    if (!kept) return nullptr;
    for (size_t i = 0; i < rest_names.size(); ++i)
      PyTuple_SetItem(kept.get(), static_cast<Py_ssize_t>(i), Ref::borrow(rest_names[i]).release());
    return launch(self, how, {rest.data(), static_cast<uint32_t>(n), kept.get()});
  });
}

// ---- what a kernel tells ----

const KernelPlan* only(PyObject* object, const char* what) {
  const KernelObject* self = kernel_of(object);
  if (self->plans->size() == 1) return self->plans->front().get();
  raise_type_error(title(self) + " has " + std::to_string(self->plans->size()) + " overloads: " + what +
                   " is that of one of k.overloads");
  return nullptr;
}

/// (file, architecture, bytes) of the device code of its library.
PyObject* read_images(PyObject* object, PyObject*) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(kernel_of(object)->library, &n);
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < n; ++i) {
    const Ref item(Py_BuildValue("ssy#", images[i].file, images[i].arch,
                                 static_cast<const char*>(images[i].data),
                                 static_cast<Py_ssize_t>(images[i].bytes)));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

/// (registers, shared, local, const, max_threads, ptx_version, binary_version).
PyObject* read_attributes(PyObject* object, PyObject* device) {
  const KernelPlan* plan = only(object, "attributes");
  const long number = PyLong_AsLong(device);
  if (!plan || PyErr_Occurred()) return nullptr;
  tarsia_kernel_attributes a{};
  a.size = sizeof a;
  if (tarsia_kernel_get_attributes(plan->kernel, static_cast<int32_t>(number), &a)) return raise_last_error();
  return Py_BuildValue("iiiiiii", a.registers, a.shared_bytes, a.local_bytes, a.constant_bytes, a.max_threads,
                       a.ptx_version, a.binary_version);
}

/// The tuple (blocks, grid, fraction) for (block, shared_bytes, device).
PyObject* read_occupancy(PyObject* object, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *block = nullptr, *shared = nullptr;
    int device = -1;
    const KernelPlan* plan = only(object, "the occupancy");
    if (!plan || !PyArg_ParseTuple(arguments, "OOi", &block, &shared, &device)) return nullptr;
    uint32_t extents[3], shared_bytes = 0;
    if (!read_extents(kernel_of(object), block, "block", extents) ||
        !read_number(kernel_of(object), shared, "the shared memory in bytes", shared_bytes))
      return nullptr;
    tarsia_occupancy o{};
    o.size = sizeof o;
    if (tarsia_kernel_occupancy(plan->kernel, device, extents[0] * extents[1] * extents[2], shared_bytes, &o))
      return raise_last_error();
    return Py_BuildValue("IId", o.blocks, o.grid, o.fraction);
  });
}

/// The number of threads for (shared_bytes, limit, device).
PyObject* read_suggestion(PyObject* object, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *shared = nullptr, *limit = nullptr;
    int device = -1;
    const KernelPlan* plan = only(object, "the suggestion");
    if (!plan || !PyArg_ParseTuple(arguments, "OOi", &shared, &limit, &device)) return nullptr;
    uint32_t shared_bytes = 0, most = 0, threads = 0;
    if (!read_number(kernel_of(object), shared, "the shared memory in bytes", shared_bytes) ||
        !read_number(kernel_of(object), limit, "the limit", most))
      return nullptr;
    if (tarsia_kernel_suggest_block(plan->kernel, device, shared_bytes, most, &threads))
      return raise_last_error();
    return PyLong_FromUnsignedLong(threads);
  });
}

PyObject* get_overloads(PyObject* object, void*) {
  const KernelObject* self = kernel_of(object);
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(self->plans->size())));
  for (size_t i = 0; tuple && i < self->plans->size(); ++i) {
    PyObject* one = make_kernel(self->library, &(*self->plans)[i]->kernel, 1);
    if (!one) return nullptr;
    if (self->recipe) kernel_of(one)->recipe = Ref::borrow(self->recipe).release();
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), one);
  }
  return tuple.release();
}

PyObject* repr(PyObject* object) {
  std::string text = "<tarsia.Kernel ";
  for (const auto& one : *kernel_of(object)->plans)
    text += (one == kernel_of(object)->plans->front() ? "" : ";\n               ") +
            std::string(one->kernel->signature);
  return string(text + ">");
}

PyObject* get_name(PyObject* object, void*) {
  const std::string_view name = first_of(object).kernel->name;
  const std::string_view plain = name.substr(0, name.find('<'));
  const size_t colons = plain.rfind("::");
  return string(std::string(colons == plain.npos ? name : name.substr(colons + 2)));
}
PyObject* get_qualified_name(PyObject* object, void*) {
  return string(first_of(object).kernel->name);
}
PyObject* get_module(PyObject* object, void*) {
  return string(tarsia_library_name(kernel_of(object)->library));
}
PyObject* get_location(PyObject* object, void*) {
  return string(first_of(object).kernel->location);
}
PyObject* get_symbol(PyObject* object, void*) {
  return string(first_of(object).kernel->symbol ? first_of(object).kernel->symbol : "");
}
PyObject* get_file(PyObject* object, void*) {
  return string(first_of(object).kernel->file ? first_of(object).kernel->file : "");
}

PyObject* get_doc(PyObject* object, void*) {
  const Ref module(PyImport_ImportModule("tarsia._comments"));
  return module
             ? PyObject_CallMethod(
                   module.get(), "doc", "Os", object,
                   "Launched by k[grid, block, shared_bytes, stream](...) or k.launch(..., grid=, block=).")
             : nullptr;
}

/// As tarsia.Function has it: a tuple of (signature and place, "file:line") for each overload.
PyObject* get_described(PyObject* object, void*) {
  const KernelObject* self = kernel_of(object);
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(self->plans->size())));
  for (size_t i = 0; tuple && i < self->plans->size(); ++i) {
    const KernelPlan& plan = *(*self->plans)[i];
    PyObject* one = Py_BuildValue("Ns", string(describe(plan.plan)), plan.kernel->location);
    if (PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), one) != 0) return nullptr;
  }
  return tuple.release();
}

PyObject* get_signatures(PyObject* object, void*) {
  const KernelObject* self = kernel_of(object);
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(self->plans->size())));
  for (size_t i = 0; tuple && i < self->plans->size(); ++i)
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), string((*self->plans)[i]->kernel->signature));
  return tuple.release();
}

/// As tarsia.Function has it: a tuple of (name, False) for the parameters of each overload.
PyObject* get_parameters(PyObject* object, void*) {
  const KernelObject* self = kernel_of(object);
  Ref overloads(PyTuple_New(static_cast<Py_ssize_t>(self->plans->size())));
  for (size_t i = 0; overloads && i < self->plans->size(); ++i) {
    const Plan& plan = (*self->plans)[i]->plan;
    PyObject* params = PyTuple_New(plan.n_params);
    for (uint32_t k = 0; params && k < plan.n_params; ++k)
      PyTuple_SetItem(params, k, Py_BuildValue("OO", plan.params[k].name, Py_False));
    if (PyTuple_SetItem(overloads.get(), static_cast<Py_ssize_t>(i), params) != 0) return nullptr;
  }
  return overloads.release();
}

/// tarsia._kernels.NAME(kernel).
PyObject* ask_package(PyObject* object, void* name) {
  const Ref module(PyImport_ImportModule("tarsia._kernels"));
  return module ? PyObject_CallMethod(module.get(), static_cast<const char*>(name), "O", object) : nullptr;
}
PyObject* get_signature(PyObject* object, void*) {
  const Ref module(PyImport_ImportModule("tarsia._signature"));
  return module ? PyObject_CallMethod(module.get(), "of", "O", object) : nullptr;
}

/// tarsia._kernels.NAME(kernel, *args, **kwargs).
PyObject* call_package(const char* name, PyObject* object, PyObject* args, PyObject* kwargs) {
  const Ref module(PyImport_ImportModule("tarsia._kernels"));
  const Ref function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  const Ref self(Py_BuildValue("(O)", object));
  const Ref all(function && self ? PySequence_Concat(self.get(), args) : nullptr);
  return all ? PyObject_Call(function.get(), all.get(), kwargs) : nullptr;
}
PyObject* occupancy(PyObject* object, PyObject* args, PyObject* kwargs) {
  return call_package("occupancy", object, args, kwargs);
}
PyObject* suggest_block(PyObject* object, PyObject* args, PyObject* kwargs) {
  return call_package("suggest_block", object, args, kwargs);
}

PyObject* get_recipe(PyObject* object, void*) {
  PyObject* recipe = kernel_of(object)->recipe;
  return Ref::borrow(recipe ? recipe : Py_None).release();
}
int set_recipe(PyObject* object, PyObject* value, void*) {
  const Ref old(kernel_of(object)->recipe);
  kernel_of(object)->recipe = Ref::borrow(value).release();
  return 0;
}

PyObject* get_release_gil(PyObject* object, void*) {
  return PyBool_FromLong(kernel_of(object)->release_gil);
}
int set_release_gil(PyObject* object, PyObject* value, void*) {
  const int truth = value ? PyObject_IsTrue(value) : -1;
  if (!value) PyErr_SetString(PyExc_AttributeError, "release_gil cannot be deleted");
  if (truth < 0) return -1;
  kernel_of(object)->release_gil = static_cast<char>(truth);
  return 0;
}

void dealloc_kernel(PyObject* object) {
  KernelObject* self = kernel_of(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  delete self->plans;
  Py_XDECREF(self->recipe);
  if (self->library) tarsia_library_release(self->library);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void dealloc_launch(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(reinterpret_cast<PyObject*>(launch_of(object)->kernel));
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* get_launched_kernel(PyObject* object, void*) {
  return Ref::borrow(reinterpret_cast<PyObject*>(launch_of(object)->kernel)).release();
}
PyObject* get_grid(PyObject* object, void*) {
  const auto& n = launch_of(object)->how.grid;
  return Py_BuildValue("III", n[0], n[1], n[2]);
}
PyObject* get_block(PyObject* object, void*) {
  const auto& n = launch_of(object)->how.block;
  return Py_BuildValue("III", n[0], n[1], n[2]);
}
PyObject* get_shared(PyObject* object, void*) {
  return PyLong_FromUnsignedLong(launch_of(object)->how.shared_bytes);
}

PyObject* repr_launch(PyObject* object) {
  const tarsia_launch& how = launch_of(object)->how;
  const auto extents = [](const uint32_t (&n)[3]) {
    return "(" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + ")";
  };
  return string(
      "<tarsia.KernelLaunch " + std::string(launch_of(object)->kernel->plans->front()->kernel->name) + "[" +
      extents(how.grid) + ", " + extents(how.block) + ", " + std::to_string(how.shared_bytes) + "]>");
}

template <class F>
PyCFunction as_method(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef g_kernel_methods[] = {
    {"launch", as_method(launch_by_name), METH_FASTCALL | METH_KEYWORDS,
     "launch($self, /, *args, grid, block, shared=0, stream=None, cluster=None, cooperative=False)\n--\n\n"
     "Launches the kernel. grid, block and cluster are ints or tuples of up to three; shared is the dynamic "
     "shared "
     "memory in bytes; the stream is by default the caller's current one. Arguments may be given by name."},
    {"occupancy", as_method(occupancy), METH_VARARGS | METH_KEYWORDS,
     "occupancy($self, /, block, shared_bytes=0, device=-1)\n--\n\n"
     "How many blocks run at once: an Occupancy with blocks (on one multiprocessor), grid (on the GPU, the "
     "largest "
     "for a cooperative launch) and fraction (of the threads a multiprocessor holds)."},
    {"suggest_block", as_method(suggest_block), METH_VARARGS | METH_KEYWORDS,
     "suggest_block($self, /, shared_bytes=0, limit=0, device=-1)\n--\n\n"
     "The number of threads of a block with which most run at once; limit is the most that it may be."},
    {"_images", read_images, METH_NOARGS, nullptr},
    {"_read_attributes", read_attributes, METH_O, nullptr},
    {"_read_occupancy", read_occupancy, METH_VARARGS, nullptr},
    {"_read_suggestion", read_suggestion, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

char g_attributes[] = "attributes", g_ptx[] = "ptx", g_sass[] = "sass";

PyGetSetDef g_kernel_properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_qualified_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"_parameters", get_parameters, nullptr, nullptr, nullptr},
    {"_recipe", get_recipe, set_recipe, nullptr, nullptr},
    {"_described", get_described, nullptr, nullptr, nullptr},
    {"_symbol", get_symbol, nullptr, nullptr, nullptr},
    {"_file", get_file, nullptr, nullptr, nullptr},
    {"signatures", get_signatures, nullptr, "The C++ signatures of its overloads.", nullptr},
    {"overloads", get_overloads, nullptr, "A Kernel for each overload.", nullptr},
    {"location", get_location, nullptr, "'file:line' of the first overload in the source.", nullptr},
    {"attributes", ask_package, nullptr,
     "What it needs: KernelAttributes with registers, shared, local, const, max_threads, ptx_version and "
     "binary_version; by the driver where there is a GPU, else from its machine code.",
     g_attributes},
    {"ptx", ask_package, nullptr,
     "The PTX of its source file. Compiled when it is asked for, unless the library was made with ptx=True.",
     g_ptx},
    {"sass", ask_package, nullptr, "Its machine code for the newest architecture, as nvdisasm shows it.",
     g_sass},
    {"release_gil", get_release_gil, set_release_gil,
     "Whether other threads of Python may run during a launch (True).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef g_kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_kernel_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc_kernel)},
                                {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
                                {Py_tp_methods, g_kernel_methods},
                                {Py_tp_getset, g_kernel_properties},
                                {Py_tp_members, g_kernel_members},
                                {0, nullptr}};

PyType_Spec g_kernel_spec = {
    "tarsia.Kernel", sizeof(KernelObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL, g_kernel_slots};

PyGetSetDef g_launch_properties[] = {
    {"kernel", get_launched_kernel, nullptr, "The Kernel.", nullptr},
    {"grid", get_grid, nullptr, "Blocks along x, y and z.", nullptr},
    {"block", get_block, nullptr, "Threads of a block along x, y and z.", nullptr},
    {"shared_bytes", get_shared, nullptr, "Dynamic shared memory.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef g_launch_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LaunchObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

char g_launch_doc[] =
    "A kernel with a grid and a block: call it with the kernel's arguments, as often as you like.";

PyType_Slot g_launch_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc_launch)},
                                {Py_tp_repr, reinterpret_cast<void*>(repr_launch)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_getset, g_launch_properties},
                                {Py_tp_members, g_launch_members},
                                {Py_tp_doc, g_launch_doc},
                                {0, nullptr}};

PyType_Spec g_launch_spec = {
    "tarsia.KernelLaunch", sizeof(LaunchObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL, g_launch_slots};

bool add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject*& type) {
  const Ref made(PyType_FromSpec(&spec));
  if (!made || PyObject_SetAttrString(module, name, made.get()) != 0) return false;
  type = reinterpret_cast<PyTypeObject*>(Ref::borrow(made.get()).release());
  return true;
}

}  // namespace

bool add_kernel_types(PyObject* module) {
  return add_type(module, g_kernel_spec, "Kernel", g_kernel_type) &&
         add_type(module, g_launch_spec, "KernelLaunch", g_launch_type);
}

PyObject* make_kernel(tarsia_library* library, const tarsia_kernel* const* overloads, size_t n) {
  PyObject* object = PyType_GenericAlloc(g_kernel_type, 0);
  if (!object) return nullptr;
  KernelObject* self = kernel_of(object);
  tarsia_library_retain(library);
  self->library = library;
  self->vectorcall = call_kernel;
  self->release_gil = 1;
  self->plans = new Plans;
  for (size_t i = 0; i < n; ++i)
    self->plans->push_back(std::make_unique<KernelPlan>(overloads[i], tarsia_library_name(library)));
  return object;
}

}  // namespace tarsia::python

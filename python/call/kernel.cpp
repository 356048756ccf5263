// The types of kernels and of their launches. A launch with plain tensors, ints and floats makes no Python
// object, takes no lock and allocates nothing.
#include "python/call/kernel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "python/call/launch_arguments.h"
#include "python/call/overloaded.h"
#include "python/core/errors.h"
#include "python/core/pickling.h"
#include "python/tensor/stream.h"
#include "python/tensor/writes.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_kernel_type = nullptr;
PyTypeObject* g_launch_type = nullptr;

struct LaunchObject {
  PyObject head;
  vectorcallfunc vectorcall;
  Overloaded* kernel;  ///< owned
  tarsia_launch how;
};

LaunchObject* launch_of(PyObject* object) {
  return reinterpret_cast<LaunchObject*>(object);
}

PyObject* raise_type_error(const std::string& text) {
  return raise_argument_error(false, text);
}

// ---- equality: of what was pickled, too, where the library is the same ----

bool is_same(const Overloaded* a, const Overloaded* b) {
  return std::ranges::equal(a->overloads(), b->overloads(), {}, &Plan::kernel, &Plan::kernel);
}

Py_hash_t hash_of(const Overloaded* kernel) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(kernel->plans[0]->kernel) >> 4);
}

bool is_same(const tarsia_launch& a, const tarsia_launch& b) {
  return std::ranges::equal(a.grid, b.grid) && std::ranges::equal(a.block, b.block) &&
         std::ranges::equal(a.cluster, b.cluster) && a.shared_bytes == b.shared_bytes &&
         a.device == b.device && a.has_stream == b.has_stream && a.stream == b.stream &&
         a.cooperative == b.cooperative;
}

PyObject* compare_kernels(PyObject* object, PyObject* other, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(other) != g_kernel_type) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong(is_same(overloaded(object), overloaded(other)) == (how == Py_EQ));
}

Py_hash_t hash_kernel(PyObject* object) {
  return hash_of(overloaded(object));
}

PyObject* compare_launches(PyObject* object, PyObject* other, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(other) != g_launch_type) Py_RETURN_NOTIMPLEMENTED;
  const LaunchObject *a = launch_of(object), *b = launch_of(other);
  return PyBool_FromLong((is_same(a->kernel, b->kernel) && is_same(a->how, b->how)) == (how == Py_EQ));
}

Py_hash_t hash_launch(PyObject* object) {
  return hash_of(launch_of(object)->kernel);
}

// ---- launching ----

PyObject* run(const Overloaded* self, const Plan& plan, Frame& frame, tarsia_launch how,
              const tarsia_value* values) {
  frame.callee = plan.function->name;
  if (!tell_writes(frame)) [[unlikely]]
    return nullptr;
  if (frame.gpu >= 0) how.device = frame.gpu;
  if (!how.has_stream) {
    how.stream = stream_of_call(frame);
    how.has_stream = how.stream || frame.gpu >= 0;
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

PyObject* launch_with(const Overloaded* self, const tarsia_launch& how, const Arguments& arguments) {
  Frame frame;
  frame.has_stream = how.has_stream;
  frame.stream = how.stream;
  if (self->is_plain && !arguments.names) [[likely]] {
    const Plan& plan = *self->plans[0];
    const uint32_t n = plan.n_params;
    if (arguments.n_positional == n) [[likely]] {
      frame.given = arguments.items;
      frame.n_given = n;
      auto* values = frame.room_for<tarsia_value>(n);
      for (uint32_t i = 0; i < n; ++i) {
        const Why why = convert(frame, plan.params[i], Fit::any, arguments.items[i], values[i]);
        if (why == Why::fits) [[likely]]
          continue;
        if (why == Why::failed) return nullptr;
        if (why == Why::unreadable) PyErr_Clear();
        return raise_mismatch(self, arguments);
      }
      return run(self, plan, frame, how, values);
    }
  }
  tarsia_value* values = nullptr;
  uint32_t n_values = 0;
  if (const Plan* plan = choose(self, frame, arguments, values, n_values))
    return run(self, *plan, frame, how, values);
  return PyErr_Occurred() ? nullptr : raise_mismatch(self, arguments);
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
    return launch_with(self->kernel, self->how, {args, static_cast<uint32_t>(PyVectorcall_NARGS(n)), names});
  });
}

PyObject* call_kernel(PyObject* object, PyObject* const*, size_t, PyObject*) {
  const Overloaded* self = overloaded(object);
  return raise_type_error(title(self) +
                          " is called with a grid and a block: k[grid, block](...), or "
                          "k.launch(..., grid=, block=)");
}

/// kernel[grid, block], [grid, block, shared_bytes], [grid, block, shared_bytes, stream].
PyObject* subscript(PyObject* object, PyObject* key) {
  return guarded([&]() -> PyObject* {
    Overloaded* self = overloaded(object);
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

/// kernel.launch(*args, grid=, block=, shared=0, stream=None, cluster=None, cooperative=False).
PyObject* launch_by_name(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    Overloaded* self = overloaded(object);
    tarsia_launch how = nowhere();
    const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    // Keywords for the kernel's own arguments are rare.
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
    if (rest_names.empty()) return launch_with(self, how, {args, static_cast<uint32_t>(n), nullptr});
    const Ref kept(PyTuple_New(static_cast<Py_ssize_t>(rest_names.size())));
    if (!kept) return nullptr;
    for (size_t i = 0; i < rest_names.size(); ++i)
      PyTuple_SetItem(kept.get(), static_cast<Py_ssize_t>(i), Ref::borrow(rest_names[i]).release());
    return launch_with(self, how, {rest.data(), static_cast<uint32_t>(n), kept.get()});
  });
}

// ---- what a kernel tells ----

/// The kernel if it has no overloads. Otherwise raises an error that names the question.
const tarsia_kernel* only(PyObject* object, const char* what) {
  const Overloaded* self = overloaded(object);
  if (self->n_plans == 1) return self->plans[0]->kernel;
  raise_type_error(title(self) + " has " + std::to_string(self->n_plans) + " overloads: " + what +
                   " is that of one of k.overloads");
  return nullptr;
}

/// (file, architecture, bytes) of the device code of its library.
PyObject* read_images(PyObject* object, PyObject*) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(overloaded(object)->library, &n);
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
  const tarsia_kernel* kernel = only(object, "attributes");
  const long number = run_python<PyLong_AsLong>(device);
  if (!kernel || PyErr_Occurred()) return nullptr;
  tarsia_kernel_attributes a{};
  a.size = sizeof a;
  if (tarsia_kernel_get_attributes(kernel, static_cast<int32_t>(number), &a)) return raise_last_error();
  return Py_BuildValue("iiiiiii", a.registers, a.shared_bytes, a.local_bytes, a.constant_bytes, a.max_threads,
                       a.ptx_version, a.binary_version);
}

/// The tuple (blocks, grid, fraction) for (block, shared_bytes, device).
PyObject* read_occupancy(PyObject* object, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *block = nullptr, *shared = nullptr;
    int device = -1;
    const tarsia_kernel* kernel = only(object, "the occupancy");
    if (!kernel || !PyArg_ParseTuple(arguments, "OOi", &block, &shared, &device)) return nullptr;
    uint32_t extents[3], shared_bytes = 0;
    if (!read_extents(overloaded(object), block, "block", extents) ||
        !read_number(overloaded(object), shared, "the shared memory in bytes", shared_bytes))
      return nullptr;
    tarsia_occupancy o{};
    o.size = sizeof o;
    if (tarsia_kernel_occupancy(kernel, device, extents[0] * extents[1] * extents[2], shared_bytes, &o))
      return raise_last_error();
    return Py_BuildValue("IId", o.blocks, o.grid, o.fraction);
  });
}

/// The number of threads for (shared_bytes, limit, device).
PyObject* read_suggestion(PyObject* object, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *shared = nullptr, *limit = nullptr;
    int device = -1;
    const tarsia_kernel* kernel = only(object, "the suggestion");
    if (!kernel || !PyArg_ParseTuple(arguments, "OOi", &shared, &limit, &device)) return nullptr;
    uint32_t shared_bytes = 0, most = 0, threads = 0;
    if (!read_number(overloaded(object), shared, "the shared memory in bytes", shared_bytes) ||
        !read_number(overloaded(object), limit, "the limit", most))
      return nullptr;
    if (tarsia_kernel_suggest_block(kernel, device, shared_bytes, most, &threads)) return raise_last_error();
    return PyLong_FromUnsignedLong(threads);
  });
}

PyObject* get_overloads(PyObject* object, void*) {
  const Overloaded* self = overloaded(object);
  return tuple_of(self->n_plans, [&](uint64_t i) {
    PyObject* one = make_kernel(self->library, &self->plans[i]->kernel, 1);
    if (one && self->recipe) overloaded(one)->recipe = Ref::borrow(self->recipe).release();
    return one;
  });
}

PyObject* get_symbol(PyObject* object, void*) {
  const char* symbol = overloaded(object)->plans[0]->kernel->symbol;
  return string(symbol ? symbol : "");
}
PyObject* get_file(PyObject* object, void*) {
  const char* file = overloaded(object)->plans[0]->kernel->file;
  return string(file ? file : "");
}

/// tarsia._kernels.NAME(kernel).
PyObject* ask_package(PyObject* object, void* name) {
  const Ref module(import_module("tarsia._kernels"));
  return module ? call_method(module.get(), static_cast<const char*>(name), "O", object) : nullptr;
}

/// tarsia._kernels.NAME(kernel, *args, **kwargs).
PyObject* call_package(const char* name, PyObject* object, PyObject* args, PyObject* kwargs) {
  const Ref module(import_module("tarsia._kernels"));
  const Ref function(module ? run_python<PyObject_GetAttrString>(module.get(), name) : nullptr);
  const Ref self(Py_BuildValue("(O)", object));
  const Ref all(function && self ? run_python<PySequence_Concat>(self.get(), args) : nullptr);
  return all ? call_object(function.get(), all.get(), kwargs) : nullptr;
}
PyObject* occupancy(PyObject* object, PyObject* args, PyObject* kwargs) {
  return call_package("occupancy", object, args, kwargs);
}
PyObject* suggest_block(PyObject* object, PyObject* args, PyObject* kwargs) {
  return call_package("suggest_block", object, args, kwargs);
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
PyObject* get_has_stream(PyObject* object, void*) {
  return PyBool_FromLong(launch_of(object)->how.has_stream != 0);
}

PyObject* repr_launch(PyObject* object) {
  const tarsia_launch& how = launch_of(object)->how;
  const auto extents = [](const uint32_t (&n)[3]) {
    return "(" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + ")";
  };
  return string("<tarsia.KernelLaunch " + std::string(launch_of(object)->kernel->plans[0]->kernel->name) +
                "[" + extents(how.grid) + ", " + extents(how.block) + ", " +
                std::to_string(how.shared_bytes) + "]>");
}

PyMethodDef g_kernel_methods[] = {
    TARSIA_PICKLING_METHODS,
    {"launch", as_method(launch_by_name), METH_FASTCALL | METH_KEYWORDS,
     "launch($self, /, *args, grid, block, shared=0, stream=None, cluster=None, cooperative=False, "
     "**named)\n--\n\n"
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
char g_epilogue[] = "Launched by k[grid, block, shared_bytes, stream](...) or k.launch(..., grid=, block=).";

PyGetSetDef g_kernel_properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_qualified_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, g_epilogue},
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
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overloaded, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Overloaded, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_kernel_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_overloaded)},
    {Py_tp_new, reinterpret_cast<void*>(refuse_new<"a __global__ function of a library, lib.NAME, is one">)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_overloaded)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_kernels)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_kernel)},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_tp_methods, g_kernel_methods},
    {Py_tp_getset, g_kernel_properties},
    {Py_tp_members, g_kernel_members},
    {0, nullptr}};

PyType_Spec g_kernel_spec = {"tarsia.Kernel", sizeof(Overloaded), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, g_kernel_slots};

PyGetSetDef g_launch_properties[] = {
    {"kernel", get_launched_kernel, nullptr, "The Kernel.", nullptr},
    {"grid", get_grid, nullptr, "Blocks along x, y and z.", nullptr},
    {"block", get_block, nullptr, "Threads of a block along x, y and z.", nullptr},
    {"shared_bytes", get_shared, nullptr, "Dynamic shared memory.", nullptr},
    {"_has_stream", get_has_stream, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef g_launch_methods[] = {TARSIA_PICKLING_METHODS, {nullptr, nullptr, 0, nullptr}};

PyMemberDef g_launch_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LaunchObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

char g_launch_doc[] =
    "A kernel with a grid and a block: call it with the kernel's arguments, as often as you like.";

PyType_Slot g_launch_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_launch)},
    {Py_tp_new, reinterpret_cast<void*>(refuse_new<"kernel[grid, block] is one">)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_launch)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_launches)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_launch)},
    {Py_tp_methods, g_launch_methods},
    {Py_tp_getset, g_launch_properties},
    {Py_tp_members, g_launch_members},
    {Py_tp_doc, g_launch_doc},
    {0, nullptr}};

PyType_Spec g_launch_spec = {"tarsia.KernelLaunch", sizeof(LaunchObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, g_launch_slots};

}  // namespace

bool add_kernel_types(PyObject* module) {
  return add_type(module, g_kernel_spec, "Kernel", g_kernel_type) &&
         add_type(module, g_launch_spec, "KernelLaunch", g_launch_type);
}

PyObject* make_kernel(tarsia_library* library, const tarsia_kernel* const* overloads, size_t n) {
  PyObject* object = make_overloaded(g_kernel_type, call_kernel, library, overloads, n);
  if (object) overloaded(object)->is_plain = n == 1;
  return object;
}

}  // namespace tarsia::python

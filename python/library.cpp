// Loads and compiles libraries, and describes them.
#include "python/library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tarsia/c_api.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/call/function.h"
#include "python/call/kernel.h"
#include "python/checked.h"
#include "python/compile_options.h"
#include "python/core/errors.h"
#include "python/core/owned.h"
#include "python/core/waiting.h"
#include "python/tensor/tensor.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

using Handle = LibraryRef;

nb::object text(const char* utf8) {
  return nb::steal(PyUnicode_DecodeUTF8(utf8 ? utf8 : "", utf8 ? std::strlen(utf8) : 0, "replace"));
}

/// The functions' qualified names, each once, in the source's order.
nb::list function_names(const Handle& self) {
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(self.get(), &n);
  nb::dict seen;
  for (uint64_t i = 0; i < n; ++i) seen[text(functions[i]->name)] = nb::none();
  return seen.keys();
}

/// All overloads of a qualified name as one callable; None if there is none.
nb::object function_named(const Handle& self, const std::string& name) {
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(self.get(), &n);
  std::vector<const tarsia_function*> overloads;
  for (uint64_t i = 0; i < n; ++i)
    if (name == functions[i]->name) overloads.push_back(functions[i]);
  if (overloads.empty()) return nb::none();
  PyObject* function = make_function(self.get(), overloads.data(), overloads.size());
  if (!function) throw nb::python_error();
  return nb::steal(function);
}

nb::list kernels(const Handle& self) {
  uint64_t n = 0;
  const tarsia_kernel* const* kernels = tarsia_library_kernels(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(
        nb::make_tuple(text(kernels[i]->name), text(kernels[i]->signature), text(kernels[i]->location)));
  return list;
}

/// All overloads of a kernel's qualified name; None if there is none.
nb::object kernel_named(const Handle& self, const std::string& name) {
  uint64_t n = 0;
  const tarsia_kernel* const* kernels = tarsia_library_kernels(self.get(), &n);
  std::vector<const tarsia_kernel*> overloads;
  for (uint64_t i = 0; i < n; ++i)
    if (name == kernels[i]->name) overloads.push_back(kernels[i]);
  if (overloads.empty()) return nb::none();
  PyObject* kernel = make_kernel(self.get(), overloads.data(), overloads.size());
  if (!kernel) throw nb::python_error();
  return nb::steal(kernel);
}

/// (name, signature, location, file, [(name, kind, has default, default)], [(name, deduces, is pointer)]) of
/// the kernel templates.
nb::list templates(const Handle& self) {
  uint64_t n = 0;
  const tarsia_kernel_template* const* templates = tarsia_library_templates(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i) {
    const tarsia_kernel_template& t = *templates[i];
    nb::list params, function_params;
    for (uint32_t k = 0; k < t.n_template_params; ++k)
      params.append(nb::make_tuple(text(t.template_params[k].name), t.template_params[k].kind,
                                   t.template_params[k].has_default != 0,
                                   text(t.template_params[k].default_text)));
    for (uint32_t k = 0; k < t.n_params; ++k)
      function_params.append(
          nb::make_tuple(text(t.params[k].name), t.params[k].deduces, t.params[k].is_pointer != 0));
    list.append(nb::make_tuple(text(t.name), text(t.signature), text(t.location), text(t.file), params,
                               function_params));
  }
  return list;
}

/// (name, type, location) of the device variables.
nb::list globals(const Handle& self) {
  uint64_t n = 0;
  const tarsia_global* const* globals = tarsia_library_globals(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(nb::make_tuple(text(globals[i]->name), text(globals[i]->type), text(globals[i]->location)));
  return list;
}

/// A tarsia.Tensor over the i-th device variable.
nb::object global_tensor(const Handle& self, uint64_t i, int32_t device) {
  uint64_t n = 0;
  const tarsia_global* const* globals = tarsia_library_globals(self.get(), &n);
  tarsia_storage* storage = nullptr;
  check(tarsia_library_global(self.get(), globals[i], device, &storage));
  PyObject* tensor = wrap_storage(storage, nullptr);
  if (!tensor) throw nb::python_error();
  return nb::steal(tensor);
}

nb::list ops(const Handle& self) {
  uint64_t n = 0;
  const char* const* names = tarsia_library_ops(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i) list.append(text(names[i]));
  return list;
}

/// Name to address.
nb::dict symbols(const Handle& self) {
  uint64_t n = 0;
  const char* const* names = tarsia_library_symbols(self.get(), &n);
  nb::dict all;
  for (uint64_t i = 0; i < n; ++i)
    all[text(names[i])] = reinterpret_cast<uintptr_t>(tarsia_library_symbol(self.get(), names[i]));
  return all;
}

nb::list images(const Handle& self) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(nb::make_tuple(text(images[i].file), text(images[i].arch),
                               nb::bytes(images[i].data, images[i].bytes)));
  return list;
}

/// File to the compiler of its device code.
nb::dict device_compilers(const Handle& self) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(self.get(), &n);
  nb::dict all;
  for (uint64_t i = 0; i < n; ++i) all[text(images[i].file)] = text(images[i].compiler);
  return all;
}

nb::dict skipped(const Handle& self) {
  uint64_t n = 0;
  const tarsia_skipped* skipped = tarsia_library_skipped(self.get(), &n);
  nb::dict dict;
  for (uint64_t i = 0; i < n; ++i) dict[text(skipped[i].name)] = text(skipped[i].reason);
  return dict;
}

nb::list warnings(const Handle& self) {
  uint64_t n = 0;
  const tarsia_diagnostic* warnings = tarsia_library_warnings(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(nb::make_tuple(text(warnings[i].file), warnings[i].line, warnings[i].column,
                               text(warnings[i].severity), text(warnings[i].message)));
  return list;
}

void export_to(const Handle& self, const std::string& path) {
  int32_t code;
  {
    const Unlocked unlocked;
    code = tarsia_library_export(self.get(), path.c_str());
  }
  check(code);
}

/// The bytes of a source so far, with a text of this size added. Raises InvalidSource if there are too
/// many; the text itself is not needed for it.
uint64_t count_source(const std::optional<std::string>& name, uint64_t bytes, uint64_t before) {
  const uint64_t total = before + std::min(bytes, TARSIA_MAX_SOURCE_BYTES + 1);
  if (total <= TARSIA_MAX_SOURCE_BYTES) return total;
  // libtarsia gives the reason, as to every other caller.
  const tarsia_file file{name ? name->c_str() : nullptr, nullptr, total};
  tarsia_library* none = nullptr;
  check(tarsia_load_inline(&file, 1, nullptr, &none));
  return total;
}

std::vector<tarsia_file> files_of(const Texts& texts) {
  std::vector<tarsia_file> files;
  for (const auto& [name, text] : texts)
    files.push_back({name ? name->c_str() : nullptr, static_cast<const char*>(text.data()), text.size()});
  return files;
}

std::vector<const char*> pointers_of(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

/// A source and its options in the C interface's form.
class Request {
 public:
  /// `caller_file` and `caller_line` are where the call stands, if it matters. They must outlive the request.
  Request(const Texts& source, const CompileOptions& options, const char* caller_file = nullptr,
          uint32_t caller_line = 0)
      : m_request(options.options, files_of(source), files_of(options.headers)),
        m_kernels(pointers_of(options.kernels)) {
    tarsia_options& more = *m_request.options();
    more.interrupted = Wait::interrupted;
    more.cached_only = options.cached_only;
    more.kernels = m_kernels.data(), more.n_kernels = m_kernels.size();
    more.kernels_file = options.kernels_file.c_str();
    more.kernels_to_read = options.kernels_to_read;
    more.caller_file = caller_file, more.caller_line = caller_line;
  }

  Handle load() {
    tarsia_library* library = nullptr;
    try {
      wait_for([&] {
        return tarsia_load_inline(m_request.files(), m_request.n_files(), m_request.options(), &library);
      });
    } catch (...) {
      if (library) tarsia_library_release(library);  // the result existed when a signal's handler raised
      throw;
    }
    return Handle(library);
  }

  void compile(const std::string& output) {
    wait_for([&] {
      return tarsia_compile(m_request.files(), m_request.n_files(), m_request.options(), output.c_str());
    });
  }

 private:
  /// Makes the call without the GIL, and throws its error.
  template <class F>
  void wait_for(F&& call) {
    tarsia_options& options = *m_request.options();
    const char* file = m_request.n_files() ? m_request.files()[0].name : nullptr;
    int32_t code;
    {
      Wait wait(options.name ? options.name : file ? file : "the source");
      options.interrupt_context = &wait;
      const Unlocked unlocked;
      code = call();
    }
    if (raise_interruption()) throw nb::python_error();
    check(code);
    tarsia_report_double_interrupts();  // Python's handler is there by now
  }

  tarsia::detail::CompileRequest m_request;
  std::vector<const char*> m_kernels;
};

Handle load(const std::string& path) {
  tarsia_library* library = nullptr;
  int32_t code;
  {
    const Unlocked unlocked;
    code = tarsia_load(path.c_str(), &library);
  }
  check(code);
  tarsia_report_double_interrupts();
  return Handle(library);
}

}  // namespace

void add_library(nb::module_& module) {
  nb::class_<Handle>(module, "LibraryHandle")
      .def_prop_ro("name", [](const Handle& self) { return text(tarsia_library_name(self.get())); })
      .def_prop_ro("origin", [](const Handle& self) { return text(tarsia_library_origin(self.get())); })
      .def("function_names", function_names)
      .def("function", function_named)
      .def("kernels", kernels)
      .def("kernel", kernel_named)
      .def("globals", globals)
      .def("templates", templates)
      .def("global_tensor", global_tensor)
      .def("ops", ops)
      .def("symbols", symbols)
      .def("path", [](const Handle& self) { return text(tarsia_library_path(self.get())); })
      .def("images", images)
      .def("device_compilers", device_compilers)
      .def("skipped", skipped)
      .def("warnings", warnings)
      .def("export", export_to)
      .def("unload", [](const Handle& self) { check(tarsia_library_unload(self.get())); });
  nb::class_<Stop>(module, "Stop")
      .def(nb::init<>())
      .def("set", &Stop::set)
      .def("call", [](const Stop& self, const nb::callable& function) {
        const StopScope scope(self);
        return nb::object(function());
      });
  module.def("count_source", count_source);
  module.def("load", load);
  module.def("load_inline", [](const Texts& source, const CompileOptions& options) {
    return Request(source, options).load();
  });
  module.def("load_inline", [](const Texts& source, const CompileOptions& options,
                               const nb::bytes& caller_file, uint32_t caller_line) {
    return Request(source, options, caller_file.c_str(), caller_line).load();
  });
  module.def("compile", [](const Texts& source, const CompileOptions& options, const std::string& output) {
    Request(source, options).compile(output);
  });
}

}  // namespace tarsia::python

// Loading and compiling, and what a library tells about itself.
#include "python/library.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tarsia/c_api.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/call/function.h"
#include "python/call/kernel.h"
#include "python/core/errors.h"
#include "python/core/owned.h"
#include "python/core/waiting.h"
#include "python/tensor/tensor.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

[[noreturn]] void throw_last() {
  raise_last_error();
  throw nb::python_error();
}

void check(int32_t code) {
  if (code) throw_last();
}

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

nb::list images(const Handle& self) {
  uint64_t n = 0;
  const tarsia_image* images = tarsia_library_images(self.get(), &n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i)
    list.append(nb::make_tuple(text(images[i].file), text(images[i].arch),
                               nb::bytes(images[i].data, images[i].bytes)));
  return list;
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
    const nb::gil_scoped_release unlocked;
    code = tarsia_library_export(self.get(), path.c_str());
  }
  check(code);
}

using Strings = std::vector<std::string>;
using Texts = std::vector<std::pair<std::optional<std::string>, nb::bytes>>;
using Defines = std::vector<std::pair<std::string, std::optional<std::string>>>;

std::vector<tarsia_file> files_of(const Texts& texts) {
  std::vector<tarsia_file> files;
  for (const auto& [name, text] : texts)
    files.push_back({name ? name->c_str() : nullptr, static_cast<const char*>(text.data()), text.size()});
  return files;
}

std::vector<const char*> pointers_of(const Strings& strings) {
  std::vector<const char*> pointers;
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

/// The options of a compile, as the package normalises them: one positional argument each.
struct Options {
  std::optional<std::string> name;
  std::optional<Strings> functions;
  Texts headers;
  Strings include_dirs;
  Defines defines;
  Strings libraries, library_dirs;
  std::string std;
  int opt;
  Strings archs;
  bool ptx, fast_math, debug, lineinfo, system_headers;
  uint32_t timeout_ms;
  bool cached_only;
  Strings kernels;
  std::string kernels_file;
  bool kernels_to_read;
};

/// A source and its options in the C interface's form.
class Request {
 public:
  Request(const Texts& source, const Options& options)
      : m_files(files_of(source)),
        m_headers(files_of(options.headers)),
        m_include_dirs(pointers_of(options.include_dirs)),
        m_libraries(pointers_of(options.libraries)),
        m_library_dirs(pointers_of(options.library_dirs)),
        m_archs(pointers_of(options.archs)),
        m_kernels(pointers_of(options.kernels)) {
    if (options.functions) m_functions = pointers_of(*options.functions);
    for (const auto& [name, value] : options.defines)
      m_defines.push_back({name.c_str(), value ? value->c_str() : nullptr});
    tarsia_options& c = m_options;
    tarsia_options_init(&c);
    c.name = options.name ? options.name->c_str() : nullptr;
    c.functions = m_functions.data(), c.n_functions = m_functions.size();
    c.restrict_functions = options.functions.has_value();
    c.host_headers = options.system_headers;
    c.headers = m_headers.data(), c.n_headers = m_headers.size();
    c.include_dirs = m_include_dirs.data(), c.n_include_dirs = m_include_dirs.size();
    c.defines = m_defines.data(), c.n_defines = m_defines.size();
    c.libraries = m_libraries.data(), c.n_libraries = m_libraries.size();
    c.library_dirs = m_library_dirs.data(), c.n_library_dirs = m_library_dirs.size();
    c.std = options.std.c_str();
    c.opt = options.opt;
    c.ptx = options.ptx;
    c.archs = m_archs.data(), c.n_archs = m_archs.size();
    c.fast_math = options.fast_math;
    c.debug = options.debug;
    c.lineinfo = options.lineinfo;
    c.timeout_ms = options.timeout_ms;
    c.interrupted = Wait::interrupted;
    c.cached_only = options.cached_only;
    c.kernels = m_kernels.data(), c.n_kernels = m_kernels.size();
    c.kernels_file = options.kernels_file.c_str();
    c.kernels_to_read = options.kernels_to_read;
  }

  Handle load() {
    tarsia_library* library = nullptr;
    try {
      wait_for([&] { return tarsia_load_inline(m_files.data(), m_files.size(), &m_options, &library); });
    } catch (...) {
      if (library) tarsia_library_release(library);  // it was there when a signal's handler raised
      throw;
    }
    return Handle(library);
  }

  void compile(const std::string& output) {
    wait_for([&] { return tarsia_compile(m_files.data(), m_files.size(), &m_options, output.c_str()); });
  }

 private:
  /// Calls without the GIL; throws what went wrong.
  template <class F>
  void wait_for(F&& call) {
    const char* file = m_files.empty() ? nullptr : m_files.front().name;
    int32_t code;
    {
      Wait wait(m_options.name ? m_options.name : file ? file : "the source");
      m_options.interrupt_context = &wait;
      const nb::gil_scoped_release unlocked;
      code = call();
    }
    if (raise_interruption()) throw nb::python_error();
    check(code);
  }

  std::vector<tarsia_file> m_files, m_headers;
  std::vector<const char*> m_functions, m_include_dirs, m_libraries, m_library_dirs, m_archs, m_kernels;
  std::vector<tarsia_define> m_defines;
  tarsia_options m_options;
};

Handle load(const std::string& path) {
  tarsia_library* library = nullptr;
  int32_t code;
  {
    const nb::gil_scoped_release unlocked;
    code = tarsia_load(path.c_str(), &library);
  }
  check(code);
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
      .def("images", images)
      .def("skipped", skipped)
      .def("warnings", warnings)
      .def("export", export_to)
      .def("unload", [](const Handle& self) { check(tarsia_library_unload(self.get())); });
  nb::class_<Options>(module, "Options")
      .def(nb::init<std::optional<std::string>, std::optional<Strings>, Texts, Strings, Defines, Strings,
                    Strings, std::string, int, Strings, bool, bool, bool, bool, bool, uint32_t, bool, Strings,
                    std::string, bool>(),
           nb::arg("name").none(), nb::arg("functions").none(), nb::arg("headers"), nb::arg("include_dirs"),
           nb::arg("defines"), nb::arg("libraries"), nb::arg("library_dirs"), nb::arg("std"), nb::arg("opt"),
           nb::arg("archs"), nb::arg("ptx"), nb::arg("fast_math"), nb::arg("debug"), nb::arg("lineinfo"),
           nb::arg("system_headers"), nb::arg("timeout_ms"), nb::arg("cached_only"),
           nb::arg("kernels") = Strings(), nb::arg("kernels_file") = std::string(),
           nb::arg("kernels_to_read") = false);
  nb::class_<Stop>(module, "Stop")
      .def(nb::init<>())
      .def("set", &Stop::set)
      .def("call", [](const Stop& self, const nb::callable& function) {
        const StopScope scope(self);
        return nb::object(function());
      });
  module.def("load", load);
  module.def("load_inline",
             [](const Texts& source, const Options& options) { return Request(source, options).load(); });
  module.def("compile", [](const Texts& source, const Options& options, const std::string& output) {
    Request(source, options).compile(output);
  });
}

}  // namespace tarsia::python

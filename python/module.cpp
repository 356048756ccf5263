// The extension tarsia._tarsia.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tarsia/c_api.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "python/call/explain.h"
#include "python/call/function.h"
#include "python/call/kernel.h"
#include "python/checked.h"
#include "python/compile_options.h"
#include "python/core/errors.h"
#include "python/core/main_thread.h"
#include "python/expression/expression.h"
#include "python/graph.h"
#include "python/jax/jax.h"
#include "python/library.h"
#include "python/op/op.h"
#include "python/op/op_check.h"
#include "python/op/python_op.h"
#include "python/session.h"
#include "python/standard_input.h"
#include "python/tensor/tensor.h"
#include "python/tensor/view.h"

namespace nb = nanobind;
namespace py = tarsia::python;

namespace {

nb::list op_names() {
  char** names = nullptr;
  uint64_t n = 0;
  py::check(tarsia_op_names(&names, &n));
  nb::list list;
  for (uint64_t i = 0; i < n; ++i) list.append(nb::str(names[i]));
  tarsia_free(names);
  return list;
}

/// Takes anything, so that what is wrong is an error of Tarsia's.
nb::object op(nb::args all, nb::kwargs named) {
  const nb::object given = all.size() == 1 && named.size() == 0 ? nb::object(all[0]) : nb::object();
  if (!given.is_valid() || !PyUnicode_Check(given.ptr())) {
    const std::string what = given.is_valid() ? py::describe_argument(given.ptr())
                                              : std::to_string(all.size() + named.size()) + " arguments";
    py::raise_argument_error(false, "op() takes the name of a registered op, a str, not " + what);
    throw nb::python_error();
  }
  const std::string name = nb::cast<std::string>(given);
  PyObject* found = py::find_op(name.c_str());
  if (!found) throw nb::python_error();
  return nb::steal(found);
}

void seed(nb::object given) {
  static constexpr const char* k_range = "an int from 0 to 2**64 - 1";
  const nb::object number = nb::steal(py::run_python<PyNumber_Index>(given.ptr()));
  PyErr_Clear();
  const uint64_t value = number.is_valid() ? py::run_python<PyLong_AsUnsignedLongLong>(number.ptr()) : 0;
  const bool fits = !PyErr_Occurred();
  PyErr_Clear();
  if (!number.is_valid() || !fits) {
    py::raise_argument_error(number.is_valid(), std::string("seed() takes ") + k_range + ", not " +
                                                    py::describe_argument(given.ptr()));
    throw nb::python_error();
  }
  tarsia_seed(value);
}

std::string doctor() {
  char* json = nullptr;
  int32_t code;
  {
    const py::Unlocked unlocked;
    code = tarsia_doctor(&json);
  }
  return py::taken(code, json);
}

uint64_t record_begin(const std::string& path) {
  uint64_t recording = 0;
  py::check(tarsia_record_begin(path.c_str(), &recording));
  return recording;
}

std::string record_end(uint64_t recording) {
  char* json = nullptr;
  int32_t code;
  {
    const py::Unlocked unlocked;
    code = tarsia_record_end(recording, &json);
  }
  return py::taken(code, json);
}

void record_add_archs(uint64_t recording, const std::vector<std::string>& archs) {
  std::vector<const char*> names;
  for (const std::string& arch : archs) names.push_back(arch.c_str());
  int32_t code;
  {
    const py::Unlocked unlocked;
    code = tarsia_record_add_archs(recording, names.data(), names.size());
  }
  py::check(code);
}

/// devices: None: all GPUs.
std::string replay(const std::string& path, const std::optional<std::vector<int32_t>>& devices) {
  char* json = nullptr;
  int32_t code;
  {
    const py::Unlocked unlocked;
    static constexpr int32_t k_none = 0;  // an empty list, and not all
    code = tarsia_replay(path.c_str(),
                         !devices           ? nullptr
                         : devices->empty() ? &k_none
                                            : devices->data(),
                         devices ? devices->size() : 0, &json);
  }
  return py::taken(code, json);
}

std::string environment_for(const py::CompileOptions& given) {
  const tarsia::detail::CompileRequest request(given.options, std::string_view());
  char* text = nullptr;
  const int32_t code = tarsia_environment_for_options(request.options(), &text);
  return py::taken(code, text);
}

/// (suffix, language) of each suffix of sources.
nb::tuple source_suffixes() {
  uint64_t n = 0;
  const tarsia_suffix* const all = tarsia_source_suffixes(&n);
  nb::list list;
  for (uint64_t i = 0; i < n; ++i) list.append(nb::make_tuple(all[i].suffix, all[i].language));
  return nb::tuple(list);
}

bool mentions_cuda(const std::string& text) {
  return tarsia_mentions_cuda(text.data(), text.size()) != 0;
}

std::string stats() {
  char* json = nullptr;
  const int32_t code = tarsia_stats(&json);
  return py::taken(code, json);
}

}  // namespace

NB_MODULE(_tarsia, module) {
  // Work-around: nanobind prints what a program still holds when it ends.
  // Trigger: an object of Tarsia's lives on at the end, in a thread's frame, say. Symptom: a list of leaks,
  // which are none of its user's, on standard error. Removal: nanobind tells leaks from what is still held.
  nb::set_leak_warnings(std::getenv("TARSIA_LEAK_WARNINGS") != nullptr);
  if (!py::add_tensor_type(module.ptr()) || !py::add_function_type(module.ptr()) ||
      !py::add_kernel_types(module.ptr()) || !py::add_op_types(module.ptr()) || !py::add_expression(module))
    throw nb::python_error();
  py::find_main_thread();
  py::add_compile_options(module);
  py::add_library(module);
  py::add_session(module);
  py::add_standard_input(module);
  py::add_graph(module);
  module.attr("version") = tarsia_version();
  module.def("op", op);
  module.def("dtype_of", [](nb::handle object) { return nb::steal(py::dtype_of_tensor(object.ptr())); });
  module.def("op_names", op_names);
  module.def("device_count", tarsia_device_count);
  module.def("op_generation", tarsia_op_generation);
  py::add_op_check(module);
  py::add_python_ops(module);
  py::add_jax(module);
  module.def("seed", seed, nb::arg("seed").none());
  module.def("add_site_packages", [](const std::string& dir) { tarsia_add_site_packages(dir.c_str()); });
  module.def("doctor", doctor);
  module.def("stats", stats);
  module.def("no_compile_enter", &tarsia_no_compile_enter);
  module.def("no_compile_leave", [] { py::check(tarsia_no_compile_leave()); });
  module.def("no_compile_depth", &tarsia_no_compile_depth);
  module.def("record_begin", record_begin);
  module.def("record_end", record_end);
  module.def("record_drop", &tarsia_record_drop);
  module.def("record_add_archs", record_add_archs);
  module.def("replay", replay, nb::arg("path"), nb::arg("devices").none());
  module.def("environment_for", environment_for);
  module.attr("source_suffixes") = source_suffixes();
  module.def("mentions_cuda", mentions_cuda);
}

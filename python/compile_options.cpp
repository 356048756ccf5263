// Takes the options out of a dict of the package, and lists the rows of the table.
#include "python/compile_options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace nb = nanobind;

namespace tarsia::python {
namespace {

template <class T>
constexpr bool k_is_headers = std::is_same_v<T, detail::option_headers>;
template <class T>
constexpr bool k_is_seconds = std::is_same_v<T, detail::option_seconds>;

nb::str text(std::string_view utf8) {
  return nb::str(utf8.data(), utf8.size());
}

/// `values` holds the given options by their names.
void make(CompileOptions* self, const std::optional<std::string>& name, const nb::dict& values,
          std::int32_t cached_only, std::vector<std::string> kernels, std::string kernels_file,
          bool kernels_to_read) {
  new (self) CompileOptions{.cached_only = cached_only,
                            .kernels = std::move(kernels),
                            .kernels_file = std::move(kernels_file),
                            .kernels_to_read = kernels_to_read};
  if (name) self->options.name = *name;
  if (values.size() == 0) return;
  for_each_option(self->options, [&]<class T>(const OptionRow& row, T& option) {
    const nb::object value = values.get(text(row.name), nb::handle());
    if (!value.is_valid()) return;
    if constexpr (k_is_headers<T>)
      self->headers = nb::cast<Texts>(value);
    else if constexpr (k_is_seconds<T>)
      option = std::chrono::milliseconds(nb::cast<std::int64_t>(value));
    else if constexpr (std::is_same_v<T, Mode>)
      option = Mode(nb::cast<std::string>(value));
    else
      option = nb::cast<T>(value);
  });
}

/// The allowed values: words, the first and last number, or None.
nb::object values_of(const OptionRow& row) {
  if (row.values.empty()) return nb::none();
  if (row.values.find("..") != row.values.npos) {
    const OptionRange range = range_of(row);
    return nb::make_tuple(range.first, range.last);
  }
  nb::list words;
  for_each_value(row, [&](std::string_view word) { words.append(text(word)); });
  return words;
}

/// (name, kind, default, values, in key, command, help) of each. The default is None for lists and dicts.
nb::list rows() {
  nb::list list;
  const Options defaults;
  for_each_option(defaults, [&]<class T>(const OptionRow& row, const T& option) {
    nb::object initial = nb::none();
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, std::string>)
      initial = nb::cast(option);
    if constexpr (std::is_same_v<T, Mode>) initial = nb::bool_(bool(option));
    list.append(nb::make_tuple(text(row.name), text(row.kind_name), initial, values_of(row), row.in_key,
                               text(row.command), text(row.help)));
  });
  return list;
}

}  // namespace

void add_compile_options(nb::module_& module) {
  nb::class_<CompileOptions>(module, "CompileOptions")
      .def("__init__", make, nb::arg("name").none(), nb::arg("values"), nb::arg("cached_only"),
           nb::arg("kernels") = std::vector<std::string>(), nb::arg("kernels_file") = std::string(),
           nb::arg("kernels_to_read") = false);
  module.def("compile_options", rows);
}

}  // namespace tarsia::python

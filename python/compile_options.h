// The options of a compile, in Python's form.
#pragma once

#include <nanobind/nanobind.h>
#include <tarsia/options.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarsia::python {

/// Texts by name; none for a source that is one string.
using Texts = std::vector<std::pair<std::optional<std::string>, nanobind::bytes>>;

/// The options of a source. The package has checked and normalised all of them.
struct CompileOptions {
  Options options;  ///< but for `headers`
  Texts headers;    ///< not copied
  int32_t cached_only = 0;
  std::vector<std::string> kernels;
  std::string kernels_file;
  bool kernels_to_read = false;
};

/// Adds tarsia._tarsia.CompileOptions, and compile_options(), which returns the rows of
/// <tarsia/compile_options.h>.
void add_compile_options(nanobind::module_& module);

}  // namespace tarsia::python

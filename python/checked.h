// What libtarsia's functions return, for functions that nanobind binds.
#pragma once

#include <nanobind/nanobind.h>
#include <tarsia/c_api.h>

#include <string>

#include "python/core/errors.h"

namespace tarsia::python {

/// Raises the last error of libtarsia unless the code is 0.
inline void check(int32_t code) {
  if (!code) return;
  raise_last_error();
  throw nanobind::python_error();
}

/// Takes over a text that libtarsia allocated; raises the last error unless the code is 0.
inline std::string taken(int32_t code, char* text) {
  check(code);
  std::string copy = text;
  tarsia_free(text);
  return copy;
}

}  // namespace tarsia::python

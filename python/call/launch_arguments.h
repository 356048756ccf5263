// The caller's launch settings: grid, block, shared memory, stream. A wrong one is an error that names the
// kernel.
#pragma once

#include <tarsia/c_api.h>

#include "python/call/overloaded.h"

namespace tarsia::python {

/// A launch without grid and block, on the current device.
tarsia_launch nowhere();

/// A number of blocks, threads or bytes. The launch reports numbers that no GPU takes.
bool read_number(const Overloaded* kernel, PyObject* object, const char* what, uint32_t& number);

/// An int, or a tuple or list of up to three.
bool read_extents(const Overloaded* kernel, PyObject* object, const char* what, uint32_t (&extents)[3]);

bool read_launch_stream(const Overloaded* kernel, PyObject* object, tarsia_launch& how);

/// The keywords that belong to launch() itself.
enum class Keyword : uint8_t { grid, block, shared, stream, cluster, cooperative, none };

Keyword keyword_of(PyObject* name);

/// Reads the value of a keyword other than none.
bool read_keyword(const Overloaded* kernel, Keyword keyword, PyObject* value, tarsia_launch& how);

}  // namespace tarsia::python

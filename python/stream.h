// CUDA streams as Python has them.
#pragma once

#include "frame.h"

namespace tarsia::python {

enum class StreamRead { ok, not_a_stream, failed };

/// The cudaStream_t of an int, a torch.cuda.Stream, a CuPy stream or anything with __cuda_stream__.
/// None is no stream here. `failed`: a Python error is set.
StreamRead read_stream(PyObject* object, void** handle);

/// Whether an object is a stream beyond doubt, which an int is not.
bool is_stream(PyObject* object);

/// The stream on which the call of this frame runs: the one passed, else the current one of the framework of
/// the first tensor on a GPU. Null is CUDA's default stream. Errors of the framework count as null.
void* stream_of_call(Frame& frame);

}  // namespace tarsia::python

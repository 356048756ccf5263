// CUDA streams of Python's frameworks.
#pragma once

#include "python/tensor/frame.h"

namespace tarsia::python {

enum class StreamRead { ok, not_a_stream, failed };

/// The cudaStream_t of an int, a torch.cuda.Stream, a CuPy stream or anything with __cuda_stream__.
/// None is no stream here. `failed`: a Python error is set.
StreamRead read_stream(PyObject* object, void** handle);

/// Whether an object is certainly a stream. An int is not.
bool is_stream(PyObject* object);

/// The stream on which the call of this frame runs: the one passed, else the current one of the framework
/// of the first tensor on a GPU. Without such a tensor, it is PyTorch's if it has used CUDA, else CuPy's if
/// it is loaded. Null is CUDA's default stream. Errors of the framework count as null.
void* stream_of_call(Frame& frame);

/// Makes a stream of GPU `device` PyTorch's current one for the calling thread while this lives, if PyTorch
/// is loaded. Holds the GIL meanwhile. Costs microseconds.
class MadeCurrent {
 public:
  MadeCurrent(int32_t device, void* stream);
  ~MadeCurrent();
  MadeCurrent(const MadeCurrent&) = delete;
  MadeCurrent& operator=(const MadeCurrent&) = delete;

  /// The reason why PyTorch refused; or empty.
  const std::string& error() const { return m_error; }

 private:
  bool make_current(int32_t device, void* stream);

  PyGILState_STATE m_gil;
  Ref m_cuda, m_previous;
  std::string m_error;
};

}  // namespace tarsia::python

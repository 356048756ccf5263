// The workspace of one call: memory for converted arguments, the views of its tensors, and resources to
// release when the call ends. Lives on the stack; a call of a few tensors allocates nothing.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include <tarsia/detail/argument_match.h>

#include "python/tensor/exchange_protocol.h"

namespace tarsia::python {

/// A tensor argument. Results that return it point at `tensor`.
struct View {
  tarsia_tensor tensor;
  PyObject* object;  ///< borrowed: the caller holds it
  View* previous;    ///< the views of a call form a list
  bool read_only;
  bool is_written;  ///< the call may write to it
};

struct SparseArgument;

class Frame {
 public:
  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    if (m_kept || m_chunks) [[unlikely]]
      give_back();
  }

  /// Memory until the call ends, aligned to 16 bytes.
  void* room(size_t bytes) {
    bytes = (bytes + 15) & ~size_t(15);
    if (bytes > sizeof m_room - m_used) [[unlikely]]
      return chunk(bytes);
    void* start = m_room + m_used;
    m_used += bytes;
    return start;
  }
  template <class T>
  T* room_for(size_t n) {
    static_assert(alignof(T) <= 16);
    return static_cast<T*>(room(n * sizeof(T)));
  }

  View* new_view(PyObject* object, bool is_written = false) {
    View* view = room_for<View>(1);
    view->object = object;
    view->read_only = false;
    view->is_written = is_written;
    writes |= is_written;
    view->previous = last_view;
    return last_view = view;
  }

  /// Takes over a reference until the call ends.
  void keep(PyObject* owned) {
    on_end([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); }, owned);
  }
  /// Calls what(with) when the call ends, in reverse order.
  void on_end(void (*what)(void*), void* with);

  /// Forgets the arguments before the next overload is tried.
  void start_over() {
    if (m_kept || m_chunks) give_back();
    m_used = 0;
    last_view = nullptr;
    last_sparse = nullptr;
    together = {};
    gpu = -1;
    gpu_view = nullptr;
    first = {};
    first_object = nullptr;
    family = k_no_family;
    family_object = nullptr;
    has_stream = false;
    stream = nullptr;
    writes = false;
  }

  const char* callee_name() const { return callee ? callee : ""; }

  // Facts about the call, gathered while arguments are converted. Each call sets all of them: those that
  // begin as zero stand together, which takes half the stores.
  View* last_view = nullptr;
  SparseArgument* last_sparse = nullptr;  ///< the sparse tensors of a call form a list
  const View* gpu_view = nullptr;         ///< the first tensor on a GPU
  PyObject* first_object = nullptr;       ///< the first tensor argument, borrowed
  PyObject* family_object = nullptr;      ///< the first tensor that has a family, borrowed
  void* stream = nullptr;
  PyObject* const* given = nullptr;  ///< the arguments by parameter, null where left out
  const char* callee = nullptr;      ///< the function's name, or null
  ExchangeProtocol first;            ///< of first_object
  arguments::Together together;      ///< the device of the pointers that may be anywhere
  uint8_t family = k_no_family;      ///< of family_object
  bool writes = false;               ///< whether one of the views is written to
  bool has_stream = false;           ///< whether a stream was passed, or found by stream_of_call()
  bool interrupted = false;          ///< a handler of signals raised, which the call's code was told
  uint32_t n_given = 0;
  int32_t gpu = -1;  ///< of gpu_view

  arguments::Blame<PyObject*, View> blame;

 private:
  struct Kept {
    void (*what)(void*);
    void* with;
    Kept* next;
  };
  void* chunk(size_t bytes);
  void give_back();

  Kept* m_kept = nullptr;
  void* m_chunks = nullptr;  ///< a list of malloc'ed blocks
  size_t m_used = 0;
  alignas(16) char m_room[1024];
};

}  // namespace tarsia::python

// The C symbols of libraries built against MXNet's own lib_api.h, of library versions 7, 10 and 11.
//
// Function pointers that such a library gives are opaque: they go back to it through its _opCall functions,
// so no C++ object crosses between its C++ library and ours.
#pragma once

#include <tarsia/mxnet/table.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/fork.h"

namespace tarsia::registry::mxnet {

using Function = void*;
using Texts = const char* const*;
using Malloc = void* (*)(void* self, int bytes);
using SparseMalloc = void (*)(void* self, int index, int n_indices, int n_indptr, void** data,
                              std::int64_t** indices, std::int64_t** indptr);

/// What a call may ask for.
struct Resources {
  Malloc cpu_malloc;
  void* cpu_self;
  Malloc gpu_malloc;
  void* gpu_self;
  void* stream;
  SparseMalloc sparse_malloc;
  void* sparse_self;
  void* cpu_random;
  void* gpu_random;
};

/// An op as _opRegGet tells of it. The arrays are the library's.
struct Registration {
  const char* name = nullptr;
  int is_subgraph = 0;
  const char **forward_contexts = nullptr, **backward_contexts = nullptr, **create_contexts = nullptr;
  Function *forward = nullptr, *backward = nullptr, *create = nullptr;
  int n_forward = 0, n_backward = 0, n_create = 0;
  Function parse = nullptr, infer_type = nullptr, infer_storage = nullptr, infer_shape = nullptr,
           mutate = nullptr;
};

/// The symbols of one mapped library. Thread-safe after its construction.
class Api {
 public:
  /// Throws LoadError naming `path` for other versions and missing symbols.
  Api(void* handle, const std::string& path);

  int version() const { return m_version; }  ///< 0: of MXNet 1.6, whose libraries have no ops
  int n_ops() const { return op_reg_size ? op_reg_size() : 0; }
  /// To be called once for each op: the library appends to what it gave before.
  Registration get_op(int i) const;
  /// The names of partitioners and passes, "pass 'x'".
  std::string ignored() const;
  /// What the library has said since it was last asked, "; " between messages.
  std::string take_messages() const;

  int compute(Function f, Texts keys, Texts values, int n, const tarsia_mxnet_tensors& in,
              const tarsia_mxnet_tensors& out, const Resources& r) const;
  int stateful_compute(bool forward, void* state, const tarsia_mxnet_tensors& in,
                       const tarsia_mxnet_tensors& out, const Resources& r) const;
  int create_state(Function f, Texts keys, Texts values, int n, const char* device_type, int device_id,
                   unsigned** shapes, int* ndims, int n_in, const int* dtypes, void** state) const;
  /// Versions before 11 have no way to: their states stay.
  void destroy_state(void* state) const;

  int (*initialize)(int version) = nullptr;
  void (*call_free)(void*) = nullptr;
  int (*parse_attributes)(Function, Texts keys, Texts values, int n, int* n_in, int* n_out) = nullptr;
  int (*infer_shape)(Function, Texts keys, Texts values, int n, unsigned** in, int* in_ndims, int n_in,
                     unsigned*** changed, int** changed_ndims, unsigned*** out, int** out_ndims,
                     int n_out) = nullptr;
  int (*infer_type)(Function, Texts keys, Texts values, int n, int* in, int n_in, int* out,
                    int n_out) = nullptr;
  int (*infer_storage)(Function, Texts keys, Texts values, int n, int* in, int n_in, int* out,
                       int n_out) = nullptr;
  int (*mutate_inputs)(Function, Texts keys, Texts values, int n, int** indices, int* n_indices) = nullptr;

 private:
  template <class F>
  void find(F& function, const char* name, bool required = true);

  void* m_handle;
  std::string m_path;
  int m_version = 0;
  int (*op_reg_size)() = nullptr;
  void* m_op_reg_get = nullptr;
  void* m_compute = nullptr;
  void* m_stateful_compute = nullptr;
  void* m_create_state = nullptr;
  void* m_destroy_state = nullptr;
  int (*m_msg_size)() = nullptr;
  int (*m_msg_get)(int i, const char** text) = nullptr;
  /// Guards what follows; the library's store is not synchronised.
  mutable ForkRenewedMutex m_mutex;
  mutable int m_messages_read = 0;  ///< it only grows
};

}  // namespace tarsia::registry::mxnet

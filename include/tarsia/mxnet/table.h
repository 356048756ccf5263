// The table by which a library for MXNet's extension API describes its ops, and by which they are called.
// Plain C. Sources fill it by <tarsia/mxnet/glue_functions.h>. For libraries built against MXNet's own
// header, libtarsia fills it.
//
// libtarsia does what both have in common: it converts metas to this API's form (an unknown dtype or storage
// type is -1, an unknown extent 0, an unknown shape empty), and checks what comes back.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/op_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A function that was set for an op, in a form that only its library understands.
typedef struct tarsia_mxnet_function {
  void (*function)(void); /* null: none was set */
  void (*call)(void);
  const char* context; /* "cpu", "gpu": of forward, backward, createOpState */
} tarsia_mxnet_function;

/// An op as it was registered. libtarsia checks whether it is complete.
typedef struct tarsia_mxnet_op {
  const char* name;
  const char* location; /* "file:line", or "" */
  uint32_t is_subgraph;
  uint32_t warns_of_new; /* 1: a state that was made by new gets a warning */
  tarsia_mxnet_function parse;
  tarsia_mxnet_function infer_type;
  tarsia_mxnet_function infer_storage;
  tarsia_mxnet_function infer_shape;
  tarsia_mxnet_function mutate;
  const tarsia_mxnet_function* forward;
  const tarsia_mxnet_function* backward;
  const tarsia_mxnet_function* create;
  uint32_t n_forward;
  uint32_t n_backward;
  uint32_t n_create;
  uint32_t reserved;
} tarsia_mxnet_op;

/// n attributes. They live as long as the object that create_attributes makes of them.
typedef struct tarsia_mxnet_texts {
  const char* const* keys;
  const char* const* values;
  int32_t n;
} tarsia_mxnet_texts;

/// n shapes.
typedef struct tarsia_mxnet_shapes {
  uint32_t** extents;
  int32_t* ndims;
  int32_t n;
} tarsia_mxnet_shapes;

/// Takes the entries that a function left in its first or its second list. A list may be longer than
/// requested, because some sources append to existing outputs.
typedef struct tarsia_mxnet_found {
  void (*number)(struct tarsia_mxnet_found* self, uint32_t list, uint64_t i, int32_t number);
  void (*extents)(struct tarsia_mxnet_found* self, uint32_t list, uint64_t i, const uint32_t* extents,
                  int32_t ndim);
} tarsia_mxnet_found;

/// The inputs or the outputs of a run, with a column for each property. Parts of sparse tensors may be null.
typedef struct tarsia_mxnet_tensors {
  const int64_t** shapes;
  int* ndims;
  void** data; /* of a sparse tensor: its values */
  int* dtypes;
  size_t* versions;
  const char** device_types;
  int* device_ids;
  int* storages;
  void** indices;
  void** indptr;
  int64_t* n_indices;
  int64_t* n_indptr;
  int n;
} tarsia_mxnet_tensors;

/// A run. Its functions return 0, or a code with the last error set.
typedef struct tarsia_mxnet_run {
  const tarsia_mxnet_function* function; /* of a stateless op */
  void* attributes;
  void* state; /* null: the op is stateless */
  uint32_t backward;
  uint32_t reserved;
  tarsia_mxnet_tensors inputs;
  tarsia_mxnet_tensors outputs;
  void* stream;
  /// Returns memory on the CPU or on the op's GPU. It lives until the run ends and overlaps no other. Null if
  /// GPU memory is requested and the op does not run on a GPU.
  int32_t (*allocate)(const struct tarsia_mxnet_run* self, int64_t bytes, uint32_t on_gpu, void** memory);
  /// As tarsia_op_context.allocate_sparse; `made` is the output.
  int32_t (*allocate_sparse)(const struct tarsia_mxnet_run* self, int32_t i, int64_t n_indices,
                             int64_t n_indptr, const tarsia_sparse** made);
  /// Returns the random states of the CPU or of the op's GPU. Null if those of a GPU are requested and the op
  /// does not run on one.
  int32_t (*random_states)(const struct tarsia_mxnet_run* self, uint32_t on_gpu, void** states);
} tarsia_mxnet_run;

enum { TARSIA_MXNET_FAILED = -1 };

/// A library. Its functions get `self` first and may be called from several threads at once. They return 0,
/// or a code with the last error set. The code is TARSIA_MXNET_FAILED if the op's function reports a failure;
/// the last error then has the function's messages, or "".
typedef struct tarsia_mxnet_library {
  uint32_t size;
  uint32_t n_ops;
  const tarsia_mxnet_op* const* ops;
  void* self;
  int32_t (*create_attributes)(void* self, const tarsia_mxnet_texts* texts, void** attributes);
  void (*destroy_attributes)(void* self, void* attributes);
  int32_t (*parse)(void* self, const tarsia_mxnet_function* f, void* attributes, int* n_inputs,
                   int* n_outputs);
  /// Calls inferType or inferSType with what is known of the inputs. Returns both lists.
  int32_t (*infer)(void* self, const tarsia_mxnet_function* f, void* attributes, const int* inputs,
                   uint32_t n_inputs, uint32_t n_outputs, tarsia_mxnet_found* found);
  /// Returns the shapes of the inputs and of the outputs.
  int32_t (*infer_shape)(void* self, const tarsia_mxnet_function* f, void* attributes,
                         const tarsia_mxnet_shapes* inputs, uint32_t n_outputs, tarsia_mxnet_found* found);
  /// Returns one list of the numbers of inputs.
  int32_t (*mutate)(void* self, const tarsia_mxnet_function* f, void* attributes, tarsia_mxnet_found* found);
  /// Sets `*by_new` to 1 if the state was made by `new` and does not suppress the warning about that.
  int32_t (*create_state)(void* self, const tarsia_mxnet_function* f, void* attributes,
                          const char* device_type, int32_t device_id, const tarsia_mxnet_shapes* shapes,
                          const int* dtypes, void** state, uint32_t* by_new);
  void (*destroy_state)(void* self, void* state);
  int32_t (*run)(void* self, const tarsia_mxnet_run* run);
} tarsia_mxnet_library;

/// The extension in tarsia_module.extension. `base.size` distinguishes it from that of an older module, which
/// describes its ops itself. `base.ops` is null.
typedef struct tarsia_mxnet_extension {
  tarsia_extension base;
  /// Lives as long as the module is mapped.
  const tarsia_mxnet_library* (*library)(void);
} tarsia_mxnet_extension;

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

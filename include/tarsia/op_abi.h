// The binary interface of registered operations: what a module says of an op, and what it is called with.
// Plain C; <tarsia/op.h> builds it from C++.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TARSIA_MAX_NDIM = 32 };

typedef enum tarsia_storage_type {
  TARSIA_DENSE = 0,
  TARSIA_ROW_SPARSE = 1, /* values of some rows; indices: their numbers */
  TARSIA_CSR = 2,        /* values; indices: columns; indptr: where rows start */
  TARSIA_ANY_STORAGE = 255
} tarsia_storage_type;

/// What is asked to happen to an output.
typedef enum tarsia_request {
  TARSIA_REQUEST_NULL = 0,    /* nothing: leave it alone; the tensor may be null */
  TARSIA_REQUEST_WRITE = 1,   /* overwrite */
  TARSIA_REQUEST_INPLACE = 2, /* overwrite; the output shares its memory with an input */
  TARSIA_REQUEST_ADD = 3      /* add to what is there */
} tarsia_request;

/// Shape, dtype and storage type of an input or output, each of which may be unknown.
typedef struct tarsia_meta {
  int32_t ndim; /* -1: unknown */
  tarsia_dtype dtype;
  uint8_t storage; /* tarsia_storage_type */
  uint8_t present; /* 0: an optional input that was not given */
  uint16_t flags;  /* of an input, TARSIA_PORT_MUTABLE: found mutable by inference */
  uint32_t reserved;
  int64_t shape[TARSIA_MAX_NDIM]; /* -1: unknown extent */
} tarsia_meta;

/// A sparse tensor. Stands where a tarsia_tensor stands when the meta says so: `whole` comes first, its data
/// is null and its shape that of the whole. An absent part has null data and shape.
typedef struct tarsia_sparse {
  tarsia_tensor whole;
  tarsia_tensor values;
  tarsia_tensor indices; /* int64 */
  tarsia_tensor indptr;  /* int64; CSR */
  /// Of an output, after the call: what allocate_sparse made, values, indices, indptr; the caller's to
  /// release. The caller sets them to null.
  tarsia_storage* made[3];
} tarsia_sparse;

enum {                              /* tarsia_port.flags */
       TARSIA_PORT_OPTIONAL = 1,    /* input: may be absent */
       TARSIA_PORT_VARIADIC = 2,    /* the last port: any number of tensors */
       TARSIA_PORT_MUTABLE = 4,     /* input: auxiliary state that the op changes; has no gradient */
       TARSIA_PORT_NO_GRADIENT = 8, /* input: has no gradient */
       TARSIA_PORT_HIDDEN = 16      /* output: not given to the caller */
};

/// An input or output.
typedef struct tarsia_port {
  const char* name;
  const char* description;
  uint32_t flags;
} tarsia_port;

enum { /* tarsia_attribute.flags */
       TARSIA_ATTRIBUTE_REQUIRED = 1,
       TARSIA_ATTRIBUTE_MIN = 2,   /* `min` holds */
       TARSIA_ATTRIBUTE_MAX = 4,   /* `max` holds */
       TARSIA_ATTRIBUTE_CUSTOM = 8 /* `check` parses the text; the value is a string */
};

/// A declared attribute. Values arrive as text or typed, and reach the op typed, of kind `type.kind`: bool,
/// int, float, string, list of these; absent optionals are of kind TARSIA_KIND_NONE.
typedef struct tarsia_attribute {
  uint32_t size;
  uint32_t flags;
  const char* name;
  const char* description;
  tarsia_type type;
  const char* default_text;          /* null: none; parsed like a given text */
  const tarsia_value* default_value; /* null: none; typed */
  double min;
  double max;
  const char* const* choices; /* the texts that a string may be; an int then is the choice's index */
  uint32_t n_choices;
  /// Custom attributes: 0 if the text can be parsed.
  int32_t (*check)(void* user, const char* text);
  void* user;
  /// Stores the value `offset` bytes into the op's params; null: params have no such member.
  int32_t (*set)(void* member, const tarsia_value* value);
  uint64_t offset;
} tarsia_attribute;

/// What is known of a bound op, or of one being bound.
typedef struct tarsia_bind_info {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t n_attributes;
  tarsia_meta* inputs; /* during inference both may be written, to fill in what is unknown */
  tarsia_meta* outputs;
  const tarsia_value* attributes; /* in declared order, then undeclared ones as strings */
  const char* const* attribute_names;
  void* params; /* what create_params made */
  tarsia_device device;
  const char* op; /* the op's name */
  const struct tarsia_op* declared;
} tarsia_bind_info;

/// What an implementation is called with.
typedef struct tarsia_op_context {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t pass;                       /* tarsia_pass */
  const tarsia_tensor* const* inputs;  /* null where an optional one is absent; sparse: tarsia_sparse */
  const tarsia_tensor* const* outputs; /* null where the request is TARSIA_REQUEST_NULL */
  const uint8_t* requests;             /* tarsia_request, one an output */
  const tarsia_bind_info* info;
  void* state; /* what create_state made */
  void* stream;
  tarsia_device device;
  /// Gives a sparse output its size, n_indices elements or rows: fills the parts of outputs[i]. n_indptr is
  /// the number of rows + 1 for CSR, 0 for row-sparse. The last call counts. Before it, the parts are what is
  /// added to under TARSIA_REQUEST_ADD, else absent.
  int32_t (*allocate_sparse)(const struct tarsia_op_context* self, uint32_t i, int64_t n_indices,
                             int64_t n_indptr);
  void* caller; /* libtarsia's own */
} tarsia_op_context;

typedef enum tarsia_pass { TARSIA_FORWARD = 0, TARSIA_BACKWARD = 1 } tarsia_pass;

/// One way to run an op. Backward takes output gradients, inputs, outputs, in this order, and writes input
/// gradients.
typedef struct tarsia_implementation {
  uint32_t size;
  uint32_t pass;       /* tarsia_pass */
  int32_t device_type; /* TARSIA_CPU, TARSIA_GPU */
  int32_t priority;    /* the highest that applies is taken; among equals the one registered first */
  uint32_t requests; /* bit 1 << tarsia_request for each request that it honours; others go through a copy */
  uint32_t storage_any; /* 1: takes sparse tensors */
  const char* name;     /* for people; may be "" */
  /// Whether it can run what is bound; below 0: an error was set, and nothing is bound. Null: always.
  int32_t (*applies)(void* user, const tarsia_bind_info* info);
  void* applies_user;
  /// Runs. 0, or a code after the exception was captured.
  int32_t (*run)(void* user, const tarsia_op_context* context);
  void* run_user;
} tarsia_implementation;

enum {                               /* tarsia_op.flags */
       TARSIA_OP_ANY_ATTRIBUTES = 1, /* undeclared attributes are allowed and given as strings */
       TARSIA_OP_INFERS_STORAGE = 2, /* sparse inputs are allowed: infer fills storage types */
       TARSIA_OP_RANDOM = 4          /* draws random numbers: two calls differ */
};

/// An in-place pair: output `output` may share the memory of input `input`.
typedef struct tarsia_inplace {
  uint32_t input;
  uint32_t output;
} tarsia_inplace;

/// An operation. All functions may be called from several threads at once.
typedef struct tarsia_op {
  uint32_t size;
  uint32_t flags;
  const char* name;
  const char* description;
  const char* location;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t n_attributes;
  uint32_t n_implementations;
  uint32_t n_inplace;
  uint32_t reserved;
  const tarsia_port* inputs;
  const tarsia_port* outputs;
  const tarsia_attribute* attributes;
  const tarsia_implementation* implementations;
  const tarsia_inplace* inplace;
  void* user; /* first argument of the functions below */
  /// Numbers of inputs and outputs, where they depend on attributes; null: those of the ports.
  int32_t (*arity)(void* user, const tarsia_bind_info* info, uint32_t* n_inputs, uint32_t* n_outputs);
  /// The author's own form of the attributes; null: none. Attributes with `set` are then stored into it.
  int32_t (*create_params)(void* user, const tarsia_bind_info* info, void** params);
  void (*destroy_params)(void* user, void* params);
  /// Fills in metas. What was known and is changed is the op's error, told by the caller. Null: all inputs
  /// and outputs have one shape and dtype.
  int32_t (*infer)(void* user, const tarsia_bind_info* info);
  /// State of a bound op, made at bind; null: none.
  int32_t (*create_state)(void* user, const tarsia_bind_info* info, void** state);
  void (*destroy_state)(void* user, void* state);
} tarsia_op;

/// What an op is bound with.
typedef struct tarsia_op_request {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs; /* 0, or the number of `outputs` */
  uint32_t n_attributes;
  const tarsia_meta* inputs;
  const tarsia_meta* outputs; /* what is known of outputs; null: nothing */
  const char* const* attribute_names;
  const tarsia_value* attributes; /* strings, or typed */
  tarsia_device device;
} tarsia_op_request;

/// What a bound op is called with: tensors of the metas that it was bound with.
typedef struct tarsia_op_call {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t reserved;
  const tarsia_tensor* const* inputs;
  const tarsia_tensor* const* outputs;
  const uint8_t* requests; /* null: TARSIA_REQUEST_WRITE for all */
  void* stream;            /* with `has_stream`; else the calling context's current one */
  uint32_t has_stream;
  uint32_t pass; /* tarsia_pass */
} tarsia_op_call;

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

// The binary interface of registered ops: the description that a module gives, and the arguments of calls.
// Plain C; <tarsia/op.h> builds it from C++.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most dimensions of an op's tensors.
enum { TARSIA_MAX_NDIM = 32 };

/// How a tensor is stored.
typedef enum tarsia_storage_type {
  TARSIA_DENSE = 0,
  TARSIA_ROW_SPARSE = 1,   /* values: some rows; indices: their numbers */
  TARSIA_CSR = 2,          /* values: elements; indices: their columns; indptr: where rows start */
  TARSIA_ANY_STORAGE = 255 /* unknown */
} tarsia_storage_type;

/// A write request: what the caller wants to happen to an output.
typedef enum tarsia_request {
  TARSIA_REQUEST_NULL = 0,    /* nothing: leave it alone; the tensor may be null */
  TARSIA_REQUEST_WRITE = 1,   /* overwrite */
  TARSIA_REQUEST_INPLACE = 2, /* overwrite; the output shares its memory with an input */
  TARSIA_REQUEST_ADD = 3      /* add to what is there */
} tarsia_request;

/// The shape, dtype and storage type of an input or output. Each may be unknown.
typedef struct tarsia_meta {
  int32_t ndim; /* -1: unknown */
  tarsia_dtype dtype;
  uint8_t storage; /* tarsia_storage_type */
  uint8_t present; /* 0: an optional input that was not given */
  uint16_t flags;  /* of an input: TARSIA_PORT_MUTABLE if inference found that the op changes it; of an output
                      of a bound op: TARSIA_PORT_HIDDEN */
  uint32_t reserved;
  int64_t shape[TARSIA_MAX_NDIM]; /* -1: unknown extent */
} tarsia_meta;

/// A sparse tensor. It takes the place of a tarsia_tensor where the meta says that the tensor is sparse.
/// `whole` comes first: its data is null, and its shape is that of the whole tensor. An absent part has null
/// data and shape.
typedef struct tarsia_sparse {
  tarsia_tensor whole;
  tarsia_tensor values;
  tarsia_tensor indices; /* int64 */
  tarsia_tensor indptr;  /* int64; CSR */
  /// The caller sets these to null. After the call, they are the parts of an output that allocate_sparse
  /// made: values, indices, indptr. The caller releases them.
  tarsia_storage* made[3];
} tarsia_sparse;

/// Flags of tarsia_port.
enum {
  TARSIA_PORT_OPTIONAL = 1,    /* input: may be absent */
  TARSIA_PORT_VARIADIC = 2,    /* the last port: any number of tensors */
  TARSIA_PORT_MUTABLE = 4,     /* input: auxiliary state that the op changes; has no gradient */
  TARSIA_PORT_NO_GRADIENT = 8, /* input: has no gradient */
  TARSIA_PORT_HIDDEN = 16      /* output: not given to the caller */
};

/// An input or output of an op.
typedef struct tarsia_port {
  const char* name;
  const char* description;
  uint32_t flags;
} tarsia_port;

/// Flags of tarsia_attribute.
enum {
  TARSIA_ATTRIBUTE_REQUIRED = 1,
  TARSIA_ATTRIBUTE_MIN = 2,   /* `min` holds */
  TARSIA_ATTRIBUTE_MAX = 4,   /* `max` holds */
  TARSIA_ATTRIBUTE_CUSTOM = 8 /* `check` parses the text; the value is a string */
};

/// A declared attribute. A caller gives its value as text or typed. The op gets it typed, of kind
/// `type.kind`: bool, int, float, string, or a list of these. An absent optional attribute has kind
/// TARSIA_KIND_NONE.
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
  const char* const* choices; /* the texts that a caller may give; an int attribute gets the index */
  uint32_t n_choices;
  /// For custom attributes: returns 0 if the text can be parsed.
  int32_t (*check)(void* user, const char* text);
  void* user;
  /// Stores the value in a member of the op's params, which lies at `offset` bytes. Null: there is no such
  /// member.
  int32_t (*set)(void* member, const tarsia_value* value);
  uint64_t offset;
} tarsia_attribute;

/// An op that is bound or being bound, as its functions see it.
typedef struct tarsia_bind_info {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t n_attributes;
  tarsia_meta* inputs; /* inference may write inputs and outputs, to fill in what is unknown */
  tarsia_meta* outputs;
  const tarsia_value* attributes; /* in declared order, then undeclared ones as strings */
  const char* const* attribute_names;
  void* params; /* what create_params made */
  tarsia_device device;
  const char* op; /* the op's name */
  const struct tarsia_op* declared;
  const char* chosen; /* the implementation that inference chose; null: none */
  /// During inference, chooses the implementation of this name. Returns 0, or a code with the last error set
  /// if no forward has it. Null at other times.
  int32_t (*choose)(const struct tarsia_bind_info* self, const char* name);
  /// During inference, replaces the value of an attribute. It is checked as a caller's. Returns 0, or a code
  /// with the last error set. Null at other times.
  int32_t (*set_attribute)(const struct tarsia_bind_info* self, const char* name, const tarsia_value* value);
  void* caller; /* libtarsia's own */
  /* The names and flags of the inputs; null: they are not known yet. `size` says whether this field is there.
   */
  const struct tarsia_port* ports;
} tarsia_bind_info;

/// The arguments of an implementation, valid for one call.
typedef struct tarsia_op_context {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t pass;                       /* tarsia_pass */
  const tarsia_tensor* const* inputs;  /* null where an optional one is absent; sparse: tarsia_sparse */
  const tarsia_tensor* const* outputs; /* null where the request is TARSIA_REQUEST_NULL */
  const uint8_t* requests;             /* a tarsia_request for each output */
  const tarsia_bind_info* info;
  void* state; /* what create_state made */
  void* stream;
  tarsia_device device;
  /// Gives sparse output i its size, `n_indices` elements or rows, and fills in the parts of outputs[i].
  /// `n_indptr` is the number of rows + 1 for CSR, 0 for row-sparse. The last call counts. Before the first
  /// call, the parts are the tensor to add to under TARSIA_REQUEST_ADD, and absent otherwise.
  int32_t (*allocate_sparse)(const struct tarsia_op_context* self, uint32_t i, int64_t n_indices,
                             int64_t n_indptr);
  void* caller; /* libtarsia's own */
} tarsia_op_context;

/// Whether an op runs, or its gradient.
typedef enum tarsia_pass { TARSIA_FORWARD = 0, TARSIA_BACKWARD = 1 } tarsia_pass;

/// An in-place pair of a pass: its output `output` may share the memory of its input `input`. Both then begin
/// at one address.
typedef struct tarsia_inplace {
  uint32_t input;
  uint32_t output;
} tarsia_inplace;

/// The order in which an implementation takes the axes of a tensor in memory, without gaps. Its shape keeps
/// the order of the op's axes, and strides tell where elements lie.
typedef struct tarsia_layout {
  const char* name;    /* an input or output; of a backward also "d" and the name of one, for its gradient */
  const uint8_t* axes; /* each axis once, from the outermost in memory to the innermost */
  uint32_t n_axes;     /* a tensor with another number of dimensions is row-major */
  uint32_t reserved;
} tarsia_layout;

/// Flags of tarsia_implementation.takes_any.
enum {
  /// It does the same to each element wherever it lies, so it takes tensors of one shape in any layout that
  /// they have in common. It sees them as row-major.
  TARSIA_TAKES_ANY_LAYOUT = 1,
  TARSIA_TAKES_ANY_STRIDES = 2 /* it reads inputs by their strides, whatever these are */
};

/// An implementation of an op. In backward, it takes the output gradients, the inputs and the outputs, in
/// this order, and writes the input gradients. An output shares memory with an input only by a pair of the
/// op (in forward) or of the implementation.
typedef struct tarsia_implementation {
  uint32_t size;
  uint32_t pass;       /* tarsia_pass */
  int32_t device_type; /* TARSIA_CPU, TARSIA_GPU */
  int32_t priority;    /* the highest that applies is chosen; among equals, the one that was declared first */
  uint32_t requests;   /* bit 1 << tarsia_request for each request that it honours; others need a copy */
  uint32_t storage_any; /* 1: takes sparse tensors */
  const char* name;     /* for people; may be "" */
  /// Returns 1 if it can run the op that is being bound, 0 if it cannot. Below 0: the last error is set, and
  /// nothing is bound. Null: it always can.
  int32_t (*applies)(void* user, const tarsia_bind_info* info);
  void* applies_user;
  /// Runs the op. Returns 0, or a code after it has captured the exception.
  int32_t (*run)(void* user, const tarsia_op_context* context);
  void* run_user;
  const tarsia_inplace* inplace; /* of its pass, beyond those of the op */
  uint32_t n_inplace;
  uint32_t reserved;
  /// Returns the most bytes of scratch that a run takes. Below 0: the last error is set, and nothing is
  /// bound. Null: it is not known.
  int64_t (*workspace)(void* user, const tarsia_bind_info* info);
  void* workspace_user;
  const tarsia_layout* layouts; /* of tensors that it takes otherwise than row-major */
  uint32_t n_layouts;
  uint32_t takes_any; /* TARSIA_TAKES_ANY_… */
} tarsia_implementation;

/// Flags of tarsia_op.
enum {
  TARSIA_OP_ANY_ATTRIBUTES = 1, /* undeclared attributes are allowed and given as strings */
  TARSIA_OP_INFERS_STORAGE = 2, /* infer fills storage types; without it, it sees dense tensors alone */
  TARSIA_OP_RANDOM = 4,         /* draws random numbers: two calls differ */
  TARSIA_OP_EXTENDS = 8, /* declares nothing: its implementations are for the registered op of its name */
  TARSIA_OP_SHARED_STATE = 16 /* its state may be used by several calls at once */
};

/// The description of an op. Its functions may be called from several threads at once. Those that return an
/// int32_t return 0, or a code with the last error set.
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
  const tarsia_inplace* inplace; /* of the forward of every implementation */
  void* user;                    /* first argument of the functions below */
  /// Sets the numbers of inputs and outputs if they depend on attributes. Null: they are those of the ports.
  /// `info` has the inputs that the caller passes, and none if there is no call.
  int32_t (*arity)(void* user, const tarsia_bind_info* info, uint32_t* n_inputs, uint32_t* n_outputs);
  /// Makes the author's own struct of the attributes, into which attributes with `set` are stored. Null:
  /// there is none.
  int32_t (*create_params)(void* user, const tarsia_bind_info* info, void** params);
  void (*destroy_params)(void* user, void* params);
  /// Fills in what is unknown of the metas. If it changes what was known, the caller reports an error. Null:
  /// all inputs and outputs have the same shape and dtype.
  int32_t (*infer)(void* user, const tarsia_bind_info* info);
  /// Makes the state of a bound op when it is bound. Null: there is no state.
  int32_t (*create_state)(void* user, const tarsia_bind_info* info, void** state);
  void (*destroy_state)(void* user, void* state);
  /// A mistake in the declaration, "has …", for which the library is refused; null: none. `size` says whether
  /// this field is there.
  const char* fault;
  /* What backward takes. `size` says whether the fields below are there. */

  /* The names of the inputs and outputs that it takes, and "d" and the name of an output for its gradient. It
     gets nothing else. Null: it takes all. */
  const char* const* backward_needs;
  uint32_t n_backward_needs;
  uint32_t reserved_needs;
  /// Tells the same for a bound op: sets needs[i] to 0 if its backward does without output gradient, input or
  /// output i, counted in one row. They are 1 where `backward_needs` says so. Null: nothing to add.
  int32_t (*needs)(void* user, const tarsia_bind_info* info, uint8_t* needs);
  /// Sets how many of the outputs callers get if that depends on attributes: the first ones, the others are
  /// hidden. Null: the ports say it. `size` says whether this field is there.
  int32_t (*visible)(void* user, const tarsia_bind_info* info, uint32_t* n_visible);
  /// Amends the names and flags of the inputs if those depend on attributes. `inputs` has as many as `arity`
  /// tells. At first they are the ports, and beyond those have the name "". Names live as long as the op.
  /// Null: the ports say it. `size` says whether this field is there.
  int32_t (*name_inputs)(void* user, const tarsia_bind_info* info, tarsia_port* inputs, uint32_t n);
  /// The C++ types that create_params and create_state make, as std::type_info names them. Who asks for
  /// another type gets an error. Null: they are not told. `size` says whether these fields are there.
  const char* params_type;
  const char* state_type;
} tarsia_op;

/// How one is chosen of several implementations that apply.
typedef enum tarsia_choice {
  TARSIA_CHOICE_OF_PROCESS = 0, /* as TARSIA_IMPLEMENTATION says, "priority" or "measure" */
  TARSIA_CHOICE_PRIORITY = 1,   /* the highest priority; among equals, the one that was declared first */
  TARSIA_CHOICE_MEASURE = 2     /* the fastest, timed once on this machine; see docs/ops.md */
} tarsia_choice;

/// The arguments of binding an op, borrowed for the call. Fields behind `device` are there if `size` says so.
typedef struct tarsia_op_request {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs; /* 0, or the number of `outputs` */
  uint32_t n_attributes;
  const tarsia_meta* inputs;
  const tarsia_meta* outputs; /* what is known of the outputs; null: nothing */
  const char* const* attribute_names;
  const tarsia_value* attributes; /* texts, or typed values */
  tarsia_device device;
  uint32_t choice; /* tarsia_choice; of a graph: for its nodes */
  uint32_t reserved;
  const tarsia_tensor* const* samples; /* null, or for each input a tensor whose elements a measurement may
                                          copy; null for one that is not at hand */
} tarsia_op_request;

/// The arguments of running a bound op, borrowed for the call. The tensors match the metas that it was bound
/// with.
typedef struct tarsia_op_call {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t reserved;
  const tarsia_tensor* const* inputs;
  const tarsia_tensor* const* outputs;
  const uint8_t* requests; /* a tarsia_request for each output; null: TARSIA_REQUEST_WRITE for all */
  void* stream;            /* a cudaStream_t, if has_stream is 1 */
  uint32_t has_stream;     /* 0: the calling context's current stream */
  uint32_t pass;           /* tarsia_pass */
} tarsia_op_call;

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

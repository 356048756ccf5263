// Ops as a C interface, which <tarsia/c_api.h> includes: to find, bind and run them. The rules are those of
// that header.
#pragma once

#include <tarsia/c_api.h>

#include <tarsia/detail/macros_push.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the names of all registered ops, sorted, and sets `*n`. Free `*names` with tarsia_free: it is one
/// block.
TARSIA_API int32_t tarsia_op_names(char*** names, uint64_t* n);

/// Registers ops that the program itself implements, as a library called `name`. Hands over one reference to
/// `*library`. The descriptions must live until release(user) is called. That happens once, on any thread,
/// when nothing needs them any more, and also if this function fails.
TARSIA_API int32_t tarsia_define_ops(const char* name, const tarsia_op* const* ops, uint64_t n_ops,
                                     void (*release)(void* user), void* user, tarsia_library** library);

/// Looks up a registered op by its name. Hands over one reference to `*op`. Error: TARSIA_NOT_FOUND.
TARSIA_API int32_t tarsia_op_find(const char* name, tarsia_op_handle** op);

/// Does the same, and if no op has the name of one of <tarsia/math/ops.h>, compiles and registers that. So do
/// graphs, and ops that bind other ops. Errors: TARSIA_NOT_FOUND, those of tarsia_load_inline.
TARSIA_API int32_t tarsia_op_load(const char* name, tarsia_op_handle** op);

/// Adds a reference to an op.
TARSIA_API void tarsia_op_retain(tarsia_op_handle* op);

/// Gives a reference to an op back.
TARSIA_API void tarsia_op_release(tarsia_op_handle* op);

/// Returns an op's description: ports, attributes, implementations.
TARSIA_API const tarsia_op* tarsia_op_describe(const tarsia_op_handle* op);

/// Returns a number that changes whenever an op of any name is registered, replaced or taken out. A face that
/// keeps handles compares it with the number that it read before.
TARSIA_API uint64_t tarsia_op_generation(void);

/// Infers shapes, dtypes and storage types. `inputs` and `outputs` have room for `*n_inputs` and `*n_outputs`
/// metas. They hold what is known and are filled in. The two numbers are set to those of the op. Errors:
/// TARSIA_ARGUMENT_VALUE, also for too little room, and those of the op's own inference.
TARSIA_API int32_t tarsia_op_infer(tarsia_op_handle* op, const tarsia_op_request* request,
                                   tarsia_meta* inputs, uint32_t* n_inputs, tarsia_meta* outputs,
                                   uint32_t* n_outputs);

/// Tells how many inputs an op has, and outputs that callers get, with the attributes of the request, whose
/// inputs do not matter. For an op with a variadic input that declares no count, `*n_inputs` is the number of
/// its ports. Errors: TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE, and those of the op's own count.
TARSIA_API int32_t tarsia_op_count(tarsia_op_handle* op, const tarsia_op_request* request, uint32_t* n_inputs,
                                   uint32_t* n_outputs);

/// Gives the names and flags of the inputs that tarsia_op_count counts. `ports` has room for `*n`, which is
/// set to their number. An input that nothing names has the name "". Names live as long as the op. Errors:
/// those of tarsia_op_count, TARSIA_ARGUMENT_VALUE for too little room, and those of the op's own function.
TARSIA_API int32_t tarsia_op_inputs(tarsia_op_handle* op, const tarsia_op_request* request,
                                    tarsia_port* ports, uint32_t* n);

/// Binds an op: parses the attributes, infers, chooses the implementation, makes the state. Hands over one
/// reference to `*bound`. Errors: TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE, TARSIA_UNSUPPORTED if no
/// implementation applies, and those of the op's own functions.
TARSIA_API int32_t tarsia_op_bind(tarsia_op_handle* op, const tarsia_op_request* request,
                                  tarsia_bound_op** bound);

/// Adds a reference to a bound op.
TARSIA_API void tarsia_bound_retain(tarsia_bound_op* bound);

/// Gives a reference to a bound op back. The last one destroys its state.
TARSIA_API void tarsia_bound_release(tarsia_bound_op* bound);

/// Returns the metas of the inputs, as they were given or inferred, and sets `*n`.
TARSIA_API const tarsia_meta* tarsia_bound_inputs(const tarsia_bound_op* bound, uint32_t* n);

/// Returns the names and flags of the inputs and sets `*n`. An input that nothing names has the name "".
TARSIA_API const tarsia_port* tarsia_bound_ports(const tarsia_bound_op* bound, uint32_t* n);

/// Returns the metas of the outputs and sets `*n`. Shapes and dtypes of dense outputs are exact.
TARSIA_API const tarsia_meta* tarsia_bound_outputs(const tarsia_bound_op* bound, uint32_t* n);

/// Returns 1 if the op has a gradient for the device that it is bound to, else 0.
TARSIA_API int32_t tarsia_bound_has_backward(const tarsia_bound_op* bound);

/// Returns 1 if input i was given and has a gradient, else 0. Mutable inputs and inputs that are declared
/// without a gradient have none.
TARSIA_API int32_t tarsia_bound_has_gradient(const tarsia_bound_op* bound, uint32_t i);

/// What a call of an implementation took when it was measured.
typedef struct tarsia_measured_time {
  const char* name; /* as tarsia_bound_pass's */
  double seconds;   /* below 0: it failed */
} tarsia_measured_time;

/// What runs a pass of a bound op. It lives as long as the bound op.
typedef struct tarsia_bound_pass {
  uint32_t size; /* sizeof(tarsia_bound_pass), set by the caller */
  uint32_t n_inplace;
  const tarsia_implementation* implementation; /* null: there is none */
  const char* name; /* the implementation's, or "cpu #2", the second of its device and pass; or "" */
  const tarsia_inplace* inplace;  /* the pairs that may share memory: the op's, in forward, and its own */
  uint64_t workspace;             /* the most bytes of scratch that it says it takes; 0 if it says nothing */
  const char* const* conversions; /* of every call, as in "input 'x': csr -> dense" */
  uint64_t n_conversions;
  const uint8_t*
      needs; /* for each tensor that it takes, whether it needs it; else it may be null. Null: all */
  uint64_t n_needs;
  const tarsia_measured_time* measured; /* of each that applies, where the choice was measured */
  uint64_t n_measured;                  /* 0: it was not */
  const char* not_measured; /* why it was not, although it should have been and there is a choice; or "" */
  const char* const*
      layouts; /* what it takes otherwise than row-major, as in "input 'x': axes (0, 2, 3, 1)" */
  uint64_t n_layouts;
} tarsia_bound_pass;

/// Fills in what runs a pass (tarsia_pass). Error: TARSIA_ARGUMENT_VALUE for another pass.
TARSIA_API int32_t tarsia_bound_describe(const tarsia_bound_op* bound, uint32_t pass,
                                         tarsia_bound_pass* description);

/// Says for people which implementations tarsia_op_bind would choose, and why it would not choose each other.
/// Free `*text` with tarsia_free. Errors: those of tarsia_op_bind, except that no implementation applies.
TARSIA_API int32_t tarsia_op_explain(tarsia_op_handle* op, const tarsia_op_request* request, char** text);

/// Runs a bound op, forward or backward as `call->pass` says. The tensors must match its metas and device:
/// the caller checks them, or calls tarsia_bound_check. Allocates nothing and takes no lock if the
/// implementation honours the requests. Threads that run a bound op with state take turns; without state,
/// they run it at once. Errors: TARSIA_UNSUPPORTED, TARSIA_CUDA_ERROR, and those of the op's own code.
TARSIA_API int32_t tarsia_bound_call(tarsia_bound_op* bound, const tarsia_op_call* call);

/// Checks the numbers, dtypes, shapes, devices and contiguity of a call's tensors. Errors:
/// TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE.
TARSIA_API int32_t tarsia_bound_check(const tarsia_bound_op* bound, const tarsia_op_call* call);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

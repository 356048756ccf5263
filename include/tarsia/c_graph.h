// Graphs of ops as a C interface. The rules are those of <tarsia/c_api.h>; docs/graph.md describes graphs.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A graph of registered ops. One thread at a time adds to it. docs/graph.md describes graphs.
typedef struct tarsia_graph tarsia_graph;

/// A value of a graph, by its number.
typedef uint32_t tarsia_graph_value;

/// No value: an optional input that is absent.
enum { TARSIA_NO_VALUE = 0xffffffff };

/// What a tensor of a graph is.
typedef enum tarsia_graph_tensor_kind {
  TARSIA_GRAPH_CONSTANT = 1,  /* nobody changes it */
  TARSIA_GRAPH_PARAMETER = 2, /* its owner may change it between calls */
  TARSIA_GRAPH_STATE = 3      /* ops of the graph change it: it is passed to their mutable inputs */
} tarsia_graph_tensor_kind;

/// The node of an op, borrowed for the call.
typedef struct tarsia_graph_node {
  uint32_t size;
  uint32_t n_inputs;
  uint32_t n_attributes;
  uint32_t has_device; /* 0: it runs where the graph is bound */
  const char* op;
  const char* name; /* null: made from the op's name */
  const tarsia_graph_value* inputs;
  const char* const* attribute_names;
  const tarsia_value* attributes; /* texts, or typed values */
  tarsia_device device;
} tarsia_graph_node;

/// Makes an empty graph. The caller frees `*graph` with tarsia_graph_free.
TARSIA_API int32_t tarsia_graph_create(tarsia_graph** graph);

/// Frees a graph. Ops that were made of it live on. Null is allowed.
TARSIA_API void tarsia_graph_free(tarsia_graph* graph);

/// Adds an input. `known` says what is known of it, the storage type included; null: it is dense. Error:
/// TARSIA_ARGUMENT_VALUE for a name that is taken or is no identifier.
TARSIA_API int32_t tarsia_graph_input(tarsia_graph* graph, const char* name, const tarsia_meta* known,
                                      tarsia_graph_value* value);

/// Adds a tensor, of which the graph keeps a reference. `name` may be null. Error: TARSIA_ARGUMENT_VALUE,
/// also for a tensor that is not contiguous.
TARSIA_API int32_t tarsia_graph_tensor(tarsia_graph* graph, tarsia_graph_tensor_kind kind, const char* name,
                                       tarsia_storage* tensor, tarsia_graph_value* value);

/// Adds an op. `outputs` has room for `*n_outputs` values, which is set to the number of outputs that callers
/// of the op get. Errors: TARSIA_NOT_FOUND, TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE, also for too little
/// room.
TARSIA_API int32_t tarsia_graph_add(tarsia_graph* graph, const tarsia_graph_node* node,
                                    tarsia_graph_value* outputs, uint32_t* n_outputs);

/// Makes a value a result of the graph. `name` may be null. Error: TARSIA_ARGUMENT_VALUE.
TARSIA_API int32_t tarsia_graph_output(tarsia_graph* graph, tarsia_graph_value value, const char* name);

/// Adds the gradient of `loss`, weighted by `seed` (TARSIA_NO_VALUE: ones), with respect to `n` values.
/// `gradients` gets theirs, zeros where the loss does not depend on a value. Errors: TARSIA_UNSUPPORTED for
/// an op without backward, TARSIA_ARGUMENT_VALUE.
TARSIA_API int32_t tarsia_graph_gradient(tarsia_graph* graph, tarsia_graph_value loss,
                                         tarsia_graph_value seed, const tarsia_graph_value* wrt, uint32_t n,
                                         tarsia_graph_value* gradients);

/// Writes a graph as JSON, its tensors included. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_graph_to_json(const tarsia_graph* graph, char** json);

/// Reads a graph that tarsia_graph_to_json wrote. Its constants, parameters and states lie on `device`; null:
/// where the text says. The caller frees `*graph`. Errors: TARSIA_ARGUMENT_VALUE for text that is none,
/// unknown fields and cycles; those of tarsia_graph_add; TARSIA_CUDA_ERROR for a GPU that is not there.
TARSIA_API int32_t tarsia_graph_from_json(const char* json, uint64_t bytes, const tarsia_device* device,
                                          tarsia_graph** graph);

/// Describes a graph as JSON: `inputs`, `outputs` and `nodes`, each with its name and values. Free `*json`
/// with tarsia_free.
TARSIA_API int32_t tarsia_graph_describe(const tarsia_graph* graph, char** json);

/// Infers what is known of a graph's values if that is known of its inputs, in their order (`present` 0:
/// nothing), on a device: forwards and backwards, until nothing new is learnt. Nothing is chosen or planned.
/// `values`, by their numbers, has room for all: tarsia_graph_values() of them. Unknown are ndim and extents
/// of -1, TARSIA_ANY_DTYPE and TARSIA_ANY_STORAGE. Errors: TARSIA_ARGUMENT_VALUE for another number of
/// inputs, and where metas contradict each other, which names the node; those of the ops' inference.
TARSIA_API int32_t tarsia_graph_infer(const tarsia_graph* graph, const tarsia_meta* inputs, uint32_t n_inputs,
                                      tarsia_device device, tarsia_meta* values);
/// The number of a graph's values.
TARSIA_API uint32_t tarsia_graph_values(const tarsia_graph* graph);

/// How a graph becomes an op.
enum {
  TARSIA_GRAPH_DIFFERENTIABLE = 1, /* with a backward; the forward keeps what that needs as hidden outputs */
  TARSIA_GRAPH_DYNAMIC = 2         /* for many shapes: bindings share plans of memory by bucket, and arenas. A
                                      graph with a name does anyway */
};

/// Makes an op of a graph as it is now: its inputs and outputs are the graph's. Binding it with
/// tarsia_op_bind makes the plan; calls of one binding may overlap. With a `name`, the op is registered under
/// it until tarsia_library_unload(`*library`). Hands over a reference to each of `*op` and `*library`.
/// Errors: TARSIA_ARGUMENT_VALUE for a graph without outputs, TARSIA_UNSUPPORTED.
TARSIA_API int32_t tarsia_graph_op(const tarsia_graph* graph, const char* name, uint32_t flags,
                                   tarsia_op_handle** op, tarsia_library** library);

/// Tells what the bindings of a graph's op share: how many plans of memory they have needed so far, and the
/// bytes of the arenas that no run uses just now. Error: TARSIA_ARGUMENT_TYPE if they share nothing.
TARSIA_API int32_t tarsia_graph_shared(const tarsia_op_handle* op, uint64_t* n_plans, uint64_t* bytes);

/// Describes the plan of a bound graph as JSON, see docs/graph.md. Free `*json` with tarsia_free. Error:
/// TARSIA_ARGUMENT_TYPE if the bound op is no graph's.
TARSIA_API int32_t tarsia_graph_plan(const tarsia_bound_op* bound, char** json);

/// Draws the plan of a bound graph as SVG: memory over time. Free `*svg` with tarsia_free. Error:
/// TARSIA_ARGUMENT_TYPE if the bound op is no graph's.
TARSIA_API int32_t tarsia_graph_plan_svg(const tarsia_bound_op* bound, char** svg);

/// A bound graph as a CUDA graph: all of its launches in one.
typedef struct tarsia_captured_graph tarsia_captured_graph;

/// Binds a graph's op and captures its run on a GPU. It runs once with zeros, which leaves states as they
/// were. The caller frees `*captured`. Errors: TARSIA_ARGUMENT_TYPE if the op is no graph's,
/// TARSIA_UNSUPPORTED for a graph that uses the CPU or sparse values, TARSIA_CUDA_ERROR, and those of
/// tarsia_op_bind.
TARSIA_API int32_t tarsia_graph_capture(tarsia_op_handle* op, const tarsia_op_request* request,
                                        tarsia_captured_graph** captured);

/// Frees a captured graph; its memory lives until its work is done. Null is allowed.
TARSIA_API void tarsia_captured_free(tarsia_captured_graph* captured);

/// Returns input i of a captured graph, a tensor at a fixed address that the caller fills before a replay;
/// null if there is none. Borrowed.
TARSIA_API tarsia_storage* tarsia_captured_input(const tarsia_captured_graph* captured, uint32_t i);

/// Returns output i, which the next replay overwrites; null if there is none. Borrowed.
TARSIA_API tarsia_storage* tarsia_captured_output(const tarsia_captured_graph* captured, uint32_t i);

/// Launches the graph on a stream, a cudaStream_t, without waiting. A replay on another stream waits for the
/// one before. May be called from several threads. Error: TARSIA_CUDA_ERROR.
TARSIA_API int32_t tarsia_captured_replay(tarsia_captured_graph* captured, void* stream);

/// Copies tensors of the CPU or of the graph's GPU to the inputs, launches the graph, and copies the outputs
/// to `results`, all in the order of a stream. It waits only if one of the tensors is on the CPU. A run on
/// another stream waits for the one before. May be called from several threads. Errors: TARSIA_ARGUMENT_VALUE
/// that names the tensor whose shape, dtype or GPU does not fit; TARSIA_CUDA_ERROR.
TARSIA_API int32_t tarsia_captured_run(tarsia_captured_graph* captured, const tarsia_tensor* const* given,
                                       uint64_t n_given, const tarsia_tensor* const* results,
                                       uint64_t n_results, void* stream);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

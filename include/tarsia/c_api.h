// Tarsia as a C interface, for other languages' bindings; <tarsia/tarsia.h> is the C++ face over it.
//
// Functions that give int32_t give 0 or a tarsia_code (abi.h); tarsia_last_error() then has the details. All
// may be called from any thread. Structs that may grow start with their size: zero them, or use the *_init
// function, and set it. Strings are UTF-8 and NUL-terminated. Nothing here prints, exits or initialises CUDA
// before a launch or GPU memory is asked for.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>
#include <tarsia/compile_options.h>
#include <tarsia/host.h>
#include <tarsia/op_abi.h>

#define TARSIA_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

/// A message of a compiler, at a place of the author's text.
typedef struct tarsia_diagnostic {
  const char* file;
  int32_t line;         /* from 1; 0: no place */
  int32_t column;       /* from 1, in bytes; 0: unknown */
  const char* severity; /* "note", "warning", "error", "fatal error" */
  const char* message;
} tarsia_diagnostic;

/// The last error of a thread.
typedef struct tarsia_error {
  uint32_t size;
  int32_t code;        /* tarsia_code */
  const char* stage;   /* "source", "host", "split", "device", "link", "worker", "load", "call" */
  const char* message; /* names the place and the remedy */
  const char* log;     /* further text for people; may be "" */
  const tarsia_diagnostic* diagnostics;
  uint64_t n_diagnostics;
} tarsia_error;

/// The calling thread's last error; valid until its next call that fails. Code 0 if there was none.
TARSIA_API const tarsia_error* tarsia_last_error(void);

/// The class of a code, as bindings name it: "CompileError" for TARSIA_COMPILE_ERROR, and so on.
TARSIA_API const char* tarsia_error_name(int32_t code);

/* ---- compiling and loading ---- */

/// A library: a loaded module, inline or prebuilt. Counted; everything it gives lives as long as a reference.
typedef struct tarsia_library tarsia_library;

/// The most bytes that the texts of a source may have, those of its headers included. Larger ones are refused
/// before any byte is read, as TARSIA_INVALID_SOURCE.
#define TARSIA_MAX_SOURCE_BYTES ((uint64_t)64 << 20)

/// A named text. `bytes` counts the text without a terminating NUL.
typedef struct tarsia_file {
  const char* name; /* null for a source that is one lone string */
  const char* text;
  uint64_t bytes;
} tarsia_file;

typedef struct tarsia_define {
  const char* name;
  const char* value; /* null: defined without value */
} tarsia_define;

/// How a source is compiled. Arrays are borrowed for the call. What the rows of compile_options.h say is
/// listed in docs/options.md.
typedef struct tarsia_options {
  uint32_t size;
  const char* name; /* of the library; null: made from the source's hash */
  TARSIA_OPTIONS_EXPORTS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_HOST_HEADERS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_HEADERS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_SOURCE(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_PTX(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_ARCH(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_CODE(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_TIMEOUT(TARSIA_OPTION_FIELD)
  int32_t cached_only; /* 1: a source that would have to be compiled is an error of code TARSIA_UNSUPPORTED,
                          for callers that cannot wait, as while a CUDA graph is captured */
  /// Asked by the calling thread, about every 50 ms, while it waits for the compiler: other than 0 stops the
  /// compile, which is then an error of code TARSIA_INTERRUPTED. Null: never.
  int32_t (*interrupted)(void* context);
  void* interrupt_context;
  /* Device code alone, of these `kernels` of one file: instantiations "ns::scale<float, 4>" or kernels by
     their names. None of the host's code is in the library then, and no op is registered by it. They may not
     use the source's variables in device memory (const ones apart), since the library would have its own.
     `kernels_file` is that of tarsia_kernel_template, tarsia_kernel; null: the first of the source.
     `kernels_to_read` is 1 if their code is looked at and not launched, so that variables do no harm. */
  TARSIA_KERNEL_OPTIONS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_ADDED(TARSIA_OPTION_FIELD)
} tarsia_options;

/// Sets the defaults in options that are `size` bytes large for the caller: c++20, opt 2, own headers,
/// everything exported.
TARSIA_API void tarsia_options_defaults(tarsia_options* options, uint32_t size);
static inline void tarsia_options_init(tarsia_options* options) {
  tarsia_options_defaults(options, (uint32_t)sizeof(*options));
}

/// Compiles (or takes from the cache) and loads a source. One file with a null name is a lone string, which
/// may hold CUDA; else the suffixes tell the language. One reference is handed over.
TARSIA_API int32_t tarsia_load_inline(const tarsia_file* files, uint64_t n_files,
                                      const tarsia_options* options, tarsia_library** library);

/// Loads a library built ahead of time, from a private copy of the file. One reference is handed over.
TARSIA_API int32_t tarsia_load(const char* path, tarsia_library** library);

/// Compiles a source and writes the shared library to `output`, without loading it.
TARSIA_API int32_t tarsia_compile(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                                  const char* output);

/* ---- libraries ---- */

/// Adds a reference.
TARSIA_API void tarsia_library_retain(tarsia_library* library);

/// Gives a reference back. After the last one the code is unmapped, once nothing that it launched is under
/// way; ops that it registered keep a reference of their own.
TARSIA_API void tarsia_library_release(tarsia_library* library);

/// Takes the library's ops out of the registry. Its code goes with the last reference.
TARSIA_API int32_t tarsia_library_unload(tarsia_library* library);

/// Its name.
TARSIA_API const char* tarsia_library_name(const tarsia_library* library);

/// Where it came from: "compiled", "memory", "disk", "prebuilt".
TARSIA_API const char* tarsia_library_origin(const tarsia_library* library);

/// Its functions, `*n` of them; overloads are several of one name, in the source's order. With signatures,
/// made from the descriptor where the module has none.
TARSIA_API const tarsia_function* const* tarsia_library_functions(const tarsia_library* library, uint64_t* n);

/// Its kernels; none for prebuilt libraries.
TARSIA_API const tarsia_kernel* const* tarsia_library_kernels(const tarsia_library* library, uint64_t* n);

/// Its templates of kernels; none for prebuilt libraries.
TARSIA_API const tarsia_kernel_template* const* tarsia_library_templates(const tarsia_library* library,
                                                                         uint64_t* n);
/// Its variables in device memory; none for prebuilt libraries.
TARSIA_API const tarsia_global* const* tarsia_library_globals(const tarsia_library* library, uint64_t* n);
/// A tensor over such a variable on a GPU (-1: the current one); keeps the library. One reference is handed
/// over.
TARSIA_API int32_t tarsia_library_global(tarsia_library* library, const tarsia_global* global, int32_t device,
                                         tarsia_storage** storage);

/// The names of the ops that it registered.
TARSIA_API const char* const* tarsia_library_ops(const tarsia_library* library, uint64_t* n);

/// Its device code; none for prebuilt libraries.
TARSIA_API const tarsia_image* tarsia_library_images(const tarsia_library* library, uint64_t* n);

/// Functions of the source that were not exported.
TARSIA_API const tarsia_skipped* tarsia_library_skipped(const tarsia_library* library, uint64_t* n);

/// Compiler warnings of the source, none if it came from the cache without any.
TARSIA_API const tarsia_diagnostic* tarsia_library_warnings(const tarsia_library* library, uint64_t* n);

/// Writes the shared library, byte for byte what is loaded, so that tarsia_load takes it.
TARSIA_API int32_t tarsia_library_export(const tarsia_library* library, const char* path);

/* ---- calling functions ---- */

/// What surrounds a call: who makes tensors and which streams are current. Stack-allocated by the face; null
/// callbacks stand for Tarsia's own.
typedef struct tarsia_call_context {
  uint32_t size;
  uint32_t framework;   /* a number that the face chose, > 0; marks storages that `empty` makes */
  tarsia_device device; /* that of the tensors that came in; the CPU if none did */
  void* user;           /* first argument of the callbacks */
  tarsia_storage* (*empty)(void* user, const int64_t* shape, int32_t ndim, tarsia_dtype dtype,
                           tarsia_device device);
  void* (*current_stream)(void* user, int32_t device);
  struct tarsia_call_context* outer; /* set by tarsia_enter_call */
  void* resources;                   /* libtarsia's: results and scratch of the call; start with null */
} tarsia_call_context;

/// Where the calling thread keeps its current context. The address holds for the thread's life: keep it in a
/// thread_local of the face.
TARSIA_API tarsia_call_context** tarsia_call_slot(void);

/// Frees what a call left in context->resources: string, list and tuple results, and scratch.
TARSIA_API void tarsia_free_resources(tarsia_call_context* context);

/// Makes `context` the thread's current one. Then call `function->call(args, n, &result)`, take the result,
/// and leave. An error code means tarsia_last_error().
static inline void tarsia_enter_call(tarsia_call_context** slot, tarsia_call_context* context) {
  context->outer = *slot;
  *slot = context;
}
static inline void tarsia_leave_call(tarsia_call_context** slot, tarsia_call_context* context) {
  *slot = context->outer;
  if (context->resources) tarsia_free_resources(context);
}

/// Calls the first of `n_functions` overloads that takes the arguments exactly, else the first that takes
/// them, checked and converted by the descriptors: tensors (TARSIA_KIND_TENSOR) for pointers, ints for
/// floats, the current stream where one is missing. A context must have been entered; its device is set from
/// the tensors.
TARSIA_API int32_t tarsia_call(const tarsia_function* const* functions, uint64_t n_functions,
                               const tarsia_value* args, uint32_t n_args, tarsia_value* result);

/// For faces that call functions directly; tarsia_call does both by itself. They are for functions that have
/// TARSIA_FUNCTION_SOURCE_HAS_CUDA and not TARSIA_FUNCTION_MAIN, as tarsia_library_functions gives them.
/// Before the first call of one with TARSIA_FUNCTION_TAKES_STREAM: TARSIA_CUDA_ERROR if no GPU can be used.
TARSIA_API int32_t tarsia_require_gpu(const tarsia_function* function);
/// After each call: TARSIA_CUDA_ERROR if an error was left in the CUDA runtime, as a launch that failed
/// leaves it, and the function returns no integer, which may be that error. It is cleared there. Waits for
/// nothing, and does not initialise CUDA. The caller drops the result.
TARSIA_API int32_t tarsia_check_launches(const tarsia_function* function);

/* ---- launching kernels ---- */

typedef struct tarsia_launch {
  uint32_t size;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  int32_t device; /* -1: that of the tensors, else CUDA's current */
  uint32_t has_stream;
  void* stream;         /* without has_stream: the current one */
  uint32_t cluster[3];  /* blocks of a cluster; 0: no clusters, save those that the kernel declares */
  uint32_t cooperative; /* 1: all blocks run at once, so that the grid can be synchronised */
} tarsia_launch;

/// Launches a kernel. Arguments as for tarsia_call; for parameters of kind TARSIA_KIND_NONE a string with the
/// bytes. Dynamic shared memory beyond 48 KB is asked for. Launch errors are reported; execution errors are
/// not waited for (unless the environment has TARSIA_DEBUG_SYNC=1), and a later call's error names what was
/// launched.
TARSIA_API int32_t tarsia_kernel_launch(const tarsia_kernel* kernel, const tarsia_launch* launch,
                                        const tarsia_value* args, uint32_t n_args);
/// For faces that check and convert arguments by the descriptor themselves: `values` has kernel->n_params of
/// them, and `launch` is complete.
TARSIA_API int32_t tarsia_kernel_launch_values(const tarsia_kernel* kernel, const tarsia_launch* launch,
                                               const tarsia_value* values);

/// What a kernel needs.
typedef struct tarsia_kernel_attributes {
  uint32_t size;
  int32_t registers;    /* a thread's */
  int32_t shared_bytes; /* static, a block's */
  int32_t local_bytes;  /* a thread's */
  int32_t constant_bytes;
  int32_t max_threads; /* that a block can have */
  int32_t ptx_version; /* 90 for compute_90 */
  int32_t binary_version;
} tarsia_kernel_attributes;

/// As the driver tells them on a GPU. For device -1 that is the current one; without any GPU they are read
/// from the code for the newest architecture.
TARSIA_API int32_t tarsia_kernel_get_attributes(const tarsia_kernel* kernel, int32_t device,
                                                tarsia_kernel_attributes* attributes);

/// How many blocks run at once.
typedef struct tarsia_occupancy {
  uint32_t size;
  uint32_t blocks; /* on one multiprocessor */
  uint32_t grid;   /* on the GPU: the largest cooperative grid */
  double fraction; /* of the threads that a multiprocessor holds */
} tarsia_occupancy;

/// For blocks of this many threads. Device -1 is the current one.
TARSIA_API int32_t tarsia_kernel_occupancy(const tarsia_kernel* kernel, int32_t device, uint32_t threads,
                                           uint32_t shared_bytes, tarsia_occupancy* occupancy);
/// The block size with which most threads run at once; `limit` is the largest allowed, or 0.
TARSIA_API int32_t tarsia_kernel_suggest_block(const tarsia_kernel* kernel, int32_t device,
                                               uint32_t shared_bytes, uint32_t limit, uint32_t* threads);

/* ---- ops ---- */

/// A registered op as it stood when it was looked up. Counted; keeps its library.
typedef struct tarsia_op_handle tarsia_op_handle;
/// An op with attributes parsed, shapes inferred, implementation chosen. Counted; keeps its library.
typedef struct tarsia_bound_op tarsia_bound_op;

/// The names of all registered ops, sorted; free with tarsia_free.
TARSIA_API int32_t tarsia_op_names(char*** names, uint64_t* n);

/// Registers ops that the program itself implements, as a library of this name; one reference is handed over.
/// The descriptions have to live until release(user), which is called once, on any thread, when nothing needs
/// them any more; also if this fails.
TARSIA_API int32_t tarsia_define_ops(const char* name, const tarsia_op* const* ops, uint64_t n_ops,
                                     void (*release)(void* user), void* user, tarsia_library** library);
/// Looks an op up; one reference is handed over.
TARSIA_API int32_t tarsia_op_find(const char* name, tarsia_op_handle** op);
TARSIA_API void tarsia_op_retain(tarsia_op_handle* op);
TARSIA_API void tarsia_op_release(tarsia_op_handle* op);
/// Its description: ports, attributes, implementations.
TARSIA_API const tarsia_op* tarsia_op_describe(const tarsia_op_handle* op);
/// A number that changes when an op of any name is registered, replaced or taken out: lets faces keep
/// handles.
TARSIA_API uint64_t tarsia_op_generation(void);

/// Infers shapes, dtypes and storage types. `inputs` and `outputs` have room for *n_inputs and *n_outputs
/// metas, hold what is known, and are filled; the numbers become those of the op (too little room is an
/// error).
TARSIA_API int32_t tarsia_op_infer(tarsia_op_handle* op, const tarsia_op_request* request,
                                   tarsia_meta* inputs, uint32_t* n_inputs, tarsia_meta* outputs,
                                   uint32_t* n_outputs);

/// Binds; one reference is handed over.
TARSIA_API int32_t tarsia_op_bind(tarsia_op_handle* op, const tarsia_op_request* request,
                                  tarsia_bound_op** bound);
TARSIA_API void tarsia_bound_retain(tarsia_bound_op* bound);
TARSIA_API void tarsia_bound_release(tarsia_bound_op* bound);
/// The metas that it was bound with or inferred: exact for dense outputs.
TARSIA_API const tarsia_meta* tarsia_bound_inputs(const tarsia_bound_op* bound, uint32_t* n);
TARSIA_API const tarsia_meta* tarsia_bound_outputs(const tarsia_bound_op* bound, uint32_t* n);
/// Whether it has a backward for its device.
TARSIA_API int32_t tarsia_bound_has_backward(const tarsia_bound_op* bound);
/// Whether input i was given and has a gradient. Mutable inputs have none, nor do inputs declared without
/// one.
TARSIA_API int32_t tarsia_bound_has_gradient(const tarsia_bound_op* bound, uint32_t i);

/// Runs a bound op, forward or backward as `call->pass` says, on tensors that exactly match its metas and
/// device (checked by the caller, or with tarsia_bound_check). Allocates nothing and takes no lock for an
/// implementation that honours the requests. Several threads may run one bound op at once if it has no state.
TARSIA_API int32_t tarsia_bound_call(tarsia_bound_op* bound, const tarsia_op_call* call);

/// Checks numbers, dtypes, shapes, devices and contiguity of a call's tensors.
TARSIA_API int32_t tarsia_bound_check(const tarsia_bound_op* bound, const tarsia_op_call* call);

/* ---- testing ops ---- */

enum {                               /* tarsia_check_request.flags */
       TARSIA_CHECK_NO_GRADIENT = 1, /* do not compare the gradient with finite differences */
       TARSIA_CHECK_EXACT_MEMORY = 2 /* tensors in memory of just their size, for AddressSanitizer */
};

/// What an op is tested on. Tarsia chooses what is omitted, or unknown in a meta.
typedef struct tarsia_check_request {
  uint32_t size;
  uint32_t n_inputs;
  const tarsia_meta* inputs;
  uint32_t n_attributes;
  uint32_t flags;
  const char* const* attribute_names;
  const char* const* attribute_texts;
  uint64_t seed;
} tarsia_check_request;

typedef enum tarsia_check_status {
  TARSIA_CHECK_FAILED = 0,
  TARSIA_CHECK_PASSED = 1,
  TARSIA_CHECK_SKIPPED = 2
} tarsia_check_status;

typedef struct tarsia_check_result {
  const char* check; /* "cpu float32: forward writes every element" */
  const char* message;
  int32_t status; /* tarsia_check_status */
} tarsia_check_result;

/// Tests an op without any framework: inference, forward and backward on generated inputs of every dtype that
/// it takes, the gradient against finite differences, write requests, elements that are not written, memory
/// that is not its own, determinism, the CPU against the GPU. Seeds the random states anew. `results` is one
/// block for tarsia_free.
TARSIA_API int32_t tarsia_op_check(tarsia_op_handle* op, const tarsia_check_request* request,
                                   tarsia_check_result** results, uint64_t* n);

/* ---- tensors, devices, random numbers ---- */

/// A contiguous tensor of Tarsia's own, elements unset; one reference is handed over.
TARSIA_API int32_t tarsia_empty(const int64_t* shape, int32_t ndim, tarsia_dtype dtype, tarsia_device device,
                                tarsia_storage** storage);
/// Adds and gives back references; the last one frees.
TARSIA_API void tarsia_storage_retain(tarsia_storage* storage);
TARSIA_API void tarsia_storage_release(tarsia_storage* storage);
/// Copies elements between tensors of one shape and dtype, both contiguous, on any devices. Ordered on
/// `stream` if a GPU takes part, and not waited for unless a side is on the CPU.
TARSIA_API int32_t tarsia_copy(const tarsia_tensor* to, const tarsia_tensor* from, void* stream);

/// How many GPUs there are; 0 without a driver.
TARSIA_API int32_t tarsia_device_count(void);
/// A CUdevice_attribute of a GPU.
TARSIA_API int32_t tarsia_device_attribute(int32_t device, int32_t attribute, int32_t* value);
/// The GPU's name; valid for ever. Null without such a GPU.
TARSIA_API const char* tarsia_device_name(int32_t device);
/// Makes a GPU current for CUDA on this thread and tells which was (-1: none); a negative number changes
/// nothing. Functions that launch kernels are called with the GPU of their tensors current.
TARSIA_API int32_t tarsia_device_enter(int32_t device, int32_t* previous);
/// The stream that calls of this thread take on a GPU when their context names none; null is CUDA's default.
TARSIA_API void tarsia_set_stream(int32_t device, void* stream);
TARSIA_API void* tarsia_get_stream(int32_t device);
/// Waits for a stream's work.
TARSIA_API int32_t tarsia_synchronize(int32_t device, void* stream);

/// Seeds the random states of all devices.
TARSIA_API void tarsia_seed(uint64_t seed);

/* ---- this Tarsia ---- */

/// "0.1.0"
TARSIA_API const char* tarsia_version(void);
/// What modules are given; for C++ code that uses <tarsia/tensor.h> outside a module.
TARSIA_API const tarsia_host* tarsia_get_host(void);
/// What is found or missing and what to do about it, as JSON to tarsia_free. Compiles; launches if it can.
TARSIA_API int32_t tarsia_doctor(char** json);
/// A folder in which NVIDIA's wheels may be installed. It is searched after the parts that the process has
/// loaded.
TARSIA_API void tarsia_add_site_packages(const char* dir);
/// Counters of the cache and the compiler as JSON; free with tarsia_free.
TARSIA_API int32_t tarsia_statistics(char** json);
/// Frees memory that a function above handed over.
TARSIA_API void tarsia_free(void* memory);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

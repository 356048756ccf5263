// Tarsia as a C interface, for other languages' bindings; <tarsia/tarsia.h> is the C++ face over it.
//
// Rules for all functions:
//  * A function that returns int32_t returns 0, or a tarsia_code (abi.h); tarsia_last_error() then has the
//    details. Exceptions to this rule say so.
//  * Every function may be called from any thread.
//  * A struct that may grow starts with its size. Zero it and set the size, or use its *_init function.
//  * Strings are UTF-8 and end with a NUL.
//  * A handle is counted. A function that hands one over adds a reference, which the caller gives back with
//    the handle's *_release function. What a getter returns lives as long as the handle that it was got from.
//  * Nothing here prints or exits. CUDA is initialised by the first launch or request for GPU memory.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>
#include <tarsia/compile_options.h>
#include <tarsia/host.h>
#include <tarsia/op_abi.h>

/// Marks the functions that libtarsia exports.
#define TARSIA_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

/// A message of the compiler about a place in the author's text.
typedef struct tarsia_diagnostic {
  const char* file;
  int32_t line;         /* from 1; 0: no place */
  int32_t column;       /* from 1, in bytes; 0: unknown */
  const char* severity; /* "note", "warning", "error", "fatal error" */
  const char* message;
} tarsia_diagnostic;

/// The last error of a thread. Its texts live as long as tarsia_last_error() says.
typedef struct tarsia_error {
  uint32_t size;
  int32_t code;        /* tarsia_code */
  const char* stage;   /* "source", "host", "split", "device", "link", "worker", "load", "call" */
  const char* message; /* names the place and the remedy */
  const char* log;     /* further text for people; may be "" */
  const tarsia_diagnostic* diagnostics;
  uint64_t n_diagnostics;
} tarsia_error;

/// Returns the calling thread's last error, never null. It is valid until the thread's next call that fails.
/// Its code is 0 if no call has failed.
TARSIA_API const tarsia_error* tarsia_last_error(void);

/// Returns the name of a code's class for bindings: "CompileError" for TARSIA_COMPILE_ERROR, and so on;
/// "Error" for an unknown code. The text lives forever.
TARSIA_API const char* tarsia_error_name(int32_t code);

/* ---- compiling and loading ---- */

/// A library: a loaded module, inline or prebuilt. A counted handle. What its getters return lives as long as
/// a reference to the library.
typedef struct tarsia_library tarsia_library;

/// The most bytes that the texts of a source may have, including those of its headers. A larger source is
/// refused before any byte is read: TARSIA_INVALID_SOURCE.
#define TARSIA_MAX_SOURCE_BYTES ((uint64_t)64 << 20)

/// A named text, borrowed. `bytes` does not count a NUL at the end.
typedef struct tarsia_file {
  const char* name; /* null for a source that is one lone string */
  const char* text;
  uint64_t bytes;
} tarsia_file;

/// A macro that a compile defines.
typedef struct tarsia_define {
  const char* name;
  const char* value; /* null: defined without value */
} tarsia_define;

/// How a source is compiled. Texts and arrays are borrowed for the call. docs/options.md explains the fields
/// that come from the rows of compile_options.h.
typedef struct tarsia_options {
  uint32_t size;
  const char* name; /* the library's name; null: one made from the source's hash */
  TARSIA_OPTIONS_EXPORTS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_HOST_HEADERS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_HEADERS(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_SOURCE(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_PTX(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_ARCH(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_CODE(TARSIA_OPTION_FIELD)
  TARSIA_OPTIONS_TIMEOUT(TARSIA_OPTION_FIELD)
  int32_t cached_only; /* 1: a source that is not in the cache is refused: TARSIA_COMPILE_FORBIDDEN, as within
                          tarsia_no_compile_enter; 2: the same, since a CUDA graph is being captured */
  /// The calling thread asks this about every 50 ms while it waits for the compiler. Another answer than 0
  /// ends the wait: TARSIA_INTERRUPTED. Null: nothing ends it.
  int32_t (*interrupted)(void* context);
  void* interrupt_context;
  /* `kernels` asks for the device code of these kernels of one file alone: instantiations, as in
     "ns::scale<float, 4>", or names of kernels. Such a library holds no host code and registers no op. The
     kernels may not use variables of the source in device memory, except const ones, because the library
     would have variables of its own.
     `kernels_file` is the `file` of a tarsia_kernel_template or tarsia_kernel; null: the source's first file.
     `kernels_to_read` is 1 if the code is only read, never launched; variables are then allowed. */
  TARSIA_KERNEL_OPTIONS(TARSIA_OPTION_FIELD)
  /// The Python file in which the call stands, and its line. Reports of crashes then name the places of the
  /// texts that are string literals there, beside those in the texts. Null: there is none.
  const char* caller_file;
  uint32_t caller_line;
  TARSIA_OPTIONS_ADDED(TARSIA_OPTION_FIELD)
} tarsia_options;

/// Sets the defaults: C++20, optimisation level 2, Tarsia's own headers, everything exported. `size` is the
/// size of the struct as the caller was compiled with it.
TARSIA_API void tarsia_options_defaults(tarsia_options* options, uint32_t size);
/// The same, for the struct of this header.
static inline void tarsia_options_init(tarsia_options* options) {
  tarsia_options_defaults(options, (uint32_t)sizeof(*options));
}

/// Compiles a source, or takes it from the cache, and loads it. A single file with a null name is a string
/// that may hold C++ and CUDA. Otherwise the suffixes of the names decide the language. Hands over one
/// reference to `*library`. Errors: TARSIA_COMPILE_ERROR with diagnostics, TARSIA_INVALID_SOURCE,
/// TARSIA_LOAD_ERROR, and the other codes of the compiler.
TARSIA_API int32_t tarsia_load_inline(const tarsia_file* files, uint64_t n_files,
                                      const tarsia_options* options, tarsia_library** library);

/// A suffix by which a file's name says the language of its text.
typedef struct tarsia_suffix {
  const char* suffix;    ///< such as ".cpp"
  const char* language;  ///< "c", "c++" or "cuda"
} tarsia_suffix;

/// Returns the suffixes of sources and sets `*n` to their number. They live forever.
TARSIA_API const tarsia_suffix* tarsia_source_suffixes(uint64_t* n);

/// Whether a text has a word or an include that only CUDA knows, outside of comments and strings: 1 or 0. A
/// source whose name says no language is compiled as CUDA then.
TARSIA_API int32_t tarsia_mentions_cuda(const char* text, uint64_t bytes);

/// Loads a library that was built ahead of time, from a private copy of the file. Hands over one reference to
/// `*library`. Error: TARSIA_LOAD_ERROR.
TARSIA_API int32_t tarsia_load(const char* path, tarsia_library** library);

/// Compiles a source as tarsia_load_inline does and writes the shared library to the file `output`. Loads
/// nothing.
TARSIA_API int32_t tarsia_compile(const tarsia_file* files, uint64_t n_files, const tarsia_options* options,
                                  const char* output);

/// Calls call(user) and returns what that returns. Meanwhile waits of this thread for compiles ask
/// interrupted(context) about every 50 ms; once it returns another number than 0, they end with
/// TARSIA_INTERRUPTED. The functions that take tarsia_options ask those instead.
TARSIA_API int32_t tarsia_interruptible(int32_t (*call)(void* user), void* user,
                                        int32_t (*interrupted)(void* context), void* context);

/* ---- ops, with <tarsia/ops/c_ops.h> ---- */

/// A registered op as it was when it was looked up. A counted handle that keeps the op's library.
typedef struct tarsia_op_handle tarsia_op_handle;

/// An op whose attributes are parsed, whose shapes are inferred and whose implementation is chosen. A counted
/// handle that keeps the op's library.
typedef struct tarsia_bound_op tarsia_bound_op;

/* ---- libraries ---- */

/// Lets a second SIGINT (Ctrl-C) end the process, for programs that handle SIGINT while library code runs, as
/// Python does. The first signal goes to the program's handler. A second one within a second, while the same
/// call is under way, is reported as a crash and ends the process. Call this after the handler is set, and
/// again if it changes. Does nothing if SIGINT is not handled, or with TARSIA_CRASH_REPORT=0 in the
/// environment.
TARSIA_API void tarsia_report_double_interrupts(void);

/// Adds a reference to a library.
TARSIA_API void tarsia_library_retain(tarsia_library* library);

/// Gives a reference back. Null is allowed. After the last reference, the code is unmapped as soon as the GPU
/// work that it launched is done. The ops that the library registered hold a reference of their own.
TARSIA_API void tarsia_library_release(tarsia_library* library);

/// Takes the library's ops out of the registry. Its code stays mapped until the last reference is given back.
TARSIA_API int32_t tarsia_library_unload(tarsia_library* library);

/// Returns the library's name.
TARSIA_API const char* tarsia_library_name(const tarsia_library* library);

/// Returns where the library came from: "compiled", "memory", "disk", "remote" (a shared store) or
/// "prebuilt".
TARSIA_API const char* tarsia_library_origin(const tarsia_library* library);

/// Returns the library's functions and sets `*n` to their number. Overloads are separate functions of one
/// name, in the source's order. Each has a signature; if the module has none, it is made from the descriptor.
TARSIA_API const tarsia_function* const* tarsia_library_functions(const tarsia_library* library, uint64_t* n);

/// Returns the library's kernels and sets `*n` to their number, 0 for prebuilt libraries.
TARSIA_API const tarsia_kernel* const* tarsia_library_kernels(const tarsia_library* library, uint64_t* n);

/// Returns the library's templates of kernels and sets `*n` to their number, 0 for prebuilt libraries.
TARSIA_API const tarsia_kernel_template* const* tarsia_library_templates(const tarsia_library* library,
                                                                         uint64_t* n);
/// Returns the library's variables in device memory and sets `*n` to their number, 0 for prebuilt libraries.
TARSIA_API const tarsia_global* const* tarsia_library_globals(const tarsia_library* library, uint64_t* n);

/// Returns the names of the symbols that the library shows to others, sorted, and sets `*n`: those that the
/// option `exports` names, and those that the source marks with __attribute__((visibility("default"))).
TARSIA_API const char* const* tarsia_library_symbols(const tarsia_library* library, uint64_t* n);

/// Returns the address of a symbol that the library shows to others; null if it shows none of that name. It
/// is valid as long as the library.
TARSIA_API void* tarsia_library_symbol(const tarsia_library* library, const char* name);

/// Writes what C++ calls a symbol, without what compilers append to tell copies of a function apart: "f(int)"
/// for "_Z1fi" and "_Z1fi.cold". Names of C stay as they are. Free `*name` with tarsia_free.
TARSIA_API int32_t tarsia_readable_symbol(const char* symbol, char** name);

/// Returns a path that no other library has. dlopen() of this path, in this process and as long as the
/// library lives, gives the library again.
TARSIA_API const char* tarsia_library_path(const tarsia_library* library);

/// Makes a tensor over a variable in the memory of GPU `device` (-1: the current one). The tensor keeps the
/// library. Hands over one reference to `*storage`.
TARSIA_API int32_t tarsia_library_global(tarsia_library* library, const tarsia_global* global, int32_t device,
                                         tarsia_storage** storage);

/// Returns the names of the ops that the library registered and sets `*n` to their number.
TARSIA_API const char* const* tarsia_library_ops(const tarsia_library* library, uint64_t* n);

/// Returns the library's device code and sets `*n` to the number of images, 0 for prebuilt libraries.
TARSIA_API const tarsia_image* tarsia_library_images(const tarsia_library* library, uint64_t* n);

/// Returns the functions of the source that were not exported, each with the reason, and sets `*n`.
TARSIA_API const tarsia_skipped* tarsia_library_skipped(const tarsia_library* library, uint64_t* n);

/// Returns the warnings and sets `*n`: the compiler's about the source, and those of loading, about replaced
/// ops that had another signature. The cache keeps the compiler's warnings with the module.
TARSIA_API const tarsia_diagnostic* tarsia_library_warnings(const tarsia_library* library, uint64_t* n);

/// Writes the shared library to a file, byte for byte as it is loaded. tarsia_load takes the file.
TARSIA_API int32_t tarsia_library_export(const tarsia_library* library, const char* path);

/* ---- calling functions ---- */

/// The context of a call: who makes tensors and which streams are current. The face keeps it on the stack
/// from tarsia_enter_call to tarsia_leave_call, on one thread. For a null callback, that of the enclosing
/// context is used, and in the outermost context Tarsia's own.
typedef struct tarsia_call_context {
  uint32_t size;
  uint32_t framework;   /* a number > 0 that the face chose; it marks storages that `empty` makes */
  tarsia_device device; /* the device of the tensor arguments; the CPU if there are none */
  void* user;           /* first argument of the callbacks */
  tarsia_storage* (*empty)(void* user, const int64_t* shape, int32_t ndim, tarsia_dtype dtype,
                           tarsia_device device);
  void* (*current_stream)(void* user, int32_t device);
  struct tarsia_call_context* outer; /* set by tarsia_enter_call */
  void* resources; /* libtarsia's: results and scratch of the call. The face sets it to null */

  /* `size` says whether the fields below are there. */

  /* Code that calls tarsia::check_interrupt() asks this now and then, on the thread of the call. Another
     answer than 0 ends the call: TARSIA_INTERRUPTED. May be null. */
  int32_t (*interrupted)(void* user);
  /* The call under way, for reports of crashes, which signal handlers write. A face that calls a function's
     code sets these; tarsia_call does it itself. */
  const tarsia_function* function; /* null: no function runs */
  const tarsia_value* args;
  uint64_t n_args;
  /* Returns the tensor behind a value of TARSIA_KIND_POINTER, or null if it is unknown. Signal handlers call
     it: it takes no lock and allocates nothing. May be null. */
  const tarsia_tensor* (*tensor_at)(void* user, const void* address);
  const struct tarsia_op* op;              /* libtarsia's: the op that runs, or null */
  const struct tarsia_op_context* op_call; /* libtarsia's: its tensors */
  uint64_t interrupt_ns; /* libtarsia's: when a signal to interrupt came. The face sets it to 0 */
  /* Returns a tensor that shares an argument's memory and may outlive the call, one reference handed over, or
     null with the last error set. Null: functions that may keep an argument cannot be called. */
  tarsia_storage* (*share)(void* user, const tarsia_tensor* argument);
  /* Gives an argument another shape and writes into *argument what it then is. Returns 0, or a code with the
     last error set. Null: functions that resize an argument fail. */
  int32_t (*resize)(void* user, const tarsia_tensor* argument, const int64_t* shape, int32_t ndim);
} tarsia_call_context;

/// Returns where the calling thread keeps its current context. The address is valid as long as the thread
/// lives: keep it in a thread_local of the face.
TARSIA_API tarsia_call_context** tarsia_call_slot(void);

/// Makes an integer argument that has a sign: -1 does not fit a parameter of type uint64_t. Without this or
/// tarsia_unsigned, `size` 0 leaves it open, and then the bits of -1 are those of 18446744073709551615.
static inline tarsia_value tarsia_signed(int64_t number) {
  tarsia_value value;
  value.i = number;
  value.kind = TARSIA_KIND_INT;
  value.size = TARSIA_SIGNED;
  return value;
}

/// Makes an integer argument without a sign: 18446744073709551615 does not fit a parameter of type int64_t.
static inline tarsia_value tarsia_unsigned(uint64_t number) {
  tarsia_value value;
  value.u = number;
  value.kind = TARSIA_KIND_INT;
  value.size = TARSIA_UNSIGNED;
  return value;
}

/// Frees context->resources: results that are strings, lists or tuples, and scratch. tarsia_leave_call does
/// this.
TARSIA_API void tarsia_free_resources(tarsia_call_context* context);

/// Makes `context` the thread's current one. The face then calls `function->call(args, n, &result)`, takes
/// the result, and leaves the call. After an error code, tarsia_last_error() has the details.
static inline void tarsia_enter_call(tarsia_call_context** slot, tarsia_call_context* context) {
  context->outer = *slot;
  *slot = context;
}
/// Makes the enclosing context current again and frees the call's resources. `context` is the one that
/// tarsia_enter_call got last on this thread.
static inline void tarsia_leave_call(tarsia_call_context** slot, tarsia_call_context* context) {
  *slot = context->outer;
  if (context->resources) tarsia_free_resources(context);
}

/// Calls a function with checked arguments. Of `n_functions` overloads, it calls the first that takes the
/// arguments exactly, or else the first that takes them converted: a tensor (TARSIA_KIND_TENSOR) for a
/// pointer, an integer for a float, the current stream for a missing one. A tensor whose value has the size
/// TARSIA_TENSOR_READ_ONLY is refused where the callee may write: only const parameters take it. Integers in
/// the result say whether they have a sign (tarsia_sign). The caller has entered a context; the call sets its
/// device from the tensors. Errors: TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE, TARSIA_CUDA_ERROR, and those
/// of the function itself, TARSIA_OP_ERROR and its kinds.
TARSIA_API int32_t tarsia_call(const tarsia_function* const* functions, uint64_t n_functions,
                               const tarsia_value* args, uint32_t n_args, tarsia_value* result);

/// Checks before the first direct call of a function that a GPU can be used, if the function has
/// TARSIA_FUNCTION_TAKES_STREAM. Error: TARSIA_CUDA_ERROR. `function` comes from tarsia_library_functions and
/// has TARSIA_FUNCTION_SOURCE_HAS_CUDA but not TARSIA_FUNCTION_MAIN. tarsia_call does this itself.
TARSIA_API int32_t tarsia_require_gpu(const tarsia_function* function);

/// Checks after each direct call of such a function that no launch failed. Error: TARSIA_CUDA_ERROR; the
/// caller then drops the result. The error is cleared in the CUDA runtime. A function that returns an integer
/// is not checked, because the integer may be that error. Waits for nothing and does not initialise CUDA.
/// tarsia_call does this itself.
TARSIA_API int32_t tarsia_check_launches(const tarsia_function* function);

/* ---- launching kernels ---- */

/// How a kernel is launched. The grid is in blocks, a block in threads; no extent is 0. Borrowed for the
/// call.
typedef struct tarsia_launch {
  uint32_t size;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes; /* dynamic shared memory of a block */
  int32_t device;        /* -1: the tensors' device, or CUDA's current one without tensors */
  uint32_t has_stream;   /* 0: the current stream; 1: `stream` */
  void* stream;          /* a cudaStream_t */
  uint32_t cluster[3];   /* blocks of a cluster; 0: no clusters except those that the kernel declares */
  uint32_t cooperative;  /* 1: all blocks run at once, so that the grid can be synchronised */
} tarsia_launch;

/// Launches a kernel. Arguments are given as for tarsia_call; for a parameter of kind TARSIA_KIND_NONE, give
/// a string with its bytes. Dynamic shared memory beyond 48 KB is requested from the driver. Does not wait:
/// an error of the launch is returned, and an error of the execution appears in a later call, whose message
/// names what was launched. With TARSIA_DEBUG_SYNC=1 in the environment, each launch waits. Errors:
/// TARSIA_ARGUMENT_TYPE, TARSIA_ARGUMENT_VALUE, TARSIA_CUDA_ERROR.
TARSIA_API int32_t tarsia_kernel_launch(const tarsia_kernel* kernel, const tarsia_launch* launch,
                                        const tarsia_value* args, uint32_t n_args);

/// Launches a kernel with arguments that the face has checked and converted by the descriptor. `values` has
/// kernel->n_params values, and `launch` is complete.
TARSIA_API int32_t tarsia_kernel_launch_values(const tarsia_kernel* kernel, const tarsia_launch* launch,
                                               const tarsia_value* values);

/// The resources that a kernel needs.
typedef struct tarsia_kernel_attributes {
  uint32_t size;
  int32_t registers;    /* per thread */
  int32_t shared_bytes; /* static, per block */
  int32_t local_bytes;  /* per thread */
  int32_t constant_bytes;
  int32_t max_threads;    /* the most threads that a block can have */
  int32_t ptx_version;    /* 90 for compute_90 */
  int32_t binary_version; /* 90 for sm_90 */
} tarsia_kernel_attributes;

/// Reads a kernel's attributes on a GPU from the driver; device -1 is the current one. Without any GPU, they
/// are read from the code for the newest architecture.
TARSIA_API int32_t tarsia_kernel_get_attributes(const tarsia_kernel* kernel, int32_t device,
                                                tarsia_kernel_attributes* attributes);

/// How many blocks of a kernel run at once.
typedef struct tarsia_occupancy {
  uint32_t size;
  uint32_t blocks; /* on one multiprocessor */
  uint32_t grid;   /* on the GPU: the largest cooperative grid */
  double fraction; /* of a multiprocessor's threads, from 0 to 1 */
} tarsia_occupancy;

/// Computes the occupancy for blocks of `threads` threads on a GPU (-1: the current one). Error:
/// TARSIA_CUDA_ERROR without a GPU.
TARSIA_API int32_t tarsia_kernel_occupancy(const tarsia_kernel* kernel, int32_t device, uint32_t threads,
                                           uint32_t shared_bytes, tarsia_occupancy* occupancy);

/// Sets `*threads` to the block size with which most threads run at once. `limit` is the largest block size
/// that is allowed, or 0. Error: TARSIA_CUDA_ERROR without a GPU.
TARSIA_API int32_t tarsia_kernel_suggest_block(const tarsia_kernel* kernel, int32_t device,
                                               uint32_t shared_bytes, uint32_t limit, uint32_t* threads);

/* ---- tensors, devices, random numbers ---- */

/// Makes a contiguous tensor in Tarsia's own memory; its elements are unset. `shape` has `ndim` extents.
/// `device` is the CPU, which pinned memory counts as, or a GPU. Hands over one reference to `*storage`.
/// Errors: TARSIA_ARGUMENT_VALUE, TARSIA_OUT_OF_MEMORY, TARSIA_CUDA_ERROR.
TARSIA_API int32_t tarsia_empty(const int64_t* shape, int32_t ndim, tarsia_dtype dtype, tarsia_device device,
                                tarsia_storage** storage);

/// Adds a reference to a tensor.
TARSIA_API void tarsia_storage_retain(tarsia_storage* storage);

/// Gives a reference to a tensor back. The last one frees it.
TARSIA_API void tarsia_storage_release(tarsia_storage* storage);

/// Copies the elements of a tensor to another of the same shape and dtype, each on the CPU or a GPU. Both are
/// contiguous. If a GPU takes part, the copy is ordered on `stream`, a cudaStream_t. The function waits for
/// it only if one of the tensors is on the CPU.
TARSIA_API int32_t tarsia_copy(const tarsia_tensor* to, const tarsia_tensor* from, void* stream);

/// Returns the number of GPUs; 0 without a driver.
TARSIA_API int32_t tarsia_device_count(void);

/// Sets `*value` to a CUdevice_attribute of a GPU.
TARSIA_API int32_t tarsia_device_attribute(int32_t device, int32_t attribute, int32_t* value);

/// Returns the name of a GPU, or null if there is no such GPU. The text lives forever.
TARSIA_API const char* tarsia_device_name(int32_t device);

/// Makes a GPU current for CUDA on this thread and sets `*previous` to the one that was (-1: none). A
/// negative `device` changes nothing. Call a function that launches kernels with the GPU of its tensors
/// current.
TARSIA_API int32_t tarsia_device_enter(int32_t device, int32_t* previous);

/// Sets the stream that calls of this thread use on a GPU if their context names none. `stream` is a
/// cudaStream_t; null is CUDA's default stream.
TARSIA_API void tarsia_set_stream(int32_t device, void* stream);

/// Returns the stream that tarsia_set_stream set for a GPU on this thread; null if none was set.
TARSIA_API void* tarsia_get_stream(int32_t device);

/// Waits until the work on a stream is done. Error: TARSIA_CUDA_ERROR, also for errors of that work.
TARSIA_API int32_t tarsia_synchronize(int32_t device, void* stream);

/// Seeds the random states of all devices. Calls that are under way may still use the states from before.
TARSIA_API void tarsia_seed(uint64_t seed);

/* ---- this Tarsia ---- */

/// Returns the version, as in "0.1.0".
TARSIA_API const char* tarsia_version(void);

/// Returns the version of the structs of this interface that libtarsia has: TARSIA_ABI_VERSION of
/// <tarsia/abi.h>. A binding that opens libtarsia at run time, or declares the structs in another language,
/// compares it with its own.
TARSIA_API uint32_t tarsia_abi_version(void);

/// Returns the table of functions that modules get. C++ code that uses `<tarsia/tensor.h>` outside of a
/// module needs it.
TARSIA_API const tarsia_host* tarsia_get_host(void);

/// Tells with which variables a program must be started again to load code that is compiled with this
/// `debug`, "address" or "thread": lines as in "LD_PRELOAD=/path". `*text` is "" if the process has what it
/// needs, and for other values of `debug`. Error TARSIA_NOT_FOUND if the sanitizer's library is not on this
/// machine. Free `*text` with tarsia_free.
TARSIA_API int32_t tarsia_environment_for(const char* debug, char** text);

/// The same for code that is compiled with these options, whose `cflags` may ask for a sanitizer, too. Null:
/// the defaults. Error TARSIA_ARGUMENT_VALUE, besides, if the flags contradict each other or other options.
TARSIA_API int32_t tarsia_environment_for_options(const tarsia_options* options, char** text);

/// Reports as JSON what works on this machine, what is missing, and how to get it. Compiles a source, and
/// launches a kernel if it can. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_doctor(char** json);

/// Adds a folder in which NVIDIA's wheels may be installed. CUDA's parts are looked for there after those
/// that the process has loaded.
TARSIA_API void tarsia_add_site_packages(const char* dir);

/// Reports the counters of the cache, the compiler and conversions as JSON. Free `*json` with tarsia_free.
TARSIA_API int32_t tarsia_stats(char** json);

/// Frees memory that one of the functions above handed over. Null is allowed.
TARSIA_API void tarsia_free(void* memory);

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

#include <tarsia/c_check.h>
#include <tarsia/cache/c_cache.h>
#include <tarsia/cache/c_service.h>
#include <tarsia/ops/c_ops.h>

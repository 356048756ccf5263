// The table of functions that libtarsia gives to a module. A module links nothing of Tarsia and calls back
// through this table.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tarsia_bound_op;
struct tarsia_op_request; /* <tarsia/op_abi.h> */
struct tarsia_op_call;    /* <tarsia/op_abi.h> */
struct tarsia_meta;       /* <tarsia/op_abi.h> */

/// Kinds of random states, for tarsia_host.random_states.
enum {
  TARSIA_RANDOM_MT19937 = 1, /* CPU: std::mt19937 of libstdc++, 1024 of them */
  TARSIA_RANDOM_PHILOX = 2   /* GPU: curandStatePhilox4_32_10_t, 32768 of them */
};

/// The functions that a module may call, from any thread. A function that returns an int32_t returns 0, or a
/// tarsia_code with this thread's last error set. A function that returns a pointer returns null on failure,
/// with the last error set. New functions are added at the end; `size` says which are there.
typedef struct tarsia_host {
  uint32_t abi_version; /* TARSIA_ABI_VERSION */
  uint32_t size;        /* sizeof(tarsia_host) */

  /* Errors. */

  /// Makes the exception in flight this thread's last error and returns its code. Call it inside
  /// `catch (...)`.
  int32_t (*capture_exception)(void);
  /// Sets this thread's last error (the text is copied) and returns `code`.
  int32_t (*set_error)(int32_t code, const char* message);
  /// Returns the code of this thread's last error and sets `*message` to its text, which lives until the
  /// thread's next error.
  int32_t (*last_error)(const char** message);

  /* Results of a call. They live until the face that made the call has taken them. */

  /// Copies n bytes of a string into `result`.
  int32_t (*result_string)(tarsia_value* result, const char* text, uint64_t n);
  /// Returns room for n values of a list or tuple, all of kind TARSIA_KIND_NONE.
  tarsia_value* (*result_values)(uint64_t n);

  /* Tensors. */

  /// Makes a contiguous tensor with unset elements, in the framework that the caller of the function uses.
  /// Hands over one reference. GPU memory is ordered after the work on the current stream.
  tarsia_storage* (*empty)(const int64_t* shape, int32_t ndim, tarsia_dtype dtype, tarsia_device device);
  /// Adds a reference to a tensor.
  void (*retain)(tarsia_storage* storage);
  /// Gives a reference back; the last one frees the tensor.
  void (*release)(tarsia_storage* storage);

  /* Memory. */

  /// Returns memory that lives until the call under way returns. It is aligned to 256 bytes and unset, and
  /// never overlaps other scratch of the call. GPU memory is ordered on the current stream.
  void* (*scratch)(uint64_t bytes, tarsia_device device);
  /// Returns memory of the heap on the CPU, or on a GPU memory of the driver's pool, ordered on `stream`.
  void* (*allocate)(uint64_t bytes, tarsia_device device, void* stream);
  /// Gives memory of `allocate` back; on a GPU, after the work that is on `stream` at that time.
  void (*deallocate)(void* memory, tarsia_device device, void* stream);

  /* Devices and streams. */

  /// Returns the device of the call under way, which is that of its tensors; without a call, the CPU.
  tarsia_device (*call_device)(void);
  /// Returns the cudaStream_t on which the call under way runs on GPU `device`. -1 is the call's GPU, or
  /// CUDA's current one. Null is CUDA's default stream.
  void* (*current_stream)(int32_t device);
  /// Returns the number of GPUs; 0 without a driver. Initialises no CUDA context.
  int32_t (*device_count)(void);
  /// Sets `*value` to a CUdevice_attribute of a GPU.
  int32_t (*device_attribute)(int32_t device, int32_t attribute, int32_t* value);

  /* Random numbers, seeded by tarsia_seed. */

  /// Reserves `n` numbers of the device's Philox sequence for this call. They start at `*offset` under
  /// `*seed`.
  int32_t (*random_reserve)(tarsia_device device, uint64_t n, uint64_t* seed, uint64_t* offset);
  /// Returns random states on `device` for the call under way and sets `*n` to their number. The next call
  /// continues with them. Calls at the same time have different states. On a GPU they are for use on the
  /// current stream. State i of the first set is seeded with seed + i (MT19937), or as curand_init(seed, i,
  /// 0) does (Philox).
  void* (*random_states)(tarsia_device device, int32_t random_kind, uint32_t* n);

  /* Other ops, called on the streams of this call. */

  /// Binds a registered op: parses attributes, infers, chooses the implementation. Hands over one reference
  /// to `*bound`.
  int32_t (*op_bind)(const char* name, const struct tarsia_op_request* request,
                     struct tarsia_bound_op** bound);
  /// Checks the tensors and runs a bound op.
  int32_t (*op_call)(struct tarsia_bound_op* bound, const struct tarsia_op_call* call);
  /// Gives the reference to a bound op back.
  void (*op_release)(struct tarsia_bound_op* bound);
  /// Return the metas of a bound op's inputs and outputs and set `*n`.
  const struct tarsia_meta* (*op_inputs)(const struct tarsia_bound_op* bound, uint32_t* n);
  const struct tarsia_meta* (*op_outputs)(const struct tarsia_bound_op* bound, uint32_t* n);

  /// Writes a warning about an op of this library to the log.
  void (*warn)(const char* op, const char* text);

  /* Threads of the CPU. */

  /// Runs body(with, begin, end) over 0 … n-1 in pieces of `grain`, on this thread and a few others, and
  /// waits for all. The pieces do not depend on the number of threads. If a body throws, the exception is
  /// thrown here once no other body runs. Bodies may not use the call under way: no scratch, no new tensors.
  void (*parallel)(int64_t n, int64_t grain, void (*body)(void* with, int64_t begin, int64_t end),
                   void* with);

  /// Returns 0, or TARSIA_INTERRUPTED with the last error set if the caller wants the call under way to end.
  /// It takes a few nanoseconds and may be called often. On other threads than the call's it returns 0.
  int32_t (*check_interrupt)(void);

  /* Tensors of other libraries' classes. */

  /// Returns a tensor that shares the memory of an argument of the call under way and may outlive the call.
  /// `argument` is a value of TARSIA_KIND_TENSOR. Hands over one reference.
  tarsia_storage* (*share)(const tarsia_tensor* argument);
  /// Makes a tensor of memory that the module's own code gives back: destroy(context) is called once, on any
  /// thread, when nobody has a reference any more. `tensor` must live until then, and the module stays mapped
  /// until then. Hands over one reference.
  tarsia_storage* (*adopt)(const tarsia_tensor* tensor, void* context, void (*destroy)(void* context));
  /// Whether the caller of the call under way wants it to end, 1 or 0. Unlike check_interrupt it sets no
  /// error.
  int32_t (*interrupted)(void);

  /// Gives an argument of the call under way another shape, in the caller's framework, as
  /// torch.Tensor.resize_ does: the caller's own tensor has it, and `argument`, a value of
  /// TARSIA_KIND_TENSOR, then tells its memory. Fails if the caller's tensors cannot be resized.
  int32_t (*resize)(const tarsia_tensor* argument, const int64_t* shape, int32_t ndim);
} tarsia_host;

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

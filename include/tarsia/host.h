// What libtarsia gives to a module: a table of functions. A module links nothing of Tarsia and calls back
// here.
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

enum {                            /* kinds of random states, see tarsia_host.random_states */
       TARSIA_RANDOM_MT19937 = 1, /* CPU: std::mt19937 of libstdc++, 1024 of them */
       TARSIA_RANDOM_PHILOX = 2   /* GPU: curandStatePhilox4_32_10_t, 32768 of them */
};

/// All functions may be called from any thread. Those that give an int32_t give 0 or a tarsia_code, whose
/// message is then this thread's last error; those that give a pointer give null with the last error set.
/// New functions are added at the end; `size` says which are there.
typedef struct tarsia_host {
  uint32_t abi_version; /* TARSIA_ABI_VERSION */
  uint32_t size;        /* sizeof(tarsia_host) */

  /* Errors. */

  /// To be called inside `catch (...)`: makes the exception in flight this thread's last error, returns its
  /// code.
  int32_t (*capture_exception)(void);
  /// Sets this thread's last error (the text is copied) and returns `code`.
  int32_t (*set_error)(int32_t code, const char* message);
  /// This thread's last error; the text stays until the next error of the thread.
  int32_t (*last_error)(const char** message);

  /* Results of a function's call: they live until the face that made the call has taken them. */

  /// Copies n bytes of a string into `result`.
  int32_t (*result_string)(tarsia_value* result, const char* text, uint64_t n);
  /// Room for n values of a list or tuple, all of kind TARSIA_KIND_NONE.
  tarsia_value* (*result_values)(uint64_t n);

  /* Tensors. */

  /// A new contiguous tensor with unset elements, made by the framework that the caller of this function
  /// uses, one reference handed over. GPU memory is ordered after the work on the current stream.
  tarsia_storage* (*empty)(const int64_t* shape, int32_t ndim, tarsia_dtype dtype, tarsia_device device);
  /// Adds a reference.
  void (*retain)(tarsia_storage* storage);
  /// Gives a reference back; the last one frees the tensor.
  void (*release)(tarsia_storage* storage);

  /* Memory. */

  /// Memory that lives until the call under way returns, aligned to 256 bytes, unset; on a GPU it is
  /// ordered on the current stream. Never overlaps other scratch of the call.
  void* (*scratch)(uint64_t bytes, tarsia_device device);
  /// Memory of the driver's stream-ordered pool (GPU; ordered on `stream`) or of the heap (CPU).
  void* (*allocate)(uint64_t bytes, tarsia_device device, void* stream);
  /// Gives memory of `allocate` back; on a GPU after the work that is on `stream` by then.
  void (*deallocate)(void* memory, tarsia_device device, void* stream);

  /* Devices and streams. */

  /// The device of the call under way (its tensors'), else the CPU.
  tarsia_device (*call_device)(void);
  /// The cudaStream_t on which the call under way runs, for GPU `device` (-1: the call's, else CUDA's
  /// current). Null is CUDA's default stream.
  void* (*current_stream)(int32_t device);
  /// How many GPUs there are; 0 without a driver. Initialises no context.
  int32_t (*device_count)(void);
  /// A CUdevice_attribute of a GPU.
  int32_t (*device_attribute)(int32_t device, int32_t attribute, int32_t* value);

  /* Random numbers, seeded by tarsia_seed. */

  /// Reserves `n` numbers of the device's Philox sequence for this call: start at `*offset` under `*seed`.
  int32_t (*random_reserve)(tarsia_device device, uint64_t n, uint64_t* seed, uint64_t* offset);
  /// States on `device` for the call under way, which go on from call to call; calls at the same time have
  /// different ones. On a GPU they are for use on the current stream. State i of the first is seeded with
  /// seed + i (MT19937) or as curand_init(seed, i, 0) does (Philox). `*n` is their number.
  void* (*random_states)(tarsia_device device, int32_t random_kind, uint32_t* n);

  /* Other ops, called on this call's streams and scratch. */

  /// Binds a registered op: parses attributes, infers, chooses the implementation. Release what it gives.
  int32_t (*op_bind)(const char* name, const struct tarsia_op_request* request,
                     struct tarsia_bound_op** bound);
  /// Runs a bound op on tensors that it checks.
  int32_t (*op_call)(struct tarsia_bound_op* bound, const struct tarsia_op_call* call);
  /// Gives a bound op back.
  void (*op_release)(struct tarsia_bound_op* bound);
  /// The metas of a bound op.
  const struct tarsia_meta* (*op_inputs)(const struct tarsia_bound_op* bound, uint32_t* n);
  const struct tarsia_meta* (*op_outputs)(const struct tarsia_bound_op* bound, uint32_t* n);

  /// Puts a warning about an op of this library into the log.
  void (*warn)(const char* op, const char* text);

  /* Threads of the CPU. */

  /// Runs body(with, begin, end) over 0 … n-1 in pieces of `grain`, on this thread and a few others, and
  /// waits for all. The pieces are the same whatever the number of threads. What a body throws is thrown
  /// here, once no other runs. Bodies may not use the call under way: no scratch, no tensors are to be made.
  void (*parallel)(int64_t n, int64_t grain, void (*body)(void* with, int64_t begin, int64_t end),
                   void* with);
} tarsia_host;

#ifdef __cplusplus
}
#endif

#include <tarsia/detail/macros_pop.h>

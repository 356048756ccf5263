// Linked into modules that hold device code: registers it with the CUDA runtime as nvcc's code would.
//
// One record per translation unit lies in the section tarsia_cuda_units; a record's layout is known here and
// in device_tables.cpp alone.
#include <stddef.h>
#include <stdint.h>

struct variable {
  const char* device_name; /* null: the device code does not have it */
  uint64_t bytes;
  uint32_t constant;
  uint32_t managed;
};

struct unit {
  const void* fatbin; /* __fatBinC_Wrapper_t */
  const void* const* stubs;
  const char* const* kernel_names; /* null: the device code does not have it */
  uint64_t n_kernels;
  void* const* shadows;
  const struct variable* variables;
  uint64_t n_variables;
  void** handle; /* written here */
  /* Stubs and names in turn, up to a null: of kernels that headers alone name. Null: the device code lacks
     them. */
  const void* const* header_kernels;
};

extern void** __cudaRegisterFatBinary(const void*);
extern void __cudaRegisterFatBinaryEnd(void**);
extern void __cudaUnregisterFatBinary(void**);
extern void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*,
                                   int*);
extern void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
extern void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
extern char __cudaInitModule(void**);

#define BOUND extern struct unit* const
__attribute__((visibility("hidden"), weak)) BOUND __start_tarsia_cuda_units[];
__attribute__((visibility("hidden"), weak)) BOUND __stop_tarsia_cuda_units[];

// Before the user's own static initialisers, which may launch kernels.
__attribute__((constructor(101))) static void register_units(void) {
  for (struct unit* const* at = __start_tarsia_cuda_units; at != __stop_tarsia_cuda_units; ++at) {
    struct unit* unit = *at;
    void** handle = __cudaRegisterFatBinary(unit->fatbin);
    *unit->handle = handle;
    for (uint64_t i = 0; i < unit->n_kernels; ++i)
      if (unit->stubs[i] && unit->kernel_names[i])
        __cudaRegisterFunction(handle, (const char*)unit->stubs[i], (char*)unit->kernel_names[i],
                               unit->kernel_names[i], -1, 0, 0, 0, 0, 0);
    for (const void* const* more = unit->header_kernels; more && more[0]; more += 2)
      __cudaRegisterFunction(handle, (const char*)more[0], (char*)more[1], (const char*)more[1], -1, 0, 0, 0,
                             0, 0);
    for (uint64_t i = 0; i < unit->n_variables; ++i) {
      const struct variable* variable = &unit->variables[i];
      if (!unit->shadows[i] || !variable->device_name) continue;
      if (variable->managed)
        __cudaRegisterManagedVar(handle, (void**)unit->shadows[i], (char*)variable->device_name,
                                 variable->device_name, 0, variable->bytes, (int)variable->constant, 0);
      else
        __cudaRegisterVar(handle, (char*)unit->shadows[i], (char*)variable->device_name,
                          variable->device_name, 0, variable->bytes, (int)variable->constant, 0);
    }
    __cudaRegisterFatBinaryEnd(handle);
  }
}

// After everything that the module itself registered to run at its end, and once only.
__attribute__((destructor(101))) static void unregister_units(void) {
  for (struct unit* const* at = __start_tarsia_cuda_units; at != __stop_tarsia_cuda_units; ++at) {
    void** handle = (void**)*(*at)->handle;
    *(*at)->handle = 0;
    if (handle) __cudaUnregisterFatBinary(handle);
  }
}

struct dim3 {
  unsigned x, y, z;
};
static __thread int launch_error
    __attribute__((tls_model("local-dynamic"))); /* of the last launch that failed; taken by libtarsia */

// Launches go straight to the driver, which spares what the runtime does before it asks the driver itself: to
// look up the kernel and, on this thread, the device. The runtime launches a kernel the first time, which
// loads it, and whenever the driver refuses (no context on this thread yet, a bad configuration): what is
// wrong is then reported in the runtime's words, through its own cudaGetLastError.
extern int __real_cudaLaunchKernel(const void*, struct dim3, struct dim3, void**, size_t, void*);
extern int __real_cudaDeviceReset(void);
extern int cudaPeekAtLastError(void);
extern int cudaGetLastError(void);
// Since CUDA 12.1 and 12.5; without them the runtime launches.
__attribute__((weak)) extern int cudaGetKernel(void** kernel, const void* stub);
__attribute__((weak)) extern int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                                  unsigned version, unsigned long long flags,
                                                                  int* status);

typedef int (*cuLaunchKernel_t)(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                void* stream, void** args, void** extra);
static cuLaunchKernel_t launch_by_driver;  // null until the first launch, and where it cannot be had
// Stubs and their kernels (CUkernel, good in every context), hashed. A slot is given to a stub for good.
enum { n_slots = 1 << 10, n_probes = 8 };
static struct {
  const void* stub;
  void* kernel;
} known[n_slots];

static unsigned slot_of(const void* stub) {
  return (unsigned)(((uintptr_t)stub >> 4) * 0x9E3779B97F4A7C15u >> 54);
}

static void* known_kernel(const void* stub) {
  const unsigned first = slot_of(stub);
  for (unsigned i = 0; i < n_probes; ++i) {
    const unsigned at = (first + i) % n_slots;
    const void* owner = __atomic_load_n(&known[at].stub, __ATOMIC_RELAXED);
    if (owner == stub) return __atomic_load_n(&known[at].kernel, __ATOMIC_ACQUIRE);
    if (!owner) return 0;
  }
  return 0;
}

static void learn_kernel(const void* stub) {
  // What fails below must leave no mark on the runtime, nor take away one that is there.
  if (!&cudaGetKernel || !&cudaGetDriverEntryPointByVersion || cudaPeekAtLastError()) return;
  if (!__atomic_load_n(&launch_by_driver, __ATOMIC_RELAXED)) {
    void* function = 0;
    int status = 1;
    enum { since = 12000, legacy_stream = 1, found = 0 };
    if (cudaGetDriverEntryPointByVersion("cuLaunchKernel", &function, since, legacy_stream, &status) != 0 ||
        status != found || !function) {
      cudaGetLastError();
      return;
    }
    __atomic_store_n(&launch_by_driver, (cuLaunchKernel_t)function, __ATOMIC_RELEASE);
  }
  void* kernel = 0;
  if (cudaGetKernel(&kernel, stub) != 0 || !kernel) {
    cudaGetLastError();
    return;
  }
  const unsigned first = slot_of(stub);
  for (unsigned i = 0; i < n_probes; ++i) {
    const unsigned at = (first + i) % n_slots;
    const void* owner = 0;
    if (__atomic_compare_exchange_n(&known[at].stub, &owner, stub, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        owner == stub) {
      __atomic_store_n(&known[at].kernel, kernel, __ATOMIC_RELEASE);
      return;
    }
  }
}

__attribute__((visibility("hidden"))) int __wrap_cudaLaunchKernel(const void* stub, struct dim3 grid,
                                                                  struct dim3 block, void** args,
                                                                  size_t shared_bytes, void* stream) {
  void* kernel = known_kernel(stub);
  if (kernel && shared_bytes <= UINT32_MAX &&
      __atomic_load_n(&launch_by_driver, __ATOMIC_RELAXED)(kernel, grid.x, grid.y, grid.z, block.x, block.y,
                                                           block.z, (unsigned)shared_bytes, stream, args,
                                                           0) == 0)
    return 0;
  const int error = __real_cudaLaunchKernel(stub, grid, block, args, shared_bytes, stream);
  if (error)
    launch_error = error;
  else if (!kernel)
    learn_kernel(stub);
  return error;
}

// What the runtime made for the device goes, kernels included.
__attribute__((visibility("hidden"))) int __wrap_cudaDeviceReset(void) {
  for (unsigned i = 0; i < n_slots; ++i) __atomic_store_n(&known[i].kernel, (void*)0, __ATOMIC_RELEASE);
  return __real_cudaDeviceReset();
}

__attribute__((visibility("hidden"))) int32_t tarsia_take_launch_error(void) {
  const int error = launch_error;
  launch_error = 0;
  return error;
}

__attribute__((visibility("hidden"))) void* tarsia_managed_pointer(void** slot) {
  // The runtime fills the slots when a module's device code is loaded, which the first use asks for.
  if (!*(void* volatile*)slot)
    for (struct unit* const* at = __start_tarsia_cuda_units; at != __stop_tarsia_cuda_units; ++at)
      __cudaInitModule((void**)*(*at)->handle);
  return *slot;
}

__asm__(".section .note.GNU-stack,\"\",@progbits");

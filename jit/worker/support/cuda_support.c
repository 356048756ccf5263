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

// What stands between <<< and >>> waits here for the kernel's stub, which takes it when the arguments are
// known. The runtime has these two functions as well; without calls into it a launch is quicker. Some are
// kept: an argument may launch kernels of its own, and one that throws leaves what nobody takes.
struct dim3 {
  unsigned x, y, z;
};
static __thread struct {
  struct {
    struct dim3 grid, block;
    size_t shared_bytes;
    void* stream;
  } last[16];
  unsigned n;
} launches __attribute__((tls_model("local-dynamic")));

__attribute__((visibility("hidden"))) unsigned __cudaPushCallConfiguration(struct dim3 grid,
                                                                           struct dim3 block,
                                                                           size_t shared_bytes,
                                                                           void* stream) {
  const unsigned i = launches.n++ % 16;
  launches.last[i].grid = grid;
  launches.last[i].block = block;
  launches.last[i].shared_bytes = shared_bytes;
  launches.last[i].stream = stream;
  return 0;
}

__attribute__((visibility("hidden"))) int __cudaPopCallConfiguration(struct dim3* grid, struct dim3* block,
                                                                     size_t* shared_bytes, void* stream) {
  const unsigned i = --launches.n % 16;
  *grid = launches.last[i].grid;
  *block = launches.last[i].block;
  *shared_bytes = launches.last[i].shared_bytes;
  *(void**)stream = launches.last[i].stream;
  return 0;
}

__attribute__((visibility("hidden"))) void* tarsia_managed_pointer(void** slot) {
  // The runtime fills the slots when a module's device code is loaded, which the first use asks for.
  if (!*(void* volatile*)slot)
    for (struct unit* const* at = __start_tarsia_cuda_units; at != __stop_tarsia_cuda_units; ++at)
      __cudaInitModule((void**)*(*at)->handle);
  return *slot;
}

__asm__(".section .note.GNU-stack,\"\",@progbits");

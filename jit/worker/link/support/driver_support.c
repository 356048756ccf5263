// Linked into modules that call the CUDA driver: finds its functions when they are first called.
//
// Without a driver, a function returns CUDA_ERROR_NO_DEVICE, as cuInit does where there is a driver and no
// GPU: programs that can do without a GPU know it. A driver that is too old for a function makes it return
// CUDA_ERROR_NOT_FOUND. cuGetErrorName and cuGetErrorString say so without a driver, too.
#include <dlfcn.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

enum { k_no_device = 100, k_not_found = 500 };

static int no_driver(void) {
  return k_no_device;
}

static int no_function(void) {
  return k_not_found;
}

static int error_name(int error, const char** name) {
  *name = error == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_NO_DEVICE";
  return 0;
}

static int error_string(int error, const char** text) {
  *text = error == 0 ? "no error" : "there is no CUDA driver on this machine: libcuda.so.1 is not found";
  return 0;
}

/* Stores the function's address in the stub's slot, and returns it. Threads may do so at once. */
HIDDEN void* tarsia_bind_driver_function(const char* name, void** slot) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* never closed */
  void* found = driver ? dlsym(driver, name) : 0;
  if (!found && driver)
    found = (void*)no_function;
  else if (!found && strcmp(name, "cuGetErrorName") == 0)
    found = (void*)error_name;
  else if (!found && strcmp(name, "cuGetErrorString") == 0)
    found = (void*)error_string;
  else if (!found)
    found = (void*)no_driver;
  __atomic_store_n(slot, found, __ATOMIC_RELEASE);
  return found;
}

__asm__(".section .note.GNU-stack,\"\",@progbits");

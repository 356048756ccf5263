// Linked into every module: what crtbegin and crtend give to a shared library.
//
// Modules are linked without the C runtime's start files. Without this object a static C++ object's
// destructor, registered under no library's handle, would be called after the module is gone.
extern void __cxa_finalize(void*);
extern int __cxa_atexit(void (*)(void*), void*, void*);

__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;

static void call(void* function) {
  ((void (*)(void))function)();
}

__attribute__((visibility("hidden"))) int atexit(void (*function)(void)) {
  return __cxa_atexit(call, (void*)function, __dso_handle);
}

__attribute__((destructor)) static void finalize(void) {
  __cxa_finalize(__dso_handle);
}

__asm__(".section .note.GNU-stack,\"\",@progbits");

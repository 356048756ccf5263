// Linked into modules whose source is a whole program: runs its main as a function.
//
// exit() ends a program without unwinding its frames. Called under a main of ours it ends that main the same
// way, with its code as the result, and the process lives on; anywhere else it is the C library's. The linker
// sends the module's calls here by --wrap=exit.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value { /* tarsia_value of abi.h, holding a string */
  const char* text;
  unsigned kind, size;
};

struct frame {
  jmp_buf place;
  int code;
  struct frame* outer;
  char** argv;
};

static __thread struct frame* current;

__attribute__((noreturn)) void __real_exit(int);

__attribute__((visibility("hidden"), noreturn)) void __wrap_exit(int code) {
  if (!current) __real_exit(code);
  current->code = code;
  longjmp(current->place, 1);
}

// A program's first allocations are zeros, as the pages of a process of its own are; here the heap has been
// used before. Programs that forget to set what they read print the same each time under nvcc, and so here
// (--wrap=malloc).
__attribute__((visibility("hidden"))) void* __wrap_malloc(size_t bytes) {
  return calloc(1, bytes);
}

// Larger blocks the C library maps anew, each time, as zeros: none of its thresholds is above this.
enum { mapped = 32 << 20 };

// Where the program has no operator new of its own. The memory is the process's operator new's, which its
// operator delete takes back. In sections of their own, so that they go from programs in C.
void *__real__Znwm(size_t), *__real__Znam(size_t);
__attribute__((visibility("hidden"), section(".text.tarsia_new"))) void* __wrap__Znwm(size_t bytes) {
  void* memory = __real__Znwm(bytes);
  return bytes <= mapped ? memset(memory, 0, bytes) : memory;
}
__attribute__((visibility("hidden"), section(".text.tarsia_new_array"))) void* __wrap__Znam(size_t bytes) {
  void* memory = __real__Znam(bytes);
  return bytes <= mapped ? memset(memory, 0, bytes) : memory;
}

// Also when an exception passes through.
static void leave(struct frame** frame) {
  current = (*frame)->outer;
  fflush(stdout);
  fflush(stderr);
  free((*frame)->argv);
}

// The strings are copied: a program may write to its arguments.
__attribute__((visibility("hidden"))) int tarsia_run_main(int (*call)(int, char**, char**),
                                                          const struct value* strings, unsigned n) {
  size_t bytes = (n + 1) * sizeof(char*);
  for (unsigned i = 0; i < n; ++i) bytes += strings[i].size + 1;
  struct frame frame;
  frame.outer = current;
  frame.argv = calloc(1, bytes);
  if (!frame.argv) return EXIT_FAILURE;
  char* text = (char*)(frame.argv + n + 1);
  for (unsigned i = 0; i < n; ++i) {
    frame.argv[i] = text;
    memcpy(text, strings[i].text, strings[i].size);
    text[strings[i].size] = 0;
    text += strings[i].size + 1;
  }
  frame.argv[n] = 0;
  __attribute__((cleanup(leave))) struct frame* const here = &frame;
  current = here;
  extern char** environ;
  if (setjmp(here->place) == 0) here->code = call((int)n, here->argv, environ);
  return here->code;
}

__asm__(".section .note.GNU-stack,\"\",@progbits");

// Linked into modules that hold device code, except cells of sessions: what stands between <<< and >>> waits
// here for the kernel's stub, which takes it when the arguments are known. The runtime has these two
// functions as well; without calls into it a launch is quicker. A cell may launch another cell's kernel,
// whose stub looks for it in a module of its own, so cells use those of the runtime, which they share.
#include <stddef.h>

struct dim3 {
  unsigned x, y, z;
};
// Some are kept: an argument may launch kernels of its own, and one that throws leaves what nobody takes.
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

__asm__(".section .note.GNU-stack,\"\",@progbits");

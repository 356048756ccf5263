// A library as it is when built against MXNet's own lib_api.h, with GPU implementations: the C symbols of library
// version 11, and nothing of Tarsia's headers. Its ops: gpu_built_scale (forward, backward), gpu_built_state (counts
// its calls), gpu_built_noise (the device's random states).
#include <curand_kernel.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

typedef const char* const* Texts;
enum { k_parse = 1, k_type, k_shape, k_scale, k_scale_back, k_create, k_noise };
void* handle(int function) { return reinterpret_cast<void*>(static_cast<intptr_t>(function)); }
int function_of(void* h) { return static_cast<int>(reinterpret_cast<intptr_t>(h)); }

struct Op {
  const char* name;
  int forward, backward, create;
  std::vector<const char*> contexts[3];
  std::vector<void*> functions[3];
};
std::vector<Op>& ops() {
  static std::vector<Op> list = {{"gpu_built_scale", k_scale, k_scale_back, 0, {}, {}},
                                 {"gpu_built_state", 0, 0, k_create, {}, {}},
                                 {"gpu_built_noise", k_noise, 0, 0, {}, {}}};
  return list;
}
std::vector<std::string>& messages() {
  static std::vector<std::string> list;
  return list;
}
int fail(const std::string& text) {
  messages().push_back(text);
  return 0;
}

__global__ void scale(float* y, const float* x, float factor, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
__global__ void draw(float* y, const float* x, curandStatePhilox4_32_10_t* states, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] + curand_normal(&states[i]);
}

struct State {
  int calls;
};

}  // namespace

extern "C" {

int initialize(int version) { return version >= 20000; }
int _opVersion() { return 11; }
int _opRegSize() { return static_cast<int>(ops().size()); }
void _opRegGet(int i, const char** name, int* is_subgraph, const char*** fwd_ctx, void*** fwd, int* n_fwd,
               const char*** bwd_ctx, void*** bwd, int* n_bwd, const char*** create_ctx, void*** create, int* n_create,
               void** parse, void** type, void** stype, void** shape, void** mutate) {
  Op& op = ops()[i];
  *name = op.name;
  *is_subgraph = 0;
  const int kinds[] = {op.forward, op.backward, op.create};
  const char*** contexts[] = {fwd_ctx, bwd_ctx, create_ctx};
  void*** functions[] = {fwd, bwd, create};
  int* counts[] = {n_fwd, n_bwd, n_create};
  for (int k = 0; k < 3; ++k) {
    if (kinds[k]) {
      op.contexts[k].push_back("gpu");
      op.functions[k].push_back(handle(kinds[k]));
    }
    *contexts[k] = op.contexts[k].data();
    *functions[k] = op.functions[k].data();
    *counts[k] = static_cast<int>(op.functions[k].size());
  }
  *parse = handle(k_parse);
  *type = handle(k_type);
  *shape = handle(k_shape);
  *stype = *mutate = nullptr;
}
void _opCallFree(void* p) { std::free(p); }
int _opCallParseAttrs(void*, Texts, Texts, int, int* n_in, int* n_out) { return *n_in = *n_out = 1; }
int _opCallInferShape(void*, Texts, Texts, int, unsigned** in, int* dims, int n_in, unsigned*** changed,
                      int** changed_dims, unsigned*** out, int** out_dims, int n_out) {
  unsigned*** shapes[] = {changed, out};
  int** counts[] = {changed_dims, out_dims};
  for (int k = 0; k < 2; ++k) {
    *shapes[k] = static_cast<unsigned**>(std::malloc(sizeof(unsigned*)));
    *counts[k] = static_cast<int*>(std::malloc(sizeof(int)));
    (*counts[k])[0] = dims[0];
    (*shapes[k])[0] = static_cast<unsigned*>(std::malloc((dims[0] + 1) * sizeof(unsigned)));
    std::memcpy((*shapes[k])[0], in[0], dims[0] * sizeof(unsigned));
  }
  return n_in == 1 && n_out == 1;
}
int _opCallInferType(void*, Texts, Texts, int, int* in, int, int* out, int) {
  out[0] = in[0];
  return in[0] == 0 || fail("only float32 is known");
}
int _opCallInferSType(void*, Texts, Texts, int, int*, int, int*, int) { return fail("never called"); }
int _opCallMutateInputs(void*, Texts, Texts, int, int**, int*) { return fail("never called"); }

#define TENSORS(side)                                                                                         \
  const int64_t **side##_shapes, int *side##_dims, void **side##_data, int *side##_types, size_t *side##_ids, \
      const char **side##_devices, int *side##_device_ids, int n_##side
#define RESOURCES                                                                                                   \
  void *(*cpu_malloc)(void*, int), void *cpu_self, void *(*gpu_malloc)(void*, int), void *gpu_self, void *stream,   \
      void (*sparse_malloc)(void*, int, int, int, void**, int64_t**, int64_t**), void *sparse_self, int *in_stypes, \
      int *out_stypes, void **in_indices, void **out_indices, void **in_indptr, void **out_indptr,                  \
      int64_t *in_indices_len, int64_t *out_indices_len, int64_t *in_indptr_len, int64_t *out_indptr_len,           \
      void *rng_cpu, void *rng_gpu

static int64_t elements(const int64_t* shape, int dims) {
  int64_t n = 1;
  for (int i = 0; i < dims; ++i) n *= shape[i];
  return n;
}

int _opCallFCompute(void* f, Texts keys, Texts values, int n_attrs, TENSORS(in), TENSORS(out), RESOURCES) {
  if (std::strcmp(in_devices[0], "gpu") != 0 || std::strcmp(out_devices[0], "gpu") != 0 || in_device_ids[0] != 0)
    return fail(std::string("the tensor is on ") + in_devices[0]);
  const int64_t n = elements(in_shapes[0], in_dims[0]);
  const int blocks = static_cast<int>((n + 255) / 256);
  cudaStream_t s = static_cast<cudaStream_t>(stream);
  float factor = 2;
  for (int i = 0; i < n_attrs; ++i)
    if (std::strcmp(keys[i], "factor") == 0) factor = std::stof(values[i]);
  const float* x = static_cast<float*>(in_data[0]);
  float* y = static_cast<float*>(out_data[0]);
  switch (function_of(f)) {
    case k_scale: {
      // Two allocations that must not overlap: through the first goes the input; the second is filled with NaN.
      float* copy = static_cast<float*>(gpu_malloc(gpu_self, static_cast<int>(n * sizeof(float))));
      float* other = static_cast<float*>(gpu_malloc(gpu_self, static_cast<int>(n * sizeof(float))));
      if (!copy || !other || !cpu_malloc(cpu_self, 16)) return fail("no memory");
      cudaMemcpyAsync(copy, x, n * sizeof(float), cudaMemcpyDeviceToDevice, s);
      cudaMemsetAsync(other, 0xff, n * sizeof(float), s);
      scale<<<blocks, 256, 0, s>>>(y, copy, factor, n);
      return 1;
    }
    case k_scale_back:
      if (n_in != 3) return fail("wrong number of inputs");
      scale<<<blocks, 256, 0, s>>>(y, x, factor, n);
      return 1;
    case k_noise:
      if (!rng_gpu || !rng_cpu || n > 32768) return fail("no random states");
      draw<<<blocks, 256, 0, s>>>(y, x, static_cast<curandStatePhilox4_32_10_t*>(rng_gpu), n);
      return 1;
  }
  return fail("wrong function");
}

int _opCallCreateOpState(void*, Texts, Texts, int, const char* device, int id, unsigned** shapes, int* dims, int n_in,
                         const int* types, void** state) {
  if (std::strcmp(device, "gpu") != 0 || id != 0 || n_in != 1 || dims[0] != 1 || types[0] != 0 || !shapes[0][0])
    return fail("wrong inputs");
  *state = new State{0};
  return 1;
}
void _opCallDestroyOpState(void* state) { delete static_cast<State*>(state); }
int _opCallFStatefulCompute(int is_forward, void* state, TENSORS(in), TENSORS(out), RESOURCES) {
  if (!is_forward) return fail("no backward here");
  const int64_t n = elements(in_shapes[0], in_dims[0]);
  scale<<<static_cast<int>((n + 255) / 256), 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float*>(out_data[0]), static_cast<float*>(in_data[0]),
      static_cast<float>(++static_cast<State*>(state)->calls), n);
  return 1;
}

int _msgSize() { return static_cast<int>(messages().size()); }
int _msgGet(int i, const char** text) {
  *text = messages()[i].c_str();
  return 1;
}

}  // extern "C"

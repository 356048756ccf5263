// A library as it is when built against MXNet's own lib_api.h: the C symbols of library version VERSION, and nothing
// of Tarsia's headers. Its ops: built_scale, built_sum (stateful), built_csr (doubles a CSR matrix).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace {

typedef const char* const* Texts;
typedef std::map<std::string, std::string> Attributes;
Attributes read(Texts keys, Texts values, int n) {
  Attributes a;
  for (int i = 0; i < n; ++i) a[keys[i]] = values[i];
  return a;
}

// Function pointers are numbers to the host: these name the functions.
enum { k_parse = 1, k_type, k_stype, k_shape, k_mutate, k_scale, k_scale_back, k_csr, k_create, k_noise };
void* handle(int function) { return reinterpret_cast<void*>(static_cast<intptr_t>(function)); }
int function_of(void* h) { return static_cast<int>(reinterpret_cast<intptr_t>(h)); }

struct Op {
  const char* name;
  int forward, backward, create, stype, mutate;
  std::vector<const char*> contexts[3];
  std::vector<void*> functions[3];
};
std::vector<Op>& ops() {
  static std::vector<Op> list = {{"built_scale", k_scale, k_scale_back, 0, 0, 0, {}, {}},
                                 {"built_sum", 0, 0, k_create, 0, 0, {}, {}},
                                 {"built_csr", k_csr, 0, 0, k_stype, 0, {}, {}},
                                 {"built_noise", k_noise, 0, 0, 0, k_mutate, {}, {}}};
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

struct State {
  int start, calls;
};
int alive = 0;

}  // namespace

extern "C" {

int initialize(int version) { return version >= 10700 ? 1 : fail("too old"); }
int _opVersion() { return VERSION; }
int _opRegSize() { return static_cast<int>(ops().size()); }

// Appends at every call, as the original does.
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
      op.contexts[k].push_back("cpu");
      op.functions[k].push_back(handle(kinds[k]));
    }
    *contexts[k] = op.contexts[k].data();
    *functions[k] = op.functions[k].data();
    *counts[k] = static_cast<int>(op.functions[k].size());
  }
  *parse = handle(k_parse);
  *type = handle(k_type);
  *stype = op.stype ? handle(op.stype) : nullptr;
  *shape = handle(k_shape);
  *mutate = op.mutate ? handle(op.mutate) : nullptr;
}

void _opCallFree(void* p) { std::free(p); }

int _opCallParseAttrs(void* f, Texts keys, Texts values, int n, int* n_in, int* n_out) {
  Attributes a = read(keys, values, n);
  if (function_of(f) != k_parse) return fail("wrong function");
  if (a.count("fail")) return fail("asked to fail: " + a["fail"]);
  *n_in = a.count("inputs") ? std::atoi(a["inputs"].c_str()) : 1;
  *n_out = 1;
  return 1;
}

int _opCallInferShape(void* f, Texts, Texts, int, unsigned** in, int* in_dims, int n_in, unsigned*** changed,
                      int** changed_dims, unsigned*** out, int** out_dims, int n_out) {
  if (function_of(f) != k_shape) return fail("wrong function");
  auto copy = [&](unsigned*** shapes, int** dims, int n) {
    *shapes = static_cast<unsigned**>(std::malloc(n * sizeof(unsigned*)));
    *dims = static_cast<int*>(std::malloc(n * sizeof(int)));
    for (int i = 0; i < n; ++i) {
      (*dims)[i] = in_dims[0];
      (*shapes)[i] = static_cast<unsigned*>(std::malloc(in_dims[0] * sizeof(unsigned)));
      std::memcpy((*shapes)[i], in[0], in_dims[0] * sizeof(unsigned));
    }
  };
  if (n_in > 1 && in_dims[1] > 0) {  // the second input is known: it stays as it is
    copy(changed, changed_dims, n_in);
    (*changed_dims)[1] = in_dims[1];
    (*changed)[1] = static_cast<unsigned*>(std::realloc((*changed)[1], in_dims[1] * sizeof(unsigned)));
    std::memcpy((*changed)[1], in[1], in_dims[1] * sizeof(unsigned));
  } else {
    copy(changed, changed_dims, n_in);
  }
  copy(out, out_dims, n_out);
  return 1;
}

int _opCallInferType(void* f, Texts, Texts, int, int* in, int n_in, int* out, int n_out) {
  if (function_of(f) != k_type) return fail("wrong function");
  for (int i = 0; i < n_in; ++i)
    if (in[i] == -1) in[i] = 0;
  for (int i = 0; i < n_out; ++i) out[i] = in[0];
  return in[0] == 0 || fail("only float32 is known");
}

int _opCallInferSType(void* f, Texts, Texts, int, int* in, int, int* out, int) {
  if (function_of(f) != k_stype) return fail("wrong function");
  if (in[0] != 2) return fail("only CSR is known");
  out[0] = 2;
  return 1;
}

int _opCallMutateInputs(void*, Texts, Texts, int, int** indices, int* n) {
  *indices = static_cast<int*>(std::malloc(sizeof(int)));
  **indices = 1;
  *n = 1;
  return 1;
}

#define TENSORS(side)                                                                                           \
  const int64_t **side##_shapes, int *side##_dims, void **side##_data, int *side##_types, size_t *side##_ids, \
      const char **side##_devices, int *side##_device_ids, int n_##side
#define RESOURCES                                                                                                  \
  void *(*cpu_malloc)(void*, int), void *cpu_self, void *(*gpu_malloc)(void*, int), void *gpu_self, void *stream,  \
      void (*sparse_malloc)(void*, int, int, int, void**, int64_t**, int64_t**), void *sparse_self, int *in_stypes, \
      int *out_stypes, void **in_indices, void **out_indices, void **in_indptr, void **out_indptr,                 \
      int64_t *in_indices_len, int64_t *out_indices_len, int64_t *in_indptr_len, int64_t *out_indptr_len,          \
      void *rng_cpu, void *rng_gpu

int _opCallFCompute(void* f, Texts keys, Texts values, int n, TENSORS(in), TENSORS(out), RESOURCES) {
  Attributes a = read(keys, values, n);
  float factor = a.count("factor") ? std::stof(a["factor"]) : 2;
  if (std::strcmp(in_devices[0], "cpu") != 0 || in_types[0] != 0) return fail("wrong tensors");
  int64_t size = 1;
  for (int i = 0; i < in_dims[0]; ++i) size *= in_shapes[0][i];
  const float* x = static_cast<float*>(in_data[0]);
  switch (function_of(f)) {
    case k_scale: {
      if (a.count("fail_late")) return fail("asked to fail late");
      float* copy = static_cast<float*>(cpu_malloc(cpu_self, static_cast<int>(size * sizeof(float))));
      float* other = static_cast<float*>(cpu_malloc(cpu_self, static_cast<int>(size * sizeof(float))));
      for (int64_t i = 0; i < size; ++i) copy[i] = x[i], other[i] = -1;
      for (int64_t i = 0; i < size; ++i) static_cast<float*>(out_data[0])[i] = copy[i] * factor;
      return 1;
    }
    case k_scale_back:
      if (n_in != 3 || n_out != 1) return fail("wrong numbers");
      for (int64_t i = 0; i < size; ++i) static_cast<float*>(out_data[0])[i] = x[i] * factor;
      return 1;
    case k_csr: {
      const int64_t nnz = in_indices_len[0], rows = in_indptr_len[0];
      if (in_stypes[0] != 2 || out_stypes[0] != 2) return fail("wrong storage types");
      void* data = nullptr;
      int64_t *indices = nullptr, *indptr = nullptr;
      sparse_malloc(sparse_self, 0, static_cast<int>(nnz), static_cast<int>(rows), &data, &indices, &indptr);
      for (int64_t i = 0; i < nnz; ++i) {
        static_cast<float*>(data)[i] = 2 * x[i];
        indices[i] = static_cast<int64_t*>(in_indices[0])[i];
      }
      std::memcpy(indptr, in_indptr[0], rows * sizeof(int64_t));
      return 1;
    }
    case k_noise:
      for (int64_t i = 0; i < size; ++i)
        static_cast<float*>(out_data[0])[i] = static_cast<float>(static_cast<std::mt19937*>(rng_cpu)[i % 1024]() & 0xffff);
      static_cast<float*>(in_data[1])[0] += 1;
      return 1;
  }
  return fail("wrong function");
}

#if VERSION == 7
int _opCallCreateOpState(void* f, Texts keys, Texts values, int n, void** state) {
#else
int _opCallCreateOpState(void* f, Texts keys, Texts values, int n, const char* device, int, unsigned** shapes, int* dims,
                         int n_in, const int* types, void** state) {
  if (std::strcmp(device, "cpu") != 0 || n_in != 1 || dims[0] != 1 || shapes[0][0] != 3 || types[0] != 0)
    return fail("wrong inputs");
#endif
  if (function_of(f) != k_create) return fail("wrong function");
  Attributes a = read(keys, values, n);
  ++alive;
  *state = new State{a.count("start") ? std::atoi(a["start"].c_str()) : 0, 0};
  return 1;
}

#if VERSION == 11
void _opCallDestroyOpState(void* state) {
  delete static_cast<State*>(state);
  --alive;
}
#endif
int built_states_alive() { return alive; }

int _opCallFStatefulCompute(int is_forward, void* state, TENSORS(in), TENSORS(out), RESOURCES) {
  if (!is_forward) return fail("no backward here");
  State& s = *static_cast<State*>(state);
  float sum = 0;
  for (int i = 0; i < 3; ++i) sum += static_cast<float*>(in_data[0])[i];
  for (int i = 0; i < 3; ++i) static_cast<float*>(out_data[0])[i] = sum + s.start + s.calls;
  ++s.calls;
  return 1;
}

#if VERSION >= 10
int _msgSize() { return static_cast<int>(messages().size()); }
int _msgGet(int i, const char** text) {
  *text = messages()[i].c_str();
  return 1;
}
int _passRegSize() { return 1; }
void _passRegGet(int, void**, const char** name) { *name = "built_pass"; }
#endif
int _partRegSize() { return 1; }
int _partRegGetCount(int, const char** name) {
  *name = "built_partitioner";
  return 1;
}

}  // extern "C"

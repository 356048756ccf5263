// The same ops by both ways: with BUILT the C symbols of a library that was built against MXNet's own header (version
// 11), else REGISTER_OP. The attribute `mode` says what they do wrong.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace both {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<std::vector<unsigned>> Shapes;

std::string mode(const Attributes& a) { return a.count("mode") ? a.at("mode") : ""; }

int parse(const Attributes& a, int* in, int* out) {
  if (mode(a) == "no numbers") return 1;
  *in = *out = 1;
  return mode(a) != "parse fails";
}
int type(const Attributes& a, std::vector<int>& in, std::vector<int>& out) {
  out[0] = mode(a) == "no dtype" ? 99 : in[0];
  return mode(a) != "type fails";
}
int storage(const Attributes& a, std::vector<int>& in, std::vector<int>& out) {
  out[0] = mode(a) == "no storage type" ? 7 : in[0];
  return mode(a) != "storage fails";
}
int shape(const Attributes& a, Shapes& in, Shapes& out) {
  out[0] = mode(a) == "33 dimensions" ? std::vector<unsigned>(33, 1) : in[0];
  if (mode(a) == "another input") in[0][0] += 1;
  return mode(a) != "shape fails";
}
int mutate(const Attributes& a, std::vector<int>& indices) {
  if (mode(a) == "no such input") indices.push_back(5);
  return mode(a) != "mutate fails";
}
/// `alloc` gives memory of a size.
template <class Alloc>
int forward(const Attributes& a, const float* x, float* y, int64_t n, const Alloc& alloc) {
  if (mode(a) == "negative size") return alloc(-1) != nullptr;
  if (mode(a) == "throws") throw std::out_of_range("thrown by forward");
  if (y)
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return mode(a) != "forward fails";
}
/// Of a sparse output that was not given for backward.
int backward(int stype, bool has_parts, int64_t n_indices, int64_t n_indptr) {
  throw std::invalid_argument("storage " + std::to_string(stype) + (has_parts ? ", its parts hold " : ", no parts: ") +
                              std::to_string(n_indices) + " and " + std::to_string(n_indptr));
}

}  // namespace both

#if defined(BUILT)

namespace {

typedef const char* const* Texts;
both::Attributes read(Texts keys, Texts values, int n) {
  both::Attributes a;
  for (int i = 0; i < n; ++i) a[keys[i]] = values[i];
  return a;
}
const char* g_cpu[] = {"cpu"};
void* g_some[] = {reinterpret_cast<void*>(1)};
void* g_back[] = {reinterpret_cast<void*>(2)};
void give(const both::Shapes& shapes, unsigned*** out, int** dims) {
  *out = static_cast<unsigned**>(std::malloc(shapes.size() * sizeof(unsigned*)));
  *dims = static_cast<int*>(std::malloc(shapes.size() * sizeof(int)));
  for (size_t i = 0; i < shapes.size(); ++i) {
    (*dims)[i] = static_cast<int>(shapes[i].size());
    (*out)[i] = static_cast<unsigned*>(std::malloc(shapes[i].size() * sizeof(unsigned) + 1));
    if (!shapes[i].empty()) std::memcpy((*out)[i], shapes[i].data(), shapes[i].size() * sizeof(unsigned));
  }
}

}  // namespace

extern "C" {
int initialize(int) { return 1; }
int _opVersion() { return 11; }
int _opRegSize() { return 3; }
// both_op, both_state (its state is never made), both_subgraph.
void _opRegGet(int i, const char** name, int* is_subgraph, const char*** fwd_ctx, void*** fwd, int* n_fwd,
               const char*** bwd_ctx, void*** bwd, int* n_bwd, const char*** create_ctx, void*** create, int* n_create,
               void** parse, void** type, void** stype, void** shape, void** mutate) {
  *name = i == 0 ? "both_op" : i == 1 ? "both_state" : "both_subgraph";
  *is_subgraph = i == 2;
  *fwd_ctx = *bwd_ctx = *create_ctx = g_cpu;
  *fwd = *create = g_some;
  *bwd = g_back;
  *n_fwd = *n_bwd = i == 0;
  *n_create = i != 0;
  *parse = *type = *shape = i == 2 ? nullptr : g_some[0];
  *stype = *mutate = i == 0 ? g_some[0] : nullptr;
}
void _opCallFree(void* p) { std::free(p); }
int _opCallParseAttrs(void*, Texts keys, Texts values, int n, int* n_in, int* n_out) {
  return both::parse(read(keys, values, n), n_in, n_out);
}
int _opCallInferShape(void*, Texts keys, Texts values, int n, unsigned** in, int* in_dims, int n_in,
                      unsigned*** changed, int** changed_dims, unsigned*** out, int** out_dims, int n_out) {
  both::Shapes ins(n_in), outs(n_out);
  for (int i = 0; i < n_in; ++i) ins[i].assign(in[i], in[i] + in_dims[i]);
  if (!both::shape(read(keys, values, n), ins, outs)) return 0;
  give(ins, changed, changed_dims);
  give(outs, out, out_dims);
  return 1;
}
int _opCallInferType(void*, Texts keys, Texts values, int n, int* in, int n_in, int* out, int n_out) {
  std::vector<int> ins(in, in + n_in), outs(out, out + n_out);
  const int ok = both::type(read(keys, values, n), ins, outs);
  out[0] = outs[0];
  return ok;
}
int _opCallInferSType(void*, Texts keys, Texts values, int n, int* in, int n_in, int* out, int n_out) {
  std::vector<int> ins(in, in + n_in), outs(out, out + n_out);
  const int ok = both::storage(read(keys, values, n), ins, outs);
  out[0] = outs[0];
  return ok;
}
int _opCallMutateInputs(void*, Texts keys, Texts values, int n, int** indices, int* n_indices) {
  std::vector<int> list;
  if (!both::mutate(read(keys, values, n), list)) return 0;
  *indices = static_cast<int*>(std::malloc((list.size() + 1) * sizeof(int)));
  for (size_t i = 0; i < list.size(); ++i) (*indices)[i] = list[i];
  *n_indices = static_cast<int>(list.size());
  return 1;
}
int _opCallFCompute(void* f, Texts keys, Texts values, int n, const int64_t** in_shapes, int* in_dims, void** in_data,
                    int*, size_t*, const char**, int*, int n_in, const int64_t**, int*, void** out_data, int*, size_t*,
                    const char**, int*, int, void* (*cpu_malloc)(void*, int), void* cpu_self, void* (*)(void*, int),
                    void*, void*, void (*)(void*, int, int, int, void**, int64_t**, int64_t**), void*, int* in_stypes,
                    int*, void**, void**, void**, void**, int64_t* in_indices_len, int64_t*, int64_t* in_indptr_len,
                    int64_t*, void*, void*) {
  // MXNet's own glue makes an MXSparse of these for any sparse tensor.
  if (f == g_back[0])
    return both::backward(in_stypes[n_in - 1], true, in_indices_len[n_in - 1], in_indptr_len[n_in - 1]);
  int64_t size = 1;
  for (int i = 0; i < in_dims[0]; ++i) size *= in_shapes[0][i];
  return both::forward(read(keys, values, n), static_cast<float*>(in_data[0]),
                       in_stypes[0] ? nullptr : static_cast<float*>(out_data[0]), size,
                       [&](int bytes) { return cpu_malloc(cpu_self, bytes); });
}
int _opCallCreateOpState(void*, Texts, Texts, int, const char*, int, unsigned**, int*, int, const int*, void**) {
  return 1;
}
void _opCallDestroyOpState(void*) {}
int _opCallFStatefulCompute(int, void*, ...) { return 0; }
int _msgSize() { return 0; }
int _msgGet(int, const char**) { return 0; }
}

#else

#include "mxnet/lib_api.h"

namespace both {

using namespace mxnet::ext;
typedef std::vector<MXTensor> Tensors;

MXReturnValue result(int ok) { return ok ? MX_SUCCESS : MX_FAIL; }
MXReturnValue Parse(const Attributes& a, int* in, int* out) { return result(parse(a, in, out)); }
MXReturnValue Type(const Attributes& a, std::vector<int>* in, std::vector<int>* out) { return result(type(a, *in, *out)); }
MXReturnValue Storage(const Attributes& a, std::vector<int>* in, std::vector<int>* out) {
  return result(storage(a, *in, *out));
}
MXReturnValue Shape(const Attributes& a, Shapes* in, Shapes* out) { return result(shape(a, *in, *out)); }
MXReturnValue Mutate(const Attributes& a, std::vector<int>* indices) { return result(mutate(a, *indices)); }
MXReturnValue Forward(const Attributes& a, Tensors* in, Tensors* out, const OpResource& res) {
  const MXTensor& x = in->at(0);
  return result(forward(a, x.data<float>(), x.stype ? nullptr : out->at(0).data<float>(), x.size(),
                        [&](int bytes) { return res.alloc_cpu(bytes); }));
}
MXReturnValue Backward(const Attributes&, Tensors* in, Tensors*, const OpResource&) {
  const MXSparse* parts = in->back().data<MXSparse>();
  return result(backward(in->back().stype, parts != nullptr, parts ? parts->indices_len : 0,
                         parts ? parts->indptr_len : 0));
}
MXReturnValue Create(const Attributes&, const MXContext&, const Shapes&, const std::vector<int>, CustomStatefulOp**) {
  return MX_SUCCESS;
}
REGISTER_OP(both_op)
    .setParseAttrs(Parse)
    .setInferType(Type)
    .setInferSType(Storage)
    .setInferShape(Shape)
    .setMutateInputs(Mutate)
    .setForward(Forward, "cpu")
    .setBackward(Backward, "cpu");
REGISTER_OP(both_state).setParseAttrs(Parse).setInferType(Type).setInferShape(Shape).setCreateOpState(Create, "cpu");
REGISTER_OP(both_subgraph).setIsSubgraphOp().setCreateOpState(Create, "cpu");

}  // namespace both

mxnet::ext::MXReturnValue initialize(int) { return mxnet::ext::MX_SUCCESS; }

#endif

// Transposes of CSR and row-sparse matrices, as sources for MXNet 1.6 (by value) and 1.7 (by pointer) are written.
#include <map>
#include "lib_api.h"

template <class Resource>
static void transpose_csr(MXTensor source, MXTensor target, const Resource& res) {
  MXSparse* a = source.data<MXSparse>();
  MXSparse* b = target.data<MXSparse>();
  const int64_t rows = source.shape[0], columns = source.shape[1];
  const float* from = static_cast<float*>(a->data);
  std::vector<int64_t> next(columns + 2, 0);
  for (int64_t i = 0; i < a->data_len; ++i) next[a->indices[i] + 2]++;
  for (size_t i = 2; i < next.size(); ++i) next[i] += next[i - 1];
  res.alloc_sparse(b, 0, a->data_len, columns + 1);
  float* to = static_cast<float*>(b->data);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = a->indptr[i]; j < a->indptr[i + 1]; ++j) {
      const int64_t at = next[a->indices[j] + 1]++;
      to[at] = from[j];
      b->indices[at] = i;
    }
  memcpy(b->indptr, next.data(), sizeof(int64_t) * (columns + 1));
}

template <class Resource>
static void transpose_rows(MXTensor source, MXTensor target, const Resource& res) {
  MXSparse* a = source.data<MXSparse>();
  MXSparse* b = target.data<MXSparse>();
  const int64_t rows = source.shape[0], columns = source.shape[1];
  const float* from = static_cast<float*>(a->data);
  std::map<int64_t, std::vector<float>> found;
  for (int64_t i = 0; i < a->data_len; ++i)
    if (from[i] != 0) {
      auto& row = found[i % columns];
      row.resize(rows);
      row[a->indices[i / columns]] = from[i];
    }
  res.alloc_sparse(b, 0, found.size());
  float* to = static_cast<float*>(b->data);
  int64_t k = 0;
  for (auto& entry : found) {
    b->indices[k] = entry.first;
    for (int64_t i = 0; i < rows; ++i) to[k * rows + i] = entry.second[i];
    ++k;
  }
}

template <class Resource>
static MXReturnValue transpose(MXTensor source, MXTensor target, const Resource& res) {
  if (source.stype != target.stype || source.dtype != kFloat32) return MX_FAIL;
  (source.stype == kCSRStorage ? transpose_csr<Resource> : transpose_rows<Resource>)(source, target, res);
  return MX_SUCCESS;
}

// By value.

MXReturnValue forwardV(std::map<std::string, std::string> attrs, std::vector<MXTensor> inputs,
                       std::vector<MXTensor> outputs, OpResource res) {
  return transpose(inputs[0], outputs[0], res);
}
MXReturnValue parseV(std::map<std::string, std::string> attrs, int* num_in, int* num_out) {
  *num_in = *num_out = 1;
  return MX_SUCCESS;
}
MXReturnValue typeV(std::map<std::string, std::string> attrs, std::vector<int>& in, std::vector<int>& out) {
  out[0] = in[0];
  return MX_SUCCESS;
}
MXReturnValue storageV(std::map<std::string, std::string> attrs, std::vector<int>& in, std::vector<int>& out) {
  if (in[0] == kDefaultStorage) {
    std::cout << "dense input is not supported" << std::endl;
    return MX_FAIL;
  }
  out[0] = in[0];
  return MX_SUCCESS;
}
MXReturnValue shapeV(std::map<std::string, std::string> attrs, std::vector<std::vector<unsigned int>>& in,
                     std::vector<std::vector<unsigned int>>& out) {
  out[0] = {in[0][1], in[0][0]};
  return MX_SUCCESS;
}
REGISTER_OP(mx_transpose_v)
    .setForward(forwardV, "cpu")
    .setParseAttrs(parseV)
    .setInferType(typeV)
    .setInferSType(storageV)
    .setInferShape(shapeV);

// By pointer.

typedef const std::unordered_map<std::string, std::string>& A;
MXReturnValue forwardP(A attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource& res) {
  return transpose(inputs->at(0), outputs->at(0), res);
}
MXReturnValue parseP(A attrs, int* num_in, int* num_out) {
  *num_in = *num_out = 1;
  return MX_SUCCESS;
}
MXReturnValue typeP(A attrs, std::vector<int>* in, std::vector<int>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}
MXReturnValue storageP(A attrs, std::vector<int>* in, std::vector<int>* out) {
  if (in->at(0) == kDefaultStorage) return MX_FAIL;
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}
MXReturnValue shapeP(A attrs, std::vector<std::vector<unsigned int>>* in,
                     std::vector<std::vector<unsigned int>>* out) {
  out->at(0) = {in->at(0)[1], in->at(0)[0]};
  return MX_SUCCESS;
}
REGISTER_OP(mx_transpose_p)
    .setForward(forwardP, "cpu")
    .setBackward(forwardP, "cpu")
    .setParseAttrs(parseP)
    .setInferType(typeP)
    .setInferSType(storageP)
    .setInferShape(shapeP);

MXReturnValue initialize(int version) { return MX_SUCCESS; }

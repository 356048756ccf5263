// Sparse tensors of programs, and the calls of bound ops that have them.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>
#include <tarsia/values.h>

#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tarsia {

/// A CSR or row-sparse tensor: its parts and the shape of the whole. Copies share the memory of the parts.
struct SparseTensor {
  tarsia_storage_type storage;  ///< TARSIA_CSR or TARSIA_ROW_SPARSE
  Tensor values;                ///< CSR: the stored elements; row-sparse: the stored rows
  Tensor indices;               ///< int64; CSR: the elements' columns; row-sparse: the rows' numbers
  Tensor indptr;                ///< int64; CSR: where each row starts; row-sparse: none
  std::vector<int64_t> shape;   ///< the shape of the whole tensor

  /// Makes a CSR tensor of two dimensions. `indptr` has rows + 1 numbers. A call checks the parts.
  static SparseTensor csr(Tensor values, Tensor indices, Tensor indptr, std::vector<int64_t> shape) {
    return {TARSIA_CSR, std::move(values), std::move(indices), std::move(indptr), std::move(shape)};
  }
  /// Makes a row-sparse tensor. `values` has the stored rows, `indices` their numbers. A call checks the
  /// parts.
  static SparseTensor row_sparse(Tensor values, Tensor indices, std::vector<int64_t> shape) {
    return {TARSIA_ROW_SPARSE, std::move(values), std::move(indices), Tensor(), std::move(shape)};
  }
};

/// A dense or sparse tensor. `Tensor()` means that there is none.
using AnyTensor = std::variant<Tensor, SparseTensor>;

namespace detail {

inline Device device_of(const AnyTensor& tensor) {
  const auto* dense = std::get_if<Tensor>(&tensor);
  const Tensor& part = dense ? *dense : std::get<SparseTensor>(tensor).values;
  return part && part.is_gpu() ? part.device() : cpu_device();
}
/// Returns the GPU on which one of the tensors lies, or the CPU.
inline Device device_of(const std::vector<AnyTensor>& tensors) {
  for (const AnyTensor& tensor : tensors)
    if (device_of(tensor).type == TARSIA_GPU) return device_of(tensor);
  return cpu_device();
}

[[noreturn]] inline void wrong_value(const std::string& text) {
  tarsia_get_host()->set_error(TARSIA_ARGUMENT_VALUE, text.c_str());
  throw_error();
}

/// The inputs or the outputs of a call, in the form of the binary interface. Throws ArgumentError for parts
/// that do not make a tensor.
class AnyViews {
 public:
  AnyViews() = default;
  AnyViews(const AnyViews&) = delete;
  ~AnyViews() {
    for (tarsia_sparse& sparse : m_sparse) take_parts(sparse);
  }

  /// Adds an argument. `tensor` outlives this object.
  void add(const AnyTensor& tensor) {
    const auto* sparse = std::get_if<SparseTensor>(&tensor);
    m_dense.emplace_back();
    m_views.push_back(sparse ? view(*sparse) : std::get<Tensor>(tensor).get());
    m_storages.push_back(sparse ? sparse->storage : TARSIA_DENSE);
  }
  /// Makes and adds an output. The op gives a sparse output its size. `meta` outlives this object.
  void add_output(const tarsia_meta& meta, Device device) {
    m_dense.emplace_back();
    m_storages.push_back(static_cast<tarsia_storage_type>(meta.storage));
    if (meta.storage == TARSIA_DENSE) {
      tarsia_storage* storage = nullptr;
      check(tarsia_empty(meta.shape, meta.ndim, meta.dtype, device, &storage));
      m_dense.back() = Tensor::own(storage);
      m_views.push_back(m_dense.back().get());
      return;
    }
    tarsia_sparse& sparse = m_sparse.emplace_back();
    sparse.whole.device = device;
    sparse.whole.ndim = meta.ndim;
    sparse.whole.dtype = meta.dtype;
    sparse.whole.shape = const_cast<int64_t*>(meta.shape);
    m_views.push_back(&sparse.whole);
  }
  /// Adds an absent tensor.
  void add_none() { add(AnyTensor()); }

  /// Returns the outputs that the call made, in order.
  std::vector<AnyTensor> take() {
    std::vector<AnyTensor> all;
    auto sparse = m_sparse.begin();
    for (size_t i = 0; i < m_views.size(); ++i) {
      if (m_storages[i] == TARSIA_DENSE) {
        all.emplace_back(std::move(m_dense[i]));
        continue;
      }
      const tarsia_tensor& whole = sparse->whole;
      SparseTensor made = take_parts(*sparse++);
      made.storage = m_storages[i];
      made.shape.assign(whole.shape, whole.shape + whole.ndim);
      all.emplace_back(std::move(made));
    }
    return all;
  }

  /// Throws ArgumentError if a tensor's storage type is not the one that the op is bound to.
  void check_storage(size_t i, const tarsia_meta& meta, const char* what) const {
    if (!m_views[i] || m_storages[i] == meta.storage) return;
    static const char* const k_names[] = {"dense", "row-sparse", "CSR"};
    wrong_value(std::string(what) + std::to_string(i) + " is " + k_names[m_storages[i]] +
                "; the op is bound to a " + k_names[meta.storage] + " one");
  }

  size_t size() const { return m_views.size(); }
  const tarsia_tensor* const* data() const { return m_views.data(); }
  tarsia_storage_type storage(size_t i) const { return m_storages[i]; }

 private:
  const tarsia_tensor* view(const SparseTensor& tensor) {
    const bool csr = tensor.storage == TARSIA_CSR;
    if (!tensor.values || !tensor.indices || csr != bool(tensor.indptr))
      wrong_value(csr ? "a CSR tensor has values, indices and indptr"
                      : "a row-sparse tensor has values and indices");
    const Tensor* parts[] = {&tensor.values, &tensor.indices, &tensor.indptr};
    for (const Tensor* part : parts) {
      if (!*part) continue;
      if (!part->is_contiguous()) wrong_value("the parts of a sparse tensor have to be contiguous");
      if (part != parts[0] && (part->ndim() != 1 || part->dtype() != tarsia::dtype<int64_t>()))
        wrong_value("indices and indptr of a sparse tensor are one-dimensional, of int64");
    }
    const int64_t n = tensor.indices.numel();
    bool fits = tensor.values.ndim() > 0 && tensor.values.size(0) == n;
    if (csr)
      fits = fits && tensor.values.ndim() == 1 && tensor.shape.size() == 2 &&
             tensor.indptr.numel() == tensor.shape[0] + 1;
    else
      fits = fits && tensor.values.ndim() == static_cast<int>(tensor.shape.size());
    for (int i = 1; fits && !csr && i < tensor.values.ndim(); ++i)
      fits = tensor.values.size(i) == tensor.shape[static_cast<size_t>(i)];
    if (!fits)
      wrong_value(csr ? "a CSR tensor has two dimensions, as many values as indices, and rows + 1 indptr"
                      : "the values of a row-sparse tensor have its shape, but for as many rows as indices");
    tarsia_sparse& sparse = m_sparse.emplace_back();
    sparse.whole = *tensor.values.get();
    sparse.whole.data = nullptr;
    sparse.whole.strides = nullptr;
    sparse.whole.byte_offset = 0;
    sparse.whole.ndim = static_cast<int32_t>(tensor.shape.size());
    sparse.whole.shape = const_cast<int64_t*>(tensor.shape.data());
    sparse.values = *tensor.values.get();
    sparse.indices = *tensor.indices.get();
    if (csr) sparse.indptr = *tensor.indptr.get();
    return &sparse.whole;
  }
  static SparseTensor take_parts(tarsia_sparse& sparse) {
    SparseTensor parts{};
    Tensor* const into[] = {&parts.values, &parts.indices, &parts.indptr};
    for (int i = 0; i < 3; ++i)
      if (tarsia_storage* part = std::exchange(sparse.made[i], nullptr)) *into[i] = Tensor::own(part);
    return parts;
  }

  std::vector<const tarsia_tensor*> m_views;
  std::vector<tarsia_storage_type> m_storages;
  std::vector<Tensor> m_dense;
  std::deque<tarsia_sparse> m_sparse;  // a deque: views point into it
};

}  // namespace detail

}  // namespace tarsia

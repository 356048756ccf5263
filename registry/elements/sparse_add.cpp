// Both summands become a list of (place, which, index), which is sorted; what stands at one place is added.
// The unit of CSR is an element, and its place (row, column); that of row-sparse a row, and its place 0, row.
#include "registry/elements/sparse_add.h"

#include <algorithm>
#include <vector>

#include "registry/elements/dtypes.h"
#include "registry/elements/sparse.h"
#include "registry/elements/tensor_math.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

/// Copies bytes between devices; waits if one of them is a GPU.
void copy_bytes(void* to, tarsia_device to_device, const void* from, tarsia_device from_device,
                std::int64_t n, void* stream) {
  if (!n) return;
  tarsia_tensor target{}, source{};
  target.data = to, target.device = to_device;
  source.data = const_cast<void*>(from), source.device = from_device;
  for (tarsia_tensor* tensor : {&target, &source}) {
    tensor->ndim = 1;
    tensor->dtype = k_uint8;
    tensor->shape = &n;
  }
  copy(target, source, stream);
}

/// A summand, on the CPU.
struct Summand {
  std::vector<char> values;
  std::vector<std::int64_t> indices, indptr;

  Summand(const tarsia_sparse& sparse, std::int64_t unit, void* stream)
      : values(static_cast<size_t>(part_size(sparse.indices) * unit)),
        indices(static_cast<size_t>(part_size(sparse.indices))),
        indptr(static_cast<size_t>(part_size(sparse.indptr))) {
    const tarsia_device cpu{TARSIA_CPU, 0}, from = sparse.whole.device;
    auto fetch = [&](auto& list, const tarsia_tensor& part) {
      copy_bytes(list.data(), cpu, data_of(part), from,
                 static_cast<std::int64_t>(list.size() * sizeof(list[0])), stream);
    };
    if (indices.empty()) return;
    fetch(values, sparse.values);
    fetch(indices, sparse.indices);
    if (!indptr.empty()) fetch(indptr, sparse.indptr);
  }
};

struct Unit {
  std::int64_t row, column;
  const char* values;
  bool operator<(const Unit& o) const { return row != o.row ? row < o.row : column < o.column; }
  bool is_at(const Unit& o) const { return row == o.row && column == o.column; }
};

void list_units(const Summand& summand, std::int64_t unit, bool is_csr, std::vector<Unit>& units) {
  const auto n = static_cast<std::int64_t>(summand.indices.size());
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_csr)
      while (row + 2 < static_cast<std::int64_t>(summand.indptr.size()) &&
             summand.indptr[static_cast<size_t>(row + 1)] <= i)
        ++row;
    units.push_back({row, summand.indices[static_cast<size_t>(i)], summand.values.data() + i * unit});
  }
}

}  // namespace

void add_sparse(const tarsia_op_context& context, std::uint32_t i, const tarsia_sparse& more) {
  const tarsia_bind_info& info = *context.info;
  const tarsia_meta& meta = context.pass == TARSIA_BACKWARD ? info.inputs[i] : info.outputs[i];
  const bool is_csr = meta.storage == TARSIA_CSR;
  std::int64_t unit = bytes_of_element(meta.dtype), elements = 1;
  for (int k = 1; !is_csr && k < meta.ndim; ++k) elements *= meta.shape[k];
  unit *= elements;
  const auto& old = *reinterpret_cast<const tarsia_sparse*>(context.outputs[i]);
  const Summand a(old, unit, context.stream), b(more, unit, context.stream);
  std::vector<Unit> units;
  list_units(a, unit, is_csr, units);
  list_units(b, unit, is_csr, units);
  std::stable_sort(units.begin(), units.end());

  std::vector<char> values;
  std::vector<std::int64_t> indices, indptr(is_csr ? static_cast<size_t>(meta.shape[0] + 1) : 0);
  const Unit* last = nullptr;
  for (const Unit& u : units) {
    if (last && last->is_at(u)) {
      add_elements(meta.dtype, values.data() + values.size() - unit, u.values, elements);
    } else {
      values.insert(values.end(), u.values, u.values + unit);
      indices.push_back(u.column);
      if (is_csr) ++indptr[static_cast<size_t>(u.row + 1)];
    }
    last = &u;
  }
  for (size_t row = 1; row < indptr.size(); ++row) indptr[row] += indptr[row - 1];

  if (allocate_sparse(&context, i, static_cast<std::int64_t>(indices.size()),
                      static_cast<std::int64_t>(indptr.size())))
    throw_last_error();
  auto store = [&](const tarsia_tensor& part, const auto& list) {
    copy_bytes(data_of(part), info.device, list.data(), {TARSIA_CPU, 0},
               static_cast<std::int64_t>(list.size() * sizeof(list[0])), context.stream);
  };
  store(old.values, values);
  store(old.indices, indices);
  store(old.indptr, indptr);
}

}  // namespace tarsia::registry

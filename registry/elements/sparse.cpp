// Allocates sparse outputs in the framework of the caller, and gives them back.
#include "registry/elements/sparse.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "registry/elements/dtypes.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

tarsia_sparse empty_sparse(const tarsia_meta& meta, tarsia_device device) {
  tarsia_sparse sparse{};
  sparse.whole.device = device;
  sparse.whole.ndim = meta.ndim;
  sparse.whole.dtype = meta.dtype;
  sparse.whole.shape = const_cast<std::int64_t*>(meta.shape);
  return sparse;
}

void release_parts(tarsia_sparse& sparse) noexcept {
  for (tarsia_storage*& part : sparse.made) {
    if (part) release(part);
    part = nullptr;
  }
}

std::int32_t allocate_sparse(const tarsia_op_context* context, std::uint32_t i, std::int64_t n_indices,
                             std::int64_t n_indptr) noexcept {
  return guarded([&] {
    const tarsia_bind_info& info = *context->info;
    const std::string output = "output " + std::to_string(i);
    if (i >= context->n_outputs) throw ArgumentError::value_error("there is no " + output);
    const tarsia_meta& meta = context->pass == TARSIA_BACKWARD ? info.inputs[i] : info.outputs[i];
    if (meta.storage == TARSIA_DENSE) throw ArgumentError::value_error(output + " is not sparse");
    if (!context->outputs[i]) throw ArgumentError::value_error(output + " is not asked for");
    if (n_indices < 0 || n_indptr < 0)
      throw ArgumentError::value_error("a size of " + output + " is negative");
    const bool is_csr = meta.storage == TARSIA_CSR;
    if (is_csr && (meta.ndim != 2 || n_indptr != meta.shape[0] + 1))
      throw ArgumentError::value_error(output + " is CSR with " +
                                       std::to_string(meta.ndim ? meta.shape[0] : 0) +
                                       " rows, so its indptr has one more, not " + std::to_string(n_indptr));
    if (!is_csr && n_indptr) throw ArgumentError::value_error(output + " is row-sparse: it has no indptr");
    auto& sparse = *reinterpret_cast<tarsia_sparse*>(const_cast<tarsia_tensor*>(context->outputs[i]));
    release_parts(sparse);
    auto make = [&](int which, const std::int64_t* shape, int ndim, tarsia_dtype dtype) {
      sparse.made[which] = make_tensor_of_caller(shape, ndim, dtype, info.device);
      if (!sparse.made[which]) throw_last_error();
      return *sparse.made[which]->tensor;
    };
    std::int64_t shape[TARSIA_MAX_NDIM] = {n_indices};
    if (!is_csr) std::copy(meta.shape + 1, meta.shape + meta.ndim, shape + 1);
    sparse.values = make(0, shape, is_csr ? 1 : meta.ndim, meta.dtype);
    sparse.indices = make(1, &n_indices, 1, k_int64);
    if (is_csr) sparse.indptr = make(2, &n_indptr, 1, k_int64);
  });
}

}  // namespace tarsia::registry

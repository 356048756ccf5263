// The tensors of a run as columns, and what the op may ask for while it runs.
#include "registry/mxnet/mxnet_run.h"

#include <tarsia/host.h>
#include <tarsia/mxnet/dtypes.h>

#include <atomic>

#include "registry/mxnet/mxnet_infer.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

namespace tarsia::registry::mxnet {

Room::Room(tarsia_mxnet_tensors& t, std::uint32_t n) {
  constexpr size_t k_pointers = 8, k_ints = 4;
  const size_t bytes = n * (k_pointers * 8 + k_ints * 4);
  char* at = bytes <= sizeof(m_room) ? m_room : (m_heap.reset(new char[bytes]), m_heap.get());
  auto take = [&]<class T>(T*& column) {
    column = reinterpret_cast<T*>(at);
    at += n * sizeof(T);
  };
  t.n = static_cast<int>(n);
  take(t.shapes), take(t.data), take(t.versions), take(t.device_types);
  take(t.indices), take(t.indptr), take(t.n_indices), take(t.n_indptr);
  take(t.ndims), take(t.dtypes), take(t.device_ids), take(t.storages);
}

namespace {

/// What the tensors of one run have in common.
struct Common {
  std::size_t version;
  const char* device_type;
  int device_id;
};

/// Fills row i; a null tensor has no data.
void set(const tarsia_mxnet_tensors& t, std::uint32_t i, const tarsia_tensor* tensor, const tarsia_meta& meta,
         const Common& common) {
  t.shapes[i] = meta.shape;
  t.ndims[i] = meta.ndim;
  t.dtypes[i] = ::mxnet::ext::tarsia_detail::from_dtype(meta.dtype);
  t.versions[i] = common.version;
  t.device_types[i] = common.device_type;
  t.device_ids[i] = common.device_id;
  t.storages[i] = meta.storage;
  t.data[i] = tensor ? data_of(*tensor) : nullptr;
  t.indices[i] = t.indptr[i] = nullptr;
  t.n_indices[i] = t.n_indptr[i] = 0;
  if (meta.storage == TARSIA_DENSE || !tensor) return;
  const auto& sparse = *reinterpret_cast<const tarsia_sparse*>(tensor);
  t.data[i] = sparse.values.data;
  t.indices[i] = sparse.indices.data;
  t.n_indices[i] = sparse.indices.shape ? sparse.indices.shape[0] : 0;
  if (meta.storage != TARSIA_CSR) return;
  t.indptr[i] = sparse.indptr.data;
  t.n_indptr[i] = sparse.indptr.shape ? sparse.indptr.shape[0] : 0;
}

}  // namespace

Run::Run(const tarsia_op_context& context, const tarsia_mxnet_function* function_, bool is_backward)
    : m_context(context), m_inputs(inputs, context.n_inputs), m_outputs(outputs, context.n_outputs) {
  // Tensors of one run have one version, another one in every run: their content may have changed.
  static std::atomic<std::size_t> s_version{0};
  const Common common = {s_version.fetch_add(1, std::memory_order_relaxed) + 1, device_type(context.device),
                         context.device.id};
  const tarsia_bind_info& info = *context.info;
  // Backward takes output gradients, inputs, outputs.
  const std::uint32_t first = is_backward ? info.n_outputs : 0, last = first + info.n_inputs;
  for (std::uint32_t i = 0; i < context.n_inputs; ++i)
    set(inputs, i, context.inputs[i],
        i < first  ? info.outputs[i]
        : i < last ? info.inputs[i - first]
                   : info.outputs[i - last],
        common);
  for (std::uint32_t i = 0; i < context.n_outputs; ++i)
    set(outputs, i, context.outputs[i], is_backward ? info.inputs[i] : info.outputs[i], common);
  function = function_;
  attributes = MxnetAttributes::of(info);
  state = context.state;
  backward = is_backward;
  reserved = 0;
  stream = context.stream;
  allocate = &allocate_memory;
  allocate_sparse = &allocate_output;
  random_states = &borrow_states;
}

std::int32_t Run::allocate_memory(const tarsia_mxnet_run* self, std::int64_t bytes, std::uint32_t on_gpu,
                                  void** memory) noexcept {
  std::int32_t code = 0;
  const std::int32_t failed = guarded([&] {
    const tarsia_device device = context_of(self).device;
    *memory = nullptr;
    if (bytes < 0)
      code = op_is_wrong("memory of a negative size was asked for");
    else if (!on_gpu || is_gpu(device))
      *memory =
          call_scratch(static_cast<std::uint64_t>(bytes), on_gpu ? device : tarsia_device{TARSIA_CPU, 0});
  });
  return failed ? failed : code;
}

std::int32_t Run::allocate_output(const tarsia_mxnet_run* self, std::int32_t i, std::int64_t n_indices,
                                  std::int64_t n_indptr, const tarsia_sparse** made) noexcept {
  const tarsia_op_context& context = context_of(self);
  const std::int32_t code =
      context.allocate_sparse(&context, static_cast<std::uint32_t>(i), n_indices, n_indptr);
  if (!code) *made = reinterpret_cast<const tarsia_sparse*>(context.outputs[i]);
  return code;
}

std::int32_t Run::borrow_states(const tarsia_mxnet_run* self, std::uint32_t on_gpu, void** states) noexcept {
  return guarded([&] {
    const tarsia_device device = context_of(self).device;
    std::uint32_t n = 0;
    *states = !on_gpu          ? registry::random_states({TARSIA_CPU, 0}, TARSIA_RANDOM_MT19937, n)
              : is_gpu(device) ? registry::random_states(device, TARSIA_RANDOM_PHILOX, n)
                               : nullptr;
  });
}

}  // namespace tarsia::registry::mxnet

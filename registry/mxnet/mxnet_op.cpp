// The functions of such an op are called with what Tarsia knows, in the words of MXNet's extension API: an
// unknown dtype is -1, an unknown extent 0, an unknown shape empty. <tarsia/mxnet/glue_functions.h> does the
// same for sources.
#include "registry/mxnet/mxnet_op.h"

#include <tarsia/host.h>
#include <tarsia/mxnet/dtypes.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

namespace tarsia::registry {

using namespace ::mxnet::ext::tarsia_detail;

namespace {

/// Runs f, which gives a code; exceptions of the library and of ours become the last error.
template <class F>
std::int32_t guarded_author(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return capture_author_exception();
  }
}

std::int32_t wrong(const std::string& text) {
  return set_last_error(TARSIA_OP_VALUE_ERROR, "call", text);
}

const char* device_type(tarsia_device device) {
  return is_gpu(device) ? "gpu" : "cpu";
}

/// Shapes as arrays of unsigned.
struct Shapes {
  std::vector<std::vector<unsigned>> extents;
  std::vector<unsigned*> pointers;
  std::vector<int> ndims;

  Shapes(const tarsia_meta* metas, std::uint32_t n) : extents(n) {
    for (std::uint32_t k = 0; k < n; ++k) {
      for (int i = 0; i < metas[k].ndim; ++i) {
        if (metas[k].shape[i] > std::int64_t{0xffffffff})
          throw ArgumentError::value_error("an extent of 2^32 and more does not fit this API");
        extents[k].push_back(metas[k].shape[i] < 0 ? 0u : static_cast<unsigned>(metas[k].shape[i]));
      }
      ndims.push_back(static_cast<int>(extents[k].size()));
      extents[k].push_back(0);  // never an empty array
      pointers.push_back(extents[k].data());
    }
    pointers.push_back(nullptr);
    ndims.push_back(0);
  }
};

/// Shapes that the library gave, to be freed by it.
struct GivenShapes {
  const mxnet::Api& api;
  int n;
  unsigned** shapes = nullptr;
  int* ndims = nullptr;

  GivenShapes(const mxnet::Api& api, std::uint32_t n) : api(api), n(static_cast<int>(n)) {}
  ~GivenShapes() {
    for (int i = 0; shapes && i < n; ++i) api.call_free(shapes[i]);
    if (shapes) api.call_free(shapes);
    if (ndims) api.call_free(ndims);
  }
  GivenShapes(const GivenShapes&) = delete;
  GivenShapes& operator=(const GivenShapes&) = delete;

  /// An extent of 0 is unknown unless all inputs were known: then it is one.
  void put_into(tarsia_meta* metas, bool all_known, bool scalars) const {
    for (int k = 0; shapes && ndims && k < n; ++k) {
      if (ndims[k] == 0 && !scalars) continue;
      if (ndims[k] < 0 || ndims[k] > TARSIA_MAX_NDIM)
        throw ArgumentError::value_error("inferShape gives " + std::to_string(ndims[k]) + " dimensions");
      metas[k].ndim = ndims[k];
      for (int i = 0; i < ndims[k]; ++i)
        metas[k].shape[i] = shapes[k][i] || all_known ? static_cast<std::int64_t>(shapes[k][i]) : -1;
    }
  }
};

bool is_known(const tarsia_meta& meta) {
  for (int i = 0; i < meta.ndim; ++i)
    if (meta.shape[i] < 0) return false;
  return meta.ndim >= 0;
}

/// Room for the columns of n tensors, on the stack for few.
class Columns {
 public:
  explicit Columns(std::uint32_t n) {
    constexpr size_t k_pointers = 8, k_ints = 4;
    const size_t bytes = n * (k_pointers * 8 + k_ints * 4);
    char* at = bytes <= sizeof(m_room) ? m_room : (m_heap.reset(new char[bytes]), m_heap.get());
    auto take = [&]<class T>(T*& column) {
      column = reinterpret_cast<T*>(at);
      at += n * sizeof(T);
    };
    tensors.n = static_cast<int>(n);
    take(tensors.shapes), take(tensors.data), take(tensors.versions), take(tensors.device_types);
    take(tensors.indices), take(tensors.indptr), take(tensors.n_indices), take(tensors.n_indptr);
    take(tensors.ndims), take(tensors.dtypes), take(tensors.device_ids), take(tensors.storages);
  }
  mxnet::Tensors tensors{};

  void set(int i, const tarsia_tensor* tensor, const tarsia_meta& meta, std::size_t version,
           tarsia_device device) {
    mxnet::Tensors& t = tensors;
    t.shapes[i] = meta.shape;
    t.ndims[i] = meta.ndim;
    t.dtypes[i] = from_dtype(meta.dtype);
    t.versions[i] = version;
    t.device_types[i] = device_type(device);
    t.device_ids[i] = device.id;
    t.storages[i] = meta.storage;
    t.data[i] = tensor ? data_of(*tensor) : nullptr;
    t.indices[i] = t.indptr[i] = nullptr;
    t.n_indices[i] = t.n_indptr[i] = 0;
    if (meta.storage == TARSIA_DENSE || !tensor) return;
    const auto& sparse = *reinterpret_cast<const tarsia_sparse*>(tensor);
    t.data[i] = sparse.values.data;
    t.indices[i] = sparse.indices.data;
    t.n_indices[i] = sparse.indices.shape ? sparse.indices.shape[0] : 0;
    t.indptr[i] = sparse.indptr.data;
    t.n_indptr[i] = sparse.indptr.shape ? sparse.indptr.shape[0] : 0;
  }

 private:
  alignas(16) char m_room[12 * 80];
  std::unique_ptr<char[]> m_heap;
};

// What a running op asks for. `self` is its context. Errors pass through the library as exceptions.

void* allocate_cpu(void*, int bytes) {
  if (bytes < 0) throw ArgumentError::value_error("memory of a negative size was asked for");
  return call_scratch(static_cast<std::uint64_t>(bytes), {TARSIA_CPU, 0});
}

void* allocate_gpu(void* self, int bytes) {
  const tarsia_device device = static_cast<const tarsia_op_context*>(self)->device;
  if (!is_gpu(device)) return nullptr;
  if (bytes < 0) throw ArgumentError::value_error("memory of a negative size was asked for");
  return call_scratch(static_cast<std::uint64_t>(bytes), device);
}

void allocate_sparse(void* self, int index, int n_indices, int n_indptr, void** data, std::int64_t** indices,
                     std::int64_t** indptr) {
  const auto* context = static_cast<const tarsia_op_context*>(self);
  if (context->allocate_sparse(context, static_cast<std::uint32_t>(index), n_indices, n_indptr))
    throw_last_error();
  const auto& made = *reinterpret_cast<const tarsia_sparse*>(context->outputs[index]);
  *data = made.values.data;
  *indices = static_cast<std::int64_t*>(made.indices.data);
  *indptr = static_cast<std::int64_t*>(made.indptr.data);
}

}  // namespace

/// Keys and values as arrays of texts, which belong to the binding.
struct MxnetOp::Attributes {
  mxnet::Texts keys;
  std::vector<const char*> values;
  int n;

  explicit Attributes(const tarsia_bind_info& info)
      : keys(info.attribute_names), n(static_cast<int>(info.n_attributes)) {
    for (std::uint32_t i = 0; i < info.n_attributes; ++i) values.push_back(info.attributes[i].s);
    values.push_back(nullptr);
  }
  static const Attributes& of(const tarsia_bind_info& info) {
    return *static_cast<const Attributes*>(info.params);
  }
};

MxnetOp::MxnetOp(const mxnet::Api& api, mxnet::Registration registration, const std::string& path)
    : m_api(api), m_registration(registration) {
  const mxnet::Registration& r = m_registration;
  check(path);
  if (r.n_create == 0) {
    for (int i = 0; i < r.n_forward; ++i) add_pass(r.forward_contexts[i], false, r.forward[i]);
    for (int i = 0; i < r.n_backward; ++i) add_pass(r.backward_contexts[i], true, r.backward[i]);
  }
  for (int i = 0; i < r.n_create; ++i) {
    add_pass(r.create_contexts[i], false, nullptr);
    add_pass(r.create_contexts[i], true, nullptr);
  }
  for (size_t i = 0; i < m_passes.size(); ++i) m_implementations[i].run_user = &m_passes[i];

  static const tarsia_port k_any = {"inputs", "", TARSIA_PORT_VARIADIC}, k_one = {"output", "", 0};
  tarsia_op& d = m_description;
  d.size = sizeof(d);
  d.flags = TARSIA_OP_ANY_ATTRIBUTES | (r.infer_storage ? TARSIA_OP_INFERS_STORAGE : 0);
  d.name = r.name;
  d.description = "";
  d.location = "";
  d.n_implementations = static_cast<std::uint32_t>(m_implementations.size());
  d.implementations = m_implementations.data();
  d.user = this;
  d.create_params = &create_params;
  d.destroy_params = &destroy_params;
  if (r.parse) {
    d.arity = &arity;
  } else {
    d.inputs = &k_any;
    d.outputs = &k_one;
    d.n_inputs = d.n_outputs = 1;
  }
  if (r.infer_shape && r.infer_type) d.infer = &infer;
  if (r.n_create) {
    d.create_state = &create_state;
    d.destroy_state = &destroy_state;
  }
}

void MxnetOp::check(const std::string& path) const {
  const mxnet::Registration& r = m_registration;
  const std::string where = path + ": op '" + (r.name ? r.name : "") + "' ";
  const char* missing = nullptr;
  if (r.is_subgraph) {
    if (!r.n_create) missing = "createOpState";
  } else if (!r.parse) {
    missing = "parseAttrs";
  } else if (!r.infer_type) {
    missing = "inferType";
  } else if (!r.infer_shape) {
    missing = "inferShape";
  } else if (!r.n_forward && !r.n_create) {
    missing = "forward or createOpState";
  }
  if (missing) throw LoadError(where + "has no " + missing);
  auto check_contexts = [&](const char* what, const char** contexts, int n) {
    for (int i = 0; i < n; ++i) {
      const std::string context = contexts[i] ? contexts[i] : "";
      if (context != "cpu" && context != "gpu")
        throw LoadError(where + "sets " + what + " for the context \"" + context +
                        "\": \"cpu\" and \"gpu\" are known");
      for (int k = 0; k < i; ++k)
        if (context == contexts[k])
          throw LoadError(where + "sets " + what + " for \"" + context + "\" twice");
    }
  };
  check_contexts("forward", r.forward_contexts, r.n_forward);
  check_contexts("backward", r.backward_contexts, r.n_backward);
  check_contexts("createOpState", r.create_contexts, r.n_create);
}

void MxnetOp::add_pass(const char* context, bool backward, mxnet::Function function) {
  tarsia_implementation i{};
  i.size = sizeof(i);
  i.pass = backward ? TARSIA_BACKWARD : TARSIA_FORWARD;
  i.device_type = std::strcmp(context, "gpu") == 0 ? TARSIA_GPU : TARSIA_CPU;
  i.requests = 1u << TARSIA_REQUEST_WRITE;
  i.storage_any = m_registration.infer_storage != nullptr;
  i.name = "";
  i.run = &run;
  m_passes.push_back({this, function, backward});
  m_implementations.push_back(i);
}

std::int32_t MxnetOp::failed(const char* function) const {
  const std::string said = m_api.take_messages();
  return set_last_error(TARSIA_OP_ERROR, "call",
                        std::string(function) + " failed" + (said.empty() ? "" : ": " + said));
}

std::int32_t MxnetOp::arity(void* self, const tarsia_bind_info* info, std::uint32_t* n_in,
                            std::uint32_t* n_out) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    const Attributes a(*info);
    int in = -1, out = -1;
    if (!op.m_api.parse_attributes(op.m_registration.parse, a.keys, a.values.data(), a.n, &in, &out))
      return op.failed("parseAttrs");
    if (in < 0 || out < 0) return wrong("parseAttrs gives no numbers of inputs and outputs");
    *n_in = static_cast<std::uint32_t>(in);
    *n_out = static_cast<std::uint32_t>(out);
    return 0;
  });
}

std::int32_t MxnetOp::create_params(void*, const tarsia_bind_info* info, void** params) {
  return guarded([&] { *params = new Attributes(*info); });
}

void MxnetOp::destroy_params(void*, void* params) {
  delete static_cast<Attributes*>(params);
}

std::int32_t MxnetOp::infer(void* self, const tarsia_bind_info* info) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    if (const std::int32_t code = op.infer_shapes(*info)) return code;
    if (const std::int32_t code = op.infer_types(*info)) return code;
    if (op.m_registration.infer_storage)
      if (const std::int32_t code = op.infer_storage(*info)) return code;
    return op.m_registration.mutate ? op.find_mutable(*info) : 0;
  });
}

std::int32_t MxnetOp::infer_shapes(const tarsia_bind_info& info) const {
  bool all_known = true, scalars = false;
  for (std::uint32_t i = 0; i < info.n_inputs; ++i) {
    all_known = all_known && is_known(info.inputs[i]);
    scalars = scalars || info.inputs[i].ndim == 0;
  }
  const Attributes& a = Attributes::of(info);
  Shapes in(info.inputs, info.n_inputs);
  GivenShapes changed(m_api, info.n_inputs), out(m_api, info.n_outputs);
  if (!m_api.infer_shape(m_registration.infer_shape, a.keys, a.values.data(), a.n, in.pointers.data(),
                         in.ndims.data(), changed.n, &changed.shapes, &changed.ndims, &out.shapes, &out.ndims,
                         out.n))
    return failed("inferShape");
  changed.put_into(info.inputs, all_known, false);
  out.put_into(info.outputs, all_known, all_known && scalars);
  return 0;
}

std::int32_t MxnetOp::infer_types(const tarsia_bind_info& info) const {
  std::vector<int> in(info.n_inputs + 1, -1), out(info.n_outputs + 1, -1);
  for (std::uint32_t i = 0; i < info.n_inputs; ++i) {
    in[i] = from_dtype(info.inputs[i].dtype);
    if (in[i] == k_foreign_dtype)
      return set_last_error(
          TARSIA_OP_TYPE_ERROR, "call",
          "input " + std::to_string(i + 1) +
              " is of a dtype that this API does not have: it has float16, float32, float64, "
              "int8, int32, int64 and uint8");
  }
  const Attributes& a = Attributes::of(info);
  if (!m_api.infer_type(m_registration.infer_type, a.keys, a.values.data(), a.n, in.data(),
                        static_cast<int>(info.n_inputs), out.data(), static_cast<int>(info.n_outputs)))
    return failed("inferType");
  auto take = [&](const std::vector<int>& types, tarsia_meta* metas, std::uint32_t n, const char* what) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (types[i] != -1 && !to_dtype(types[i], metas[i].dtype))
        return wrong("inferType gives " + std::to_string(types[i]) + " for " + what + " " +
                     std::to_string(i + 1) + ", which is no dtype");
    return 0;
  };
  if (const std::int32_t code = take(in, info.inputs, info.n_inputs, "input")) return code;
  return take(out, info.outputs, info.n_outputs, "output");
}

std::int32_t MxnetOp::infer_storage(const tarsia_bind_info& info) const {
  std::vector<int> in(info.n_inputs + 1, -1), out(info.n_outputs + 1, -1);
  for (std::uint32_t i = 0; i < info.n_inputs; ++i)
    if (info.inputs[i].storage != TARSIA_ANY_STORAGE) in[i] = info.inputs[i].storage;
  const Attributes& a = Attributes::of(info);
  if (!m_api.infer_storage(m_registration.infer_storage, a.keys, a.values.data(), a.n, in.data(),
                           static_cast<int>(info.n_inputs), out.data(), static_cast<int>(info.n_outputs)))
    return failed("inferSType");
  for (std::uint32_t i = 0; i < info.n_inputs; ++i)
    if (in[i] >= 0) info.inputs[i].storage = static_cast<std::uint8_t>(in[i]);
  for (std::uint32_t i = 0; i < info.n_outputs; ++i)
    if (out[i] >= 0) info.outputs[i].storage = static_cast<std::uint8_t>(out[i]);
  return 0;
}

std::int32_t MxnetOp::find_mutable(const tarsia_bind_info& info) const {
  const Attributes& a = Attributes::of(info);
  int* indices = nullptr;
  int n = 0;
  if (!m_api.mutate_inputs(m_registration.mutate, a.keys, a.values.data(), a.n, &indices, &n))
    return failed("mutateInputs");
  const std::unique_ptr<int, void (*)(void*)> owned(indices, m_api.call_free);
  for (int i = 0; i < n; ++i) {
    if (indices[i] < 0 || static_cast<std::uint32_t>(indices[i]) >= info.n_inputs)
      return wrong("mutateInputs names input " + std::to_string(indices[i]) + " of " +
                   std::to_string(info.n_inputs));
    info.inputs[indices[i]].flags |= TARSIA_PORT_MUTABLE;
  }
  return 0;
}

std::int32_t MxnetOp::create_state(void* self, const tarsia_bind_info* info, void** state) {
  return guarded_author([&] {
    const auto& op = *static_cast<const MxnetOp*>(self);
    const mxnet::Registration& r = op.m_registration;
    const Attributes& a = Attributes::of(*info);
    for (int i = 0; i < r.n_create; ++i) {
      if (std::strcmp(r.create_contexts[i], device_type(info->device)) != 0) continue;
      Shapes shapes(info->inputs, info->n_inputs);
      std::vector<int> types;
      for (std::uint32_t k = 0; k < info->n_inputs; ++k) types.push_back(from_dtype(info->inputs[k].dtype));
      types.push_back(-1);
      if (!op.m_api.create_state(r.create[i], a.keys, a.values.data(), a.n, device_type(info->device),
                                 info->device.id, shapes.pointers.data(), shapes.ndims.data(),
                                 static_cast<int>(info->n_inputs), types.data(), state))
        return op.failed("createOpState");
      return *state ? 0 : wrong("createOpState made no state");
    }
    return wrong(std::string("there is no createOpState for \"") + device_type(info->device) + "\"");
  });
}

void MxnetOp::destroy_state(void* self, void* state) {
  guarded_author([&] { return static_cast<const MxnetOp*>(self)->m_api.destroy_state(state), 0; });
}

std::int32_t MxnetOp::run(void* user, const tarsia_op_context* context) {
  // Tensors of one run have one version, another one in every run: their content may have changed.
  static std::atomic<std::size_t> s_version{0};
  return guarded_author([&] {
    const Pass& pass = *static_cast<const Pass*>(user);
    const MxnetOp& op = *pass.op;
    const tarsia_bind_info& info = *context->info;
    const std::size_t version = s_version.fetch_add(1, std::memory_order_relaxed) + 1;
    Columns in(context->n_inputs), out(context->n_outputs);
    for (std::uint32_t i = 0; i < context->n_inputs; ++i) {
      // Backward takes output gradients, inputs, outputs.
      const std::uint32_t first = pass.backward ? info.n_outputs : 0, last = first + info.n_inputs;
      const tarsia_meta& meta = i < first  ? info.outputs[i]
                                : i < last ? info.inputs[i - first]
                                           : info.outputs[i - last];
      in.set(static_cast<int>(i), context->inputs[i], meta, version, context->device);
    }
    for (std::uint32_t i = 0; i < context->n_outputs; ++i)
      out.set(static_cast<int>(i), context->outputs[i], pass.backward ? info.inputs[i] : info.outputs[i],
              version, context->device);
    void* self = const_cast<tarsia_op_context*>(context);
    std::uint32_t n_states = 0;
    const mxnet::Resources resources = {
        .cpu_malloc = &allocate_cpu,
        .cpu_self = self,
        .gpu_malloc = &allocate_gpu,
        .gpu_self = self,
        .stream = context->stream,
        .sparse_malloc = &allocate_sparse,
        .sparse_self = self,
        .cpu_random = random_states({TARSIA_CPU, 0}, TARSIA_RANDOM_MT19937, n_states),
        .gpu_random = is_gpu(context->device) ? random_states(context->device, TARSIA_RANDOM_PHILOX, n_states)
                                              : nullptr};
    if (context->state) {
      if (!op.m_api.stateful_compute(!pass.backward, context->state, in.tensors, out.tensors, resources))
        return op.failed(pass.backward ? "Backward" : "Forward");
      return 0;
    }
    const Attributes& a = Attributes::of(info);
    if (!op.m_api.compute(pass.function, a.keys, a.values.data(), a.n, in.tensors, out.tensors, resources))
      return op.failed(pass.backward ? "backward" : "forward");
    return 0;
  });
}

}  // namespace tarsia::registry

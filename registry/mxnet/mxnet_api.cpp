// Calls libraries built against MXNet's own header through their C symbols, version by version.
#include "registry/mxnet/mxnet_api.h"

#include <dlfcn.h>

#include "base/error.h"

namespace tarsia::registry::mxnet {

namespace {

using Compute = int (*)(Function, Texts, Texts, int, const std::int64_t**, int*, void**, int*, std::size_t*,
                        const char**, int*, int, const std::int64_t**, int*, void**, int*, std::size_t*,
                        const char**, int*, int, Malloc, void*, Malloc, void*, void*, SparseMalloc, void*,
                        int*, int*, void**, void**, void**, void**, std::int64_t*, std::int64_t*,
                        std::int64_t*, std::int64_t*, void*, void*);
using StatefulCompute = int (*)(int, void*, const std::int64_t**, int*, void**, int*, std::size_t*,
                                const char**, int*, int, const std::int64_t**, int*, void**, int*,
                                std::size_t*, const char**, int*, int, Malloc, void*, Malloc, void*, void*,
                                SparseMalloc, void*, int*, int*, void**, void**, void**, void**,
                                std::int64_t*, std::int64_t*, std::int64_t*, std::int64_t*, void*, void*);
using RegGet = void (*)(int, const char**, int*, const char***, Function**, int*, const char***, Function**,
                        int*, const char***, Function**, int*, Function*, Function*, Function*, Function*,
                        Function*);
using CreateState7 = int (*)(Function, Texts, Texts, int, void**);
using CreateState10 = int (*)(Function, Texts, Texts, int, const char*, int, unsigned**, int*, int,
                              const int*, void**);

}  // namespace

template <class F>
void Api::find(F& function, const char* name, bool required) {
  function = reinterpret_cast<F>(dlsym(m_handle, name));
  if (!function && required)
    throw LoadError(m_path + " is built for MXNet's extension API, but lacks its function " + name +
                    ": build it again");
}

Api::Api(void* handle, const std::string& path) : m_handle(handle), m_path(path) {
  find(initialize, "initialize", false);
  if (!initialize) find(initialize, "_Z10initializei", false);  // its source does not say extern "C"
  if (!initialize) find(initialize, "initialize");
  int (*op_version)() = nullptr;
  find(op_version, "_opVersion", false);
  find(op_reg_size, "_opRegSize", false);
  if (!op_version && !op_reg_size) return;  // of MXNet 1.6, which knew initialize() alone
  m_version = op_version ? op_version() : 0;
  // Other versions have functions of the same names with other arguments.
  if (m_version != 7 && m_version != 10 && m_version != 11)
    throw LoadError(
        path + " is built for version " + (op_version ? std::to_string(m_version) : "1 or so") +
        " of MXNet's extension API; versions 7, 10 and 11 (MXNet 1.7 to 2.0) are loaded: build it "
        "again with Tarsia's <lib_api.h>, which takes sources of every version");
  find(op_reg_size, "_opRegSize");
  find(m_op_reg_get, "_opRegGet");
  find(call_free, "_opCallFree");
  find(parse_attributes, "_opCallParseAttrs");
  find(infer_shape, "_opCallInferShape");
  find(infer_type, "_opCallInferType");
  find(infer_storage, "_opCallInferSType");
  find(m_compute, "_opCallFCompute");
  find(mutate_inputs, "_opCallMutateInputs");
  find(m_create_state, "_opCallCreateOpState");
  find(m_stateful_compute, "_opCallFStatefulCompute");
  find(m_destroy_state, "_opCallDestroyOpState", m_version == 11);
  find(m_msg_size, "_msgSize", m_version >= 10);
  find(m_msg_get, "_msgGet", m_version >= 10);
}

Registration Api::get_op(int i) const {
  Registration r;
  reinterpret_cast<RegGet>(m_op_reg_get)(i, &r.name, &r.is_subgraph, &r.forward_contexts, &r.forward,
                                         &r.n_forward, &r.backward_contexts, &r.backward, &r.n_backward,
                                         &r.create_contexts, &r.create, &r.n_create, &r.parse, &r.infer_type,
                                         &r.infer_storage, &r.infer_shape, &r.mutate);
  return r;
}

std::string Api::ignored() const {
  std::string text;
  auto add = [&](const char* what, const char* name) {
    text += (text.empty() ? "" : ", ") + std::string(what) + " '" + (name ? name : "") + "'";
  };
  const auto size_of = [&](const char* symbol) {
    auto* size = reinterpret_cast<int (*)()>(dlsym(m_handle, symbol));
    return size ? size() : 0;
  };
  if (auto* get = reinterpret_cast<int (*)(int, const char**)>(dlsym(m_handle, "_partRegGetCount")))
    for (int i = 0, n = size_of("_partRegSize"); i < n; ++i) {
      const char* name = nullptr;
      get(i, &name);
      add("partitioner", name);
    }
  if (auto* get = reinterpret_cast<void (*)(int, void**, const char**)>(dlsym(m_handle, "_passRegGet")))
    for (int i = 0, n = size_of("_passRegSize"); i < n; ++i) {
      void* pass = nullptr;
      const char* name = nullptr;
      get(i, &pass, &name);
      add("pass", name);
    }
  return text;
}

std::string Api::take_messages() const {
  std::string all;
  if (!m_msg_size || !m_msg_get) return all;
  std::lock_guard lock(m_mutex);
  for (const int n = m_msg_size(); m_messages_read < n; ++m_messages_read) {
    const char* text = nullptr;
    m_msg_get(m_messages_read, &text);
    std::string message = text ? text : "";
    while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
    all += (all.empty() ? "" : "; ") + message;
  }
  return all;
}

int Api::compute(Function f, Texts keys, Texts values, int n, const tarsia_mxnet_tensors& in,
                 const tarsia_mxnet_tensors& out, const Resources& r) const {
  return reinterpret_cast<Compute>(m_compute)(
      f, keys, values, n, in.shapes, in.ndims, in.data, in.dtypes, in.versions, in.device_types,
      in.device_ids, in.n, out.shapes, out.ndims, out.data, out.dtypes, out.versions, out.device_types,
      out.device_ids, out.n, r.cpu_malloc, r.cpu_self, r.gpu_malloc, r.gpu_self, r.stream, r.sparse_malloc,
      r.sparse_self, in.storages, out.storages, in.indices, out.indices, in.indptr, out.indptr, in.n_indices,
      out.n_indices, in.n_indptr, out.n_indptr, r.cpu_random, r.gpu_random);
}

int Api::stateful_compute(bool forward, void* state, const tarsia_mxnet_tensors& in,
                          const tarsia_mxnet_tensors& out, const Resources& r) const {
  return reinterpret_cast<StatefulCompute>(m_stateful_compute)(
      forward, state, in.shapes, in.ndims, in.data, in.dtypes, in.versions, in.device_types, in.device_ids,
      in.n, out.shapes, out.ndims, out.data, out.dtypes, out.versions, out.device_types, out.device_ids,
      out.n, r.cpu_malloc, r.cpu_self, r.gpu_malloc, r.gpu_self, r.stream, r.sparse_malloc, r.sparse_self,
      in.storages, out.storages, in.indices, out.indices, in.indptr, out.indptr, in.n_indices, out.n_indices,
      in.n_indptr, out.n_indptr, r.cpu_random, r.gpu_random);
}

int Api::create_state(Function f, Texts keys, Texts values, int n, const char* device_type, int device_id,
                      unsigned** shapes, int* ndims, int n_in, const int* dtypes, void** state) const {
  if (m_version == 7) return reinterpret_cast<CreateState7>(m_create_state)(f, keys, values, n, state);
  return reinterpret_cast<CreateState10>(m_create_state)(f, keys, values, n, device_type, device_id, shapes,
                                                         ndims, n_in, dtypes, state);
}

void Api::destroy_state(void* state) const {
  if (m_destroy_state) reinterpret_cast<void (*)(void*)>(m_destroy_state)(state);
}

}  // namespace tarsia::registry::mxnet

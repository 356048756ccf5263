// Fills the table with functions that call those C symbols. An entry's `function` is the library's opaque
// handle, its `call` the symbol that takes it where an entry of the table stands for two.
#include "registry/mxnet/mxnet_built.h"

#include <memory>

#include "base/error.h"
#include "registry/mxnet/mxnet_library.h"
#include "registry/resources/last_error.h"

namespace tarsia::registry::mxnet {

namespace {

using InferNumbers = decltype(Api::infer_type);

tarsia_mxnet_function entry(Function function, const char* context = nullptr, InferNumbers call = nullptr) {
  return {reinterpret_cast<void (*)()>(function), reinterpret_cast<void (*)()>(call), context};
}
Function handle_of(const tarsia_mxnet_function* f) {
  return reinterpret_cast<Function>(f->function);
}
std::vector<tarsia_mxnet_function> entries(const Function* functions, const char* const* contexts, int n) {
  std::vector<tarsia_mxnet_function> all;
  for (int i = 0; i < n; ++i) all.push_back(entry(functions[i], contexts[i]));
  return all;
}

const Api& api_of(void* self) {
  return *static_cast<const Api*>(self);
}
const tarsia_mxnet_texts& texts_of(void* attributes) {
  return *static_cast<const tarsia_mxnet_texts*>(attributes);
}
/// The code for what a function gives; the last error then has what the library said.
std::int32_t heard(const Api& api, int succeeded) {
  if (succeeded) return 0;
  set_last_error(TARSIA_OP_ERROR, "call", api.take_messages());
  return TARSIA_MXNET_FAILED;
}

// The library takes the texts themselves with each call.
std::int32_t create_attributes(void*, const tarsia_mxnet_texts* texts, void** attributes) {
  *attributes = const_cast<tarsia_mxnet_texts*>(texts);
  return 0;
}
void destroy_attributes(void*, void*) {}

std::int32_t parse(void* self, const tarsia_mxnet_function* f, void* attributes, int* n_in, int* n_out) {
  const tarsia_mxnet_texts& a = texts_of(attributes);
  return heard(api_of(self), api_of(self).parse_attributes(handle_of(f), a.keys, a.values, a.n, n_in, n_out));
}

std::int32_t infer(void* self, const tarsia_mxnet_function* f, void* attributes, const int* known,
                   std::uint32_t n_in, std::uint32_t n_out, tarsia_mxnet_found* found) {
  const tarsia_mxnet_texts& a = texts_of(attributes);
  std::vector<int> in(known, known + n_in), out(n_out, -1);
  in.push_back(-1), out.push_back(-1);  // never an empty array
  const std::int32_t code =
      heard(api_of(self), reinterpret_cast<InferNumbers>(f->call)(handle_of(f), a.keys, a.values, a.n,
                                                                  in.data(), static_cast<int>(n_in),
                                                                  out.data(), static_cast<int>(n_out)));
  if (code) return code;
  for (std::uint32_t i = 0; i < n_in; ++i) found->number(found, 0, i, in[i]);
  for (std::uint32_t i = 0; i < n_out; ++i) found->number(found, 1, i, out[i]);
  return 0;
}

/// Shapes that the library gave, to be freed by it.
struct GivenShapes {
  const Api& api;
  int n;
  unsigned** shapes = nullptr;
  int* ndims = nullptr;

  GivenShapes(const Api& api_, int n_) : api(api_), n(n_) {}
  ~GivenShapes() {
    for (int i = 0; shapes && i < n; ++i) api.call_free(shapes[i]);
    if (shapes) api.call_free(shapes);
    if (ndims) api.call_free(ndims);
  }
  GivenShapes(const GivenShapes&) = delete;
  GivenShapes& operator=(const GivenShapes&) = delete;

  void give(std::uint32_t list, tarsia_mxnet_found* found) const {
    for (int i = 0; shapes && ndims && i < n; ++i)
      found->extents(found, list, static_cast<std::uint64_t>(i), shapes[i], ndims[i]);
  }
};

std::int32_t infer_shape(void* self, const tarsia_mxnet_function* f, void* attributes,
                         const tarsia_mxnet_shapes* known, std::uint32_t n_out, tarsia_mxnet_found* found) {
  const Api& api = api_of(self);
  const tarsia_mxnet_texts& a = texts_of(attributes);
  GivenShapes in(api, known->n), out(api, static_cast<int>(n_out));
  const std::int32_t code =
      heard(api, api.infer_shape(handle_of(f), a.keys, a.values, a.n, known->extents, known->ndims, known->n,
                                 &in.shapes, &in.ndims, &out.shapes, &out.ndims, out.n));
  if (!code) in.give(0, found), out.give(1, found);
  return code;
}

std::int32_t mutate(void* self, const tarsia_mxnet_function* f, void* attributes, tarsia_mxnet_found* found) {
  const Api& api = api_of(self);
  const tarsia_mxnet_texts& a = texts_of(attributes);
  int* indices = nullptr;
  int n = 0;
  if (const std::int32_t code =
          heard(api, api.mutate_inputs(handle_of(f), a.keys, a.values, a.n, &indices, &n)))
    return code;
  const std::unique_ptr<int, void (*)(void*)> owned(indices, api.call_free);
  for (int i = 0; i < n; ++i) found->number(found, 0, static_cast<std::uint64_t>(i), indices[i]);
  return 0;
}

// Whether it was made by new cannot be seen from outside.
std::int32_t create_state(void* self, const tarsia_mxnet_function* f, void* attributes,
                          const char* device_type, std::int32_t device_id, const tarsia_mxnet_shapes* shapes,
                          const int* dtypes, void** state, std::uint32_t*) {
  const tarsia_mxnet_texts& a = texts_of(attributes);
  return heard(api_of(self),
               api_of(self).create_state(handle_of(f), a.keys, a.values, a.n, device_type, device_id,
                                         shapes->extents, shapes->ndims, shapes->n, dtypes, state));
}
void destroy_state(void* self, void* state) {
  api_of(self).destroy_state(state);
}

// What a running op asks for. `self` is its run. Errors pass through the library as exceptions.

void* allocate(void* self, int bytes, bool on_gpu) {
  const auto* run = static_cast<const tarsia_mxnet_run*>(self);
  void* memory = nullptr;
  if (run->allocate(run, bytes, on_gpu, &memory)) throw_last_error();
  return memory;
}
void* allocate_cpu(void* self, int bytes) {
  return allocate(self, bytes, false);
}
void* allocate_gpu(void* self, int bytes) {
  return allocate(self, bytes, true);
}
void allocate_sparse(void* self, int i, int n_indices, int n_indptr, void** data, std::int64_t** indices,
                     std::int64_t** indptr) {
  const auto* run = static_cast<const tarsia_mxnet_run*>(self);
  const tarsia_sparse* made = nullptr;
  if (run->allocate_sparse(run, i, n_indices, n_indptr, &made)) throw_last_error();
  *data = made->values.data;
  *indices = static_cast<std::int64_t*>(made->indices.data);
  *indptr = static_cast<std::int64_t*>(made->indptr.data);
}

// The library gets random states with every run, whether it draws or not: it takes pointers. A run on the CPU
// gets none of a GPU. Its stream does not tell: on a GPU, null is the default stream.
std::int32_t run_op(void* self, const tarsia_mxnet_run* run) {
  const Api& api = api_of(self);
  Resources r = {.cpu_malloc = &allocate_cpu,
                 .cpu_self = const_cast<tarsia_mxnet_run*>(run),
                 .gpu_malloc = &allocate_gpu,
                 .gpu_self = const_cast<tarsia_mxnet_run*>(run),
                 .stream = run->stream,
                 .sparse_malloc = &allocate_sparse,
                 .sparse_self = const_cast<tarsia_mxnet_run*>(run),
                 .cpu_random = nullptr,
                 .gpu_random = nullptr};
  if (const std::int32_t code = run->random_states(run, 0, &r.cpu_random)) return code;
  if (const std::int32_t code = run->random_states(run, 1, &r.gpu_random)) return code;
  if (run->state)
    return heard(api, api.stateful_compute(!run->backward, run->state, run->inputs, run->outputs, r));
  const tarsia_mxnet_texts& a = texts_of(run->attributes);
  return heard(api,
               api.compute(handle_of(run->function), a.keys, a.values, a.n, run->inputs, run->outputs, r));
}

}  // namespace

BuiltLibrary::BuiltLibrary(void* handle, const std::string& path)
    : m_api(handle, path),
      m_table{.size = sizeof(m_table),
              .n_ops = 0,
              .ops = nullptr,
              .self = &m_api,
              .create_attributes = &create_attributes,
              .destroy_attributes = &destroy_attributes,
              .parse = &parse,
              .infer = &infer,
              .infer_shape = &infer_shape,
              .mutate = &mutate,
              .create_state = &create_state,
              .destroy_state = &destroy_state,
              .run = &run_op} {
  try {
    if (!m_api.initialize(k_mxnet_version)) {
      const std::string said = m_api.take_messages();
      throw LoadError("initialize failed" + (said.empty() ? "" : ": " + said));
    }
    for (int i = 0, n = m_api.n_ops(); i < n; ++i) add_op(m_api.get_op(i));
    m_ignored = m_api.ignored();
  } catch (...) {
    capture_author_exception();
    throw LoadError(path + ": " + last_error().message);
  }
  m_table.ops = m_descriptions.data();
  m_table.n_ops = static_cast<std::uint32_t>(m_descriptions.size());
}

void BuiltLibrary::add_op(const Registration& r) {
  Op& made = m_ops.emplace_back();
  made.forward = entries(r.forward, r.forward_contexts, r.n_forward);
  made.backward = entries(r.backward, r.backward_contexts, r.n_backward);
  made.create = entries(r.create, r.create_contexts, r.n_create);
  made.op = {.name = r.name,
             .location = "",
             .is_subgraph = r.is_subgraph != 0,
             .warns_of_new = 0,
             .parse = entry(r.parse),
             .infer_type = entry(r.infer_type, nullptr, m_api.infer_type),
             .infer_storage = entry(r.infer_storage, nullptr, m_api.infer_storage),
             .infer_shape = entry(r.infer_shape),
             .mutate = entry(r.mutate),
             .forward = made.forward.data(),
             .backward = made.backward.data(),
             .create = made.create.data(),
             .n_forward = static_cast<std::uint32_t>(made.forward.size()),
             .n_backward = static_cast<std::uint32_t>(made.backward.size()),
             .n_create = static_cast<std::uint32_t>(made.create.size()),
             .reserved = 0};
  m_descriptions.push_back(&made.op);
}

}  // namespace tarsia::registry::mxnet

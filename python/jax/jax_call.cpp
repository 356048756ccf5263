// The FFI handler that XLA calls, and the callees behind it.
#include "python/jax/jax_call.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "python/core/dtype.h"
#include "python/op/op_request.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

/// The number of bindings kept, as many as the programs that tarsia/_jax/programs.py keeps. A program calls
/// an op with the shapes that it was traced for, on each device, and under vmap= with those of the batches,
/// too.
constexpr size_t k_most_bindings = 64;

/// The number of bindings of an op with state, which are never let go.
constexpr size_t k_most_states = 256;

std::mutex g_mutex;
int64_t g_last = 0;
std::unordered_map<int64_t, std::shared_ptr<JaxCallee>>& callees() {
  static auto* s_callees =
      new std::unordered_map<int64_t, std::shared_ptr<JaxCallee>>;  // threads of XLA outlive us
  return *s_callees;
}

int32_t fail(int32_t code, const std::string& text) {
  tarsia_get_host()->set_error(code, text.c_str());
  return code;
}

/// While it lives, libtarsia uses a call's device and stream.
class Entered {
 public:
  explicit Entered(const JaxBuffers& buffers) : m_slot(tarsia_call_slot()), m_stream(buffers.stream) {
    m_context = {};
    m_context.size = sizeof m_context;
    m_context.framework = k_framework_numpy;
    m_context.device = buffers.device;
    m_context.user = this;
    m_context.current_stream = [](void* self, int32_t) { return static_cast<Entered*>(self)->m_stream; };
    tarsia_enter_call(m_slot, &m_context);
  }
  ~Entered() { tarsia_leave_call(m_slot, &m_context); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  tarsia_call_context** m_slot;
  tarsia_call_context m_context;
  void* m_stream;
};

/// The values of arguments; lists of them live in `lists`.
tarsia_value value_of(const JaxArgument& argument, JaxBuffers& buffers,
                      std::vector<std::unique_ptr<tarsia_value[]>>& lists) {
  tarsia_value value{};
  switch (argument.kind) {
    case JaxArgument::input:
    case JaxArgument::result:
      value.kind = TARSIA_KIND_TENSOR;
      value.t = &(argument.kind == JaxArgument::input ? buffers.inputs : buffers.results)[argument.index];
      break;
    case JaxArgument::value:
      value = argument.scalar;
      if (value.kind == TARSIA_KIND_STRING) value.s = argument.text.c_str();
      break;
    case JaxArgument::list: {
      auto items = std::make_unique<tarsia_value[]>(argument.items.size());
      for (size_t i = 0; i < argument.items.size(); ++i)
        items[i] = value_of(argument.items[i], buffers, lists);
      value.kind = TARSIA_KIND_LIST;
      value.size = static_cast<uint32_t>(argument.items.size());
      value.v = items.get();
      lists.push_back(std::move(items));
      break;
    }
    case JaxArgument::like:
      break;  // passes of ops alone have them
  }
  return value;
}

std::string shape_text(const tarsia_tensor& tensor) {
  std::string text = dtype_name(tensor.dtype) + " (";
  for (int i = 0; i < tensor.ndim; ++i) text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + (tensor.ndim == 1 ? ",)" : ")");
}

bool is_alike(const tarsia_tensor& a, const tarsia_tensor& b) {
  return a.dtype == b.dtype && a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape);
}

/// Copies the tensors of a function's result into XLA's, from results[next] on. Releases them.
int32_t copy_results(const tarsia_function& function, const tarsia_value& result, JaxBuffers& buffers,
                     uint32_t& next) {
  int32_t code = 0;
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE) {
    for (uint32_t i = 0; i < result.size; ++i) {
      const int32_t failed = copy_results(function, result.v[i], buffers, next);
      if (!code) code = failed;
    }
    return code;
  }
  const tarsia_tensor* tensor = result.kind == TARSIA_KIND_TENSOR     ? result.storage->tensor
                                : result.kind == TARSIA_KIND_ARGUMENT ? result.t
                                                                      : nullptr;
  const std::string name = function.name;
  if (!tensor) {
    code = fail(TARSIA_ARGUMENT_TYPE, name + ": result " + std::to_string(next) + " is no tensor");
  } else if (next >= buffers.results.size()) {
    code = fail(TARSIA_ARGUMENT_VALUE, name + " gave more tensors than outputs= has");
  } else if (!is_alike(*tensor, buffers.results[next])) {
    code =
        fail(TARSIA_ARGUMENT_VALUE, name + ": result " + std::to_string(next) + " is " + shape_text(*tensor) +
                                        ", and outputs= says " + shape_text(buffers.results[next]));
  } else {
    code = tarsia_copy(&buffers.results[next], tensor, buffers.stream);
  }
  ++next;
  if (result.kind == TARSIA_KIND_TENSOR) release(result.storage);
  return code;
}

bool is_same(const tarsia_meta& a, const tarsia_meta& b) {
  return a.present == b.present && a.ndim == b.ndim && a.dtype == b.dtype &&
         (a.ndim < 0 || std::equal(a.shape, a.shape + a.ndim, b.shape));
}

bool read_buffers(const xla::Buffers& from, tarsia_device device, std::vector<tarsia_tensor>& to) {
  for (int64_t i = 0; i < from.n; ++i) {
    const xla::Buffer& buffer = *from.buffers[i];
    tarsia_tensor tensor{};
    tensor.data = buffer.data;
    tensor.device = device;
    tensor.ndim = static_cast<int32_t>(buffer.rank);
    tensor.shape = buffer.dims;
    switch (buffer.dtype) {
      case xla::k_pred:
        tensor.dtype = {TARSIA_BOOL, 8, 1};
        break;
      case xla::k_s8:
        tensor.dtype = {TARSIA_INT, 8, 1};
        break;
      case xla::k_s16:
        tensor.dtype = {TARSIA_INT, 16, 1};
        break;
      case xla::k_s32:
        tensor.dtype = {TARSIA_INT, 32, 1};
        break;
      case xla::k_s64:
        tensor.dtype = {TARSIA_INT, 64, 1};
        break;
      case xla::k_u8:
        tensor.dtype = {TARSIA_UINT, 8, 1};
        break;
      case xla::k_u16:
        tensor.dtype = {TARSIA_UINT, 16, 1};
        break;
      case xla::k_u32:
        tensor.dtype = {TARSIA_UINT, 32, 1};
        break;
      case xla::k_u64:
        tensor.dtype = {TARSIA_UINT, 64, 1};
        break;
      case xla::k_f16:
        tensor.dtype = {TARSIA_FLOAT, 16, 1};
        break;
      case xla::k_f32:
        tensor.dtype = {TARSIA_FLOAT, 32, 1};
        break;
      case xla::k_f64:
        tensor.dtype = {TARSIA_FLOAT, 64, 1};
        break;
      case xla::k_bf16:
        tensor.dtype = {TARSIA_BFLOAT, 16, 1};
        break;
      case xla::k_c64:
        tensor.dtype = {TARSIA_COMPLEX, 64, 1};
        break;
      case xla::k_c128:
        tensor.dtype = {TARSIA_COMPLEX, 128, 1};
        break;
      default:
        fail(TARSIA_UNSUPPORTED, "an array has elements of a type that C++ code cannot read");
        return false;
    }
    to.push_back(tensor);
  }
  return true;
}

std::shared_ptr<JaxCallee> callee_of(const xla::Attributes& attributes) {
  for (int64_t i = 0; i < attributes.n; ++i) {
    const std::string_view name(attributes.names[i]->data, attributes.names[i]->size);
    if (name != "callee" || attributes.types[i] != xla::k_attribute_scalar) continue;
    const auto* scalar = static_cast<const xla::Scalar*>(attributes.values[i]);
    if (scalar->dtype != xla::k_s64) continue;
    int64_t number = 0;
    std::memcpy(&number, scalar->value, sizeof number);
    const std::lock_guard lock(g_mutex);
    const auto found = callees().find(number);
    return found == callees().end() ? nullptr : found->second;
  }
  return nullptr;
}

xla::Error* raise(const xla::Api& api, int32_t code) {
  int32_t of_xla = xla::k_unknown;
  switch (code) {
    case TARSIA_ARGUMENT_TYPE:
    case TARSIA_ARGUMENT_VALUE:
    case TARSIA_OP_VALUE_ERROR:
    case TARSIA_OP_TYPE_ERROR:
      of_xla = xla::k_invalid_argument;
      break;
    case TARSIA_OP_INDEX_ERROR:
      of_xla = xla::k_out_of_range;
      break;
    case TARSIA_NOT_FOUND:
      of_xla = xla::k_not_found;
      break;
    case TARSIA_UNSUPPORTED:
      of_xla = xla::k_unimplemented;
      break;
    case TARSIA_OUT_OF_MEMORY:
      of_xla = xla::k_resource_exhausted;
      break;
    case TARSIA_CUDA_ERROR:
      of_xla = xla::k_internal;
      break;
    default:
      break;
  }
  xla::ErrorArgs args{sizeof args, nullptr, tarsia_last_error()->message, of_xla};
  return api.create_error(&args);
}

/// XLA's question to a handler before it calls it.
void tell_metadata(const xla::Frame& frame) {
  auto* extension = reinterpret_cast<xla::MetadataExtension*>(frame.extension);
  // The parts used here are the same in all versions since 0.1, so the answer is the caller's version.
  const xla::Version& spoken = frame.api->version;
  extension->metadata->version = {sizeof(xla::Version), nullptr, spoken.major, spoken.minor};
  extension->metadata->traits = 0;
}

xla::Error* handle(xla::Frame& frame, bool on_gpu) {
  if (frame.extension && frame.extension->type == xla::k_extension_metadata) {
    tell_metadata(frame);
    return nullptr;
  }
  const xla::Api& api = *frame.api;
  JaxBuffers buffers;
  buffers.device = {TARSIA_CPU, 0};
  buffers.stream = nullptr;
  int32_t code = 0;
  try {
    if (on_gpu) {
      xla::StreamArgs args{sizeof args, nullptr, frame.context, nullptr};
      if (xla::Error* error = api.get_stream(&args)) return error;
      buffers.stream = args.stream;
      int32_t current = 0;  // XLA makes its device the current one
      code = tarsia_device_enter(-1, &current);
      buffers.device = {TARSIA_GPU, current};
    }
    const std::shared_ptr<JaxCallee> callee = callee_of(frame.attributes);
    if (!callee)
      code = fail(TARSIA_NOT_FOUND,
                  "what this compiled program calls is no more: the function that tarsia.jax made was "
                  "let go");
    if (!code && !(read_buffers(frame.args, buffers.device, buffers.inputs) &&
                   read_buffers(frame.results, buffers.device, buffers.results)))
      code = TARSIA_UNSUPPORTED;
    if (!code) {
      const Entered entered(buffers);
      code = callee->run(buffers);
    }
  } catch (const std::bad_alloc&) {
    code = fail(TARSIA_OUT_OF_MEMORY, "there is no memory for the call");
  }
  return code ? raise(api, code) : nullptr;
}

}  // namespace

JaxFunction::JaxFunction(LibraryRef library, std::vector<const tarsia_function*> overloads,
                         std::vector<JaxArgument> arguments, uint32_t first_result)
    : m_library(std::move(library)),
      m_overloads(std::move(overloads)),
      m_arguments(std::move(arguments)),
      m_first_result(first_result) {}

int32_t JaxFunction::run(JaxBuffers& buffers) {
  std::vector<std::unique_ptr<tarsia_value[]>> lists;
  std::vector<tarsia_value> values;
  for (const JaxArgument& argument : m_arguments) values.push_back(value_of(argument, buffers, lists));
  tarsia_value result{};
  const int32_t code = tarsia_call(m_overloads.data(), m_overloads.size(), values.data(),
                                   static_cast<uint32_t>(values.size()), &result);
  if (code || result.kind == TARSIA_KIND_NONE) return code;
  uint32_t next = m_first_result;
  return copy_results(*m_overloads[0], result, buffers, next);
}

BoundRef JaxOp::bound_for(const std::vector<const tarsia_tensor*>& inputs, tarsia_device device) {
  std::vector<tarsia_meta> metas;
  for (const tarsia_tensor* input : inputs) metas.push_back(meta_of(input));
  bool is_full = false;
  {
    const std::lock_guard lock(m_mutex);
    if (BoundRef bound = find(metas, device)) return bound;
    is_full = has_state() && m_bindings.size() >= k_most_states;
  }
  if (is_full) {
    fail(TARSIA_UNSUPPORTED,
         std::string(tarsia_op_describe(m_op.get())->name) + " has a state for each of " +
             std::to_string(k_most_states) +
             " combinations of shapes, dtypes and devices, and this call is one more: pad "
             "its inputs to fewer shapes, or make another function by tarsia.jax.function, "
             "whose states begin anew");
    return {};
  }
  BoundRef bound = bind(metas, device);
  return bound ? keep(std::move(metas), device, std::move(bound)) : BoundRef();
}

/// Called with the lock held.
BoundRef JaxOp::find(const std::vector<tarsia_meta>& inputs, tarsia_device device) {
  const auto found = std::ranges::find_if(m_bindings, [&](const Binding& one) {
    return one.device.type == device.type && one.device.id == device.id &&
           std::ranges::equal(inputs, one.inputs, is_same);
  });
  if (found == m_bindings.end()) return {};
  m_bindings.splice(m_bindings.begin(), m_bindings, found);
  return BoundRef::borrow(found->bound.get());
}

BoundRef JaxOp::bind(const std::vector<tarsia_meta>& inputs, tarsia_device device) const {
  JaxBuffers none;
  std::vector<std::unique_ptr<tarsia_value[]>> lists;
  Attributes attributes;
  for (const Attribute& attribute : m_attributes) {
    attributes.names.push_back(attribute.name.c_str());
    attributes.values.push_back(value_of(attribute.value, none, lists));
  }
  const tarsia_op_request request = request_for(inputs, attributes, device);
  tarsia_bound_op* bound = nullptr;
  return tarsia_op_bind(m_op.get(), &request, &bound) ? BoundRef() : BoundRef(bound);
}

/// Keeps a new binding, unless another thread was first: calls with equal inputs share one binding and its
/// state. Returns the binding that is kept.
BoundRef JaxOp::keep(std::vector<tarsia_meta> inputs, tarsia_device device, BoundRef bound) {
  std::list<Binding> gone;  // ends after the lock, as `bound` does: the end of a binding runs the op's code
  const std::lock_guard lock(m_mutex);
  if (BoundRef first = find(inputs, device)) return first;
  m_bindings.push_front({std::move(inputs), device, std::move(bound)});
  if (m_bindings.size() > k_most_bindings && !has_state())
    gone.splice(gone.begin(), m_bindings, std::prev(m_bindings.end()));
  return BoundRef::borrow(m_bindings.front().bound.get());
}

JaxPass::JaxPass(std::shared_ptr<JaxOp> op, tarsia_pass pass, uint32_t first_input, uint32_t n_inputs,
                 std::vector<JaxArgument> arguments, std::vector<int32_t> results)
    : m_op(std::move(op)),
      m_pass(pass),
      m_first_input(first_input),
      m_n_inputs(n_inputs),
      m_arguments(std::move(arguments)),
      m_results(std::move(results)) {}

int32_t JaxPass::run(JaxBuffers& buffers) {
  std::vector<const tarsia_tensor*> tensors;
  std::list<tarsia_tensor> likes;
  const auto tensor_of = [&](const JaxArgument& argument) -> const tarsia_tensor* {
    switch (argument.kind) {
      case JaxArgument::input:
        return &buffers.inputs[argument.index];
      case JaxArgument::result:
        return &buffers.results[argument.index];
      case JaxArgument::like:
        return &likes.emplace_back(tarsia_tensor{nullptr, buffers.device,
                                                 static_cast<int32_t>(argument.shape.size()), argument.dtype,
                                                 const_cast<int64_t*>(argument.shape.data()), nullptr, 0});
      default:
        return nullptr;
    }
  };
  for (const JaxArgument& argument : m_arguments) tensors.push_back(tensor_of(argument));
  const auto first = tensors.begin() + m_first_input;
  const BoundRef bound = m_op->bound_for({first, first + m_n_inputs}, buffers.device);
  if (!bound) return tarsia_last_error()->code;
  std::vector<const tarsia_tensor*> outputs;
  std::vector<uint8_t> requests;
  for (const int32_t index : m_results) {
    outputs.push_back(index < 0 ? nullptr : &buffers.results[index]);
    requests.push_back(index < 0 ? TARSIA_REQUEST_NULL : TARSIA_REQUEST_WRITE);
  }
  tarsia_op_call call{};
  call.size = sizeof call;
  call.n_inputs = static_cast<uint32_t>(tensors.size());
  call.inputs = tensors.data();
  call.n_outputs = static_cast<uint32_t>(outputs.size());
  call.outputs = outputs.data();
  call.requests = requests.data();
  call.stream = buffers.stream;
  call.has_stream = 1;
  call.pass = m_pass;
  if (const int32_t code = tarsia_bound_check(bound.get(), &call)) return code;
  return tarsia_bound_call(bound.get(), &call);
}

int64_t add_jax_callee(std::shared_ptr<JaxCallee> callee) {
  const std::lock_guard lock(g_mutex);
  callees().emplace(++g_last, std::move(callee));
  return g_last;
}

void remove_jax_callee(int64_t number) {
  std::shared_ptr<JaxCallee> gone;  // ends after the lock
  const std::lock_guard lock(g_mutex);
  if (const auto found = callees().find(number); found != callees().end()) {
    gone = std::move(found->second);
    callees().erase(found);
  }
}

xla::Error* jax_handler_on_cpu(xla::Frame* frame) {
  return handle(*frame, false);
}

xla::Error* jax_handler_on_gpu(xla::Frame* frame) {
  return handle(*frame, true);
}

}  // namespace tarsia::python

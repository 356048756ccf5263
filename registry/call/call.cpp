// The checked call: the overload chosen, arguments converted, the GPU made current.
#include "registry/call/call.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/call/arguments.h"
#include "registry/library/library.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"
#include "registry/resources/recent_launches.h"

namespace tarsia::registry {

namespace {

/// Says which function runs in the context, while it lives.
class Running {
 public:
  Running(tarsia_call_context& context, const tarsia_function& function, std::span<const tarsia_value> args)
      : m_context(context.size >= sizeof context ? &context : nullptr) {
    if (!m_context) return;
    m_context->args = args.data();
    m_context->n_args = args.size();
    m_context->interrupt_ns = 0;
    m_context->function = &function;
  }
  ~Running() {
    if (m_context) m_context->function = nullptr;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  tarsia_call_context* m_context;
};

/// Whether a function's own code may use CUDA. A program deals with CUDA's errors itself.
bool has_cuda(const tarsia_function& function) {
  return (function.flags & (TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_MAIN)) ==
         TARSIA_FUNCTION_SOURCE_HAS_CUDA;
}

/// Whether the caller passed each view in a result. Other views end with the call.
bool are_arguments(const tarsia_value& result, std::span<const tarsia_value> args) {
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE)
    return std::ranges::all_of(std::span(result.v, result.size),
                               [&](const tarsia_value& item) { return are_arguments(item, args); });
  if (result.kind != TARSIA_KIND_ARGUMENT) return true;
  return std::ranges::any_of(args, [&](const tarsia_value& arg) {
    if (arg.kind == TARSIA_KIND_LIST) return are_arguments(result, {arg.v, arg.size});
    return arg.kind == TARSIA_KIND_TENSOR && arg.t == result.t;
  });
}

/// Tells of each integer in a result whether it has a sign. The caller does not know which overload ran.
void tell_signs(tarsia_value& result, const tarsia_type& type) {
  if (result.kind == TARSIA_KIND_INT) {
    const bool is_uint64 = type.dtype.code == TARSIA_UINT && (!type.dtype.bits || type.dtype.bits >= 64);
    result.size = is_uint64 ? TARSIA_UNSIGNED : TARSIA_SIGNED;
  } else if (result.kind == TARSIA_KIND_LIST && type.elements) {
    for (std::uint32_t i = 0; i < result.size; ++i) tell_signs(result.v[i], *type.elements);
  } else if (result.kind == TARSIA_KIND_TUPLE && type.elements) {
    for (std::uint32_t i = 0; i < result.size && i < type.n_elements; ++i)
      tell_signs(result.v[i], type.elements[i]);
  }
}

}  // namespace

std::int32_t call_function(std::span<const tarsia_function* const> overloads,
                           std::span<const tarsia_value> args, tarsia_value& result) {
  // 1. Find the context that the caller entered.
  tarsia_call_context* context = *call_slot();
  if (!context) throw Error("tarsia_call needs a context: enter one with tarsia_enter_call");
  if (overloads.empty()) throw NotFound("there is no function to call");

  // 2. Choose the overload and convert the arguments. From here on the function and its values are known.
  ValueFace face;
  tarsia_value* values = nullptr;
  std::uint32_t n = 0;
  const tarsia_function& function = *overloads[match(face, overloads, args, values, n)];

  // 3. Refuse a result that this caller cannot take, and a missing GPU.
  if (arguments::has_object(function.result))
    throw ArgumentError::type_error(std::string(function.name) +
                                    "() returns PyTorch's own tensors, which only Python can take; let it "
                                    "return a tarsia::Tensor");
  result = tarsia_value{};
  const bool takes_stream = function.flags & TARSIA_FUNCTION_TAKES_STREAM;
  if (takes_stream && has_cuda(function)) require_gpu(function);

  // 4. Enter the device: the GPU of the pointers, or the current one for a function that takes a stream.
  int gpu = face.gpu();
  if (gpu < 0 && takes_stream && is_cuda_in_use()) gpu = std::max(0, cuda_current_device());
  context->device = gpu >= 0 ? tarsia_device{TARSIA_GPU, gpu} : tarsia_device{TARSIA_CPU, 0};
  const CudaDeviceScope scope(gpu);

  // 5. Run. A call in a call has a context of its own: who makes it enters one.
  const std::int32_t code = [&] {
    const Running running(*context, function, args);
    return function.call(values, n, &result);
  }();
  if (code) return code;
  tell_signs(result, function.result);

  // 6. Look for launch errors, and for a result that ends with the call.
  try {
    if (has_cuda(function)) check_launches(function);
    if (!are_arguments(result, {values, n}))
      throw OpError(std::string(function.name) +
                    "(): the result is a tensor that ends with the call, in scratch memory or over the "
                    "function's own: return one of tarsia::empty, or an argument");
  } catch (...) {
    drop(result);
    throw;
  }
  return 0;
}

void require_gpu(const tarsia_function& function) {
  if (!reinterpret_cast<const LibraryFunction&>(function).errors.runtime) return;
  try {
    cuda_driver();
  } catch (const CudaError& error) {
    throw CudaError(std::string(function.name) + "() works on a GPU, as it takes a stream: " + error.what());
  }
}

void check_launches(const tarsia_function& function) {
  const LibraryFunction& owned = reinterpret_cast<const LibraryFunction&>(function);
  const LaunchErrors& errors = owned.errors;
  const CudaRuntime* runtime = errors.runtime;
  // Work-around: the CUDA runtime answers for launches before CUDA is initialised.
  // Trigger: a function whose library links the runtime is called in a process that has not used CUDA.
  // Symptom: asked for its last error, the runtime initialises CUDA; without a driver it answers with an
  // error whether anything was launched or not.
  // Removal: cudaPeekAtLastError initialises nothing, and gives no error where nothing was asked of CUDA.
  if (!runtime) return;
  // A number may be the error itself, which the caller will check.
  const bool may_give_error = function.result.kind == TARSIA_KIND_INT;
  if (!is_cuda_in_use()) {
    if (!errors.take_launch_error || !errors.take_launch_error() || may_give_error) return;
    runtime->cudaGetLastError();
    try {
      cuda_driver();
    } catch (const CudaError& error) {
      throw CudaError(std::string(function.name) + "() launches a kernel: " + error.what());
    }
    return;
  }
  note_launch(owned.display_name, -1);
  if (debug_sync()) wait_for_debugging(owned.display_name, current_stream(-1));
  if (errors.surely_none() || may_give_error) return;
  const int result = runtime->cudaPeekAtLastError();
  if (!result) return;
  runtime->cudaGetLastError();
  throw CudaError(std::string(function.name) +
                  "() left an error of CUDA behind: " + runtime->cudaGetErrorName(result) + ": " +
                  runtime->cudaGetErrorString(result) + (is_fatal(result) ? recent_launches() : ""));
}

}  // namespace tarsia::registry

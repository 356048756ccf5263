// The checked call: the overload chosen, arguments converted, the GPU made current.
#include "registry/call/call.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda_driver.h"
#include "base/error.h"
#include "registry/call/arguments.h"
#include "registry/library/library.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"
#include "registry/resources/recent_launches.h"

namespace tarsia::registry {

namespace {

constexpr size_t k_few = Values::k_few;

/// Whether a function's own code may use CUDA. A program deals with CUDA's errors itself.
bool has_cuda(const tarsia_function& function) {
  return (function.flags & (TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_MAIN)) ==
         TARSIA_FUNCTION_SOURCE_HAS_CUDA;
}

/// Whether each view in a result is one that the caller passed: others end with the call.
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

/// Gives back the tensors of a result that nobody takes.
void drop(tarsia_value& result) {
  if (result.kind == TARSIA_KIND_TENSOR) release(result.storage);
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE)
    for (std::uint32_t i = 0; i < result.size; ++i) drop(result.v[i]);
  result.kind = TARSIA_KIND_NONE;
}

/// Fits the arguments to one function: fills `values`, gives their number, or why it does not take them.
std::optional<Misfit> fit(const tarsia_function& function, std::span<const tarsia_value> args,
                          CallPlace& place, tarsia_value* values, std::uint32_t& n) {
  n = 0;
  if (function.flags & TARSIA_FUNCTION_MAIN) {
    if (args.size() == 1 && args[0].kind == TARSIA_KIND_LIST) {
      n = 1;
      return convert(function.params[0].type, args[0], place, values[0]);
    }
    auto* texts = static_cast<tarsia_value*>(call_memory(sizeof(tarsia_value) * (args.size() + 1)));
    texts[0] = tarsia_value{};
    texts[0].kind = TARSIA_KIND_STRING;
    texts[0].s = "main";
    texts[0].size = 4;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].kind != TARSIA_KIND_STRING)
        return Misfit{true, "argument " + std::to_string(i + 1) + " has to be a string"};
      texts[i + 1] = args[i];
    }
    values[0] = tarsia_value{};
    values[0].kind = TARSIA_KIND_LIST;
    values[0].v = texts;
    values[0].size = static_cast<std::uint32_t>(args.size() + 1);
    n = 1;
    return std::nullopt;
  }
  const bool takes_stream = function.flags & TARSIA_FUNCTION_TAKES_STREAM;
  place.needs_gpu = takes_stream;
  place.needs_cpu = !takes_stream && !(function.flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA);
  unsigned n_streams = 0;
  for (unsigned i = 0; i < function.n_params; ++i)
    n_streams += function.params[i].type.kind == TARSIA_KIND_STREAM;
  const bool streams_given =
      std::ranges::any_of(args, [](const tarsia_value& v) { return v.kind == TARSIA_KIND_STREAM; });
  size_t next = 0;
  std::array<unsigned, k_few> stream_at{};
  unsigned n_missing = 0;
  for (unsigned i = 0; i < function.n_params; ++i) {
    const tarsia_param& param = function.params[i];
    const bool is_stream = param.type.kind == TARSIA_KIND_STREAM;
    if (is_stream && !streams_given) {  // the current one, once the device is known
      if (n_missing == k_few) return Misfit{true, "takes too many streams"};
      stream_at[n_missing++] = i;
      values[i] = tarsia_value{};
      values[i].kind = TARSIA_KIND_STREAM;
      n = i + 1;
      continue;
    }
    if (next == args.size()) {
      if (i >= function.n_required) break;
      if ((param.type.flags & TARSIA_TYPE_OPTIONAL)) {
        values[i] = tarsia_value{};
        n = i + 1;
        continue;
      }
      const unsigned least = function.n_required - (streams_given ? 0 : n_streams);
      return Misfit{true, "takes " + std::string(function.n_required < function.n_params ? "at least " : "") +
                              std::to_string(least) + " argument" + (least == 1 ? "" : "s") + ", not " +
                              std::to_string(args.size())};
    }
    if (auto misfit = convert(param.type, args[next], place, values[i])) {
      misfit->text = param_name(param, i) + " " + misfit->text;
      return misfit;
    }
    ++next;
    n = i + 1;
  }
  if (next < args.size()) {
    const unsigned most = function.n_params - (streams_given ? 0 : n_streams);
    return Misfit{true, "takes at most " + std::to_string(most) + " argument" + (most == 1 ? "" : "s") +
                            ", not " + std::to_string(args.size())};
  }
  if (place.needs_gpu && !place.has_tensor) place.device = {TARSIA_GPU, std::max(0, cuda_current_device())};
  for (unsigned k = 0; k < n_missing; ++k) values[stream_at[k]].p = current_stream(place.device.id);
  return std::nullopt;
}

}  // namespace

std::int32_t call_function(std::span<const tarsia_function* const> overloads,
                           std::span<const tarsia_value> args, tarsia_value& result) {
  tarsia_call_context* context = *call_slot();
  if (!context) throw Error("tarsia_call needs a context: enter one with tarsia_enter_call");
  if (overloads.empty()) throw NotFound("there is no function to call");
  size_t most = 1;
  for (const tarsia_function* function : overloads) most = std::max<size_t>(most, function->n_params);
  Values values(most);
  std::string reasons;
  bool is_type = false;
  for (const tarsia_function* function : overloads) {
    CallPlace place;
    std::uint32_t n = 0;
    if (auto misfit = fit(*function, args, place, values.data(), n)) {
      reasons +=
          (overloads.size() > 1 ? std::string("\n  ") + function->signature + ": " : ": ") + misfit->text;
      is_type |= misfit->is_type;
      continue;
    }
    context->device = place.device;
    result = tarsia_value{};
    CudaDeviceScope scope(is_gpu(place.device) ? place.device.id : -1);
    if (place.needs_gpu && has_cuda(*function)) require_gpu(*function);
    const std::int32_t code = function->call(values.data(), n, &result);
    if (code) return code;
    try {
      if (has_cuda(*function)) check_launches(*function);
      if (!are_arguments(result, {values.data(), n}))
        throw OpError(std::string(function->name) +
                      "(): the result is a tensor that ends with the call, in scratch memory or over the "
                      "function's own: return one of tarsia::empty, or an argument");
    } catch (...) {
      drop(result);
      throw;
    }
    return 0;
  }
  const std::string text = overloads.size() > 1 ? std::string("no overload of ") + overloads[0]->name +
                                                      " takes these arguments:" + reasons
                                                : overloads[0]->name + std::string("()") + reasons;
  throw is_type ? ArgumentError::type_error(text) : ArgumentError::value_error(text);
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
  // A number may be the very error, which the caller will look at.
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
  note_launch(owned.known_as, -1);
  if (debug_sync()) wait_for_debugging(owned.known_as, current_stream(-1));
  if (errors.surely_none() || may_give_error) return;
  const int result = runtime->cudaPeekAtLastError();
  if (!result) return;
  runtime->cudaGetLastError();
  throw CudaError(std::string(function.name) +
                  "() left an error of CUDA behind: " + runtime->cudaGetErrorName(result) + ": " +
                  runtime->cudaGetErrorString(result) + (is_fatal(result) ? recent_launches() : ""));
}

}  // namespace tarsia::registry

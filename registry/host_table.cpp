// The functions that modules call back. Each turns exceptions into the thread's last error.
#include "registry/host_table.h"

#include <cstdlib>
#include <cstring>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "registry/library/module_tensor.h"
#include "registry/measure/measure.h"
#include "registry/op/bound_op.h"
#include "registry/op/op_registry.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/parallel.h"
#include "registry/resources/random.h"

namespace tarsia::registry {

namespace {

/// f's result, or null with the last error set.
template <class F>
auto pointer_or_null(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    capture_error();
    return nullptr;
  }
}

std::int32_t host_set_error(std::int32_t code, const char* message) {
  return guarded([&] { set_last_error(code, "call", message ? message : ""); }) ? TARSIA_OUT_OF_MEMORY : code;
}

std::int32_t host_last_error(const char** message) {
  *message = last_error().message.c_str();
  return last_error().code;
}

std::int32_t host_result_string(tarsia_value* result, const char* text, std::uint64_t n) {
  return guarded([&] {
    if (n >= std::uint64_t{1} << 32) throw ArgumentError::value_error("a string result is longer than 4 GiB");
    char* copy = static_cast<char*>(call_memory(n + 1));
    if (n) std::memcpy(copy, text, n);
    copy[n] = 0;
    result->s = copy;
    result->size = static_cast<std::uint32_t>(n);
    result->kind = TARSIA_KIND_STRING;
  });
}

tarsia_value* host_result_values(std::uint64_t n) {
  return pointer_or_null([&] {
    if (n >= std::uint64_t{1} << 32)
      throw ArgumentError::value_error("a list result has more than 2^32 elements");
    void* values = call_memory(n * sizeof(tarsia_value));
    return static_cast<tarsia_value*>(n ? std::memset(values, 0, n * sizeof(tarsia_value)) : values);
  });
}

tarsia_storage* host_empty(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                           tarsia_device device) {
  return pointer_or_null([&] { return make_tensor_of_caller(shape, ndim, dtype, device); });
}

void* host_scratch(std::uint64_t bytes, tarsia_device device) {
  return pointer_or_null([&] { return call_scratch(bytes, device); });
}

void* host_allocate(std::uint64_t bytes, tarsia_device device, void* stream) {
  return pointer_or_null([&] {
    refuse_impossible_size("memory", bytes);
    if (is_gpu(device)) return allocate_device(bytes, device.id, stream);
    void* memory = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) throw std::bad_alloc();
    return memory;
  });
}

void host_deallocate(void* memory, tarsia_device device, void* stream) {
  if (!memory) return;
  if (is_gpu(device))
    free_device(memory, device.id, stream);
  else
    std::free(memory);
}

void* host_current_stream(std::int32_t device) {
  return pointer_or_null([&] { return current_stream(device); });
}

std::int32_t host_device_attribute(std::int32_t device, std::int32_t attribute, std::int32_t* value) {
  return guarded([&] {
    CuDevice handle = 0;
    check_cuda(cuda_driver().cuDeviceGet(&handle, device), "cuDeviceGet");
    check_cuda(cuda_driver().cuDeviceGetAttribute(value, attribute, handle), "cuDeviceGetAttribute");
  });
}

std::int32_t host_random_reserve(tarsia_device device, std::uint64_t n, std::uint64_t* seed,
                                 std::uint64_t* offset) {
  return guarded([&] {
    const RandomRange range = reserve_random(device, n);
    *seed = range.seed;
    *offset = range.offset;
  });
}

void* host_random_states(tarsia_device device, std::int32_t kind, std::uint32_t* n) {
  return pointer_or_null([&] { return random_states(device, kind, *n); });
}

// Handles cross the ABI as pointers to an undefined C struct of that name.
tarsia_bound_op* to_handle(BoundOp* bound) {
  return reinterpret_cast<tarsia_bound_op*>(bound);
}
BoundOp* from_handle(tarsia_bound_op* bound) {
  return reinterpret_cast<BoundOp*>(bound);
}

std::int32_t host_op_bind(const char* name, const tarsia_op_request* request, tarsia_bound_op** bound) {
  return guarded(
      [&] { *bound = to_handle(registry::bind(OpRegistry::instance().find(name), *request).detach()); });
}

std::int32_t host_op_call(tarsia_bound_op* bound, const tarsia_op_call* call) {
  if (const std::int32_t code = guarded([&] { from_handle(bound)->check(*call); })) return code;
  return from_handle(bound)->call(*call);
}

const tarsia_meta* host_op_inputs(const tarsia_bound_op* bound, std::uint32_t* n) {
  const auto inputs = reinterpret_cast<const BoundOp*>(bound)->bound().inputs();
  *n = static_cast<std::uint32_t>(inputs.size());
  return inputs.data();
}

const tarsia_meta* host_op_outputs(const tarsia_bound_op* bound, std::uint32_t* n) {
  const auto outputs = reinterpret_cast<const BoundOp*>(bound)->bound().outputs();
  *n = static_cast<std::uint32_t>(outputs.size());
  return outputs.data();
}

void host_warn(const char* op, const char* text) {
  guarded([&] { log().warn("op '{}': {}", op, text); });
}

std::int32_t host_interrupted() {
  return is_call_interrupted() ? 1 : 0;
}

// An exception that leaves a parallel region ends the process.
std::int32_t host_check_interrupt() {
  if (!is_call_interrupted() || runs_in_parallel()) return 0;
  if (last_error().code != TARSIA_INTERRUPTED)
    return host_set_error(TARSIA_INTERRUPTED, "the call was interrupted");
  return TARSIA_INTERRUPTED;
}

tarsia_storage* host_share(const tarsia_tensor* argument) {
  return pointer_or_null([&] { return share_argument(argument); });
}

std::int32_t host_resize(const tarsia_tensor* argument, const std::int64_t* shape, std::int32_t ndim) {
  std::int32_t code = 0;
  const std::int32_t failed = guarded([&] { code = resize_argument(argument, shape, ndim); });
  return failed ? failed : code;
}

tarsia_storage* host_adopt(const tarsia_tensor* tensor, void* context, void (*destroy)(void*)) {
  return pointer_or_null([&] { return adopt_tensor(tensor, context, destroy); });
}

void host_op_release(tarsia_bound_op* bound) {
  if (bound) from_handle(bound)->release();
}

}  // namespace

const tarsia_host* host_table() {
  static const tarsia_host table = {
      .abi_version = TARSIA_ABI_VERSION,
      .size = sizeof(tarsia_host),
      .capture_exception = &capture_author_exception,
      .set_error = &host_set_error,
      .last_error = &host_last_error,
      .result_string = &host_result_string,
      .result_values = &host_result_values,
      .empty = &host_empty,
      .retain = &retain,
      .release = &release,
      .scratch = &host_scratch,
      .allocate = &host_allocate,
      .deallocate = &host_deallocate,
      .call_device = &call_device,
      .current_stream = &host_current_stream,
      .device_count = &cuda_device_count,
      .device_attribute = &host_device_attribute,
      .random_reserve = &host_random_reserve,
      .random_states = &host_random_states,
      .op_bind = &host_op_bind,
      .op_call = &host_op_call,
      .op_release = &host_op_release,
      .op_inputs = &host_op_inputs,
      .op_outputs = &host_op_outputs,
      .warn = &host_warn,
      .parallel = &parallel,
      .check_interrupt = &host_check_interrupt,
      .share = &host_share,
      .adopt = &host_adopt,
      .interrupted = &host_interrupted,
      .resize = &host_resize,
  };
  return &table;
}

}  // namespace tarsia::registry

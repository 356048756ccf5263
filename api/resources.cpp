// Tensors, devices, streams, random numbers.
#include <tarsia/c_api.h>

#include <array>
#include <mutex>
#include <string>

#include "base/cuda/cuda_driver.h"
#include "registry/host_table.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

using namespace tarsia;
using registry::guarded;

int32_t tarsia_empty(const int64_t* shape, int32_t ndim, tarsia_dtype dtype, tarsia_device device,
                     tarsia_storage** storage) {
  return guarded([&] {
    registry::refuse_unknown_device("a new tensor has memory", device);
    *storage = registry::make_tensor(shape, ndim, dtype, device);
  });
}

void tarsia_storage_retain(tarsia_storage* storage) {
  registry::retain(storage);
}

void tarsia_storage_release(tarsia_storage* storage) {
  registry::release(storage);
}

int32_t tarsia_copy(const tarsia_tensor* to, const tarsia_tensor* from, void* stream) {
  return guarded([&] { registry::copy(*to, *from, stream); });
}

int32_t tarsia_device_count(void) {
  return cuda_device_count();
}

int32_t tarsia_device_attribute(int32_t device, int32_t attribute, int32_t* value) {
  return registry::host_table()->device_attribute(device, attribute, value);
}

const char* tarsia_device_name(int32_t device) {
  static std::mutex s_mutex;
  static auto& names = *new std::array<std::string, 64>();
  const char* found = nullptr;
  guarded([&] {
    CuDevice handle = 0;
    check_cuda(cuda_driver().cuDeviceGet(&handle, device), "cuDeviceGet");
    char text[256] = {};
    check_cuda(cuda_driver().cuDeviceGetName(text, sizeof(text), handle), "cuDeviceGetName");
    std::lock_guard lock(s_mutex);
    std::string& name = names.at(static_cast<size_t>(device));
    if (name.empty()) name = text;
    found = name.c_str();
  });
  return found;
}

int32_t tarsia_device_enter(int32_t device, int32_t* previous) {
  return guarded([&] {
    const int32_t before = cuda_current_device();
    if (device >= 0 && device != before) {
      CuContext context = cuda_primary_context(device);
      check_cuda(cuda_driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }
    if (previous) *previous = before;
  });
}

void tarsia_set_stream(int32_t device, void* stream) {
  guarded([&] { registry::set_thread_stream(device, stream); });
}

void* tarsia_get_stream(int32_t device) {
  return registry::thread_stream(device);
}

int32_t tarsia_synchronize(int32_t device, void* stream) {
  return guarded([&] {
    CudaDeviceScope scope(device);
    check_cuda(cuda_driver().cuStreamSynchronize(static_cast<CuStream>(stream)), "cuStreamSynchronize");
  });
}

void tarsia_seed(uint64_t seed) {
  registry::seed_random(seed);
}

const tarsia_host* tarsia_get_host(void) {
  return registry::host_table();
}

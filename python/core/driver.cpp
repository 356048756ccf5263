// Calls into libcuda.so.1, found by dlopen.
#include "python/core/driver.h"

#include <dlfcn.h>
#include <tarsia/c_api.h>

#include <atomic>
#include <mutex>

namespace tarsia::python {
namespace {

constexpr int k_most_devices = 64;
constexpr int k_no_driver = 3;  // CUDA_ERROR_NOT_INITIALIZED

struct Driver {
  int (*pointer_attribute)(void*, int, uint64_t);
  int (*device_get)(int*, int);
  int (*primary_context)(void**, int);
  int (*context_device)(int*);
  int (*push)(void*);
  int (*pop)(void**);
  int (*event_create)(void**, unsigned);
  int (*event_record)(void*, void*);
  int (*stream_wait)(void*, void*, unsigned);
  int (*event_destroy)(void*);
  int (*is_capturing)(void*, int*);
  int (*exchange_capture_mode)(int*);
  int (*copy_to_gpu)(uint64_t, const void*, size_t, void*);
  int (*copy_from_gpu)(void*, uint64_t, size_t, void*);
  int (*synchronize)(void*);
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool load(Driver& d) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library && find(library, "cuPointerGetAttribute", d.pointer_attribute) &&
         find(library, "cuDeviceGet", d.device_get) &&
         find(library, "cuDevicePrimaryCtxRetain", d.primary_context) &&
         find(library, "cuCtxGetDevice", d.context_device) && find(library, "cuCtxPushCurrent_v2", d.push) &&
         find(library, "cuCtxPopCurrent_v2", d.pop) && find(library, "cuEventCreate", d.event_create) &&
         find(library, "cuEventRecord", d.event_record) &&
         find(library, "cuStreamWaitEvent", d.stream_wait) &&
         find(library, "cuEventDestroy_v2", d.event_destroy) &&
         find(library, "cuStreamIsCapturing", d.is_capturing) &&
         find(library, "cuThreadExchangeStreamCaptureMode", d.exchange_capture_mode) &&
         find(library, "cuMemcpyHtoDAsync_v2", d.copy_to_gpu) &&
         find(library, "cuMemcpyDtoHAsync_v2", d.copy_from_gpu) &&
         find(library, "cuStreamSynchronize", d.synchronize);
}

/// Null as long as nothing in the process has loaded the driver.
const Driver* driver() {
  static Driver s_driver;
  static std::atomic<bool> s_loaded = false;
  static std::mutex s_loading;
  if (s_loaded.load(std::memory_order_acquire)) return &s_driver;
  const std::scoped_lock lock(s_loading);
  if (!s_loaded) s_loaded.store(load(s_driver), std::memory_order_release);
  return s_loaded ? &s_driver : nullptr;
}

/// While it lives, captures of other threads neither refuse what this thread does, nor end by it.
class BesideCaptures {
 public:
  explicit BesideCaptures(const Driver& d) : m_driver(d) { d.exchange_capture_mode(&m_mode); }
  ~BesideCaptures() { m_driver.exchange_capture_mode(&m_mode); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  const Driver& m_driver;
  int m_mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; then what it was before
};

/// Makes a GPU CUDA's current one while it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int32_t device) : m_entered(enter_device(device)) {}
  ~CurrentDevice() {
    if (m_entered) leave_device();
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  bool m_entered;
};

/// The context that the CUDA runtime uses on a device; kept for the process's life, as the runtime does.
void* primary_context(const Driver& d, int32_t device) {
  static std::atomic<void*> s_contexts[k_most_devices];
  if (device < 0 || device >= k_most_devices) return nullptr;
  if (void* known = s_contexts[device]) return known;
  int handle = 0;
  void* context = nullptr;
  if (d.device_get(&handle, device) || d.primary_context(&context, handle)) return nullptr;
  s_contexts[device] = context;  // two threads that come first find the same
  return context;
}

}  // namespace

int32_t device_of_address(const void* address) {
  constexpr int k_device_ordinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  const Driver* d = driver();
  int device = 0;
  if (!d || d->pointer_attribute(&device, k_device_ordinal, reinterpret_cast<uint64_t>(address))) return 0;
  return device;
}

bool is_pinned(const void* address) {
  constexpr int k_memory_type = 2, k_host = 1;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST
  const Driver* d = driver();
  int type = 0;  // unsigned int in CUDA
  return d && !d->pointer_attribute(&type, k_memory_type, reinterpret_cast<uint64_t>(address)) &&
         type == k_host;
}

int let_wait(int32_t device, void* consumer, void* producer) {
  constexpr unsigned k_no_timing = 2;  // CU_EVENT_DISABLE_TIMING
  const Driver* d = driver();
  if (consumer == producer || !d) return 0;
  const CurrentDevice current(device);
  void* event = nullptr;
  int error = d->event_create(&event, k_no_timing);
  if (!error) error = d->event_record(event, producer);
  if (!error) error = d->stream_wait(consumer, event, 0);
  if (event) d->event_destroy(event);
  return error;
}

bool is_capturing(void* stream) {
  const Driver* d = driver();
  int status = 0;  // CU_STREAM_CAPTURE_STATUS_NONE
  return !d || d->is_capturing(stream, &status) != 0 || status != 0;
}

int copy_to_gpu(int32_t device, void* stream, void* to, const void* from, size_t bytes) {
  const Driver* d = driver();
  if (!d) return k_no_driver;
  const BesideCaptures beside(*d);
  const CurrentDevice current(device);
  return d->copy_to_gpu(reinterpret_cast<uint64_t>(to), from, bytes, stream);
}

int copy_from_gpu(int32_t device, void* stream, void* to, const void* from, size_t bytes) {
  const Driver* d = driver();
  if (!d) return k_no_driver;
  const BesideCaptures beside(*d);
  const CurrentDevice current(device);
  const int error = d->copy_from_gpu(to, reinterpret_cast<uint64_t>(from), bytes, stream);
  return error ? error : d->synchronize(stream);
}

bool enter_device(int32_t device) {
  static const bool s_several = tarsia_device_count() > 1;
  const Driver* d = s_several ? driver() : nullptr;
  int current = -1;
  if (!d || (d->context_device(&current) == 0 && current == device)) return false;
  void* context = primary_context(*d, device);
  return context && d->push(context) == 0;
}

void leave_device() {
  void* context = nullptr;
  driver()->pop(&context);
}

}  // namespace tarsia::python

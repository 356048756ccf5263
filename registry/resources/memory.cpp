// Allocates memory. Each GPU has a pool of Tarsia's own, so that its settings affect nobody else. Some
// memory is freed without a stream at hand: a tensor's stream may be gone by then. It goes through a stream
// of Tarsia's own that waits for an event recorded over the whole context. That blocks nobody, and covers
// every stream.
#include "registry/resources/memory.h"

#include <tarsia/detail/argument_rules.h>

#include <tarsia/op_abi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "registry/resources/call_context.h"
#include "registry/resources/reaper.h"

namespace tarsia::registry {

namespace {

constexpr std::uint64_t k_pool_keeps_bytes = std::uint64_t{256} << 20;
constexpr int k_result_out_of_memory = 2;    // CUDA_ERROR_OUT_OF_MEMORY
constexpr int k_pool_release_threshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

/// CUmemPoolProps of cuda.h.
struct PoolProperties {
  int alloc_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  struct {
    int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
    int id = 0;
  } location;
  void* security = nullptr;
  size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(PoolProperties) == 88);

/// CUmemLocation and CUmemAccessDesc of cuda.h.
struct PoolAccess {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};
static_assert(sizeof(PoolAccess) == 12);

constexpr std::size_t k_most_devices = 64;

struct DeviceMemory {
  CuPool pool = nullptr;
  CuStream free_stream = nullptr;
};

DeviceMemory& device_memory(int device) {
  static std::array<std::atomic<DeviceMemory*>, k_most_devices> s_devices{};
  static std::mutex s_mutex;
  auto& slot = s_devices.at(static_cast<size_t>(device));
  if (DeviceMemory* known = slot.load(std::memory_order_acquire)) return *known;
  std::lock_guard lock(s_mutex);
  if (DeviceMemory* known = slot.load()) return *known;
  const CudaDriver& driver = cuda_driver();
  CudaDeviceScope scope(device);
  DeviceMemory made;
  PoolProperties properties;
  properties.location.id = device;
  check_cuda(driver.cuMemPoolCreate(&made.pool, &properties), "cuMemPoolCreate");
  std::uint64_t keep = k_pool_keeps_bytes;
  check_cuda(driver.cuMemPoolSetAttribute(made.pool, k_pool_release_threshold, &keep),
             "cuMemPoolSetAttribute");
  check_cuda(driver.cuStreamCreate(&made.free_stream, k_stream_non_blocking), "cuStreamCreate");
  DeviceMemory* kept = new DeviceMemory(made);  // lives as long as the process, like the contexts
  slot.store(kept, std::memory_order_release);
  return *kept;
}

/// A tensor of Tarsia's own, in one block with its shape.
struct OwnTensor {
  tarsia_storage storage{};
  tarsia_tensor tensor{};
  std::int64_t shape[1];
};

void release_own(tarsia_storage* storage) {
  auto* own = reinterpret_cast<OwnTensor*>(storage);
  if (is_gpu(own->tensor.device))
    free_device_anywhere(own->tensor.data, own->tensor.device.id);
  else
    std::free(own->tensor.data);
  std::free(own);
}

/// Lets two GPUs reach each other's memory, where they can, so that copies between them do not go through the
/// CPU's. Once for each pair.
void join_peers(int a, int b) {
  static std::array<std::atomic<std::uint64_t>, k_most_devices> s_joined{};  // a bit for each smaller peer
  static_assert(k_most_devices <= 64);
  std::atomic<std::uint64_t>& joined = s_joined.at(static_cast<std::size_t>(std::max(a, b)));
  const std::uint64_t peer = std::uint64_t{1} << static_cast<unsigned>(std::min(a, b));
  if (joined.fetch_or(peer) & peer) return;
  const CudaDriver& driver = cuda_driver();
  const CudaRelaxedCapture relaxed;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    CuDevice own = 0, other = 0;
    int can = 0;
    if (driver.cuDeviceGet(&own, from) != 0 || driver.cuDeviceGet(&other, to) != 0 ||
        driver.cuDeviceCanAccessPeer(&can, own, other) != 0 || !can)
      continue;
    const CudaDeviceScope scope(from);
    // Another library of the process may have done the first.
    (void)driver.cuCtxEnablePeerAccess(cuda_primary_context(to), 0);
    const PoolAccess access{.id = from};
    if (const CuResult result = driver.cuMemPoolSetAccess(device_memory(to).pool, &access, 1); result != 0)
      log().warn("GPU {} does not reach the memory of GPU {}: {}", from, to, cuda_error_text(result));
  }
}

}  // namespace

void refuse_impossible_size(const char* what, std::uint64_t bytes) {
  if (bytes >> 62)
    throw ArgumentError::value_error(std::string(what) + " of " + std::to_string(bytes) +
                                     " bytes is asked for, which no memory holds: a negative size looks so");
}

void refuse_unknown_device(const char* what, tarsia_device device) {
  if (!is_gpu(device) && device.type != TARSIA_CPU && device.type != TARSIA_GPU_HOST)
    throw ArgumentError::value_error(std::string(what) +
                                     " of the CPU or of NVIDIA GPUs, and gets DLPack's device type " +
                                     std::to_string(device.type));
}

void* allocate_device(std::uint64_t bytes, int device, void* stream) {
  const CudaDriver& driver = cuda_driver();
  CudaDeviceScope scope(device);
  CuPointer memory = 0;
  const CuResult result = driver.cuMemAllocFromPoolAsync(
      &memory, bytes ? bytes : 1, device_memory(device).pool, static_cast<CuStream>(stream));
  if (result == k_result_out_of_memory)
    throw OutOfMemory("GPU " + std::to_string(device) + " has no room for " + std::to_string(bytes) +
                      " bytes more");
  check_cuda(result, "cuMemAllocFromPoolAsync");
  return reinterpret_cast<void*>(memory);
}

void free_device(void* memory, int device, void* stream) noexcept {
  try {
    CudaDeviceScope scope(device);
    check_cuda(
        cuda_driver().cuMemFreeAsync(reinterpret_cast<CuPointer>(memory), static_cast<CuStream>(stream)),
        "cuMemFreeAsync");
  } catch (const Error& e) {
    log().warn("GPU memory is not given back: {}", e.what());
  }
}

void free_device_anywhere(void* memory, int device) noexcept {
  try {
    const CudaDriver& driver = cuda_driver();
    CudaDeviceScope scope(device);
    CuEvent event = nullptr;
    if (driver.optional.cuCtxRecordEvent && driver.cuEventCreate(&event, k_event_disable_timing) == 0) {
      DeviceMemory& own = device_memory(device);
      const bool recorded = driver.optional.cuCtxRecordEvent(cuda_primary_context(device), event) == 0 &&
                            driver.cuStreamWaitEvent(own.free_stream, event, 0) == 0;
      driver.cuEventDestroy(event);
      if (recorded) {
        free_device(memory, device, own.free_stream);
        return;
      }
    }
    when_idle(device, [memory, device] { free_device(memory, device, nullptr); });
  } catch (const std::exception& e) {
    log().warn("GPU memory is not given back: {}", e.what());
  }
}

std::uint64_t bytes_of(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype) {
  if (ndim < 0 || ndim > TARSIA_MAX_NDIM)
    throw ArgumentError::value_error("a tensor has 0 to 32 dimensions, not " + std::to_string(ndim));
  unsigned __int128 n = (unsigned(dtype.bits) * dtype.lanes + 7) / 8;
  bool empty = false;
  for (std::int32_t i = 0; i < ndim; ++i) {
    if (shape[i] < 0)
      throw ArgumentError::value_error("a tensor's extent cannot be negative: " + std::to_string(shape[i]));
    if (shape[i] == 0)
      empty = true;
    else
      n *= static_cast<std::uint64_t>(shape[i]);
    if (n >> 62) throw ArgumentError::value_error("a tensor of that shape does not fit into memory");
  }
  return empty ? 0 : static_cast<std::uint64_t>(n);
}

tarsia_storage* make_tensor(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                            tarsia_device device) {
  const std::uint64_t bytes = bytes_of(shape, ndim, dtype);
  if (!dtype.bits || !dtype.lanes) throw ArgumentError::type_error("a new tensor needs a dtype");
  auto* own = static_cast<OwnTensor*>(
      std::malloc(sizeof(OwnTensor) + sizeof(std::int64_t) * static_cast<size_t>(ndim)));
  if (!own) throw std::bad_alloc();
  void* data = nullptr;
  try {
    if (is_gpu(device))
      data = allocate_device(bytes, device.id, current_stream(device.id));
    else if (!(data = std::aligned_alloc(64, (bytes + 64) / 64 * 64)))
      throw std::bad_alloc();
  } catch (...) {
    std::free(own);
    throw;
  }
  new (own) OwnTensor();
  own->tensor.data = data;
  own->tensor.device = is_gpu(device) ? tarsia_device{TARSIA_GPU, device.id} : tarsia_device{TARSIA_CPU, 0};
  own->tensor.ndim = ndim;
  own->tensor.dtype = dtype;
  own->tensor.shape = own->shape;
  if (ndim) std::memcpy(own->shape, shape, sizeof(std::int64_t) * static_cast<size_t>(ndim));
  own->storage.tensor = &own->tensor;
  own->storage.refs = 1;
  own->storage.release = &release_own;
  return &own->storage;
}

tarsia_storage* make_tensor_of_caller(const std::int64_t* shape, std::int32_t ndim, tarsia_dtype dtype,
                                      tarsia_device device) {
  bytes_of(shape, ndim, dtype);
  for (tarsia_call_context* c = *call_slot(); c; c = c->outer)
    if (c->empty) return c->empty(c->user, shape, ndim, dtype, device);
  return make_tensor(shape, ndim, dtype, device);
}

void retain(tarsia_storage* storage) noexcept {
  __atomic_add_fetch(&storage->refs, 1, __ATOMIC_RELAXED);
}

void release(tarsia_storage* storage) noexcept {
  if (storage && __atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL) == 0) storage->release(storage);
}

void drop(tarsia_value& result) noexcept {
  if (result.kind == TARSIA_KIND_TENSOR || result.kind == TARSIA_KIND_OBJECT) release(result.storage);
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE)
    for (std::uint32_t i = 0; i < result.size; ++i) drop(result.v[i]);
  result.kind = TARSIA_KIND_NONE;
}

bool is_contiguous(const tarsia_tensor& tensor) noexcept {
  return arguments::is_contiguous(tensor);
}

void copy(const tarsia_tensor& to, const tarsia_tensor& from, void* stream) {
  const std::uint64_t bytes = bytes_of(from.shape, from.ndim, from.dtype);
  if (std::memcmp(&to.dtype, &from.dtype, sizeof(to.dtype)) != 0 ||
      bytes != bytes_of(to.shape, to.ndim, to.dtype))
    throw ArgumentError::value_error("a copy needs tensors of one dtype and size");
  if (!is_contiguous(to) || !is_contiguous(from))
    throw ArgumentError::value_error("a copy needs contiguous tensors");
  refuse_unknown_device("a copy needs tensors", to.device);
  refuse_unknown_device("a copy needs tensors", from.device);
  if (!bytes) return;
  if (!is_gpu(to.device) && !is_gpu(from.device)) {
    std::memmove(data_of(to), data_of(from), bytes);
    return;
  }
  const CudaDriver& driver = cuda_driver();
  CudaDeviceScope scope(is_gpu(to.device) ? to.device.id : from.device.id);
  if (is_gpu(to.device) && is_gpu(from.device) && to.device.id != from.device.id) {
    join_peers(to.device.id, from.device.id);
    // CUDA graphs hold no copies of the kind that also serves GPUs that do not reach each other.
    if (is_capturing(stream))
      return check_cuda(
          driver.cuMemcpyAsync(reinterpret_cast<CuPointer>(data_of(to)),
                               reinterpret_cast<CuPointer>(data_of(from)), bytes,
                               static_cast<CuStream>(stream)),
          "cuMemcpyAsync between two GPUs that has to reach the memory of both, for a CUDA graph");
    return check_cuda(
        driver.cuMemcpyPeerAsync(reinterpret_cast<CuPointer>(data_of(to)), cuda_primary_context(to.device.id),
                                 reinterpret_cast<CuPointer>(data_of(from)),
                                 cuda_primary_context(from.device.id), bytes, static_cast<CuStream>(stream)),
        "cuMemcpyPeerAsync");
  }
  check_cuda(
      driver.cuMemcpyAsync(reinterpret_cast<CuPointer>(data_of(to)),
                           reinterpret_cast<CuPointer>(data_of(from)), bytes, static_cast<CuStream>(stream)),
      "cuMemcpyAsync");
  if (!is_gpu(to.device) || !is_gpu(from.device))
    check_cuda(driver.cuStreamSynchronize(static_cast<CuStream>(stream)), "cuStreamSynchronize");
}

}  // namespace tarsia::registry

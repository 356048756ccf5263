// Opens libcuda and looks up its functions, once a process.
#include "base/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/fork.h"

namespace tarsia {

namespace {

constexpr int k_max_devices = 64;

struct Driver {
  CudaDriver table{};
  bool found = false;
  std::string missing;  ///< the first function that an old driver lacks
};

template <class F>
bool resolve(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Driver open_driver() {
  Driver driver;
  const InLoader in_loader;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return driver;
  CudaDriver& t = driver.table;
  auto need = [&](const char* name, auto& function) {
    if (!resolve(library, name, function) && driver.missing.empty()) driver.missing = name;
  };
  need("cuInit", t.cuInit);
  need("cuDriverGetVersion", t.cuDriverGetVersion);
  need("cuGetErrorName", t.cuGetErrorName);
  need("cuGetErrorString", t.cuGetErrorString);
  need("cuDeviceGetCount", t.cuDeviceGetCount);
  need("cuDeviceGet", t.cuDeviceGet);
  need("cuDeviceGetName", t.cuDeviceGetName);
  need("cuDeviceGetAttribute", t.cuDeviceGetAttribute);
  need("cuDevicePrimaryCtxRetain", t.cuDevicePrimaryCtxRetain);
  need("cuDevicePrimaryCtxGetState", t.cuDevicePrimaryCtxGetState);
  need("cuCtxGetCurrent", t.cuCtxGetCurrent);
  need("cuCtxSetCurrent", t.cuCtxSetCurrent);
  need("cuCtxSynchronize", t.cuCtxSynchronize);
  need("cuStreamCreate", t.cuStreamCreate);
  need("cuStreamDestroy_v2", t.cuStreamDestroy);
  need("cuStreamSynchronize", t.cuStreamSynchronize);
  need("cuStreamQuery", t.cuStreamQuery);
  need("cuStreamWaitEvent", t.cuStreamWaitEvent);
  need("cuStreamIsCapturing", t.cuStreamIsCapturing);
  need("cuThreadExchangeStreamCaptureMode", t.cuThreadExchangeStreamCaptureMode);
  need("cuEventCreate", t.cuEventCreate);
  need("cuEventDestroy_v2", t.cuEventDestroy);
  need("cuEventRecord", t.cuEventRecord);
  need("cuEventQuery", t.cuEventQuery);
  need("cuEventElapsedTime", t.cuEventElapsedTime);
  need("cuMemPoolCreate", t.cuMemPoolCreate);
  need("cuMemPoolSetAttribute", t.cuMemPoolSetAttribute);
  need("cuMemAllocFromPoolAsync", t.cuMemAllocFromPoolAsync);
  need("cuMemFreeAsync", t.cuMemFreeAsync);
  need("cuMemcpyAsync", t.cuMemcpyAsync);
  need("cuMemcpyPeerAsync", t.cuMemcpyPeerAsync);
  need("cuDeviceCanAccessPeer", t.cuDeviceCanAccessPeer);
  need("cuCtxEnablePeerAccess", t.cuCtxEnablePeerAccess);
  need("cuMemPoolSetAccess", t.cuMemPoolSetAccess);
  need("cuModuleLoadData", t.cuModuleLoadData);
  need("cuModuleGetFunction", t.cuModuleGetFunction);
  need("cuLaunchKernel", t.cuLaunchKernel);
  need("cuFuncGetAttribute", t.cuFuncGetAttribute);
  need("cuFuncSetAttribute", t.cuFuncSetAttribute);
  need("cuOccupancyMaxActiveBlocksPerMultiprocessor", t.cuOccupancyMaxActiveBlocksPerMultiprocessor);
  need("cuOccupancyMaxPotentialBlockSize", t.cuOccupancyMaxPotentialBlockSize);
  need("cuStreamGetCtx", t.cuStreamGetCtx);
  resolve(library, "cuLaunchKernelEx", t.optional.cuLaunchKernelEx);
  resolve(library, "cuCtxRecordEvent", t.optional.cuCtxRecordEvent);
  resolve(library, "cuStreamGetCaptureInfo_v2", t.optional.cuStreamGetCaptureInfo);
  resolve(library, "cuUserObjectCreate", t.optional.cuUserObjectCreate);
  resolve(library, "cuGraphRetainUserObject", t.optional.cuGraphRetainUserObject);
  resolve(library, "cuPointerGetAttribute", t.optional.cuPointerGetAttribute);
  resolve(library, "cuStreamBeginCapture_v2", t.optional.cuStreamBeginCapture);
  resolve(library, "cuStreamEndCapture", t.optional.cuStreamEndCapture);
  resolve(library, "cuGraphInstantiateWithFlags", t.optional.cuGraphInstantiateWithFlags);
  resolve(library, "cuGraphLaunch", t.optional.cuGraphLaunch);
  resolve(library, "cuGraphExecDestroy", t.optional.cuGraphExecDestroy);
  resolve(library, "cuGraphDestroy", t.optional.cuGraphDestroy);
  driver.found = true;
  return driver;
}

const Driver& opened_driver() {
  static std::atomic<Driver*> s_driver{nullptr};
  return made_once(s_driver, &open_driver);
}

enum class State { untouched, initialising, initialised, forked };
std::atomic<State> s_state{State::untouched};
std::atomic<int> s_device_count{0};
std::array<std::atomic<CuContext>, k_max_devices> s_contexts{};

// CUDA cannot be used in a child that was forked after cuInit, or while another thread was in it.
void forked_child() {
  if (s_state.load() != State::untouched) s_state = State::forked;
}

void initialise() {
  const Driver& driver = opened_driver();
  if (!driver.found)
    throw CudaError(
        "there is no CUDA driver on this machine (libcuda.so.1 is not found): install NVIDIA's driver, or "
        "use CPU "
        "tensors");
  if (!driver.missing.empty())
    throw CudaError("the CUDA driver is too old, it has no " + driver.missing +
                    ": install one of CUDA 11.4 or newer");
  // A child that another thread forks meanwhile never gets here: see forked_child.
  static std::mutex s_mutex;
  std::lock_guard lock(s_mutex);
  if (s_state.load() != State::untouched) return;
  static const int registered = pthread_atfork(nullptr, nullptr, &forked_child);
  (void)registered;
  s_state = State::initialising;
  if (CuResult result = driver.table.cuInit(0)) {
    s_state = State::untouched;
    throw CudaError("CUDA cannot be used on this machine: cuInit: " + cuda_error_text(result) +
                    "; `nvidia-smi` shows whether the GPU and its driver work");
  }
  int count = 0;
  driver.table.cuDeviceGetCount(&count);
  s_device_count = count < k_max_devices ? count : k_max_devices;
  s_state = State::initialised;
}

}  // namespace

const CudaDriver* find_cuda_driver() {
  const Driver& driver = opened_driver();
  return driver.found && driver.missing.empty() ? &driver.table : nullptr;
}

const CudaDriver& cuda_driver() {
  State state = s_state.load(std::memory_order_acquire);
  if (state == State::untouched || state == State::initialising) {
    initialise();
    state = s_state.load();
  }
  if (state == State::forked)
    throw CudaError(
        "CUDA cannot be used in this process: it was forked after its parent had initialised CUDA. Start "
        "workers "
        "by spawn instead of fork, or fork before the GPU is used");
  return opened_driver().table;
}

bool cuda_initialised() {
  return s_state.load() == State::initialised;
}

bool is_cuda_driver_loaded() noexcept {
  // Of a library that is not mapped, dlopen searches all folders, whatever its flags.
  const auto is_driver = [](dl_phdr_info* mapped, std::size_t, void*) {
    const std::string_view path = mapped->dlpi_name;
    return static_cast<int>(path.substr(path.rfind('/') + 1).starts_with("libcuda.so"));
  };
  const InLoader in_loader;
  if (::dl_iterate_phdr(is_driver, nullptr) == 0) return false;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

bool is_cuda_in_use() noexcept {
  static std::atomic<bool> s_in_use{false};
  if (s_in_use.load(std::memory_order_relaxed)) return true;
  constexpr CuResult k_not_initialised = 3;  // CUDA_ERROR_NOT_INITIALIZED
  const CudaDriver* driver = find_cuda_driver();
  CuContext context = nullptr;
  if (!driver || driver->cuCtxGetCurrent(&context) == k_not_initialised) return false;
  s_in_use.store(true, std::memory_order_relaxed);
  return true;
}

bool is_capturing(void* stream) {
  int status = 0;  // CU_STREAM_CAPTURE_STATUS_NONE
  check_cuda(cuda_driver().cuStreamIsCapturing(static_cast<CuStream>(stream), &status),
             "cuStreamIsCapturing");
  return status != 0;
}

std::optional<bool> is_capturing_if_known(void* stream) noexcept {
  const CudaDriver* driver = find_cuda_driver();
  int status = 0;
  if (!driver || driver->cuStreamIsCapturing(static_cast<CuStream>(stream), &status)) return std::nullopt;
  return status != 0;
}

bool is_pinned_memory(const void* address) noexcept {
  constexpr int k_memory_type = 2, k_host = 1;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST
  const CudaDriver* driver = is_cuda_in_use() ? find_cuda_driver() : nullptr;
  unsigned type = 0;
  return driver && driver->optional.cuPointerGetAttribute &&
         !driver->optional.cuPointerGetAttribute(&type, k_memory_type,
                                                 reinterpret_cast<CuPointer>(address)) &&
         type == k_host;
}

std::string cuda_error_text(CuResult result) {
  const CudaDriver* driver = find_cuda_driver();
  const char *name = nullptr, *text = nullptr;
  if (driver) {
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &text);
  }
  if (!name) return "error " + std::to_string(result);
  return std::string(name) + ": " + (text ? text : "");
}

void check_cuda(CuResult result, const char* what) {
  if (result) throw CudaError(std::string(what) + ": " + cuda_error_text(result));
}

int cuda_device_count() noexcept {
  try {
    cuda_driver();
    return s_device_count;
  } catch (const Error&) {
    return 0;
  }
}

std::vector<std::string> cuda_architectures() noexcept {
  constexpr int k_major = 75, k_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
  std::set<std::string> all;
  try {
    const CudaDriver& driver = cuda_driver();
    for (int i = 0; i < cuda_device_count(); ++i) {
      CuDevice device = 0;
      int major = 0, minor = 0;
      check_cuda(driver.cuDeviceGet(&device, i), "cuDeviceGet");
      check_cuda(driver.cuDeviceGetAttribute(&major, k_major, device), "cuDeviceGetAttribute");
      check_cuda(driver.cuDeviceGetAttribute(&minor, k_minor, device), "cuDeviceGetAttribute");
      all.insert("sm_" + std::to_string(major) + std::to_string(minor));
    }
  } catch (const Error&) {
    // Without a driver or a GPU there is no architecture to name.
  }
  return {all.begin(), all.end()};
}

CuContext cuda_primary_context(int device) {
  const CudaDriver& driver = cuda_driver();
  const int count = s_device_count;
  if (device < 0 || device >= count)
    throw CudaError("there is no GPU " + std::to_string(device) + ": this process sees " +
                    (count ? std::to_string(count) : "none") + " (CUDA_VISIBLE_DEVICES may hide some)");
  std::atomic<CuContext>& slot = s_contexts[static_cast<size_t>(device)];
  if (CuContext known = slot.load(std::memory_order_acquire)) return known;
  CuDevice handle = 0;
  check_cuda(driver.cuDeviceGet(&handle, device), "cuDeviceGet");
  CuContext context = nullptr;
  check_cuda(driver.cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain");
  slot.store(context, std::memory_order_release);  // a second thread retains and stores the same one
  return context;
}

int cuda_current_device() noexcept {
  if (s_state.load(std::memory_order_acquire) != State::initialised) return -1;
  CuContext current = nullptr;
  if (opened_driver().table.cuCtxGetCurrent(&current) || !current) return -1;
  const int count = s_device_count;
  for (int i = 0; i < count; ++i)
    if (s_contexts[static_cast<size_t>(i)].load(std::memory_order_acquire) == current) return i;
  for (int i = 0; i < count; ++i) {  // a context that others made current before Tarsia retained it
    unsigned flags = 0;
    int active = 0;
    opened_driver().table.cuDevicePrimaryCtxGetState(i, &flags, &active);
    if (!active) continue;
    try {
      if (cuda_primary_context(i) == current) return i;
    } catch (const Error&) {
      return -1;
    }
  }
  return -1;
}

CudaDeviceScope::CudaDeviceScope(int device) {
  if (device < 0) return;
  CuContext context = cuda_primary_context(device);
  const CudaDriver& driver = cuda_driver();
  check_cuda(driver.cuCtxGetCurrent(&m_previous), "cuCtxGetCurrent");
  if (m_previous == context) return;
  check_cuda(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  m_changed = true;
}

CudaDeviceScope::~CudaDeviceScope() {
  if (m_changed) opened_driver().table.cuCtxSetCurrent(m_previous);
}

}  // namespace tarsia

// The CUDA driver as a table of functions, opened at run time: nothing links libcuda, and nothing
// initialises CUDA before it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tarsia {

using CuResult = int;
using CuDevice = int;
using CuContext = struct CUctx_st*;
using CuStream = struct CUstream_st*;
using CuEvent = struct CUevent_st*;
using CuPool = struct CUmemPoolHandle_st*;
using CuModule = struct CUmod_st*;
using CuFunction = struct CUfunc_st*;
using CuGraph = struct CUgraph_st*;
using CuGraphExec = struct CUgraphExec_st*;
using CuUserObject = struct CUuserObject_st*;
using CuPointer = unsigned long long;

/// CUlaunchAttribute and CUlaunchConfig of cuda.h.
struct CuLaunchAttribute {
  int id;
  char unused[4];
  union {
    int number;
    struct {
      unsigned x, y, z;
    } extents;
    char bytes[64];
  };
};
struct CuLaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  unsigned n_attributes;
};

/// CUDA's numbers of the same names.
inline constexpr unsigned k_stream_non_blocking = 1;   // CU_STREAM_NON_BLOCKING
inline constexpr unsigned k_event_disable_timing = 2;  // CU_EVENT_DISABLE_TIMING

/// The functions of libcuda.so.1 that Tarsia uses, by their names. Those after `optional` may be null.
struct CudaDriver {
  CuResult (*cuInit)(unsigned);
  CuResult (*cuDriverGetVersion)(int*);
  CuResult (*cuGetErrorName)(CuResult, const char**);
  CuResult (*cuGetErrorString)(CuResult, const char**);
  CuResult (*cuDeviceGetCount)(int*);
  CuResult (*cuDeviceGet)(CuDevice*, int);
  CuResult (*cuDeviceGetName)(char*, int, CuDevice);
  CuResult (*cuDeviceGetAttribute)(int*, int, CuDevice);
  CuResult (*cuDevicePrimaryCtxRetain)(CuContext*, CuDevice);
  CuResult (*cuDevicePrimaryCtxGetState)(CuDevice, unsigned*, int*);
  CuResult (*cuCtxGetCurrent)(CuContext*);
  CuResult (*cuCtxSetCurrent)(CuContext);
  CuResult (*cuCtxSynchronize)();
  CuResult (*cuStreamCreate)(CuStream*, unsigned);
  CuResult (*cuStreamDestroy)(CuStream);
  CuResult (*cuStreamSynchronize)(CuStream);
  CuResult (*cuStreamQuery)(CuStream);
  CuResult (*cuStreamWaitEvent)(CuStream, CuEvent, unsigned);
  CuResult (*cuStreamIsCapturing)(CuStream, int*);
  CuResult (*cuThreadExchangeStreamCaptureMode)(int*);
  CuResult (*cuEventCreate)(CuEvent*, unsigned);
  CuResult (*cuEventDestroy)(CuEvent);
  CuResult (*cuEventRecord)(CuEvent, CuStream);
  CuResult (*cuEventQuery)(CuEvent);
  CuResult (*cuEventElapsedTime)(float* milliseconds, CuEvent, CuEvent);
  CuResult (*cuMemPoolCreate)(CuPool*, const void*);
  CuResult (*cuMemPoolSetAttribute)(CuPool, int, void*);
  CuResult (*cuMemAllocFromPoolAsync)(CuPointer*, size_t, CuPool, CuStream);
  CuResult (*cuMemFreeAsync)(CuPointer, CuStream);
  CuResult (*cuMemcpyAsync)(CuPointer, CuPointer, size_t, CuStream);
  CuResult (*cuMemcpyPeerAsync)(CuPointer, CuContext, CuPointer, CuContext, size_t, CuStream);
  CuResult (*cuDeviceCanAccessPeer)(int*, CuDevice, CuDevice);
  CuResult (*cuCtxEnablePeerAccess)(CuContext, unsigned);
  CuResult (*cuMemPoolSetAccess)(CuPool, const void*, size_t);
  CuResult (*cuModuleLoadData)(CuModule*, const void*);
  CuResult (*cuModuleGetFunction)(CuFunction*, CuModule, const char*);
  CuResult (*cuLaunchKernel)(CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CuStream, void**, void**);
  CuResult (*cuFuncGetAttribute)(int*, int, CuFunction);
  CuResult (*cuFuncSetAttribute)(CuFunction, int, int);
  CuResult (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int*, CuFunction, int, size_t);
  CuResult (*cuOccupancyMaxPotentialBlockSize)(int*, int*, CuFunction, size_t (*)(int), size_t, int);
  CuResult (*cuStreamGetCtx)(CuStream, CuContext*);

  struct {
    /// Since CUDA 11.8.
    CuResult (*cuLaunchKernelEx)(const CuLaunchConfig*, CuFunction, void**, void**);
    /// Records all the work of a context; since CUDA 12.5.
    CuResult (*cuCtxRecordEvent)(CuContext, CuEvent);
    /// Since CUDA 11.3. The last two may be null.
    CuResult (*cuStreamGetCaptureInfo)(CuStream, int* status, unsigned long long* id, CuGraph*,
                                       const void** dependencies, size_t* n_dependencies);
    CuResult (*cuUserObjectCreate)(CuUserObject*, void*, void (*destroy)(void*), unsigned references,
                                   unsigned flags);
    CuResult (*cuGraphRetainUserObject)(CuGraph, CuUserObject, unsigned references, unsigned flags);
    CuResult (*cuPointerGetAttribute)(void*, int, CuPointer);
    /// Since CUDA 11.4, all or none.
    CuResult (*cuStreamBeginCapture)(CuStream, int mode);
    CuResult (*cuStreamEndCapture)(CuStream, CuGraph*);
    CuResult (*cuGraphInstantiateWithFlags)(CuGraphExec*, CuGraph, unsigned long long flags);
    CuResult (*cuGraphLaunch)(CuGraphExec, CuStream);
    CuResult (*cuGraphExecDestroy)(CuGraphExec);
    CuResult (*cuGraphDestroy)(CuGraph);
  } optional;
};

/// The driver, not yet initialised; null where libcuda.so.1 is missing. Thread-safe.
const CudaDriver* find_cuda_driver();

/// The driver, initialised. Throws CudaError that names the missing part, also in a process forked after
/// CUDA was initialised. Thread-safe.
const CudaDriver& cuda_driver();

/// Whether this process has initialised CUDA through cuda_driver().
bool cuda_initialised();

/// Whether this process has loaded the driver already. Never loads it.
bool is_cuda_driver_loaded() noexcept;

/// Whether anything in this process has initialised CUDA. Cheap once it has; never initialises it.
bool is_cuda_in_use() noexcept;

/// Whether a stream captures a CUDA graph. Throws CudaError.
bool is_capturing(void* stream);

/// The same; none: the driver cannot tell, as of the default stream while another thread captures. Never
/// initialises CUDA.
std::optional<bool> is_capturing_if_known(void* stream) noexcept;

/// Whether CUDA has pinned this memory of the CPU, so that GPUs may use its address. Never initialises
/// CUDA.
bool is_pinned_memory(const void* address) noexcept;

/// Throws CudaError "what: CUDA_ERROR_…: text" if `result` is an error.
void check_cuda(CuResult result, const char* what);

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
std::string cuda_error_text(CuResult result);

/// The number of GPUs; 0 without driver or GPU. Never throws.
int cuda_device_count() noexcept;

/// "sm_90" and the like: those of the GPUs, each once, in order; none without driver or GPU. Initialises
/// CUDA. Never throws.
std::vector<std::string> cuda_architectures() noexcept;

/// The primary context of a GPU, the one that the CUDA runtime uses, kept for the life of the process.
/// Throws CudaError.
CuContext cuda_primary_context(int device);

/// The GPU whose primary context is current on this thread; -1 if none is.
int cuda_current_device() noexcept;

/// Makes a GPU's primary context current on this thread while it lives. Does nothing for a negative number.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(int device);
  ~CudaDeviceScope();
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;

 private:
  CuContext m_previous = nullptr;
  bool m_changed = false;
};

/// While it lives, nothing that this thread asks of CUDA disturbs a stream under capture: loading code,
/// allocating, work on another stream.
class CudaRelaxedCapture {
 public:
  CudaRelaxedCapture() { cuda_driver().cuThreadExchangeStreamCaptureMode(&m_mode); }
  ~CudaRelaxedCapture() { cuda_driver().cuThreadExchangeStreamCaptureMode(&m_mode); }
  CudaRelaxedCapture(const CudaRelaxedCapture&) = delete;
  CudaRelaxedCapture& operator=(const CudaRelaxedCapture&) = delete;

 private:
  int m_mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

}  // namespace tarsia

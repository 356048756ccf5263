// Kernels on GPUs.
//
// A kernel's first argument is its number of threads, as on the CPU: a launch has no more of them. So an
// array of n elements has a slot for each thread.
#pragma once

#include <tarsia/mobula/logging.h>

#include <cooperative_groups.h>

#if !defined(__CUDACC_RTC__)
#include <algorithm>
#include <stdexcept>
#include <string>
#endif

namespace mobula {

#if !defined(__CUDACC_RTC__)
using std::max;
using std::min;
#endif

/// The number of threads of the running kernel: at most its first argument.
MOBULA_DEVICE inline int get_num_threads() {
  return gridDim.x * blockDim.x;
}

/// The number of this thread in the running kernel, from 0.
MOBULA_DEVICE inline int get_thread_num() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

namespace tarsia_detail {

/// All threads of the grid. A kernel that comes here has static shared memory: by that the launch sees that
/// all of its blocks have to run at once.
MOBULA_DEVICE inline void barrier() {
  __shared__ volatile int mark;
  mark = 1;
  (void)mark;
  if (gridDim.x == 1)
    (__syncthreads)();
  else
    cooperative_groups::this_grid().sync();
}

/// The part of a loop that this thread takes.
template <typename I, typename F>
MOBULA_DEVICE inline void share(long long n, F& f) {
  const long long step = get_num_threads();
  for (long long i = get_thread_num(); i < n; i += step) f(static_cast<I>(i));
}

template <typename T>
MOBULA_DEVICE inline T add_atomically(T* address, T value) {
  return atomicAdd(address, value);
}
MOBULA_DEVICE inline long long add_atomically(long long* address, long long value) {
  return static_cast<long long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}
MOBULA_DEVICE inline long add_atomically(long* address, long value) {
  return static_cast<long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}
MOBULA_DEVICE inline unsigned long add_atomically(unsigned long* address, unsigned long value) {
  return static_cast<unsigned long>(
      atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
}

}  // namespace tarsia_detail

/// Adds to a number that other threads add to, and returns what it was before.
template <typename T>
MOBULA_DEVICE inline T atomic_add(const typename tarsia_detail::Same<T>::type value, T* address) {
  return tarsia_detail::add_atomically(address, static_cast<T>(value));
}

#if !defined(__CUDACC_RTC__)

namespace tarsia_detail {

inline void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string("mobula: ") + what + ": " + cudaGetErrorString(status));
}

/// The stream that the functions of this thread launch on.
inline void*& current_stream() {
  static thread_local void* t_stream = nullptr;
  return t_stream;
}

/// Sets it while a call runs.
class StreamScope {
 public:
  explicit StreamScope(void* stream) : m_before(current_stream()) { current_stream() = stream; }
  ~StreamScope() { current_stream() = m_before; }

 private:
  void* m_before;
};

/// Blocks and threads for n threads at most.
struct Shape {
  unsigned blocks, threads;
};
inline Shape shape_of(long long n, long long most_blocks) {
  constexpr long long k_threads = 256;
  long long blocks = (n + k_threads - 1) / k_threads;
  if (blocks > most_blocks) return {static_cast<unsigned>(most_blocks), static_cast<unsigned>(k_threads)};
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(n / blocks)};
}

inline int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, device), "an attribute of the GPU");
  return value;
}

template <typename F>
class KernelRunner;

/// Runs a kernel on a stream: KernelRunner(kernel)(n, arguments…). It does not wait for the end.
template <typename N, typename... P>
class KernelRunner<void (*)(N, P...)> {
 public:
  explicit KernelRunner(void (*kernel)(N, P...), void* stream = current_stream())
      : m_kernel(kernel), m_stream(stream) {}

  void operator()(N n, P... arguments) const {
    if (!(n > N(0))) return;
    const void* kernel = reinterpret_cast<const void*>(m_kernel);
    cudaFuncAttributes attributes;
    require(cudaFuncGetAttributes(&attributes, kernel), "a kernel's attributes");
    const bool has_barrier = attributes.sharedSizeBytes > 0;
    int device = 0, resident = 16;
    require(cudaGetDevice(&device), "the current GPU");
    if (has_barrier)
      require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 256, 0),
              "a kernel's occupancy");
    const long long most = (long long)(resident)*device_attribute(cudaDevAttrMultiProcessorCount, device);
    const Shape shape = shape_of(static_cast<long long>(n), most < 1 ? 1 : most);
    void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(&n)),
                        const_cast<void*>(static_cast<const volatile void*>(&arguments))...};
    const cudaStream_t stream = static_cast<cudaStream_t>(m_stream);
    require(has_barrier && shape.blocks > 1
                ? cudaLaunchCooperativeKernel(kernel, dim3(shape.blocks), dim3(shape.threads), pointers, 0,
                                              stream)
                : cudaLaunchKernel(kernel, dim3(shape.blocks), dim3(shape.threads), pointers, 0, stream),
            "a kernel's launch");
  }

 private:
  void (*m_kernel)(N, P...);
  void* m_stream;
};

/// A user's struct in a kernel's reach while a call runs: `held` lies in memory of the host. What the kernel
/// writes to it comes back.
template <typename S>
class DeviceStruct {
 public:
  explicit DeviceStruct(S* held) : m_held(held) {
    const cudaStream_t stream = static_cast<cudaStream_t>(current_stream());
    require(cudaMallocAsync(&m_copy, sizeof(S), stream), "memory for a struct");
    const cudaError_t copied = cudaMemcpyAsync(m_copy, held, sizeof(S), cudaMemcpyHostToDevice, stream);
    if (copied != cudaSuccess) (void)cudaFreeAsync(m_copy, stream);  // no destructor will
    require(copied, "a struct's copy");
  }
  DeviceStruct(const DeviceStruct&) = delete;
  ~DeviceStruct() {
    if (m_copy) (void)cudaFreeAsync(m_copy, static_cast<cudaStream_t>(current_stream()));
  }
  S* get() const { return static_cast<S*>(m_copy); }
  void fetch() const {
    const cudaStream_t stream = static_cast<cudaStream_t>(current_stream());
    require(cudaMemcpyAsync(m_held, m_copy, sizeof(S), cudaMemcpyDeviceToHost, stream), "a struct's copy");
    require(cudaStreamSynchronize(stream), "a kernel");
  }

 private:
  S* m_held;
  void* m_copy = nullptr;
};

}  // namespace tarsia_detail

template <typename T>
T* new_array(decltype(sizeof(0)) size) {
  void* p = nullptr;
  tarsia_detail::require(cudaMalloc(&p, sizeof(T) * size), "memory of an array");
  return static_cast<T*>(p);
}
template <typename T>
void del_array(T* p) {
  tarsia_detail::require(cudaFree(p), "the end of an array");
}

namespace tarsia_detail {
template <typename T>
T* copy(T* dst, const T* src, decltype(sizeof(0)) size, cudaMemcpyKind kind) {
  const cudaStream_t stream = static_cast<cudaStream_t>(current_stream());
  require(cudaMemcpyAsync(dst, src, size, kind, stream), "a copy");
  if (kind != cudaMemcpyDeviceToDevice) require(cudaStreamSynchronize(stream), "a copy");
  return dst;
}
}  // namespace tarsia_detail

/// Copies, with a size in bytes, after what was launched before. Copies that involve the host are complete
/// on return.
template <typename T>
T* MemcpyHostToDev(T* dst, const T* src, decltype(sizeof(0)) size) {
  return tarsia_detail::copy(dst, src, size, cudaMemcpyHostToDevice);
}
template <typename T>
T* MemcpyDevToHost(T* dst, const T* src, decltype(sizeof(0)) size) {
  return tarsia_detail::copy(dst, src, size, cudaMemcpyDeviceToHost);
}
template <typename T>
T* MemcpyDevToDev(T* dst, const T* src, decltype(sizeof(0)) size) {
  return tarsia_detail::copy(dst, src, size, cudaMemcpyDeviceToDevice);
}

inline void set_device(int device_id) {
  tarsia_detail::require(cudaSetDevice(device_id), "set_device");
}

#endif

}  // namespace mobula

// What __syncthreads() means once <mobula_op.h> has made a macro of it. In CUDA's own headers, wherever they
// are included, it stays the block's barrier: unqualified names find that one first there. For who is `using
// namespace cub`, the int decides.
MOBULA_DEVICE inline void tarsia_mobula_barrier(int) {
  mobula::tarsia_detail::barrier();
}
namespace cub {
MOBULA_DEVICE inline void tarsia_mobula_barrier(long) {
  (__syncthreads)();
}
}  // namespace cub
namespace thrust {
MOBULA_DEVICE inline void tarsia_mobula_barrier(long) {
  (__syncthreads)();
}
}  // namespace thrust
namespace cuda {
MOBULA_DEVICE inline void tarsia_mobula_barrier(long) {
  (__syncthreads)();
}
}  // namespace cuda

#define KERNEL_RUN_STREAM(a, strm) (::mobula::tarsia_detail::KernelRunner<decltype(&(a))>(&(a), strm))

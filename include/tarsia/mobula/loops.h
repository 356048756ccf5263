// Loops of kernels, and loops within one thread.
#pragma once

#include <tarsia/mobula/logging.h>

namespace mobula {

/// Calls f(i) for each i of 0 … n-1, once, on some thread of the kernel. On the CPU a thread takes
/// neighbours; on a GPU neighbours go to neighbouring threads. No order holds between threads.
template <typename N, typename F>
MOBULA_DEVICE inline void parfor(N n, F f) {
  if (!(n > N(0))) return;
  if (static_cast<long long>(n) <= tarsia_detail::k_most_in_32_bits) {
    tarsia_detail::share<int>(static_cast<long long>(n), f);
  } else {
    if (tarsia_detail::counts_in_32_bits<F>(0)) {
      // LOG may be the user's.
      tarsia_detail::Message("FATAL", true, __FILE__, __LINE__)
          << "parfor runs to " << static_cast<long long>(n)
          << ", but the function that it calls counts in 32 bits: let it take a long long";
      return;
    }
    tarsia_detail::share<long long>(static_cast<long long>(n), f);
  }
}

/// out[i] = func(data[i]), for n elements that are `stride` apart. Without `out`, in place.
template <typename F, typename T>
MOBULA_DEVICE inline void mobula_map(F func, const T* data, const int n, const int stride = 1,
                                     T* out = nullptr) {
  if (out == nullptr) out = const_cast<T*>(data);
  for (int i = 0, j = 0; i < n; ++i, j += stride) out[j] = func(data[j]);
}

/// out[0] = func(… func(data[0], data[1]) …, data[n-1]), for elements that are `stride` apart. Without `out`,
/// in data[0].
template <typename F, typename T>
MOBULA_DEVICE inline void mobula_reduce(F func, const T* data, const int n, const int stride = 1,
                                        T* out = nullptr) {
  if (out == nullptr) out = const_cast<T*>(data);
  T value = data[0];
  for (int i = 1, j = stride; i < n; ++i, j += stride) value = func(value, data[j]);
  out[0] = value;
}

/// The offset of element i of an (outer, inner) tensor in an (outer, middle, inner) one, at the middle's 0.
MOBULA_DEVICE inline int get_middle_loop_offset(const int i, const int middle_size, const int inner_size) {
  return i / inner_size * middle_size * inner_size + i % inner_size;
}

template <typename T>
MOBULA_DEVICE inline T ADD_FUNC(const T& a, const T& b) {
  return a + b;
}
template <typename T>
MOBULA_DEVICE inline T MAX_FUNC(const T& a, const T& b) {
  return a > b ? a : b;
}

}  // namespace mobula

#define KERNEL_RUN_BEGIN(device_id) \
  {                                 \
    ::mobula::UNUSED(device_id)
#define KERNEL_RUN_END() }
/// Runs a kernel from a function of the host: KERNEL_RUN(kernel<float>)(n, arguments…).
#define KERNEL_RUN(a) (::mobula::tarsia_detail::KernelRunner<decltype(&(a))>(&(a)))

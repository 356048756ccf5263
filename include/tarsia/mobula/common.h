// What sources of MobulaOP find on both sides: macros of declarations, short names of types, ranges.
#pragma once

#if !defined(USING_CUDA)
#if defined(__CUDACC__) || defined(__CUDA__)
#define USING_CUDA 1
#else
#define USING_CUDA 0
#endif
#endif
#if !defined(USING_HIP)
#define USING_HIP 0
#endif
#if !defined(USING_OPENMP)
#define USING_OPENMP 1
#endif
#if !defined(USING_CBLAS)
#define USING_CBLAS 0
#endif
/// How many threads a kernel runs on at most; 0: as many as OpenMP has.
#if !defined(HOST_NUM_THREADS)
#define HOST_NUM_THREADS 0
#endif
#if USING_HIP
#error "mobula_op.h compiles for CPUs and for CUDA: set USING_HIP to 0, and USING_CUDA to 1 for a GPU"
#endif

/// A function that Python calls. It runs on the host.
#define MOBULA_FUNC
#define MOBULA_DLL
#if USING_CUDA
/// A kernel: its first parameter is the number of threads.
#define MOBULA_KERNEL __global__ void
/// A function that kernels call.
#define MOBULA_DEVICE __device__
#define TARSIA_MOBULA_BOTH __host__ __device__
#else
#define MOBULA_KERNEL void
#define MOBULA_DEVICE
#define TARSIA_MOBULA_BOTH
#endif

namespace mobula {

typedef wchar_t wchar;
typedef char byte;
typedef unsigned char ubyte;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef long double longdouble;
typedef char* char_p;
typedef wchar_t* wchar_p;
typedef void* void_p;

/// An array and its size, which it does not own.
template <typename T>
struct CArray {
  decltype(sizeof(0)) size;
  T* data;
  TARSIA_MOBULA_BOTH T& operator[](int i) const { return data[i]; }
};

/// Says that arguments are not used.
template <typename... Args>
TARSIA_MOBULA_BOTH inline void UNUSED(Args&&...) {}

/// The part [start, end) of n iterations that a thread takes: neighbours, and as many as the others take or
/// one more.
template <typename index_t>
TARSIA_MOBULA_BOTH inline void get_parfor_range(decltype(sizeof(0)) n, int num_threads, int thread_id,
                                                index_t* start, index_t* end) {
  const index_t each = static_cast<index_t>(n / num_threads), rest = static_cast<index_t>(n % num_threads);
  *start = each * thread_id + (thread_id < rest ? thread_id : rest);
  *end = *start + each + (thread_id < rest);
}

namespace tarsia_detail {

template <typename T>
struct Same {
  typedef T type;
};

/// Whether a function object's own parameter is an integer of 32 bits or less, which counts no further.
template <typename F>
TARSIA_MOBULA_BOTH constexpr bool counts_in_32_bits(...) {
  return false;
}
template <typename F, typename C, typename R, typename I>
TARSIA_MOBULA_BOTH constexpr bool narrow_parameter(R (C::*)(I) const) {
  return sizeof(I) <= 4;
}
template <typename F, typename C, typename R, typename I>
TARSIA_MOBULA_BOTH constexpr bool narrow_parameter(R (C::*)(I)) {
  return sizeof(I) <= 4;
}
template <typename F>
TARSIA_MOBULA_BOTH constexpr decltype(narrow_parameter<F>(&F::operator())) counts_in_32_bits(int) {
  return narrow_parameter<F>(&F::operator());
}

constexpr long long k_most_in_32_bits = 2147483647;

}  // namespace tarsia_detail
}  // namespace mobula

/// Runs a body with `index_t` as the narrowest type that counts to N.
#define INDEX_TYPE_SWITCH(N, ...)                                                  \
  do {                                                                             \
    if (static_cast<long long>(N) <= ::mobula::tarsia_detail::k_most_in_32_bits) { \
      typedef int index_t;                                                         \
      {                                                                            \
        __VA_ARGS__                                                                \
      }                                                                            \
    } else {                                                                       \
      typedef long long index_t;                                                   \
      {                                                                            \
        __VA_ARGS__                                                                \
      }                                                                            \
    }                                                                              \
  } while (0)

// Defines the functions that TH/TH.h and THC/THC.h declare, but for those that run kernels. Tarsia's compiler
// links them into modules by itself. A library that is built ahead of time includes this in one of its C++
// files.
#pragma once

#include <tarsia/th/cpu_dimensions.h>
#include <tarsia/th/gpu.h>

#include <tarsia/detail/macros_push.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#define TARSIA_TH_F(result_, name_, parameters_, ...)                                   \
  extern "C" TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_T, name_) parameters_ { \
    using namespace tarsia::th::cpu;                                                    \
    return __VA_ARGS__;                                                                 \
  }
#define TARSIA_TH_FS(result_, name_, parameters_, ...)                                  \
  extern "C" TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_S, name_) parameters_ { \
    using namespace tarsia::th::cpu;                                                    \
    return __VA_ARGS__;                                                                 \
  }
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-parameter"
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define TARSIA_TH_CPU
#define TARSIA_TH_FILE <tarsia/th/value_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#define TARSIA_TH_FILE <tarsia/th/cpu_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#define TARSIA_TH_GPU
#define TARSIA_TH_WITH_HALF
#define TARSIA_TH_FILE <tarsia/th/tensor_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#undef TARSIA_TH_WITH_HALF
#undef TARSIA_TH_GPU
#undef TARSIA_TH_CPU
#undef TARSIA_TH_F
#undef TARSIA_TH_FS
#if defined(__clang__)
#pragma clang diagnostic pop
#else
#pragma GCC diagnostic pop
#endif

namespace tarsia {
namespace th {
inline THLongStorage* new_numbers(std::initializer_list<long> from_) {
  Storage* s_ = new_storage(kind_of<long>(false), static_cast<ptrdiff_t>(from_.size()));
  long* to_ = reinterpret_cast<long*>(s_->data);
  for (const long x_ : from_) *to_++ = x_;
  return as<THLongStorage>(s_);
}
inline long& number(const THLongStorage* s_, ptrdiff_t i_) {
  if (i_ < 0 || i_ >= s_->size)
    throw IndexError(Message("element ") << static_cast<long long>(i_) << " of a storage of "
                                         << static_cast<long long>(s_->size) << " is asked for");
  return s_->data[i_];
}
static THCState the_state = {0};
}  // namespace th
}  // namespace tarsia

extern "C" {

/// The one state of CUDA, by the name under which sources declare it.
TARSIA_TH_HIDDEN __attribute__((weak)) THCState* state = &tarsia::th::the_state;

TARSIA_TH_HIDDEN void tarsia_th_fail(const char* file, int line, int argument, const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tarsia::Message message;
  if (argument) message << "argument " << argument << ": ";
  message << (text[0] ? text : "a condition does not hold") << " (" << file << ":" << line << ")";
  if (argument) throw tarsia::ValueError(message);
  throw tarsia::CallError(TARSIA_OP_ERROR, message);
}
TARSIA_TH_HIDDEN void tarsia_th_check_cuda(int error, const char* text, const char* file, int line) {
  if (error)
    throw tarsia::CallError(TARSIA_CUDA_ERROR, tarsia::Message(text) << " (" << file << ":" << line << ")");
}
TARSIA_TH_HIDDEN void* THAlloc(ptrdiff_t bytes) {
  return THRealloc(nullptr, bytes);
}
TARSIA_TH_HIDDEN void* THRealloc(void* memory, ptrdiff_t bytes) {
  if (bytes < 0) throw tarsia::ValueError("memory of a negative size is asked for");
  void* made = std::realloc(memory, bytes ? static_cast<size_t>(bytes) : 1);
  if (!made) throw tarsia::CallError(TARSIA_OUT_OF_MEMORY, "there is no memory left");
  return made;
}
TARSIA_TH_HIDDEN void THFree(void* memory) {
  std::free(memory);
}

TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize1(long a) {
  return tarsia::th::new_numbers({a});
}
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize2(long a, long b) {
  return tarsia::th::new_numbers({a, b});
}
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize3(long a, long b, long c) {
  return tarsia::th::new_numbers({a, b, c});
}
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize4(long a, long b, long c, long d) {
  return tarsia::th::new_numbers({a, b, c, d});
}
TARSIA_TH_HIDDEN long THLongStorage_get(const THLongStorage* self, ptrdiff_t i) {
  return tarsia::th::number(self, i);
}
TARSIA_TH_HIDDEN void THLongStorage_set(THLongStorage* self, ptrdiff_t i, long value) {
  tarsia::th::number(self, i) = value;
}

#define TARSIA_TH_BLAS(prefix_, real_)                                                                     \
  TARSIA_TH_HIDDEN void prefix_##_gemm(char ta_, char tb_, long m_, long n_, long k_, real_ alpha_,        \
                                       real_* a_, long lda_, real_* b_, long ldb_, real_ beta_, real_* c_, \
                                       long ldc_) {                                                        \
    tarsia::th::cpu::gemm<real_>(ta_, tb_, m_, n_, k_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_);       \
  }                                                                                                        \
  TARSIA_TH_HIDDEN void prefix_##_gemv(char t_, long m_, long n_, real_ alpha_, real_* a_, long lda_,      \
                                       real_* x_, long incx_, real_ beta_, real_* y_, long incy_) {        \
    const bool is_t_ = t_ == 't' || t_ == 'T';                                                             \
    tarsia::th::cpu::multiply<real_>(is_t_ ? n_ : m_, 1, is_t_ ? m_ : n_, alpha_, a_, is_t_ ? lda_ : 1,    \
                                     is_t_ ? 1 : lda_, x_, incx_, 1, beta_, y_, incy_, 1);                 \
  }                                                                                                        \
  TARSIA_TH_HIDDEN void prefix_##_axpy(long n_, real_ a_, real_* x_, long incx_, real_* y_, long incy_) {  \
    for (long i_ = 0; i_ < n_; ++i_) y_[i_ * incy_] += a_ * x_[i_ * incx_];                                \
  }                                                                                                        \
  TARSIA_TH_HIDDEN void prefix_##_copy(long n_, real_* x_, long incx_, real_* y_, long incy_) {            \
    for (long i_ = 0; i_ < n_; ++i_) y_[i_ * incy_] = x_[i_ * incx_];                                      \
  }                                                                                                        \
  TARSIA_TH_HIDDEN void prefix_##_swap(long n_, real_* x_, long incx_, real_* y_, long incy_) {            \
    for (long i_ = 0; i_ < n_; ++i_) {                                                                     \
      const real_ was_ = y_[i_ * incy_];                                                                   \
      y_[i_ * incy_] = x_[i_ * incx_];                                                                     \
      x_[i_ * incx_] = was_;                                                                               \
    }                                                                                                      \
  }                                                                                                        \
  TARSIA_TH_HIDDEN void prefix_##_scal(long n_, real_ a_, real_* x_, long incx_) {                         \
    for (long i_ = 0; i_ < n_; ++i_) x_[i_ * incx_] = a_ == 0 ? 0 : a_ * x_[i_ * incx_];                   \
  }                                                                                                        \
  TARSIA_TH_HIDDEN real_ prefix_##_dot(long n_, real_* x_, long incx_, real_* y_, long incy_) {            \
    double sum_ = 0;                                                                                       \
    for (long i_ = 0; i_ < n_; ++i_)                                                                       \
      sum_ += static_cast<double>(x_[i_ * incx_]) * static_cast<double>(y_[i_ * incy_]);                   \
    return static_cast<real_>(sum_);                                                                       \
  }
TARSIA_TH_BLAS(THFloatBlas, float)
TARSIA_TH_BLAS(THDoubleBlas, double)
#undef TARSIA_TH_BLAS

TARSIA_TH_HIDDEN cudaStream_t THCState_getCurrentStream(THCState*) {
  return static_cast<cudaStream_t>(tarsia::detail::attached()->current_stream(-1));
}
TARSIA_TH_HIDDEN int THCState_getCurrentDevice(THCState*) {
  return tarsia::th::device_of(tarsia::th::Kind{1, true}).id;
}
TARSIA_TH_HIDDEN int THCState_getNumDevices(THCState*) {
  return tarsia::device_count();
}
TARSIA_TH_HIDDEN int tarsia_th_cuda_malloc(void** memory, size_t bytes) {
  *memory =
      tarsia::th::allocate(static_cast<ptrdiff_t>(bytes), tarsia::th::device_of(tarsia::th::Kind{1, true}));
  return 0;
}
TARSIA_TH_HIDDEN int tarsia_th_cuda_free(void* memory) {
  tarsia::th::deallocate(static_cast<char*>(memory), tarsia::th::device_of(tarsia::th::Kind{1, true}));
  return 0;
}
TARSIA_TH_HIDDEN int tarsia_th_on_one_gpu(unsigned n, ...) {
  va_list tensors;
  va_start(tensors, n);
  int device = -1;
  bool are_together = true;
  for (unsigned i = 0; i < n; ++i) {
    const tarsia::th::View* v = va_arg(tensors, tarsia::th::View*);
    if (!v || !v->storage) continue;
    are_together &= v->storage->device >= 0 && (device < 0 || device == v->storage->device);
    device = v->storage->device;
  }
  va_end(tensors);
  return are_together;
}
}

#include <tarsia/th/adapter.h>

#include <tarsia/detail/macros_pop.h>

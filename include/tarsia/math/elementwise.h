// Elementwise functions of <tarsia/math.h>: on the CPU by rows, on a GPU by one kernel.
#pragma once

#include <tarsia/math/kernels.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/math/rows.h>

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace detail {

#if defined(__CUDACC__) || defined(__CUDA__)
#define TARSIA_DETAIL_MATH_CUDA 1
#else
#define TARSIA_DETAIL_MATH_CUDA 0
#endif

template <class F_, class C_, int n_>
void map_as(const char* op_, const F_& f_, const Plan& plan_, const Sides<n_ + 1>& sides_, const On& on_,
            int request_) {
  if (!plan_.on_gpu) return map_rows<F_, C_, n_>(f_, plan_.dims, sides_, request_);
#if TARSIA_DETAIL_MATH_CUDA
  (void)op_;
  map_elements<F_, C_, n_>
      <<<blocks(plan_.dims.count), k_threads, 0, on_.stream()>>>(f_, plan_.dims, sides_, request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}

/// out = f(inputs), elementwise, as the request says.
template <class F_, int n_ = F_::n>
void map(const char* op_, const F_& f_, const Tensor& out_, const Operand (&inputs_)[n_], const On& on_,
         Request request_) {
  if (request_ == Request::null) return;
  Sides<n_ + 1> sides_;
  const Plan plan_ = plan_map(op_, inputs_, n_, out_, F_::is_real != 0, sides_.side);
  if (!plan_.dims.count) return;
  const int how_ = static_cast<int>(request_);
  if (plan_.computed == k_as_float) return map_as<F_, float, n_>(op_, f_, plan_, sides_, on_, how_);
  if (plan_.computed == k_as_double) return map_as<F_, double, n_>(op_, f_, plan_, sides_, on_, how_);
  if constexpr (!F_::is_real) {
    if (plan_.computed == k_as_int) return map_as<F_, long long, n_>(op_, f_, plan_, sides_, on_, how_);
    map_as<F_, unsigned long long, n_>(op_, f_, plan_, sides_, on_, how_);
  }
}

/// A view of a tensor whose shape and strides may be changed.
struct View {
  tarsia_tensor tensor;
  int64_t shape[TARSIA_MAX_NDIM], strides[TARSIA_MAX_NDIM];

  View() : tensor() {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  explicit View(const Tensor& of_) : tensor(*of_.get()) { take(of_); }
  void take(const Tensor& of_) {
    of_.shape();  // throws if there is none
    tensor = *of_.get();
    for (int i_ = 0; i_ < of_.ndim() && i_ < TARSIA_MAX_NDIM; ++i_)
      shape[i_] = of_.size(i_), strides[i_] = of_.stride(i_);
    tensor.shape = shape, tensor.strides = strides;
  }
  Tensor get() const { return Tensor(&tensor); }
};

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif

// The part of <tarsia/detail/adapter.h> on tensors of TH and THC: a function gets a struct over the caller's
// tensor. Generated text includes this if an exported function has such a type.
#pragma once

#include <tarsia/th/core.h>

#include <tarsia/detail/macros_push.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace th {

/// What a function gets for a caller's tensor: valid until the call returns, as its result is taken after the
/// adapter has gone. Views of it know by their storage which argument they are of.
TARSIA_DETAIL_SUPPORT View* new_argument(const tarsia_tensor* tensor_, Kind kind_) {
  struct Both {
    View view;
    Storage storage;
  };
  Both* both_ = static_cast<Both*>(scratch(sizeof(Both), cpu_device()));
  both_->storage = {nullptr, 0, 1, TH_STORAGE_REFCOUNTED, nullptr, const_cast<tarsia_tensor*>(tensor_),
                    nullptr, -1};
  both_->view = {nullptr, nullptr, 0, &both_->storage, 0, 1, TH_TENSOR_REFCOUNTED, tensor_};
  read_argument(&both_->view, kind_);
  return &both_->view;
}

/// The tensor that a function returns: the caller's own, or one of the code's.
TARSIA_DETAIL_SUPPORT int32_t put_result(tarsia_value* r_, View* v_, DType dtype_) {
  if (!v_) return 0;
  if (v_->argument) return r_->t = v_->argument, r_->kind = TARSIA_KIND_ARGUMENT, 0;
  // Its numbers are TH's own; the description is freed with it.
  struct Result {
    tarsia_tensor tensor;
    View* view;
    tarsia_storage* shared;  // the argument whose memory it views, or null
    static void destroy(void* result_) {
      Result* done_ = static_cast<Result*>(result_);
      release(done_->view);
      if (done_->shared) detail::attached()->release(done_->shared);
      delete done_;
    }
  };
  static_assert(sizeof(long) == sizeof(int64_t), "");
  tarsia_storage* shared_ = nullptr;
  const bool is_shared_ = v_->storage && v_->storage->context;
  if (is_shared_) {
    shared_ = detail::attached()->share(static_cast<const tarsia_tensor*>(v_->storage->context));
    if (!shared_) detail::throw_last(detail::host());
  }
  Result* made_ = new Result;
  made_->view = v_, made_->shared = shared_;
  made_->tensor = tarsia_tensor();
  made_->tensor.data = data(v_, Kind{bytes_of(dtype_), false});
  made_->tensor.device = v_->storage ? device_of(v_->storage) : cpu_device();
  made_->tensor.dtype = dtype_;
  static int64_t s_none = 0;  // a tensor without dimensions is empty
  made_->tensor.ndim = v_->ndim ? v_->ndim : 1;
  made_->tensor.shape = v_->ndim ? reinterpret_cast<int64_t*>(v_->size) : &s_none;
  made_->tensor.strides = v_->ndim ? reinterpret_cast<int64_t*>(v_->stride) : nullptr;
  if (is_shared_) v_->storage = nullptr;  // it ends with the call
  r_->storage = detail::attached()->adopt(&made_->tensor, made_, &Result::destroy);
  if (!r_->storage) detail::throw_last(detail::host());
  r_->kind = TARSIA_KIND_TENSOR;
  return 0;
}

}  // namespace th

namespace detail {

#define TARSIA_TH_ADAPTER(tensor_, real_, gpu_)                                           \
  template <>                                                                             \
  struct arg<tensor_*, k_unsupported> {                                                   \
    static constexpr tarsia_type describe() {                                             \
      return make_type(TARSIA_KIND_TENSOR, dtype<real_>(),                                \
                       TARSIA_TYPE_STRIDED | (gpu_ ? TARSIA_TYPE_GPU : TARSIA_TYPE_CPU)); \
    }                                                                                     \
    static tensor_* get(const tarsia_value& v_) {                                         \
      if (v_.kind != TARSIA_KIND_TENSOR || !v_.t) return nullptr;                         \
      return th::as<tensor_>(th::new_argument(v_.t, th::kind_of<real_>(gpu_)));           \
    }                                                                                     \
  };                                                                                      \
  template <>                                                                             \
  struct arg<const tensor_*, k_unsupported> : arg<tensor_*> {                             \
    static constexpr tarsia_type describe() {                                             \
      return add_flags(arg<tensor_*>::describe(), TARSIA_TYPE_CONST);                     \
    }                                                                                     \
  };                                                                                      \
  template <>                                                                             \
  struct result<tensor_*, k_unsupported> {                                                \
    static constexpr tarsia_type describe() {                                             \
      return make_type(TARSIA_KIND_TENSOR, tarsia_dtype{0, 0, 0}, TARSIA_TYPE_OPTIONAL);  \
    }                                                                                     \
    static int32_t put(tarsia_value* r_, tensor_* x_) {                                   \
      return th::put_result(r_, th::tensor(x_), dtype<real_>());                          \
    }                                                                                     \
  };
TARSIA_TH_ADAPTER(THByteTensor, unsigned char, false)
TARSIA_TH_ADAPTER(THCharTensor, char, false)
TARSIA_TH_ADAPTER(THShortTensor, short, false)
TARSIA_TH_ADAPTER(THIntTensor, int, false)
TARSIA_TH_ADAPTER(THLongTensor, long, false)
TARSIA_TH_ADAPTER(THFloatTensor, float, false)
TARSIA_TH_ADAPTER(THDoubleTensor, double, false)
TARSIA_TH_ADAPTER(THCudaByteTensor, unsigned char, true)
TARSIA_TH_ADAPTER(THCudaCharTensor, char, true)
TARSIA_TH_ADAPTER(THCudaShortTensor, short, true)
TARSIA_TH_ADAPTER(THCudaIntTensor, int, true)
TARSIA_TH_ADAPTER(THCudaLongTensor, long, true)
TARSIA_TH_ADAPTER(THCudaTensor, float, true)
TARSIA_TH_ADAPTER(THCudaDoubleTensor, double, true)
TARSIA_TH_ADAPTER(THCudaHalfTensor, __half, true)
#undef TARSIA_TH_ADAPTER

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>

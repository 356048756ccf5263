// The parts of adapter.h on PyTorch's types. A function gets the caller's tensor itself: what passes is its
// c10::TensorImpl, so that autograd's graph, the version counter and the storage stay one with the caller's.
// Generated text includes this if an exported function has such a type and <ATen/core/Tensor.h> was included.
// It includes nothing of PyTorch itself: generated text sees none of the user's macros, and some of PyTorch's
// headers are guarded by macros.
#if !defined(TARSIA_ADAPTER_TORCH_H)
#define TARSIA_ADAPTER_TORCH_H

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

typedef c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> torch_pointer;

template <>
struct arg<at::Tensor, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_OBJECT, tarsia_dtype{TARSIA_TORCH_TENSOR, 0, 0});
  }
  static at::Tensor get(const tarsia_value& v_) {
    return at::Tensor(torch_pointer::unsafe_reclaim_from_nonowning(static_cast<c10::TensorImpl*>(v_.p)));
  }
};
template <>
struct arg<at::Tensor&, k_unsupported> : handle_reference<at::Tensor> {};
template <class A_>
struct arg<std::vector<at::Tensor, A_>&, k_unsupported> : handle_reference<std::vector<at::Tensor, A_>> {};
template <>
struct result<at::Tensor, k_unsupported> : arg<at::Tensor> {
  static void release(tarsia_storage* storage_) {
    const torch_pointer last_ = torch_pointer::reclaim(static_cast<c10::TensorImpl*>(storage_->context));
    delete storage_;
  }
  /// An undefined tensor is none.
  static int32_t put(tarsia_value* r_, at::Tensor x_) {
    if (!x_.defined()) return r_->kind = TARSIA_KIND_NONE, 0;
    tarsia_storage* storage_ = new tarsia_storage{nullptr, 1, 0, nullptr, &release};
    storage_->context = x_.unsafeReleaseTensorImpl();
    return r_->storage = storage_, r_->kind = TARSIA_KIND_OBJECT, 0;
  }
};

/// The items of an ArrayRef, which owns none, for as long as the call lasts.
template <class T_>
class array_items {
 public:
  explicit array_items(const tarsia_value& v_)
      : m_is_given(v_.kind != TARSIA_KIND_NONE), m_n(m_is_given ? v_.size : 0), m_items(new T_[m_n]) {
    for (uint32_t i_ = 0; i_ < m_n; ++i_) m_items[i_] = arg<T_>::get(v_.v[i_]);
  }
  operator c10::ArrayRef<T_>() const { return c10::ArrayRef<T_>(m_items.get(), m_n); }
  bool is_given() const { return m_is_given; }

 private:
  bool m_is_given;
  uint32_t m_n;
  std::unique_ptr<T_[]> m_items;
};
template <class T_>
struct arg<c10::ArrayRef<T_>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_LIST, tarsia_dtype{0, 0, 0}, 0, &static_type<T_>::value, 1);
  }
  static array_items<T_> get(const tarsia_value& v_) { return array_items<T_>(v_); }
};
/// The same for an Optional_ of an ArrayRef. It converts to nothing else, from which an Optional_ could be
/// made.
template <class T_, class Optional_>
struct optional_items {
  array_items<T_> items;
  operator Optional_() const {
    return items.is_given() ? Optional_(static_cast<c10::ArrayRef<T_>>(items)) : Optional_();
  }
};
template <class T_, class Optional_>
struct optional_items_arg {
  static constexpr tarsia_type describe() {
    return add_flags(arg<c10::ArrayRef<T_>>::describe(), TARSIA_TYPE_OPTIONAL);
  }
  static optional_items<T_, Optional_> get(const tarsia_value& v_) { return {array_items<T_>(v_)}; }
};
template <class T_>
struct arg<std::optional<c10::ArrayRef<T_>>, k_unsupported>
    : optional_items_arg<T_, std::optional<c10::ArrayRef<T_>>> {};
template <class T_>
struct arg<const std::optional<c10::ArrayRef<T_>>&, k_unsupported>
    : optional_items_arg<T_, std::optional<c10::ArrayRef<T_>>> {};
template <class T_>
struct arg<c10::OptionalArrayRef<T_>, k_unsupported> : optional_items_arg<T_, c10::OptionalArrayRef<T_>> {};

template <>
struct arg<c10::Scalar, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_NUMBER); }
  static c10::Scalar get(const tarsia_value& v_) {
    return v_.kind == TARSIA_KIND_BOOL    ? c10::Scalar(v_.i != 0)
           : v_.kind == TARSIA_KIND_FLOAT ? c10::Scalar(v_.f)
                                          : c10::Scalar(static_cast<int64_t>(v_.i));
  }
};
template <>
struct result<c10::Scalar, k_unsupported> : arg<c10::Scalar> {
  /// A complex number with an imaginary part is an error of PyTorch.
  static int32_t put(tarsia_value* r_, const c10::Scalar& x_) {
    if (x_.isBoolean()) return r_->i = x_.toBool(), r_->kind = TARSIA_KIND_BOOL, 0;
    if (x_.isIntegral(false)) return r_->i = x_.toLong(), r_->kind = TARSIA_KIND_INT, 0;
    return r_->f = x_.toDouble(), r_->kind = TARSIA_KIND_FLOAT, 0;
  }
};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#endif

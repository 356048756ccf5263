// TARSIA_ELEMENTWISE: an op from a functor, on the CPU and, in CUDA sources, on GPUs.
//
//   struct Gelu {
//     template <class T>
//     TARSIA_HOST_DEVICE T operator()(T x) const { … }
//   };
//   struct GeluGradient {
//     template <class T>
//     TARSIA_HOST_DEVICE T operator()(T dy, T x, T y) const { … }
//   };
//   TARSIA_ELEMENTWISE(gelu, Gelu, GeluGradient);
//
// The functor takes an element of each input, one to four of them. A gradient functor for each input may
// follow. It takes an element of the output's gradient, of each input, and of the output. Every write request
// is honoured. The functor is the op's struct of parameters: .attribute("alpha", &Gelu::alpha). A gradient
// functor that derives from it has the parameters too. Elements of 16 bits are converted to and from float.
#pragma once

#include <tarsia/device.h>
#include <tarsia/small_floats.h>

#if !defined(__CUDACC_RTC__)
#include <tarsia/op.h>
#endif

namespace tarsia {

/// The element types of an elementwise op. A functor names them by a member:
/// `typedef tarsia::element_types<float, int> elements;`. A functor without it takes float16, bfloat16,
/// float32 and float64.
template <class... T_>
struct element_types {};

namespace detail {

enum { k_most_elements = 6 };

/// The tensors that a functor works on: pointers to contiguous elements.
template <class T_>
struct Elements {
  const T_* in[k_most_elements];
  T_* out;
};

/// The type as which the functor gets an element.
template <class T_>
struct seen_as {
  typedef T_ type;
};
template <>
struct seen_as<half_element> {
  typedef float type;
};
template <>
struct seen_as<bfloat_element> {
  typedef float type;
};

template <int n_>
struct number {};

template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<1>) {
  return f_(v_[0]);
}
template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<2>) {
  return f_(v_[0], v_[1]);
}
template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<3>) {
  return f_(v_[0], v_[1], v_[2]);
}
template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<4>) {
  return f_(v_[0], v_[1], v_[2], v_[3]);
}
template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<5>) {
  return f_(v_[0], v_[1], v_[2], v_[3], v_[4]);
}
template <class F_, class T_>
TARSIA_HOST_DEVICE inline T_ apply(const F_& f_, const T_* v_, number<6>) {
  return f_(v_[0], v_[1], v_[2], v_[3], v_[4], v_[5]);
}

template <class F_, class T_, int n_>
TARSIA_HOST_DEVICE inline void elementwise_at(const F_& f_, const Elements<T_>& e_, long long i_,
                                              int request_) {
  typedef typename seen_as<T_>::type S_;
  S_ v_[n_];
  for (int k_ = 0; k_ < n_; ++k_) v_[k_] = static_cast<S_>(e_.in[k_][i_]);
  S_ y_ = apply(f_, static_cast<const S_*>(v_), number<n_>());
  if (request_ == 3) y_ = static_cast<S_>(e_.out[i_]) + y_;
  e_.out[i_] = static_cast<T_>(y_);
}

}  // namespace detail
}  // namespace tarsia

// The macro puts the kernel into the author's own text, because the compiler looks for kernels there.
#define TARSIA_DETAIL_ELEMENTWISE_KERNEL(name_)                                                          \
  template <class F_, class T_, int n_>                                                                  \
  __global__ void tarsia_elementwise_##name_(F_ f_, ::tarsia::detail::Elements<T_> e_, long long count_, \
                                             int request_) {                                             \
    TARSIA_GRID_LOOP(i_, count_)::tarsia::detail::elementwise_at<F_, T_, n_>(f_, e_, i_, request_);      \
  }

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

/// The number of elements that a functor takes.
template <class F_>
struct arity_of {
  template <class... E_>
  struct taken {
    template <class G_>
    static auto test(int) -> decltype((void)declared<const G_&>()(declared<E_>()...), char());
    template <class G_>
    static long test(...);
    enum { value = sizeof(test<F_>(0)) == 1 };
  };
  enum {
    value = taken<float>::value                        ? 1
            : taken<float, float>::value               ? 2
            : taken<float, float, float>::value        ? 3
            : taken<float, float, float, float>::value ? 4
                                                       : 0
  };
};

template <class F_>
struct elements_of {
  template <class G_>
  static typename G_::elements test(int);
  template <class G_>
  static element_types<half_element, bfloat_element, float, double> test(...);
  typedef decltype(test<F_>(0)) type;
};

/// Makes the functor of a gradient. It gets the op's parameters if it derives from the op's functor.
template <class G_, class F_>
G_ with_params(const F_& f_, const F_*) {
  G_ g_ = G_();
  static_cast<F_&>(g_) = f_;
  return g_;
}
template <class G_, class F_>
G_ with_params(const F_&, const void*) {
  return G_();
}

template <class L_, class F_, class T_, int n_>
void elementwise(const F_& f_, const Context& c_, const Tensor* inputs_, const Tensor& output_,
                 Request request_) {
  Elements<T_> e_ = Elements<T_>();
  for (int k_ = 0; k_ < n_; ++k_) e_.in[k_] = inputs_[k_].template data<const T_>();
  e_.out = output_.template data<T_>();
  const long long count_ = output_.numel();
  if (!count_) return;
  if (c_.is_gpu()) {
    L_::template launch<F_, T_, n_>(f_, e_, count_, static_cast<int>(request_), c_.stream());
    return;
  }
  for (long long i_ = 0; i_ < count_; ++i_)
    elementwise_at<F_, T_, n_>(f_, e_, i_, static_cast<int>(request_));
}

template <class L_, class F_, int n_>
void elementwise_of(const F_&, const Context&, const Tensor* inputs_, const Tensor&, Request,
                    element_types<>) {
  char name_[16];
  throw TypeError(Message("dtype ") << name_of(inputs_[0].dtype(), name_)
                                    << " is none of those that the op takes");
}
template <class L_, class F_, int n_, class T_, class... R_>
void elementwise_of(const F_& f_, const Context& c_, const Tensor* inputs_, const Tensor& output_,
                    Request request_, element_types<T_, R_...>) {
  if (request_ == Request::null) return;
  if (inputs_[0].dtype() == tarsia::dtype<T_>())
    elementwise<L_, F_, T_, n_>(f_, c_, inputs_, output_, request_);
  else
    elementwise_of<L_, F_, n_>(f_, c_, inputs_, output_, request_, element_types<R_...>());
}

/// The op of functor F and gradient functors G. L launches its kernels.
template <class L_, class F_, class... G_>
struct ElementwiseOp {
  enum { n = arity_of<F_>::value };
  static_assert(n > 0, "tarsia: the functor of an elementwise op takes one to four elements, and is const");
  static_assert(sizeof...(G_) == 0 || sizeof...(G_) == static_cast<unsigned>(n),
                "tarsia: an elementwise op has one gradient functor for each input, or none");
  typedef typename elements_of<F_>::type elements;

  static void check(const Context& c_, int n_inputs_) {
    if (c_.info().n_inputs() != n_inputs_ || c_.info().n_outputs() != 1)
      throw ValueError(Message("the op's functor takes ")
                       << static_cast<long long>(n_inputs_) << " inputs and gives one output");
  }
  static void forward(Context& c_) {
    check(c_, n);
    Tensor inputs_[n];
    for (int k_ = 0; k_ < n; ++k_) inputs_[k_] = c_.input(k_);
    elementwise_of<L_, F_, n>(c_.params<F_>(), c_, inputs_, c_.output(0), c_.request(0), elements());
  }
  static void backward(Context& c_) {
    check(c_, n);
    // The functors take the gradient, n inputs and the output. The caller may omit the output.
    Tensor inputs_[n + 2];
    for (int k_ = 0; k_ < n + 2; ++k_) inputs_[k_] = c_.input(k_);
    Tensor& y_ = inputs_[n + 1];
    if (!y_) {
      y_ = c_.scratch_tensor(inputs_[0].shape(), inputs_[0].dtype());
      elementwise_of<L_, F_, n>(c_.params<F_>(), c_, inputs_ + 1, y_, Request::write, elements());
    }
    int k_ = 0;
    const int done_[] = {0, (elementwise_of<L_, G_, n + 2>(
                                 with_params<G_, F_>(c_.params<F_>(), static_cast<const G_*>(nullptr)), c_,
                                 inputs_, c_.output(k_), c_.request(k_), elements()),
                             ++k_)...};
    (void)done_;
  }
  /// The last gradient may take the place of all that the functors take: nothing reads that afterwards.
  static void share(OpDefinition& op_) {
    for (unsigned k_ = 0; k_ < static_cast<unsigned>(n) + 2; ++k_)
      op_.backward_inplace(k_, static_cast<unsigned>(n) - 1);
  }
  static OpDefinition& declare(OpDefinition& op_) {
    op_.template params<F_>().forward("cpu", &forward).honours_requests();
    if (sizeof...(G_)) share(op_.backward("cpu", &backward).honours_requests());
#if defined(__CUDACC__) || defined(__CUDA__)
    op_.forward("gpu", &forward).honours_requests();
    if (sizeof...(G_)) share(op_.backward("gpu", &backward).honours_requests());
#endif
    for (unsigned k_ = 0; k_ < static_cast<unsigned>(n); ++k_) op_.inplace(k_, 0);
    return op_.default_inputs(n);
  }
};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>

#if defined(__CUDACC__) || defined(__CUDA__)
#define TARSIA_DETAIL_ELEMENTWISE_LAUNCH(name_)                                                  \
  TARSIA_DETAIL_ELEMENTWISE_KERNEL(name_)                                                        \
  namespace {                                                                                    \
  struct tarsia_launcher_##name_ {                                                               \
    template <class F_, class T_, int n_>                                                        \
    static void launch(const F_& f_, const ::tarsia::detail::Elements<T_>& e_, long long count_, \
                       int request_, cudaStream_t stream_) {                                     \
      tarsia_elementwise_##name_<F_, T_, n_>                                                     \
          <<<::tarsia::blocks(count_), 256, 0, stream_>>>(f_, e_, count_, request_);             \
    }                                                                                            \
  };                                                                                             \
  }
#else
#define TARSIA_DETAIL_ELEMENTWISE_LAUNCH(name_)                                                    \
  namespace {                                                                                      \
  struct tarsia_launcher_##name_ {                                                                 \
    template <class F_, class T_, int n_>                                                          \
    static void launch(const F_&, const ::tarsia::detail::Elements<T_>&, long long, int, void*) {} \
  };                                                                                               \
  }
#endif

/// Declares the elementwise op `name`. Stands at namespace scope. The further arguments are the functor and,
/// if the op has a gradient, a gradient functor for each input. Attributes, descriptions and names of inputs
/// may be chained to it:
///   TARSIA_ELEMENTWISE(gelu, Gelu, GeluGradient).input("x").attribute("alpha", &Gelu::alpha);
#define TARSIA_ELEMENTWISE(name_, ...)                                                             \
  TARSIA_DETAIL_ELEMENTWISE_LAUNCH(name_)                                                          \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::detail::ElementwiseOp<tarsia_launcher_##name_, __VA_ARGS__>::declare(              \
          ::tarsia::OpDefinition::add(TARSIA_DETAIL_OP_NAME(#name_),                               \
                                      __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__)))

#else

namespace tarsia {
namespace detail {
/// Takes the functions that are chained to a declaration. Device code ignores them.
struct Unread {
  template <class... A_>
  constexpr Unread input(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread output(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread describe(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread attribute(A_...) const {
    return *this;
  }
  template <class T_, class... A_>
  constexpr Unread attribute(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread range(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread at_least(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread at_most(A_...) const {
    return *this;
  }
  template <class... A_>
  constexpr Unread required(A_...) const {
    return *this;
  }
  template <unsigned n_>
  constexpr Unread choices(const char* const (&)[n_]) const {
    return *this;
  }
};
}  // namespace detail
}  // namespace tarsia

#define TARSIA_ELEMENTWISE(name_, ...)    \
  TARSIA_DETAIL_ELEMENTWISE_KERNEL(name_) \
  static constexpr ::tarsia::detail::Unread tarsia_elementwise_op_##name_ = ::tarsia::detail::Unread()

#endif

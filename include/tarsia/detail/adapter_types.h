// The parts of adapter.h on types: the dtypes of elements, and how parameters and results of a type are
// described, unpacked and returned.
#if !defined(TARSIA_ADAPTER_TYPES_H)
#define TARSIA_ADAPTER_TYPES_H

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

// ---- small parts of <type_traits> and <utility> ----

template <class T_>
struct never {
  enum { value = 0 };
};
template <class T_>
struct remove_const {
  typedef T_ type;
};
template <class T_>
struct remove_const<const T_> {
  typedef T_ type;
};
template <class T_>
struct is_const {
  enum { value = 0 };
};
template <class T_>
struct is_const<const T_> {
  enum { value = 1 };
};
template <class T_>
struct moved_reference {
  typedef T_&& type;
};
template <>
struct moved_reference<bool> {
  typedef bool type;
};
template <class T_>
using moved = typename moved_reference<T_>::type;
template <unsigned... i_>
struct indices {};
template <unsigned n_, unsigned... i_>
struct make_indices : make_indices<n_ - 1, n_ - 1, i_...> {};
template <unsigned... i_>
struct make_indices<0, i_...> {
  typedef indices<i_...> type;
};
template <unsigned i_, class... A_>
struct pick;
template <unsigned i_, class H_, class... A_>
struct pick<i_, H_, A_...> : pick<i_ - 1, A_...> {};
template <class H_, class... A_>
struct pick<0, H_, A_...> {
  typedef H_ type;
};

// ---- element types ----

/// The dtype of T. The code TARSIA_ANY_DTYPE means that T is not an element type.
template <class T_>
struct dtype_of {
  static constexpr int code = TARSIA_ANY_DTYPE, bits = 0, lanes = 0;
};
#define TARSIA_DETAIL_DTYPE(T_, code_, lanes_, bits_)                      \
  template <>                                                              \
  struct dtype_of<T_> {                                                    \
    static constexpr int code = (code_), bits = (bits_), lanes = (lanes_); \
  };
TARSIA_DETAIL_DTYPE(bool, TARSIA_BOOL, 1, 8)
TARSIA_DETAIL_DTYPE(char, (char(-1) < char(0) ? TARSIA_INT : TARSIA_UINT), 1, 8)
TARSIA_DETAIL_DTYPE(signed char, TARSIA_INT, 1, 8)
TARSIA_DETAIL_DTYPE(unsigned char, TARSIA_UINT, 1, 8)
TARSIA_DETAIL_DTYPE(short, TARSIA_INT, 1, 16)
TARSIA_DETAIL_DTYPE(unsigned short, TARSIA_UINT, 1, 16)
TARSIA_DETAIL_DTYPE(int, TARSIA_INT, 1, 32)
TARSIA_DETAIL_DTYPE(unsigned, TARSIA_UINT, 1, 32)
TARSIA_DETAIL_DTYPE(long, TARSIA_INT, 1, int(sizeof(long) * 8))
TARSIA_DETAIL_DTYPE(unsigned long, TARSIA_UINT, 1, int(sizeof(long) * 8))
TARSIA_DETAIL_DTYPE(long long, TARSIA_INT, 1, 64)
TARSIA_DETAIL_DTYPE(unsigned long long, TARSIA_UINT, 1, 64)
TARSIA_DETAIL_DTYPE(float, TARSIA_FLOAT, 1, 32)
TARSIA_DETAIL_DTYPE(double, TARSIA_FLOAT, 1, 64)
TARSIA_DETAIL_DTYPE(__half, TARSIA_FLOAT, 1, 16)
TARSIA_DETAIL_DTYPE(__nv_bfloat16, TARSIA_BFLOAT, 1, 16)
#if defined(__clang__) && defined(__FLT16_MANT_DIG__) && defined(__x86_64__)
TARSIA_DETAIL_DTYPE(_Float16, TARSIA_FLOAT, 1, 16)
#endif

template <class T_>
constexpr tarsia_dtype dtype() {
  return tarsia_dtype{uint8_t(dtype_of<T_>::code), uint8_t(dtype_of<T_>::bits),
                      uint16_t(dtype_of<T_>::lanes)};
}

constexpr tarsia_type make_type(tarsia_kind kind_, tarsia_dtype dtype_ = tarsia_dtype{0, 0, 0},
                                int flags_ = 0, const tarsia_type* elements_ = nullptr, unsigned n_ = 0) {
  return tarsia_type{uint8_t(kind_), uint8_t(flags_), uint16_t(n_), dtype_, elements_};
}
constexpr tarsia_type add_flags(tarsia_type t_, int flags_) {
  return tarsia_type{t_.kind, uint8_t(t_.flags | flags_), t_.n_elements, t_.dtype, t_.elements};
}

enum scalar_class { k_unsupported, k_bool, k_int, k_float, k_small_float, k_enum };

template <class T_>
struct scalar {
  enum {
    value = dtype_of<T_>::lanes > 1                                         ? k_unsupported
            : dtype_of<T_>::code == TARSIA_BOOL                             ? k_bool
            : dtype_of<T_>::code == TARSIA_INT                              ? k_int
            : dtype_of<T_>::code == TARSIA_UINT                             ? k_int
            : dtype_of<T_>::code == TARSIA_FLOAT&& dtype_of<T_>::bits >= 32 ? k_float
            : dtype_of<T_>::code == TARSIA_FLOAT                            ? k_small_float
            : dtype_of<T_>::code == TARSIA_BFLOAT                           ? k_small_float
            : __is_enum(T_)                                                 ? k_enum
                                                                            : k_unsupported
  };
};

// ---- parameters: describe() and get(value) ----

/// Whether T is nothing but its bytes: an aggregate of standard layout that is copied as bytes.
template <class T_, bool = __is_class(T_) || __is_union(T_)>
struct is_plain {
  enum { value = 0 };
};
template <class T_>
struct is_plain<T_, true> {
  enum {
    value = __is_aggregate(T_) && __is_standard_layout(T_) && __is_trivially_copyable(T_) &&
            sizeof(T_) <= 65535 && alignof(T_) <= 16
  };
};
/// What a plain struct consists of, as tarsia_type::elements has it. The text that describes a source's
/// functions specialises it.
template <class T_>
struct struct_fields {
  static constexpr const tarsia_type* value = nullptr;
};
/// The type of n_ plain structs in a row; 0: one or more.
template <class T_>
constexpr tarsia_type struct_type(int flags_, int n_) {
  return tarsia_type{TARSIA_KIND_STRUCT, uint8_t(flags_), uint16_t(sizeof(T_)),
                     tarsia_dtype{TARSIA_ANY_DTYPE, uint8_t(n_), uint16_t(alignof(T_))},
                     struct_fields<T_>::value};
}

/// A parameter of type T, by value. Specialisations have `describe()`, which returns its tarsia_type, and
/// `get(value)`, whose result initialises a T.
template <class T_, int class_ = scalar<T_>::value>
struct arg {
  static_assert(
      is_plain<T_>::value,
      "tarsia: a function with a parameter of this type cannot be exported. Supported are bool, "
      "integers, enumerations, float, double, half types, const char*, std::string, std::string_view, "
      "std::complex, plain structs, pointers to elements and to plain structs, std::span, tarsia::Tensor, "
      "tarsia::cpu<T>, tarsia::gpu<T>, cudaStream_t, tarsia::Stream, std::optional, std::vector and "
      "std::array of these");
  static constexpr tarsia_type describe() { return struct_type<T_>(TARSIA_TYPE_CONST, 1); }
  static T_ get(const tarsia_value& v_) { return *static_cast<const T_*>(v_.p); }
};
template <class T_>
struct arg<T_, k_bool> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_BOOL, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return v_.i != 0; }
};
template <class T_>
struct arg<T_, k_int> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_INT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.i); }
};
template <class T_>
struct arg<T_, k_enum> {
  typedef __underlying_type(T_) base;
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_INT, dtype<base>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.i); }
};
template <class T_>
struct arg<T_, k_float> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.f); }
};
template <>
struct arg<long double, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<double>()); }
  static long double get(const tarsia_value& v_) { return v_.f; }
};
template <class T_>
struct arg<T_, k_small_float> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(static_cast<float>(v_.f)); }
};

/// A pointer to elements of type T, or to plain structs.
template <class T_, bool is_element_ = dtype_of<T_>::code != TARSIA_ANY_DTYPE>
struct pointer {
  static constexpr tarsia_type describe(int flags_) {
    return make_type(TARSIA_KIND_POINTER, dtype<T_>(), flags_);
  }
};
template <class T_>
struct pointer<T_, false> {
  static_assert(
      is_plain<T_>::value,
      "tarsia: a function with a pointer to this type cannot be exported: it is no element type of a "
      "tensor, and no plain struct. Take a void* or a tarsia::Tensor, or a pointer to bool, an integer, "
      "float, double, __half or __nv_bfloat16");
  static constexpr tarsia_type describe(int flags_) { return struct_type<T_>(flags_, 0); }
};
template <>
struct pointer<void, false> {
  static constexpr tarsia_type describe(int flags_) {
    return make_type(TARSIA_KIND_POINTER, tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1}, flags_);
  }
};
template <class T_>
struct arg<T_*, k_unsupported> {
  static constexpr tarsia_type describe() { return pointer<T_>::describe(0); }
  static T_* get(const tarsia_value& v_) { return static_cast<T_*>(v_.p); }
};
template <class T_>
struct arg<const T_*, k_unsupported> {
  static constexpr tarsia_type describe() { return pointer<T_>::describe(TARSIA_TYPE_CONST); }
  static const T_* get(const tarsia_value& v_) { return static_cast<const T_*>(v_.p); }
};
template <>
struct arg<const char*, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_STRING, tarsia_dtype{0, 0, 0}, TARSIA_TYPE_NO_NUL);
  }
  static const char* get(const tarsia_value& v_) { return v_.s; }
};
template <>
struct arg<CUstream_st*, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STREAM); }
  static CUstream_st* get(const tarsia_value& v_) { return static_cast<CUstream_st*>(v_.p); }
};

/// An S_ over `extent_` elements of type T_; 0: any number.
template <class S_, class T_, unsigned long extent_,
          bool is_element_ = dtype_of<typename remove_const<T_>::type>::code != TARSIA_ANY_DTYPE>
struct span_arg {
  static_assert(extent_ <= 65535, "tarsia: a span of a fixed size has 65535 elements at most");
  static constexpr tarsia_type describe() {
    return describe_of(
        pointer<typename remove_const<T_>::type>::describe(is_const<T_>::value ? int(TARSIA_TYPE_CONST) : 0));
  }
  static constexpr tarsia_type describe_of(tarsia_type t_) {
    return tarsia_type{uint8_t(TARSIA_KIND_SPAN), t_.flags, uint16_t(extent_), t_.dtype, nullptr};
  }
  static S_ get(const tarsia_value& v_) {
    const tarsia_tensor& t_ = *v_.t;
    uint64_t bytes_ = uint64_t(t_.dtype.bits) * t_.dtype.lanes / 8;
    for (int i_ = 0; i_ < t_.ndim; ++i_) bytes_ *= uint64_t(t_.shape[i_]);
    return S_(reinterpret_cast<T_*>(static_cast<char*>(t_.data) + t_.byte_offset), bytes_ / sizeof(T_));
  }
};

/// An S_ over plain structs.
template <class S_, class T_, unsigned long extent_>
struct span_arg<S_, T_, extent_, false> {
  static_assert(extent_ <= 255, "tarsia: a span of a fixed size has 255 structs at most");
  typedef typename remove_const<T_>::type plain;
  static_assert(is_plain<plain>::value,
                "tarsia: a function with a span of this type cannot be exported: it is no element type of a "
                "tensor, and no plain struct");
  static constexpr tarsia_type describe() {
    return struct_type<plain>(is_const<T_>::value ? int(TARSIA_TYPE_CONST) : 0, int(extent_));
  }
  static S_ get(const tarsia_value& v_) { return S_(static_cast<T_*>(v_.p), v_.size / sizeof(T_)); }
};

/// What a parameter that is a reference may be initialised from while the call lasts.
template <class T_>
struct lvalue {
  T_ value;
  operator T_&() { return value; }
};
/// A parameter that is a reference to what the callee may change, where that is a handle of something else.
template <class T_>
struct handle_reference {
  static constexpr tarsia_type describe() { return arg<T_>::describe(); }
  static lvalue<T_> get(const tarsia_value& v_) { return {arg<T_>::get(v_)}; }
};

template <class T_>
struct static_type {
  static const tarsia_type value;
};
template <class T_>
const tarsia_type static_type<T_>::value = arg<T_>::describe();

/// Types that may also be taken by const reference: all but pointers.
template <class T_>
struct by_reference {
  enum { value = 1 };
};
template <class T_>
struct by_reference<T_*> {
  enum { value = 0 };
};
template <class T_>
struct arg<const T_&, k_unsupported> : arg<T_> {
  static_assert(
      by_reference<T_>::value,
      "tarsia: a function with a reference parameter of this type cannot be exported: take it by value");
};
/// The parameter type of an element of a const optional or list. The callee does not write through it,
/// because it reads the element through a const reference.
template <class T_, int by_reference_ = by_reference<T_>::value>
struct const_element {
  typedef T_ type;
};
template <class T_>
struct const_element<T_, 1> {
  typedef const T_& type;
};

/// An O_ that is a T_ or nothing.
template <class O_, class T_>
struct optional_arg {
  static constexpr tarsia_type describe() { return add_flags(arg<T_>::describe(), TARSIA_TYPE_OPTIONAL); }
  static O_ get(const tarsia_value& v_) { return v_.kind == TARSIA_KIND_NONE ? O_() : O_(arg<T_>::get(v_)); }
};
template <class O_, class T_>
struct optional_reference_arg : optional_arg<O_, T_> {
  static constexpr tarsia_type describe() {
    return add_flags(arg<typename const_element<T_>::type>::describe(), TARSIA_TYPE_OPTIONAL);
  }
};
/// An L_ that is a list of T_.
template <class L_, class T_>
struct list_arg {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_LIST, tarsia_dtype{0, 0, 0}, 0, &static_type<T_>::value, 1);
  }
  static L_ get(const tarsia_value& v_) {
    L_ list_;
    list_.reserve(v_.size);
    for (uint32_t i_ = 0; i_ < v_.size; ++i_) list_.push_back(arg<T_>::get(v_.v[i_]));
    return list_;
  }
};
/// An A_ that is an array of n_ T_.
template <class A_, class T_, unsigned long n_>
struct array_arg {
  static_assert(n_ > 0 && n_ <= 65535, "tarsia: an array has 1 to 65535 items");
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_LIST, tarsia_dtype{0, 0, uint16_t(n_)}, 0, &static_type<T_>::value, 1);
  }
  static A_ get(const tarsia_value& v_) {
    A_ array_{};
    for (uint32_t i_ = 0; i_ < v_.size; ++i_) array_[i_] = arg<T_>::get(v_.v[i_]);
    return array_;
  }
};
template <class A_, class T_, unsigned long n_>
struct array_reference_arg : array_arg<A_, T_, n_> {
  static constexpr tarsia_type describe() {
    return array_arg<A_, typename const_element<T_>::type, n_>::describe();
  }
};
template <class L_, class T_>
struct list_reference_arg : list_arg<L_, T_> {
  static constexpr tarsia_type describe() {
    return list_arg<L_, typename const_element<T_>::type>::describe();
  }
};

// ---- results: describe() and put(value, result) ----

/// A result of type T. Specialisations have `describe()` and `put(value, result)`, which returns 0 or an
/// error code.
template <class T_, int class_ = scalar<T_>::value>
struct result {
  static_assert(
      is_plain<T_>::value,
      "tarsia: a function with a result of this type cannot be exported. Supported are void, bool, "
      "integers, enumerations, float, double, half types, const char*, std::string, std::string_view, "
      "std::complex, plain structs, pointers to a plain struct, tarsia::Tensor, and std::optional, "
      "std::vector, std::array, std::tuple, std::pair of these");
  static constexpr tarsia_type describe() { return struct_type<T_>(TARSIA_TYPE_CONST, 1); }
  static int32_t put(tarsia_value* r_, const T_& x_) {
    const int32_t code_ = host()->result_string(r_, reinterpret_cast<const char*>(&x_), sizeof(T_));
    return code_ ? code_ : (r_->kind = TARSIA_KIND_STRUCT, 0);
  }
};
/// What a pointer points to: one struct, which is copied, or nothing.
template <class T_>
struct result<T_*, k_unsupported> {
  static_assert(
      is_plain<typename remove_const<T_>::type>::value,
      "tarsia: a function with a result that is a pointer to this type cannot be exported: its length "
      "is unknown. Return a tarsia::Tensor or a std::vector");
  typedef result<typename remove_const<T_>::type> pointee;
  static constexpr tarsia_type describe() { return add_flags(pointee::describe(), TARSIA_TYPE_OPTIONAL); }
  static int32_t put(tarsia_value* r_, const T_* x_) { return x_ ? pointee::put(r_, *x_) : 0; }
};
template <>
struct result<void, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_NONE); }
};
template <class T_>
struct result<T_, k_bool> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) { return r_->i = x_, r_->kind = TARSIA_KIND_BOOL, 0; }
};
template <class T_>
struct result<T_, k_int> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->i = static_cast<int64_t>(x_), r_->kind = TARSIA_KIND_INT, 0;
  }
};
template <class T_>
struct result<T_, k_enum> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->i = static_cast<int64_t>(x_), r_->kind = TARSIA_KIND_INT, 0;
  }
};
template <class T_>
struct result<T_, k_float> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) { return r_->f = x_, r_->kind = TARSIA_KIND_FLOAT, 0; }
};
template <>
struct result<long double, k_unsupported> : arg<long double> {
  static int32_t put(tarsia_value* r_, long double x_) {
    return r_->f = static_cast<double>(x_), r_->kind = TARSIA_KIND_FLOAT, 0;
  }
};
template <class T_>
struct result<T_, k_small_float> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->f = static_cast<float>(x_), r_->kind = TARSIA_KIND_FLOAT, 0;
  }
};
template <>
struct result<const char*, k_unsupported> : arg<const char*> {
  static int32_t put(tarsia_value* r_, const char* x_) {
    return x_ ? host()->result_string(r_, x_, __builtin_strlen(x_)) : 0;
  }
};
template <>
struct result<char*, k_unsupported> : result<const char*> {};
template <class T_>
struct result<const T_, k_unsupported> : result<T_> {};
template <class T_>
struct result<T_&, k_unsupported> : result<typename remove_const<T_>::type> {};

template <class T_>
struct static_result_type {
  static const tarsia_type value;
};
template <class T_>
const tarsia_type static_result_type<T_>::value = result<T_>::describe();

template <class O_, class T_>
struct optional_result {
  static constexpr tarsia_type describe() { return add_flags(result<T_>::describe(), TARSIA_TYPE_OPTIONAL); }
  static int32_t put(tarsia_value* r_, O_ x_) { return x_ ? result<T_>::put(r_, *static_cast<O_&&>(x_)) : 0; }
};
template <class L_, class T_>
struct list_result {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_LIST, tarsia_dtype{0, 0, 0}, 0, &static_result_type<T_>::value, 1);
  }
  static int32_t put(tarsia_value* r_, L_ list_) {
    const uint32_t n_ = static_cast<uint32_t>(list_.size());
    tarsia_value* v_ = host()->result_values(n_);
    if (!v_) return TARSIA_OUT_OF_MEMORY;
    r_->v = v_, r_->size = n_, r_->kind = TARSIA_KIND_LIST;
    for (uint32_t i_ = 0; i_ < n_; ++i_)  // the cast moves; elements of vector<bool> are no references
      if (int32_t code_ = result<T_>::put(v_ + i_, static_cast<T_>(static_cast<moved<T_>>(list_[i_]))))
        return code_;
    return 0;
  }
};

// ---- the scope of a call ----

/// What must be set while a function with a T runs: an object of this type lives as long.
struct no_scope {};
template <class T_>
struct scope_of {
  typedef no_scope type;
};
template <class T_>
struct scope_of<const T_> : scope_of<T_> {};
template <class T_>
struct scope_of<T_&> : scope_of<T_> {};
/// The first of several types that is not no_scope.
template <class... T_>
struct first_scope {
  typedef no_scope type;
};
template <class H_, class... T_>
struct first_scope<H_, T_...> {
  typedef H_ type;
};
template <class... T_>
struct first_scope<no_scope, T_...> : first_scope<T_...> {};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#endif

// Types of attributes: how a C++ type is declared, how a value is converted to it, and how a default is
// stored.
//
// An attribute may be a number, a string, an enumeration, a std::optional or a std::vector, as a parameter of
// a function may (adapter.h). Beyond these, it may be a std::array, std::pair or std::tuple, or any type that
// operator>> reads.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/export.h>
#include <tarsia/tensor.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

inline tarsia_value make_value(tarsia_kind kind_) {
  tarsia_value v_ = tarsia_value();
  v_.kind = kind_;
  return v_;
}
/// Makes the value of a default. Lists and texts are copies, which free_value frees.
TARSIA_DETAIL_SUPPORT tarsia_value make_text(const char* text_, size_t n_) {
  tarsia_value v_ = make_value(TARSIA_KIND_STRING);
  char* copy_ = new char[n_ + 1];
  __builtin_memcpy(copy_, text_, n_);
  copy_[n_] = 0;
  v_.s = copy_;
  v_.size = static_cast<uint32_t>(n_);
  return v_;
}
TARSIA_DETAIL_SUPPORT tarsia_value make_values(tarsia_kind kind_, uint32_t n_) {
  tarsia_value v_ = make_value(kind_);
  v_.v = new tarsia_value[n_ + 1];
  v_.size = n_;
  return v_;
}

TARSIA_DETAIL_SUPPORT void free_value(const tarsia_value& v_) {
  if (v_.kind == TARSIA_KIND_STRING) delete[] v_.s;
  if (v_.kind != TARSIA_KIND_LIST && v_.kind != TARSIA_KIND_TUPLE) return;
  for (uint32_t i_ = 0; i_ < v_.size; ++i_) free_value(v_.v[i_]);
  delete[] v_.v;
}

/// An attribute of type T: `describe()`, `get(value)`, `default_of(x)`. `check()` is not null for types whose
/// text the author reads.
template <class T_, int class_ = scalar<T_>::value>
struct attribute_type;

template <class T_>
struct plain_attribute : arg<T_> {
  static constexpr int32_t (*check())(void*, const char*) { return nullptr; }
};
template <class T_>
struct attribute_type<T_, k_bool> : plain_attribute<T_> {
  static tarsia_value default_of(T_ x_) {
    tarsia_value v_ = make_value(TARSIA_KIND_BOOL);
    v_.i = x_;
    return v_;
  }
};
template <class T_>
struct attribute_type<T_, k_int> : plain_attribute<T_> {
  static tarsia_value default_of(T_ x_) {
    tarsia_value v_ = make_value(TARSIA_KIND_INT);
    v_.i = static_cast<int64_t>(x_), v_.size = T_(-1) < T_(0) ? TARSIA_SIGNED : TARSIA_UNSIGNED;
    return v_;
  }
};
template <class T_>
struct attribute_type<T_, k_enum> : plain_attribute<T_> {
  static tarsia_value default_of(T_ x_) {
    return attribute_type<int64_t>::default_of(static_cast<int64_t>(x_));
  }
};
template <class T_>
struct attribute_type<T_, k_float> : plain_attribute<T_> {
  static tarsia_value default_of(T_ x_) {
    tarsia_value v_ = make_value(TARSIA_KIND_FLOAT);
    v_.f = x_;
    return v_;
  }
};
template <class T_>
struct attribute_type<T_, k_small_float> : plain_attribute<T_> {
  static tarsia_value default_of(T_ x_) { return attribute_type<float>::default_of(static_cast<float>(x_)); }
};
template <>
struct attribute_type<const char*, k_unsupported> : plain_attribute<const char*> {
  static tarsia_value default_of(const char* x_) {
    return x_ ? make_text(x_, __builtin_strlen(x_)) : make_value(TARSIA_KIND_NONE);
  }
};
template <class T_, class A_>
struct attribute_type<std::basic_string<char, T_, A_>, k_unsupported>
    : plain_attribute<std::basic_string<char, T_, A_>> {
  static tarsia_value default_of(const std::basic_string<char, T_, A_>& x_) {
    return make_text(x_.data(), x_.size());
  }
};
template <class T_, class A_>
struct attribute_type<std::vector<T_, A_>, k_unsupported> {
  static constexpr int32_t (*check())(void*, const char*) { return nullptr; }
  static const tarsia_type* element() {
    static const tarsia_type element_ = attribute_type<T_>::describe();
    return &element_;
  }
  static tarsia_type describe() {
    return make_type(TARSIA_KIND_LIST, tarsia_dtype{0, 0, 0}, 0, element(), 1);
  }
  static std::vector<T_, A_> get(const tarsia_value& v_) {
    std::vector<T_, A_> list_;
    list_.reserve(v_.size);
    for (uint32_t i_ = 0; i_ < v_.size; ++i_) list_.push_back(attribute_type<T_>::get(v_.v[i_]));
    return list_;
  }
  static tarsia_value default_of(const std::vector<T_, A_>& x_) {
    tarsia_value v_ = make_values(TARSIA_KIND_LIST, static_cast<uint32_t>(x_.size()));
    for (uint32_t i_ = 0; i_ < v_.size; ++i_) v_.v[i_] = attribute_type<T_>::default_of(x_[i_]);
    return v_;
  }
};

#if __cplusplus >= 201703L
template <class T_>
struct attribute_type<std::optional<T_>, k_unsupported> {
  static constexpr int32_t (*check())(void*, const char*) { return attribute_type<T_>::check(); }
  static tarsia_type describe() { return add_flags(attribute_type<T_>::describe(), TARSIA_TYPE_OPTIONAL); }
  static std::optional<T_> get(const tarsia_value& v_) {
    if (v_.kind == TARSIA_KIND_NONE) return std::optional<T_>();
    return std::optional<T_>(attribute_type<T_>::get(v_));
  }
  static tarsia_value default_of(const std::optional<T_>& x_) {
    return x_ ? attribute_type<T_>::default_of(*x_) : make_value(TARSIA_KIND_NONE);
  }
};
#endif

/// A tuple has as many values as elements, each of its own type.
template <class... T_>
struct tuple_attribute {
  static constexpr int32_t (*check())(void*, const char*) { return nullptr; }
  static tarsia_type describe() {
    static const tarsia_type elements_[] = {attribute_type<T_>::describe()...};
    return make_type(TARSIA_KIND_TUPLE, tarsia_dtype{0, 0, 0}, 0, elements_, sizeof...(T_));
  }
};
template <class A_, class B_>
struct attribute_type<std::pair<A_, B_>, k_unsupported> : tuple_attribute<A_, B_> {
  static std::pair<A_, B_> get(const tarsia_value& v_) {
    return std::pair<A_, B_>(attribute_type<A_>::get(v_.v[0]), attribute_type<B_>::get(v_.v[1]));
  }
  static tarsia_value default_of(const std::pair<A_, B_>& x_) {
    tarsia_value v_ = make_values(TARSIA_KIND_TUPLE, 2);
    v_.v[0] = attribute_type<A_>::default_of(x_.first);
    v_.v[1] = attribute_type<B_>::default_of(x_.second);
    return v_;
  }
};
#if defined(_GLIBCXX_TUPLE) || !defined(TARSIA_STD_DECLARED)
template <class... T_>
struct attribute_type<std::tuple<T_...>, k_unsupported> : tuple_attribute<T_...> {
  static std::tuple<T_...> get(const tarsia_value& v_) {
    return get(v_, typename make_indices<sizeof...(T_)>::type());
  }
  static tarsia_value default_of(const std::tuple<T_...>& x_) {
    return default_of(x_, typename make_indices<sizeof...(T_)>::type());
  }

 private:
  template <unsigned... i_>
  static std::tuple<T_...> get(const tarsia_value& v_, indices<i_...>) {
    return std::tuple<T_...>(attribute_type<T_>::get(v_.v[i_])...);
  }
  template <class X_, unsigned... i_>
  static tarsia_value default_of(const X_& x_, indices<i_...>) {
    tarsia_value v_ = make_values(TARSIA_KIND_TUPLE, sizeof...(T_));
    const tarsia_value all_[] = {attribute_type<T_>::default_of(std::get<i_>(x_))...};
    for (uint32_t k_ = 0; k_ < v_.size; ++k_) v_.v[k_] = all_[k_];
    return v_;
  }
};
#else
template <class... T_>
struct attribute_type<std::tuple<T_...>, k_unsupported> {
  static_assert(never<tuple_attribute<T_...>>::value,
                "tarsia: an attribute that is a std::tuple needs <tuple> before <tarsia/op.h>");
};
#endif
template <class T_, decltype(sizeof(0)) n_>
struct attribute_type<std::array<T_, n_>, k_unsupported> {
  static constexpr int32_t (*check())(void*, const char*) { return nullptr; }
  static tarsia_type describe() {
    static tarsia_type elements_[n_];
    for (tarsia_type& element_ : elements_) element_ = attribute_type<T_>::describe();
    return make_type(TARSIA_KIND_TUPLE, tarsia_dtype{0, 0, 0}, 0, elements_, n_);
  }
  static std::array<T_, n_> get(const tarsia_value& v_) {
    std::array<T_, n_> x_;
    for (uint32_t i_ = 0; i_ < n_; ++i_) x_[i_] = attribute_type<T_>::get(v_.v[i_]);
    return x_;
  }
  static tarsia_value default_of(const std::array<T_, n_>& x_) {
    tarsia_value v_ = make_values(TARSIA_KIND_TUPLE, n_);
    for (uint32_t i_ = 0; i_ < n_; ++i_) v_.v[i_] = attribute_type<T_>::default_of(x_[i_]);
    return v_;
  }
};

/// Any other type: operator>> reads it from the caller's text, operator<< writes its default. Both need
/// <sstream>.
template <class T_, int class_>
struct attribute_type {
  static void read_by_author();
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STRING); }
  static constexpr int32_t (*check())(void*, const char*) { return &can_read<char>; }
  template <class C_ = char>
  static T_ get(const tarsia_value& v_) {
    T_ x_;
    if (!read<C_>(v_.s, x_)) throw ValueError(Message("the text '") << v_.s << "' cannot be read");
    return x_;
  }
  template <class C_ = char>
  static tarsia_value default_of(const T_& x_) {
    std::basic_ostringstream<C_, std::char_traits<C_>, std::allocator<C_>> stream_;
    stream_ << x_;
    const auto text_ = stream_.str();
    return make_text(text_.data(), text_.size());
  }

 private:
  template <class C_>
  static bool read(const char* text_, T_& x_) {
    std::basic_istringstream<C_, std::char_traits<C_>, std::allocator<C_>> stream_(text_);
    C_ more_;
    return static_cast<bool>(stream_ >> x_) && !(stream_ >> more_);
  }
  template <class C_>
  static int32_t can_read(void*, const char* text_) {
    try {
      T_ x_;
      return read<C_>(text_, x_) ? 0 : 1;
    } catch (...) {
      return 1;
    }
  }
};

/// The parameters with the members' own defaults.
template <class P_>
const P_& default_params() {
  static const P_ params_ = P_();
  return params_;
}
template <class T_>
int32_t set_member(void* member_, const tarsia_value* value_) {
  // If only the author can write a type, the default is the member's own.
  if (value_->kind == TARSIA_KIND_NONE && !(attribute_type<T_>::describe().flags & TARSIA_TYPE_OPTIONAL))
    return 0;
  try {
    *static_cast<T_*>(member_) = attribute_type<T_>::get(*value_);
    return 0;
  } catch (...) {
    return host()->capture_exception();
  }
}

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

#include <tarsia/detail/macros_pop.h>

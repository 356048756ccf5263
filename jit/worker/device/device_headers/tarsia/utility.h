// <utility>; std::move and std::forward are NVRTC's own.
#pragma once
#include <tarsia/type_traits.h>

// libcu++ declares std::tuple_size as well, each of its versions in its own way.
#ifdef TARSIA_WITH_CCCL
#include <cuda/std/__tuple_dir/tuple_element.h>
#include <cuda/std/__tuple_dir/tuple_size.h>
#if __has_include(<cuda/std/__tuple_dir/structured_bindings.h>)
#include <cuda/std/__tuple_dir/structured_bindings.h>
#endif
#endif

namespace std {

template <class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void swap(T& a, T& b) {
  T t = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(t);
}
template <class T, size_t n>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void swap(T (&a)[n], T (&b)[n]) {
  for (size_t i = 0; i < n; ++i) swap(a[i], b[i]);
}
template <class T, class U = T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T exchange(T& object, U&& value) {
  T old = static_cast<T&&>(object);
  object = static_cast<U&&>(value);
  return old;
}
template <class T>
TARSIA_STD_FN constexpr const T& as_const(T& value) noexcept {
  return value;
}
template <class T>
void as_const(const T&&) = delete;

template <class T, class U>
struct pair {
  typedef T first_type;
  typedef U second_type;
  T first;
  U second;
  TARSIA_STD_MEMBER constexpr pair() : first(), second() {}
  TARSIA_STD_MEMBER constexpr pair(const T& a, const U& b) : first(a), second(b) {}
  template <class A, class B,
            class = enable_if_t<is_constructible<T, A&&>::value && is_constructible<U, B&&>::value>>
  TARSIA_STD_MEMBER constexpr pair(A&& a, B&& b) : first(static_cast<A&&>(a)), second(static_cast<B&&>(b)) {}
  template <class A, class B>
  TARSIA_STD_MEMBER constexpr pair(const pair<A, B>& other) : first(other.first), second(other.second) {}
  pair(const pair&) = default;
  pair(pair&&) = default;
  pair& operator=(const pair&) = default;
  pair& operator=(pair&&) = default;
};
#if __cplusplus >= 201703L
template <class T, class U>
TARSIA_STD_MEMBER pair(T, U) -> pair<T, U>;
#endif
template <class T, class U>
TARSIA_STD_FN constexpr pair<decay_t<T>, decay_t<U>> make_pair(T&& a, U&& b) {
  return pair<decay_t<T>, decay_t<U>>(static_cast<T&&>(a), static_cast<U&&>(b));
}
template <class T, class U>
TARSIA_STD_FN constexpr bool operator==(const pair<T, U>& a, const pair<T, U>& b) {
  return a.first == b.first && a.second == b.second;
}
template <class T, class U>
TARSIA_STD_FN constexpr bool operator!=(const pair<T, U>& a, const pair<T, U>& b) {
  return !(a == b);
}
template <class T, class U>
TARSIA_STD_FN constexpr bool operator<(const pair<T, U>& a, const pair<T, U>& b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}

#ifndef TARSIA_WITH_CCCL
template <class T>
struct tuple_size;
template <size_t i, class T>
struct tuple_element;
#endif
template <size_t i, class T>
using tuple_element_t = typename tuple_element<i, T>::type;
template <class T, class U>
struct tuple_size<pair<T, U>> : integral_constant<size_t, 2> {};
template <class T, class U>
struct tuple_element<0, pair<T, U>> {
  typedef T type;
};
template <class T, class U>
struct tuple_element<1, pair<T, U>> {
  typedef U type;
};
template <size_t i>
struct tarsia_pair_get;
template <>
struct tarsia_pair_get<0> {
  template <class P>
  TARSIA_STD_MEMBER static constexpr auto get(P& p) -> decltype((p.first)) {
    return p.first;
  }
};
template <>
struct tarsia_pair_get<1> {
  template <class P>
  TARSIA_STD_MEMBER static constexpr auto get(P& p) -> decltype((p.second)) {
    return p.second;
  }
};
template <size_t i, class T, class U>
TARSIA_STD_FN constexpr tuple_element_t<i, pair<T, U>>& get(pair<T, U>& p) noexcept {
  return tarsia_pair_get<i>::get(p);
}
template <size_t i, class T, class U>
TARSIA_STD_FN constexpr const tuple_element_t<i, pair<T, U>>& get(const pair<T, U>& p) noexcept {
  return tarsia_pair_get<i>::get(p);
}
template <size_t i, class T, class U>
TARSIA_STD_FN constexpr tuple_element_t<i, pair<T, U>>&& get(pair<T, U>&& p) noexcept {
  return static_cast<tuple_element_t<i, pair<T, U>>&&>(tarsia_pair_get<i>::get(p));
}

template <class T, T... i>
struct integer_sequence {
  typedef T value_type;
  TARSIA_STD_MEMBER static constexpr size_t size() noexcept { return sizeof...(i); }
};
template <size_t... i>
using index_sequence = integer_sequence<size_t, i...>;
template <class A, class B, class T, T offset>
struct tarsia_join;
template <class T, T... i, T... j, T offset>
struct tarsia_join<integer_sequence<T, i...>, integer_sequence<T, j...>, T, offset> {
  typedef integer_sequence<T, i..., (offset + j)...> type;
};
template <class T, unsigned long long n>
struct tarsia_sequence {
  typedef
      typename tarsia_join<typename tarsia_sequence<T, n / 2>::type,
                           typename tarsia_sequence<T, n - n / 2>::type, T, static_cast<T>(n / 2)>::type type;
};
template <class T>
struct tarsia_sequence<T, 0> {
  typedef integer_sequence<T> type;
};
template <class T>
struct tarsia_sequence<T, 1> {
  typedef integer_sequence<T, 0> type;
};
template <class T, T n>
using make_integer_sequence = typename tarsia_sequence<T, static_cast<unsigned long long>(n)>::type;
template <size_t n>
using make_index_sequence = make_integer_sequence<size_t, n>;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;

template <class To, class From>
TARSIA_STD_FN constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

struct piecewise_construct_t {};
struct in_place_t {};

}  // namespace std

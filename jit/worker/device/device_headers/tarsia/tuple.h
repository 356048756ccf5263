// <tuple>, laid out as libstdc++ does it (the last element first), since tuples are passed to kernels.
#pragma once
#include <tarsia/utility.h>

namespace std {

template <size_t i, class T, bool = __is_empty(T) && !__is_final(T)>
struct tarsia_leaf {
  T value;
  TARSIA_STD_MEMBER constexpr tarsia_leaf() : value() {}
  template <class U>
  TARSIA_STD_MEMBER constexpr explicit tarsia_leaf(U&& u, int) : value(static_cast<U&&>(u)) {}
  TARSIA_STD_MEMBER static TARSIA_STD_CONSTEXPR T& of(tarsia_leaf& leaf) noexcept { return leaf.value; }
  TARSIA_STD_MEMBER static constexpr const T& of(const tarsia_leaf& leaf) noexcept { return leaf.value; }
};
template <size_t i, class T>
struct tarsia_leaf<i, T, true> : T {
  TARSIA_STD_MEMBER constexpr tarsia_leaf() : T() {}
  template <class U>
  TARSIA_STD_MEMBER constexpr explicit tarsia_leaf(U&& u, int) : T(static_cast<U&&>(u)) {}
  TARSIA_STD_MEMBER static TARSIA_STD_CONSTEXPR T& of(tarsia_leaf& leaf) noexcept { return leaf; }
  TARSIA_STD_MEMBER static constexpr const T& of(const tarsia_leaf& leaf) noexcept { return leaf; }
};

template <size_t i, class... T>
struct tarsia_tuple {};
template <size_t i, class T, class... R>
struct tarsia_tuple<i, T, R...> : tarsia_tuple<i + 1, R...>, tarsia_leaf<i, T> {
  typedef tarsia_tuple<i + 1, R...> rest;
  typedef tarsia_leaf<i, T> leaf;
  constexpr tarsia_tuple() = default;
  template <class U, class... V>
  TARSIA_STD_MEMBER constexpr explicit tarsia_tuple(int, U&& u, V&&... v)
      : rest(0, static_cast<V&&>(v)...), leaf(static_cast<U&&>(u), 0) {}
};
template <size_t i, class T>
struct tarsia_tuple<i, T> : tarsia_leaf<i, T> {
  typedef tarsia_leaf<i, T> leaf;
  constexpr tarsia_tuple() = default;
  template <class U>
  TARSIA_STD_MEMBER constexpr explicit tarsia_tuple(int, U&& u) : leaf(static_cast<U&&>(u), 0) {}
};

template <class... T>
class tuple : public tarsia_tuple<0, T...> {
 public:
  constexpr tuple() = default;
  template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T) &&
                                            conjunction<is_constructible<T, U&&>...>::value>>
  TARSIA_STD_MEMBER constexpr tuple(U&&... u) : tarsia_tuple<0, T...>(0, static_cast<U&&>(u)...) {}
  template <class A, class B>
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR tuple& operator=(const pair<A, B>& p);
  tuple(const tuple&) = default;
  tuple(tuple&&) = default;
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR tuple& operator=(const tuple& other) {
    assign(other, index_sequence_for<T...>());
    return *this;
  }

 private:
  template <size_t... i>
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR void assign(const tuple& other, index_sequence<i...>);
};
template <>
class tuple<> {};
#if __cplusplus >= 201703L
template <class... T>
TARSIA_STD_MEMBER tuple(T...) -> tuple<T...>;
#endif

template <class... T>
struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
#ifndef _CCCL_FREESTANDING  // newer versions of libcu++ define it
// Of a class that is no tuple it must stay incomplete: structured bindings ask for it.
template <class T, size_t = tuple_size<T>::value>
using tarsia_sized = T;
template <class T>
struct tuple_size<const tarsia_sized<T>> : tuple_size<T> {};
template <size_t i, class T>
struct tuple_element<i, const T> {
  typedef const typename tuple_element<i, T>::type type;
};
#endif
template <class T, class... R>
struct tuple_element<0, tuple<T, R...>> {
  typedef T type;
};
template <size_t i, class T, class... R>
struct tuple_element<i, tuple<T, R...>> : tuple_element<i - 1, tuple<R...>> {};
#if __cplusplus >= 201703L
template <class T>
inline constexpr size_t tuple_size_v = tuple_size<T>::value;
#endif

template <size_t i, class... T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR tuple_element_t<i, tuple<T...>>& get(tuple<T...>& t) noexcept {
  return tarsia_leaf<i, tuple_element_t<i, tuple<T...>>>::of(t);
}
template <size_t i, class... T>
TARSIA_STD_FN constexpr const tuple_element_t<i, tuple<T...>>& get(const tuple<T...>& t) noexcept {
  return tarsia_leaf<i, tuple_element_t<i, tuple<T...>>>::of(t);
}
template <size_t i, class... T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR tuple_element_t<i, tuple<T...>>&& get(tuple<T...>&& t) noexcept {
  typedef tuple_element_t<i, tuple<T...>> element;
  return static_cast<element&&>(tarsia_leaf<i, element>::of(t));
}
template <class... T>
template <size_t... i>
TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR void tuple<T...>::assign(const tuple& other, index_sequence<i...>) {
  int each[] = {(get<i>(*this) = get<i>(other), 0)..., 0};
  (void)each;
}
template <class... T>
template <class A, class B>
TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR tuple<T...>& tuple<T...>::operator=(const pair<A, B>& p) {
  get<0>(*this) = p.first;
  get<1>(*this) = p.second;
  return *this;
}
template <class... T>
TARSIA_STD_FN constexpr tuple<decay_t<T>...> make_tuple(T&&... t) {
  return tuple<decay_t<T>...>(static_cast<T&&>(t)...);
}
template <class... T>
TARSIA_STD_FN constexpr tuple<T&...> tie(T&... t) noexcept {
  return tuple<T&...>(t...);
}
template <class... T>
TARSIA_STD_FN constexpr tuple<T&&...> forward_as_tuple(T&&... t) noexcept {
  return tuple<T&&...>(static_cast<T&&>(t)...);
}
#if __cplusplus >= 201402L
template <class F, class T, size_t... i>
TARSIA_STD_FN constexpr decltype(auto) tarsia_apply(F&& f, T&& t, index_sequence<i...>) {
  return f(get<i>(static_cast<T&&>(t))...);
}
template <class F, class T>
TARSIA_STD_FN constexpr decltype(auto) apply(F&& f, T&& t) {
  return tarsia_apply(static_cast<F&&>(f), static_cast<T&&>(t),
                      make_index_sequence<tuple_size<remove_reference_t<T>>::value>());
}
#endif

}  // namespace std

// The traits of <type_traits> that few sources name.
#pragma once
#include <tarsia/type_traits.h>

namespace std {

#define TARSIA_STD_ASSIGNABLE(what)                                                          \
  TARSIA_STD_BUILTIN(is_##what##_copy_assignable,                                            \
                     __is_##what##_assignable(typename add_lvalue_reference<T>::type,        \
                                              typename add_lvalue_reference<const T>::type)) \
  TARSIA_STD_BUILTIN(is_##what##_move_assignable,                                            \
                     __is_##what##_assignable(typename add_lvalue_reference<T>::type,        \
                                              typename add_rvalue_reference<T>::type))       \
  template <class T, class U>                                                                \
  struct is_##what##_assignable : bool_constant<__is_##what##_assignable(T, U)> {};
TARSIA_STD_ASSIGNABLE(trivially)
TARSIA_STD_ASSIGNABLE(nothrow)
#undef TARSIA_STD_ASSIGNABLE
TARSIA_STD_BUILTIN(is_scoped_enum, __is_enum(T) && !__is_convertible_to(T, int))
#if __cplusplus >= 201703L
TARSIA_STD_BUILTIN(is_aggregate, __is_aggregate(remove_cv_t<T>))
TARSIA_STD_BUILTIN(has_unique_object_representations,
                   __has_unique_object_representations(remove_cv_t<remove_all_extents_t<T>>))
#endif
template <class>
struct is_bounded_array : false_type {};
template <class T, size_t n>
struct is_bounded_array<T[n]> : true_type {};
template <class>
struct is_unbounded_array : false_type {};
template <class T>
struct is_unbounded_array<T[]> : true_type {};
TARSIA_STD_BUILTIN(is_destructible, __is_destructible(T))
TARSIA_STD_BUILTIN(is_nothrow_destructible, __is_nothrow_destructible(T))

template <size_t size, class... T>
struct aligned_union;
template <size_t size>
struct aligned_union<size> {
  static constexpr size_t alignment_value = 1, tarsia_size = size;
};
template <size_t size, class T, class... R>
struct aligned_union<size, T, R...> {
  typedef aligned_union<size, R...> rest;
  static constexpr size_t alignment_value = alignof(T) > rest::alignment_value ? alignof(T)
                                                                               : rest::alignment_value,
                          tarsia_size = sizeof(T) > rest::tarsia_size ? sizeof(T) : rest::tarsia_size;
  typedef typename aligned_storage<tarsia_size, alignment_value>::type type;
};
template <size_t size, class... T>
using aligned_union_t = typename aligned_union<size, T...>::type;

template <class, class F, class... A>
struct tarsia_nothrow_call : false_type {};
template <class F, class... A>
struct tarsia_nothrow_call<void_t<decltype(declval<F>()(declval<A>()...))>, F, A...>
    : bool_constant<noexcept(declval<F>()(declval<A>()...))> {};
template <class F, class... A>
struct is_nothrow_invocable : tarsia_nothrow_call<void, F, A...> {};
template <class R, class Result, bool = Result::ok>
struct tarsia_invocable_r : false_type {};
template <class R, class Result>
struct tarsia_invocable_r<R, Result, true>
    : bool_constant<is_void<R>::value || is_convertible<typename Result::type, R>::value> {};
template <class R, class F, class... A>
struct is_invocable_r : tarsia_invocable_r<R, tarsia_invoke_result<void, F, A...>> {};
template <class R, class F, class... A>
struct is_nothrow_invocable_r
    : bool_constant<is_invocable_r<R, F, A...>::value && is_nothrow_invocable<F, A...>::value> {};

#if __cplusplus >= 201402L
TARSIA_STD_V(is_literal_type)
TARSIA_STD_V(has_virtual_destructor)
TARSIA_STD_V(is_member_function_pointer)
TARSIA_STD_V(is_member_object_pointer)
TARSIA_STD_V(is_nothrow_default_constructible)
TARSIA_STD_V(is_nothrow_copy_constructible)
TARSIA_STD_V(is_nothrow_move_constructible)
TARSIA_STD_V(is_nothrow_copy_assignable)
TARSIA_STD_V(is_nothrow_move_assignable)
TARSIA_STD_V(is_trivially_copy_constructible)
TARSIA_STD_V(is_trivially_move_constructible)
TARSIA_STD_V(is_trivially_copy_assignable)
TARSIA_STD_V(is_trivially_move_assignable)
TARSIA_STD_V(is_destructible)
TARSIA_STD_V(is_nothrow_destructible)
TARSIA_STD_V(is_bounded_array)
TARSIA_STD_V(is_unbounded_array)
TARSIA_STD_V(is_scoped_enum)
#if __cplusplus >= 201703L
TARSIA_STD_V(is_aggregate)
TARSIA_STD_V(has_unique_object_representations)
#endif
TARSIA_STD_VN(is_trivially_assignable)
TARSIA_STD_VN(is_nothrow_assignable)
TARSIA_STD_VN(is_trivially_constructible)
TARSIA_STD_VN(is_nothrow_invocable)
TARSIA_STD_VN(is_invocable_r)
TARSIA_STD_VN(is_nothrow_invocable_r)
template <class T>
TARSIA_STD_VARIABLE size_t alignment_of_v = alignof(T);
#endif

}  // namespace std

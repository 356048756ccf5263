// <type_traits>, by the compiler's builtins.
#pragma once
#include <tarsia/config.h>

namespace std {

template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  TARSIA_STD_MEMBER constexpr operator value_type() const noexcept { return v; }
  TARSIA_STD_MEMBER constexpr value_type operator()() const noexcept { return v; }
};
template <bool v>
using bool_constant = integral_constant<bool, v>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;

template <bool, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool b, class T = void>
using enable_if_t = typename enable_if<b, T>::type;
template <bool, class T, class>
struct conditional {
  typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
  typedef F type;
};
template <bool b, class T, class F>
using conditional_t = typename conditional<b, T, F>::type;
template <class...>
struct tarsia_void {
  typedef void type;
};
template <class... T>
using void_t = typename tarsia_void<T...>::type;
template <class T>
struct type_identity {
  typedef T type;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

template <class T, class U>
struct is_same : false_type {};
template <class T>
struct is_same<T, T> : true_type {};

#define TARSIA_STD_TRANSFORM(name, from, to) \
  template <class T>                         \
  struct name {                              \
    typedef T type;                          \
  };                                         \
  template <class T>                         \
  struct name<from> {                        \
    typedef to type;                         \
  };                                         \
  template <class T>                         \
  using name##_t = typename name<T>::type;
TARSIA_STD_TRANSFORM(remove_const, const T, T)
TARSIA_STD_TRANSFORM(remove_volatile, volatile T, T)
TARSIA_STD_TRANSFORM(remove_extent, T[], T)
#undef TARSIA_STD_TRANSFORM
template <class T, size_t n>
struct remove_extent<T[n]> {
  typedef T type;
};
template <class T>
struct remove_all_extents {
  typedef T type;
};
template <class T>
struct remove_all_extents<T[]> {
  typedef typename remove_all_extents<T>::type type;
};
template <class T, size_t n>
struct remove_all_extents<T[n]> {
  typedef typename remove_all_extents<T>::type type;
};
template <class T>
using remove_all_extents_t = typename remove_all_extents<T>::type;
template <class T>
struct remove_cv {
  typedef remove_const_t<remove_volatile_t<T>> type;
};
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
struct remove_reference {
  typedef T type;
};
template <class T>
struct remove_reference<T&> {
  typedef T type;
};
template <class T>
struct remove_reference<T&&> {
  typedef T type;
};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
struct remove_cvref {
  typedef remove_cv_t<remove_reference_t<T>> type;
};
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
struct tarsia_remove_pointer {
  typedef T type;
};
template <class T>
struct tarsia_remove_pointer<T*> {
  typedef T type;
};
template <class T>
struct remove_pointer {
  typedef typename conditional<
      is_same<typename tarsia_remove_pointer<remove_cv_t<T>>::type, remove_cv_t<T>>::value, T,
      typename tarsia_remove_pointer<remove_cv_t<T>>::type>::type type;
};
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
struct add_const {
  typedef const T type;
};
template <class T>
struct add_volatile {
  typedef volatile T type;
};
template <class T>
struct add_cv {
  typedef const volatile T type;
};
template <class T>
using add_const_t = const T;
template <class T>
using add_volatile_t = volatile T;
template <class T>
using add_cv_t = const volatile T;

template <class T, class = void>
struct tarsia_references {
  typedef T lvalue;
  typedef T rvalue;
};
template <class T>
struct tarsia_references<T, void_t<T&>> {
  typedef T& lvalue;
  typedef T&& rvalue;
};
template <class T>
struct add_lvalue_reference {
  typedef typename tarsia_references<T>::lvalue type;
};
template <class T>
struct add_rvalue_reference {
  typedef typename tarsia_references<T>::rvalue type;
};
template <class T>
using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T>
using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T>
TARSIA_STD_MEMBER typename add_rvalue_reference<T>::type declval() noexcept;
template <class T>
struct add_pointer {
  typedef remove_reference_t<T>* type;
};
template <class T>
using add_pointer_t = typename add_pointer<T>::type;

template <class>
struct is_lvalue_reference : false_type {};
template <class T>
struct is_lvalue_reference<T&> : true_type {};
template <class>
struct is_rvalue_reference : false_type {};
template <class T>
struct is_rvalue_reference<T&&> : true_type {};
template <class T>
struct is_reference : bool_constant<is_lvalue_reference<T>::value || is_rvalue_reference<T>::value> {};
template <class>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class>
struct is_volatile : false_type {};
template <class T>
struct is_volatile<volatile T> : true_type {};
template <class>
struct is_array : false_type {};
template <class T>
struct is_array<T[]> : true_type {};
template <class T, size_t n>
struct is_array<T[n]> : true_type {};
template <class>
struct tarsia_is_pointer : false_type {};
template <class T>
struct tarsia_is_pointer<T*> : true_type {};
template <class T>
struct is_pointer : tarsia_is_pointer<remove_cv_t<T>> {};
template <class T>
struct is_void : is_same<remove_cv_t<T>, void> {};
template <class T>
struct is_null_pointer : is_same<remove_cv_t<T>, nullptr_t> {};

template <class>
struct tarsia_is_integral : false_type {};
template <class>
struct tarsia_is_floating : false_type {};
#define TARSIA_STD_INTEGRAL(type) \
  template <>                     \
  struct tarsia_is_integral<type> : true_type {};
TARSIA_STD_INTEGRAL(bool)
TARSIA_STD_INTEGRAL(char)
TARSIA_STD_INTEGRAL(signed char)
TARSIA_STD_INTEGRAL(unsigned char)
TARSIA_STD_INTEGRAL(wchar_t)
TARSIA_STD_INTEGRAL(char16_t)
TARSIA_STD_INTEGRAL(char32_t)
TARSIA_STD_INTEGRAL(short)
TARSIA_STD_INTEGRAL(unsigned short)
TARSIA_STD_INTEGRAL(int)
TARSIA_STD_INTEGRAL(unsigned)
TARSIA_STD_INTEGRAL(long)
TARSIA_STD_INTEGRAL(unsigned long)
TARSIA_STD_INTEGRAL(long long)
TARSIA_STD_INTEGRAL(unsigned long long)
#ifdef __CUDACC_RTC_INT128__
TARSIA_STD_INTEGRAL(__int128)
TARSIA_STD_INTEGRAL(unsigned __int128)
#endif
#undef TARSIA_STD_INTEGRAL
template <>
struct tarsia_is_floating<float> : true_type {};
template <>
struct tarsia_is_floating<double> : true_type {};
template <>
struct tarsia_is_floating<long double> : true_type {};
template <class T>
struct is_integral : tarsia_is_integral<remove_cv_t<T>> {};
template <class T>
struct is_floating_point : tarsia_is_floating<remove_cv_t<T>> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
struct is_fundamental
    : bool_constant<is_arithmetic<T>::value || is_void<T>::value || is_null_pointer<T>::value> {};
template <class T>
struct is_compound : bool_constant<!is_fundamental<T>::value> {};
template <class T, bool = is_arithmetic<T>::value>
struct tarsia_sign {
  static constexpr bool is_signed = T(-1) < T(0), is_unsigned = !is_signed;
};
template <class T>
struct tarsia_sign<T, false> {
  static constexpr bool is_signed = false, is_unsigned = false;
};
template <class T>
struct is_signed : bool_constant<tarsia_sign<remove_cv_t<T>>::is_signed> {};
template <class T>
struct is_unsigned : bool_constant<tarsia_sign<remove_cv_t<T>>::is_unsigned> {};

TARSIA_STD_BUILTIN(is_enum, __is_enum(T))
TARSIA_STD_BUILTIN(is_union, __is_union(T))
TARSIA_STD_BUILTIN(is_class, __is_class(T))
TARSIA_STD_BUILTIN(is_empty, __is_empty(T))
TARSIA_STD_BUILTIN(is_final, __is_final(T))
TARSIA_STD_BUILTIN(is_abstract, __is_abstract(T))
TARSIA_STD_BUILTIN(is_polymorphic, __is_polymorphic(T))
TARSIA_STD_BUILTIN(is_trivial, __is_trivial(T))
TARSIA_STD_BUILTIN(is_pod, __is_pod(T))
TARSIA_STD_BUILTIN(is_standard_layout, __is_standard_layout(T))
TARSIA_STD_BUILTIN(is_trivially_copyable, __is_trivially_copyable(T))
TARSIA_STD_BUILTIN(is_literal_type, __is_literal_type(T))
TARSIA_STD_BUILTIN(has_virtual_destructor, __has_virtual_destructor(T))
TARSIA_STD_BUILTIN(is_trivially_destructible, __is_trivially_destructible(T))
TARSIA_STD_BUILTIN(is_default_constructible, __is_constructible(T))
TARSIA_STD_BUILTIN(is_copy_constructible, __is_constructible(T, typename add_lvalue_reference<const T>::type))
TARSIA_STD_BUILTIN(is_move_constructible, __is_constructible(T, typename add_rvalue_reference<T>::type))
TARSIA_STD_BUILTIN(is_copy_assignable, __is_assignable(typename add_lvalue_reference<T>::type,
                                                       typename add_lvalue_reference<const T>::type))
TARSIA_STD_BUILTIN(is_move_assignable, __is_assignable(typename add_lvalue_reference<T>::type,
                                                       typename add_rvalue_reference<T>::type))
TARSIA_STD_BUILTIN(is_trivially_default_constructible, __is_trivially_constructible(T))
TARSIA_STD_BUILTIN(is_trivially_copy_constructible,
                   __is_trivially_constructible(T, typename add_lvalue_reference<const T>::type))
TARSIA_STD_BUILTIN(is_trivially_move_constructible,
                   __is_trivially_constructible(T, typename add_rvalue_reference<T>::type))
TARSIA_STD_BUILTIN(is_nothrow_default_constructible, __is_nothrow_constructible(T))
TARSIA_STD_BUILTIN(is_nothrow_copy_constructible,
                   __is_nothrow_constructible(T, typename add_lvalue_reference<const T>::type))
TARSIA_STD_BUILTIN(is_nothrow_move_constructible,
                   __is_nothrow_constructible(T, typename add_rvalue_reference<T>::type))
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
struct is_trivially_constructible : bool_constant<__is_trivially_constructible(T, A...)> {};
template <class T, class... A>
struct is_nothrow_constructible : bool_constant<__is_nothrow_constructible(T, A...)> {};
template <class T, class U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class B, class D>
struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};

template <class T>
struct is_function : bool_constant<!is_const<const T>::value && !is_reference<T>::value> {};
template <class T>
struct is_object : bool_constant<!is_function<T>::value && !is_reference<T>::value && !is_void<T>::value> {};
template <class>
struct tarsia_is_member : false_type {
  static constexpr bool function = false;
};
template <class T, class C>
struct tarsia_is_member<T C::*> : true_type {
  static constexpr bool function = is_function<T>::value;
};
template <class T>
struct is_member_pointer : bool_constant<tarsia_is_member<remove_cv_t<T>>::value> {};
template <class T>
struct is_member_function_pointer : bool_constant<tarsia_is_member<remove_cv_t<T>>::function> {};
template <class T>
struct is_member_object_pointer
    : bool_constant<is_member_pointer<T>::value && !is_member_function_pointer<T>::value> {};
template <class T>
struct is_scalar : bool_constant<is_arithmetic<T>::value || is_pointer<T>::value || __is_enum(T) ||
                                 is_null_pointer<T>::value || is_member_pointer<T>::value> {};

template <class T>
struct rank : integral_constant<size_t, 0> {};
template <class T>
struct rank<T[]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, size_t n>
struct rank<T[n]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, unsigned i = 0>
struct extent : integral_constant<size_t, 0> {};
template <class T, size_t n>
struct extent<T[n], 0> : integral_constant<size_t, n> {};
template <class T, size_t n, unsigned i>
struct extent<T[n], i> : extent<T, i - 1> {};
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T>
struct underlying_type {
  typedef __underlying_type(T) type;
};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
template <size_t size, size_t align = 16>
struct aligned_storage {
  struct type {
    alignas(align) unsigned char data[size];
  };
};
template <size_t size, size_t align = 16>
using aligned_storage_t = typename aligned_storage<size, align>::type;

template <class T>
struct decay {
  typedef remove_reference_t<T> bare;
  typedef conditional_t<
      is_array<bare>::value, remove_extent_t<bare>*,
      conditional_t<is_function<bare>::value, typename add_pointer<bare>::type, remove_cv_t<bare>>>
      type;
};
template <class T>
using decay_t = typename decay<T>::type;

template <class...>
struct common_type {};
template <class T>
struct common_type<T> {
  typedef decay_t<T> type;
};
template <class T, class U>
struct common_type<T, U> {
  typedef decay_t<decltype(true ? declval<T>() : declval<U>())> type;
};
template <class T, class U, class V, class... R>
struct common_type<T, U, V, R...> {
  typedef typename common_type<typename common_type<T, U>::type, V, R...>::type type;
};
template <class... T>
using common_type_t = typename common_type<T...>::type;

template <class>
struct tarsia_signs;
#define TARSIA_STD_SIGNS(s, u) \
  template <>                  \
  struct tarsia_signs<s> {     \
    typedef s signed_type;     \
    typedef u unsigned_type;   \
  };                           \
  template <>                  \
  struct tarsia_signs<u> {     \
    typedef s signed_type;     \
    typedef u unsigned_type;   \
  };
TARSIA_STD_SIGNS(signed char, unsigned char)
TARSIA_STD_SIGNS(short, unsigned short)
TARSIA_STD_SIGNS(int, unsigned)
TARSIA_STD_SIGNS(long, unsigned long)
TARSIA_STD_SIGNS(long long, unsigned long long)
#undef TARSIA_STD_SIGNS
template <>
struct tarsia_signs<char> : tarsia_signs<signed char> {};
template <class T, bool = is_enum<T>::value>
struct tarsia_signs_of : tarsia_signs<T> {};
template <class T>
struct tarsia_signs_of<T, true> : tarsia_signs<__underlying_type(T)> {};
template <class T>
struct make_signed {
  typedef typename tarsia_signs_of<T>::signed_type type;
};
template <class T>
struct make_unsigned {
  typedef typename tarsia_signs_of<T>::unsigned_type type;
};
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;

template <class...>
struct conjunction : true_type {};
template <class B>
struct conjunction<B> : B {};
template <class B, class... R>
struct conjunction<B, R...> : conditional_t<bool(B::value), conjunction<R...>, B> {};
template <class...>
struct disjunction : false_type {};
template <class B>
struct disjunction<B> : B {};
template <class B, class... R>
struct disjunction<B, R...> : conditional_t<bool(B::value), B, disjunction<R...>> {};
template <class B>
struct negation : bool_constant<!bool(B::value)> {};

template <class, class F, class... A>
struct tarsia_invoke_result {
  static constexpr bool ok = false;
};
template <class F, class... A>
struct tarsia_invoke_result<void_t<decltype(declval<F>()(declval<A>()...))>, F, A...> {
  static constexpr bool ok = true;
  typedef decltype(declval<F>()(declval<A>()...)) type;
};
template <class F, class... A>
struct invoke_result : tarsia_invoke_result<void, F, A...> {};
template <class F, class... A>
using invoke_result_t = typename invoke_result<F, A...>::type;
template <class F, class... A>
struct is_invocable : bool_constant<tarsia_invoke_result<void, F, A...>::ok> {};
template <class>
struct result_of;
template <class F, class... A>
struct result_of<F(A...)> : tarsia_invoke_result<void, F, A...> {};
template <class T>
using result_of_t = typename result_of<T>::type;

TARSIA_STD_FN constexpr bool is_constant_evaluated() noexcept {
  return __builtin_is_constant_evaluated();
}

#if __cplusplus >= 201402L
#define TARSIA_STD_V2(name)   \
  template <class T, class U> \
  TARSIA_STD_VARIABLE bool name##_v = name<T, U>::value;
TARSIA_STD_V(is_void)
TARSIA_STD_V(is_null_pointer)
TARSIA_STD_V(is_integral)
TARSIA_STD_V(is_floating_point)
TARSIA_STD_V(is_arithmetic)
TARSIA_STD_V(is_fundamental)
TARSIA_STD_V(is_scalar)
TARSIA_STD_V(is_object)
TARSIA_STD_V(is_compound)
TARSIA_STD_V(is_signed)
TARSIA_STD_V(is_unsigned)
TARSIA_STD_V(is_array)
TARSIA_STD_V(is_pointer)
TARSIA_STD_V(is_reference)
TARSIA_STD_V(is_lvalue_reference)
TARSIA_STD_V(is_rvalue_reference)
TARSIA_STD_V(is_const)
TARSIA_STD_V(is_volatile)
TARSIA_STD_V(is_enum)
TARSIA_STD_V(is_union)
TARSIA_STD_V(is_class)
TARSIA_STD_V(is_function)
TARSIA_STD_V(is_empty)
TARSIA_STD_V(is_final)
TARSIA_STD_V(is_abstract)
TARSIA_STD_V(is_polymorphic)
TARSIA_STD_V(is_trivial)
TARSIA_STD_V(is_pod)
TARSIA_STD_V(is_standard_layout)
TARSIA_STD_V(is_trivially_copyable)
TARSIA_STD_V(is_trivially_destructible)
TARSIA_STD_V(is_trivially_default_constructible)
TARSIA_STD_V(is_default_constructible)
TARSIA_STD_V(is_copy_constructible)
TARSIA_STD_V(is_move_constructible)
TARSIA_STD_V(is_copy_assignable)
TARSIA_STD_V(is_move_assignable)
TARSIA_STD_V(is_member_pointer)
TARSIA_STD_V(negation)
TARSIA_STD_V2(is_same)
TARSIA_STD_V2(is_base_of)
TARSIA_STD_V2(is_convertible)
TARSIA_STD_V2(is_assignable)
TARSIA_STD_VN(is_constructible)
TARSIA_STD_VN(is_nothrow_constructible)
TARSIA_STD_VN(is_invocable)
TARSIA_STD_VN(conjunction)
TARSIA_STD_VN(disjunction)
template <class T>
TARSIA_STD_VARIABLE size_t rank_v = rank<T>::value;
template <class T, unsigned i = 0>
TARSIA_STD_VARIABLE size_t extent_v = extent<T, i>::value;
#undef TARSIA_STD_V2
#endif

}  // namespace std

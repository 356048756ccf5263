// The values of <type_traits> by their short names: is_same_v and its like.
#pragma once
#include <tarsia/type_traits.h>

#if __cplusplus >= 201402L
namespace std {

#if __cplusplus >= 201703L
#define TARSIA_STD_VARIABLE inline constexpr
#else
#define TARSIA_STD_VARIABLE constexpr
#endif
#define TARSIA_STD_V(name) \
  template <class T>       \
  TARSIA_STD_VARIABLE bool name##_v = name<T>::value;
#define TARSIA_STD_V2(name)   \
  template <class T, class U> \
  TARSIA_STD_VARIABLE bool name##_v = name<T, U>::value;
#define TARSIA_STD_VN(name) \
  template <class... T>     \
  TARSIA_STD_VARIABLE bool name##_v = name<T...>::value;
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
TARSIA_STD_V(negation)
#if __cplusplus >= 201703L
TARSIA_STD_V(is_aggregate)
TARSIA_STD_V(has_unique_object_representations)
#endif
TARSIA_STD_V2(is_same)
TARSIA_STD_V2(is_base_of)
TARSIA_STD_V2(is_convertible)
TARSIA_STD_V2(is_assignable)
TARSIA_STD_V2(is_trivially_assignable)
TARSIA_STD_V2(is_nothrow_assignable)
TARSIA_STD_VN(is_constructible)
TARSIA_STD_VN(is_nothrow_constructible)
TARSIA_STD_VN(is_invocable)
TARSIA_STD_VN(is_trivially_constructible)
TARSIA_STD_VN(is_nothrow_invocable)
TARSIA_STD_VN(is_invocable_r)
TARSIA_STD_VN(is_nothrow_invocable_r)
TARSIA_STD_VN(conjunction)
TARSIA_STD_VN(disjunction)
template <class T>
TARSIA_STD_VARIABLE size_t alignment_of_v = alignof(T);
template <class T>
TARSIA_STD_VARIABLE size_t rank_v = rank<T>::value;
template <class T, unsigned i = 0>
TARSIA_STD_VARIABLE size_t extent_v = extent<T, i>::value;
#undef TARSIA_STD_V
#undef TARSIA_STD_V2
#undef TARSIA_STD_VN

}  // namespace std
#endif

// <array> for device code.
#pragma once
#include <tarsia/utility.h>

namespace std {

template <class T, size_t n>
struct array {
  typedef T value_type;
  typedef T* pointer;
  typedef T& reference;
  typedef const T& const_reference;
  typedef T* iterator;
  typedef const T* const_iterator;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  T _M_elems[n == 0 ? 1 : n];
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T& operator[](size_t i) noexcept { return _M_elems[i]; }
  TARSIA_STD_MEMBER constexpr const T& operator[](size_t i) const noexcept { return _M_elems[i]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T& at(size_t i) { return _M_elems[i]; }
  TARSIA_STD_MEMBER constexpr const T& at(size_t i) const { return _M_elems[i]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T& front() noexcept { return _M_elems[0]; }
  TARSIA_STD_MEMBER constexpr const T& front() const noexcept { return _M_elems[0]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T& back() noexcept { return _M_elems[n - 1]; }
  TARSIA_STD_MEMBER constexpr const T& back() const noexcept { return _M_elems[n - 1]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T* data() noexcept { return _M_elems; }
  TARSIA_STD_MEMBER constexpr const T* data() const noexcept { return _M_elems; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T* begin() noexcept { return _M_elems; }
  TARSIA_STD_MEMBER constexpr const T* begin() const noexcept { return _M_elems; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR T* end() noexcept { return _M_elems + n; }
  TARSIA_STD_MEMBER constexpr const T* end() const noexcept { return _M_elems + n; }
  TARSIA_STD_MEMBER constexpr const T* cbegin() const noexcept { return _M_elems; }
  TARSIA_STD_MEMBER constexpr const T* cend() const noexcept { return _M_elems + n; }
  TARSIA_STD_MEMBER constexpr size_t size() const noexcept { return n; }
  TARSIA_STD_MEMBER constexpr size_t max_size() const noexcept { return n; }
  TARSIA_STD_MEMBER constexpr bool empty() const noexcept { return n == 0; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR void fill(const T& value) {
    for (size_t i = 0; i < n; ++i) _M_elems[i] = value;
  }
};
#if __cplusplus >= 201703L
template <class T, class... U>
TARSIA_STD_MEMBER array(T, U...) -> array<T, 1 + sizeof...(U)>;
#endif
template <class T, size_t n>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool operator==(const array<T, n>& a, const array<T, n>& b) {
  for (size_t i = 0; i < n; ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}
template <class T, size_t n>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool operator!=(const array<T, n>& a, const array<T, n>& b) {
  return !(a == b);
}
template <class T, size_t n>
struct tuple_size<array<T, n>> : integral_constant<size_t, n> {};
template <size_t i, class T, size_t n>
struct tuple_element<i, array<T, n>> {
  typedef T type;
};
template <size_t i, class T, size_t n>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T& get(array<T, n>& a) noexcept {
  return a._M_elems[i];
}
template <size_t i, class T, size_t n>
TARSIA_STD_FN constexpr const T& get(const array<T, n>& a) noexcept {
  return a._M_elems[i];
}

}  // namespace std

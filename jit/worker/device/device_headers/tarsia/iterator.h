// What of <iterator> makes sense for one thread: iterators that go backwards, and the ends of arrays and
// containers.
#pragma once
#include <tarsia/utility.h>

namespace std {

struct input_iterator_tag {};
struct output_iterator_tag {};
struct forward_iterator_tag : input_iterator_tag {};
struct bidirectional_iterator_tag : forward_iterator_tag {};
struct random_access_iterator_tag : bidirectional_iterator_tag {};

// Empty for what is no iterator, so that templates of this name leave the user's `distance(float3, float3)`
// alone.
template <class I, class = void>
struct tarsia_iterator_traits {};
template <class I>
struct tarsia_iterator_traits<
    I, void_t<typename I::value_type, typename I::difference_type, typename I::reference, typename I::pointer,
              typename I::iterator_category>> {
  typedef typename I::value_type value_type;
  typedef typename I::difference_type difference_type;
  typedef typename I::reference reference;
  typedef typename I::pointer pointer;
  typedef typename I::iterator_category iterator_category;
};
template <class I>
struct iterator_traits : tarsia_iterator_traits<I> {};
template <class T>
struct iterator_traits<T*> {
  typedef remove_cv_t<T> value_type;
  typedef ptrdiff_t difference_type;
  typedef T& reference;
  typedef T* pointer;
  typedef random_access_iterator_tag iterator_category;
};
template <class Category, class T, class Distance = ptrdiff_t, class Pointer = T*, class Reference = T&>
struct iterator {
  typedef T value_type;
  typedef Distance difference_type;
  typedef Reference reference;
  typedef Pointer pointer;
  typedef Category iterator_category;
};

template <class T>
TARSIA_STD_FN constexpr T* addressof(T& object) noexcept {
  return __builtin_addressof(object);
}

// For iterators of random access.
template <class I>
TARSIA_STD_FN constexpr typename iterator_traits<I>::difference_type distance(I first, I last) {
  return last - first;
}
template <class I, class N>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void advance(I& at, N n) {
  at += n;
}
template <class I>
TARSIA_STD_FN constexpr I next(I at, typename iterator_traits<I>::difference_type n = 1) {
  return at + n;
}
template <class I>
TARSIA_STD_FN constexpr I prev(I at, typename iterator_traits<I>::difference_type n = 1) {
  return at - n;
}

template <class I>
class reverse_iterator {
 public:
  typedef I iterator_type;
  typedef typename iterator_traits<I>::value_type value_type;
  typedef typename iterator_traits<I>::difference_type difference_type;
  typedef typename iterator_traits<I>::reference reference;
  typedef typename iterator_traits<I>::pointer pointer;
  typedef typename iterator_traits<I>::iterator_category iterator_category;

  TARSIA_STD_MEMBER constexpr reverse_iterator() : current() {}
  TARSIA_STD_MEMBER constexpr explicit reverse_iterator(I at) : current(at) {}
  template <class J>
  TARSIA_STD_MEMBER constexpr reverse_iterator(const reverse_iterator<J>& other) : current(other.base()) {}

  TARSIA_STD_MEMBER constexpr I base() const { return current; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reference operator*() const {
    I before = current;
    return *--before;
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR pointer operator->() const { return addressof(**this); }
  TARSIA_STD_MEMBER constexpr reference operator[](difference_type n) const { return current[-n - 1]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator& operator++() {
    --current;
    return *this;
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator& operator--() {
    ++current;
    return *this;
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator operator++(int) {
    return reverse_iterator(current--);
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator operator--(int) {
    return reverse_iterator(current++);
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator& operator+=(difference_type n) {
    current -= n;
    return *this;
  }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR reverse_iterator& operator-=(difference_type n) {
    current += n;
    return *this;
  }
  TARSIA_STD_MEMBER constexpr reverse_iterator operator+(difference_type n) const {
    return reverse_iterator(current - n);
  }
  TARSIA_STD_MEMBER constexpr reverse_iterator operator-(difference_type n) const {
    return reverse_iterator(current + n);
  }

 protected:
  I current;
};
template <class I>
TARSIA_STD_FN constexpr reverse_iterator<I> operator+(typename reverse_iterator<I>::difference_type n,
                                                      const reverse_iterator<I>& at) {
  return at + n;
}
template <class I, class J>
TARSIA_STD_FN constexpr auto operator-(const reverse_iterator<I>& a, const reverse_iterator<J>& b)
    -> decltype(b.base() - a.base()) {
  return b.base() - a.base();
}
#define TARSIA_STD_COMPARE(op, of_bases)                                                                 \
  template <class I, class J>                                                                            \
  TARSIA_STD_FN constexpr bool operator op(const reverse_iterator<I>& a, const reverse_iterator<J>& b) { \
    return a.base() of_bases b.base();                                                                   \
  }
TARSIA_STD_COMPARE(==, ==)
TARSIA_STD_COMPARE(!=, !=)
TARSIA_STD_COMPARE(<, >)
TARSIA_STD_COMPARE(<=, >=)
TARSIA_STD_COMPARE(>, <)
TARSIA_STD_COMPARE(>=, <=)
#undef TARSIA_STD_COMPARE
template <class I>
TARSIA_STD_FN constexpr reverse_iterator<I> make_reverse_iterator(I at) {
  return reverse_iterator<I>(at);
}

#define TARSIA_STD_ENDS(name, const_name, of_array)                                               \
  template <class T, size_t n>                                                                    \
  TARSIA_STD_FN constexpr auto name(T(&array)[n]) noexcept -> decltype(of_array) {                \
    return of_array;                                                                              \
  }                                                                                               \
  template <class C>                                                                              \
  TARSIA_STD_FN constexpr auto name(C& container) -> decltype(container.name()) {                 \
    return container.name();                                                                      \
  }                                                                                               \
  template <class C>                                                                              \
  TARSIA_STD_FN constexpr auto name(const C& container) -> decltype(container.name()) {           \
    return container.name();                                                                      \
  }                                                                                               \
  template <class C>                                                                              \
  TARSIA_STD_FN constexpr auto const_name(const C& container) -> decltype(std::name(container)) { \
    return std::name(container);                                                                  \
  }
TARSIA_STD_ENDS(begin, cbegin, array + 0)
TARSIA_STD_ENDS(end, cend, array + n)
TARSIA_STD_ENDS(rbegin, crbegin, reverse_iterator<T*>(array + n))
TARSIA_STD_ENDS(rend, crend, reverse_iterator<T*>(array + 0))
#undef TARSIA_STD_ENDS
template <class T, size_t n>
TARSIA_STD_FN constexpr size_t size(const T (&)[n]) noexcept {
  return n;
}
template <class C>
TARSIA_STD_FN constexpr auto size(const C& container) -> decltype(container.size()) {
  return container.size();
}
template <class T, size_t n>
TARSIA_STD_FN constexpr T* data(T (&array)[n]) noexcept {
  return array;
}
template <class C>
TARSIA_STD_FN constexpr auto data(C& container) -> decltype(container.data()) {
  return container.data();
}

}  // namespace std

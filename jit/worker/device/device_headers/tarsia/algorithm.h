// What of <algorithm> and <numeric> makes sense for one thread.
#pragma once
#include <tarsia/utility.h>

namespace std {

template <class T>
TARSIA_STD_FN constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T>
TARSIA_STD_FN constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T, class Less>
TARSIA_STD_FN constexpr const T& min(const T& a, const T& b, Less less) {
  return less(b, a) ? b : a;
}
template <class T, class Less>
TARSIA_STD_FN constexpr const T& max(const T& a, const T& b, Less less) {
  return less(a, b) ? b : a;
}
template <class T>
TARSIA_STD_FN constexpr pair<const T&, const T&> minmax(const T& a, const T& b) {
  return b < a ? pair<const T&, const T&>(b, a) : pair<const T&, const T&>(a, b);
}
template <class T>
TARSIA_STD_FN constexpr const T& clamp(const T& value, const T& low, const T& high) {
  return value < low ? low : high < value ? high : value;
}
template <class I>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I min_element(I first, I last) {
  I best = first;
  for (; first != last; ++first)
    if (*first < *best) best = first;
  return best;
}
template <class I>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I max_element(I first, I last) {
  I best = first;
  for (; first != last; ++first)
    if (*best < *first) best = first;
  return best;
}
template <class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T min(initializer_list<T> list) {
  return *min_element(list.begin(), list.end());
}
template <class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T max(initializer_list<T> list) {
  return *max_element(list.begin(), list.end());
}
template <class I, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR F for_each(I first, I last, F f) {
  for (; first != last; ++first) f(*first);
  return f;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I fill_n(I first, N n, const T& value) {
  for (; n > 0; --n) *first++ = value;
  return first;
}
template <class I, class O>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR O copy(I first, I last, O out) {
  for (; first != last; ++first) *out++ = *first;
  return out;
}
template <class I, class N, class O>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR O copy_n(I first, N n, O out) {
  for (; n > 0; --n) *out++ = *first++;
  return out;
}
template <class I, class O, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR O transform(I first, I last, O out, F f) {
  for (; first != last; ++first) *out++ = f(*first);
  return out;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I find(I first, I last, const T& value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}
template <class I, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I find_if(I first, I last, F f) {
  while (first != last && !f(*first)) ++first;
  return first;
}
template <class I, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool all_of(I first, I last, F f) {
  for (; first != last; ++first)
    if (!f(*first)) return false;
  return true;
}
template <class I, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool any_of(I first, I last, F f) {
  return find_if(first, last, f) != last;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR ptrdiff_t count(I first, I last, const T& value) {
  ptrdiff_t n = 0;
  for (; first != last; ++first) n += *first == value;
  return n;
}
template <class I, class J>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool equal(I first, I last, J other) {
  for (; first != last; ++first, ++other)
    if (!(*first == *other)) return false;
  return true;
}
template <class I>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void reverse(I first, I last) {
  while (first != last && first != --last) swap(*first++, *last);
}
template <class I, class J>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void iter_swap(I a, J b) {
  swap(*a, *b);
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I lower_bound(I first, I last, const T& value) {
  for (auto n = last - first; n > 0;) {
    auto half = n / 2;
    if (first[half] < value) {
      first += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return first;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR I upper_bound(I first, I last, const T& value) {
  for (auto n = last - first; n > 0;) {
    auto half = n / 2;
    if (!(value < first[half])) {
      first += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return first;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR bool binary_search(I first, I last, const T& value) {
  I at = lower_bound(first, last, value);
  return at != last && !(value < *at);
}
template <class I, class Less>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void tarsia_sift(I first, ptrdiff_t at, ptrdiff_t n, Less less) {
  for (ptrdiff_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && less(first[child], first[child + 1])) ++child;
    if (!less(first[at], first[child])) return;
    swap(first[at], first[child]);
  }
}
// A heap sort: it needs neither memory nor recursion.
template <class I, class Less>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void sort(I first, I last, Less less) {
  const ptrdiff_t n = last - first;
  for (ptrdiff_t i = n / 2; i-- > 0;) tarsia_sift(first, i, n, less);
  for (ptrdiff_t i = n; i-- > 1;) {
    swap(first[0], first[i]);
    tarsia_sift(first, 0, i, less);
  }
}
struct tarsia_less {
  template <class T, class U>
  TARSIA_STD_MEMBER constexpr bool operator()(const T& a, const U& b) const {
    return a < b;
  }
};
template <class I>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void sort(I first, I last) {
  sort(first, last, tarsia_less());
}

template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T accumulate(I first, I last, T sum) {
  for (; first != last; ++first) sum = sum + *first;
  return sum;
}
template <class I, class T, class F>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T accumulate(I first, I last, T sum, F f) {
  for (; first != last; ++first) sum = f(sum, *first);
  return sum;
}
template <class I, class J, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T inner_product(I first, I last, J other, T sum) {
  for (; first != last; ++first, ++other) sum = sum + *first * *other;
  return sum;
}
template <class I, class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR void iota(I first, I last, T value) {
  for (; first != last; ++first, ++value) *first = value;
}
template <class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T gcd(T a, T b) {
  while (b != 0) {
    T r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}
template <class T>
TARSIA_STD_FN TARSIA_STD_CONSTEXPR T lcm(T a, T b) {
  return a == 0 || b == 0 ? 0 : a / gcd(a, b) * b;
}

}  // namespace std

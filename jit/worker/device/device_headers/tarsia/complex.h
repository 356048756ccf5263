// <complex> for float and double, laid out as libstdc++ does it.
#pragma once
#include <tarsia/type_traits.h>

namespace std {

template <class T>
class complex {
  T m_value[2];

 public:
  typedef T value_type;
  TARSIA_STD_MEMBER constexpr complex(T re = T(), T im = T()) : m_value{re, im} {}
  template <class U>
  TARSIA_STD_MEMBER constexpr complex(const complex<U>& z) : m_value{T(z.real()), T(z.imag())} {}
  TARSIA_STD_MEMBER constexpr T real() const { return m_value[0]; }
  TARSIA_STD_MEMBER constexpr T imag() const { return m_value[1]; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR void real(T re) { m_value[0] = re; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR void imag(T im) { m_value[1] = im; }
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR complex& operator=(T re) { return *this = complex(re); }
#define TARSIA_STD_ASSIGN(op)                                                          \
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR complex& operator op## = (const complex& z) { \
    return *this = *this op z;                                                         \
  }                                                                                    \
  TARSIA_STD_MEMBER TARSIA_STD_CONSTEXPR complex& operator op## = (T x) { return *this = *this op x; }
  TARSIA_STD_ASSIGN(+)
  TARSIA_STD_ASSIGN(-)
  TARSIA_STD_ASSIGN(*)
  TARSIA_STD_ASSIGN(/)
#undef TARSIA_STD_ASSIGN

  friend TARSIA_STD_FN constexpr complex operator+(const complex& a) { return a; }
  friend TARSIA_STD_FN constexpr complex operator-(const complex& a) { return {-a.real(), -a.imag()}; }
  friend TARSIA_STD_FN constexpr complex operator+(const complex& a, const complex& b) {
    return {a.real() + b.real(), a.imag() + b.imag()};
  }
  friend TARSIA_STD_FN constexpr complex operator-(const complex& a, const complex& b) {
    return {a.real() - b.real(), a.imag() - b.imag()};
  }
  friend TARSIA_STD_FN constexpr complex operator*(const complex& a, const complex& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  friend TARSIA_STD_FN constexpr complex operator*(const complex& a, T b) {
    return {a.real() * b, a.imag() * b};
  }
  friend TARSIA_STD_FN constexpr complex operator*(T a, const complex& b) {
    return {a * b.real(), a * b.imag()};
  }
  friend TARSIA_STD_FN constexpr complex operator/(const complex& a, T b) {
    return {a.real() / b, a.imag() / b};
  }
  // Smith's method, which does not overflow where the quotient does not.
  friend TARSIA_STD_FN TARSIA_STD_CONSTEXPR complex operator/(const complex& a, const complex& b) {
    const T c = b.real(), d = b.imag();
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
      const T r = d / c, s = c + d * r;
      return {(a.real() + a.imag() * r) / s, (a.imag() - a.real() * r) / s};
    }
    const T r = c / d, s = c * r + d;
    return {(a.real() * r + a.imag()) / s, (a.imag() * r - a.real()) / s};
  }
  friend TARSIA_STD_FN constexpr bool operator==(const complex& a, const complex& b) {
    return a.real() == b.real() && a.imag() == b.imag();
  }
  friend TARSIA_STD_FN constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};

template <class T>
TARSIA_STD_FN constexpr T real(const complex<T>& z) {
  return z.real();
}
template <class T>
TARSIA_STD_FN constexpr T imag(const complex<T>& z) {
  return z.imag();
}
template <class T>
TARSIA_STD_FN constexpr complex<T> conj(const complex<T>& z) {
  return {z.real(), -z.imag()};
}
template <class T>
TARSIA_STD_FN constexpr T norm(const complex<T>& z) {
  return z.real() * z.real() + z.imag() * z.imag();
}
template <class T>
TARSIA_STD_FN T abs(const complex<T>& z) {
  return ::hypot(z.real(), z.imag());
}
template <class T>
TARSIA_STD_FN T arg(const complex<T>& z) {
  return ::atan2(z.imag(), z.real());
}
template <class T>
TARSIA_STD_FN complex<T> polar(const T& r, const T& angle = T()) {
  return {r * ::cos(angle), r * ::sin(angle)};
}
template <class T>
TARSIA_STD_FN complex<T> exp(const complex<T>& z) {
  return polar(T(::exp(z.real())), z.imag());
}
template <class T>
TARSIA_STD_FN complex<T> log(const complex<T>& z) {
  return {T(::log(abs(z))), arg(z)};
}
template <class T>
TARSIA_STD_FN complex<T> sqrt(const complex<T>& z) {
  return polar(T(::sqrt(abs(z))), arg(z) / 2);
}
template <class T>
TARSIA_STD_FN complex<T> pow(const complex<T>& z, const complex<T>& w) {
  return z == complex<T>() ? complex<T>() : exp(w * log(z));
}
template <class T>
TARSIA_STD_FN complex<T> pow(const complex<T>& z, const T& w) {
  return z == complex<T>() ? complex<T>() : exp(w * log(z));
}
template <class T>
TARSIA_STD_FN complex<T> sin(const complex<T>& z) {
  return {T(::sin(z.real()) * ::cosh(z.imag())), T(::cos(z.real()) * ::sinh(z.imag()))};
}
template <class T>
TARSIA_STD_FN complex<T> cos(const complex<T>& z) {
  return {T(::cos(z.real()) * ::cosh(z.imag())), T(-::sin(z.real()) * ::sinh(z.imag()))};
}

}  // namespace std

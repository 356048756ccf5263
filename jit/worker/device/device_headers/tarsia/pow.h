// pow of two numbers as nvcc has it, the C++ library's: in double unless both are float.
//
// Work-around: NVRTC raises to a whole power otherwise than nvcc.
// Trigger: pow with arguments of two types. Symptom: an error, or another result than nvcc's; NVRTC's own
// functions stand in the way of a template, so pow gets another name. Removal: NVRTC has nvcc's overloads.
#pragma once

namespace tarsia_detail {
template <class T>
struct number {};
template <>
struct number<bool> {
  typedef double type;
};
template <>
struct number<char> {
  typedef double type;
};
template <>
struct number<signed char> {
  typedef double type;
};
template <>
struct number<unsigned char> {
  typedef double type;
};
template <>
struct number<short> {
  typedef double type;
};
template <>
struct number<unsigned short> {
  typedef double type;
};
template <>
struct number<int> {
  typedef double type;
};
template <>
struct number<unsigned> {
  typedef double type;
};
template <>
struct number<long> {
  typedef double type;
};
template <>
struct number<unsigned long> {
  typedef double type;
};
template <>
struct number<long long> {
  typedef double type;
};
template <>
struct number<unsigned long long> {
  typedef double type;
};
template <>
struct number<float> {
  typedef double type;
};
template <>
struct number<double> {
  typedef double type;
};
template <class A, class B>
struct both {};
template <>
struct both<double, double> {
  typedef double type;
};
}  // namespace tarsia_detail

inline __device__ float tarsia_pow(float x, float y) {
  return ::pow(x, y);
}
inline __device__ double tarsia_pow(double x, double y) {
  return ::pow(x, y);
}
template <class A, class B>
inline __device__ typename tarsia_detail::both<typename tarsia_detail::number<A>::type,
                                               typename tarsia_detail::number<B>::type>::type
tarsia_pow(A x, B y) {
  return ::pow(double(x), double(y));
}
#define pow tarsia_pow

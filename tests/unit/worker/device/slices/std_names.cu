// expect: kernel reduce_max, kernel traits<int>, kernel arrays, kernel complexes, kernel sorted
#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <functional>
#include <iomanip>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__global__ void reduce_max(const float *x, float *out, int n) {
  float m = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < n; ++i) m = std::max(m, std::abs(x[i]));
  *out = std::min(m, std::numeric_limits<float>::max()) + ceil_div(n, 3) + std::clamp(n, 1, 5);
  std::swap(out[0], out[1]);
  out[2] = std::isnan(m) || std::isinf(m) ? std::sqrt(2.0f) : std::pow(m, 2.0f) + std::max({1, 2, 3});
}
template <class T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
__device__ T half_of(T x) { return x / 2; }
template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__device__ T half_of(T x) { return x * T(0.5); }
template <class T>
__global__ void traits(T *x) {
  using U = std::make_unsigned_t<std::remove_cv_t<const T>>;
  *x = half_of(*x) + (T)half_of(1.0) + std::is_same_v<T, int> + std::conditional_t<(sizeof(T) > 2), long, int>(3) + U(1);
  if constexpr (std::is_signed_v<T> && std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>) *x = -*x;
}
struct Args { std::array<int, 4> dims; std::pair<float, int> p; std::tuple<char, double> t; };
__global__ void arrays(Args a, int *out) {
  int s = std::accumulate(a.dims.begin(), a.dims.end(), 0);
  for (int d : a.dims) s += d;
  auto [f, i] = a.p;
  s += std::get<0>(a.t) + (int)std::get<1>(a.t) + (int)f + i + (int)a.dims.size() + std::get<1>(a.p);
  auto made = std::make_tuple(1, 2.5f, 'c');
  out[0] = s + std::get<2>(made) + std::apply([](auto... v) { return (int(v) + ...); }, made);
  out[1] = std::plus<int>()(1, 2) + std::less<>()(1, 2.0);
}
__global__ void complexes(std::complex<float> *z) {
  std::complex<float> w = std::polar(1.0f, 0.5f) * z[0] + std::conj(z[1]) / z[2] - 2.0f * z[3];
  z[0] = w + std::exp(w) + std::abs(w) + std::norm(w) + w.real();
}
__global__ void sorted(int *x, int n) {
  std::sort(x, x + n, [](int a, int b) { return a > b; });
  int *at = std::lower_bound(x, x + n, 3);
  std::fill(at, x + n, 7);
}

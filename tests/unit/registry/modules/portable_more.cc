// The second translation unit of portable.cc; defines macros that would break headers without their own
// defence.
#define N 1024
#define size 3
#define type float
#define name value
#undef size
#undef type
#undef name
#include <array>
#include <complex>
#include <string>
#if __cplusplus >= 202002L
#include <span>
#endif
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif
#define size 3
#define type float
#define name value
#define min(a, b) ((a) < (b) ? (a) : (b))
#include <tarsia/export.h>
#include <tarsia/tensor.h>

int smaller(int a, int b) {
  return min(a, b) + N - 1024;
}
TARSIA_EXPORT(smaller)

std::array<int, 2> swapped(const std::array<int, 2>& x) {
  return {{x[1], x[0]}};
}
std::complex<float> conjugated(std::complex<float> x) {
  return std::conj(x);
}
TARSIA_EXPORT(swapped)
struct Pair {
  float a;
  int n;
};
float of_pair(Pair p) { return p.a * static_cast<float>(p.n); }
float of_pairs(const Pair* p, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += of_pair(p[i]);
  return sum;
}
void change_pair(Pair* p) { ++p->n; }
Pair make_pair(float a, int n) { return Pair{a, n}; }
const Pair* no_pair() { return nullptr; }
TARSIA_EXPORT(of_pair)
TARSIA_EXPORT(of_pairs)
TARSIA_EXPORT(change_pair)
TARSIA_EXPORT(make_pair)
TARSIA_EXPORT(no_pair)
TARSIA_EXPORT(conjugated)

#undef size
#undef type
#undef name
#if __cplusplus >= 201703L
std::string_view view(std::string_view text) {
  return text.substr(1);
}
std::optional<int> maybe(std::optional<int> x) {
  return x ? std::optional<int>(*x + 1) : std::nullopt;
}
std::optional<std::string> optional_text(const std::optional<std::string>& x) {
  return x;
}
int maybe_tensor(std::optional<tarsia::Tensor> t) {
  return t ? t->ndim() : -1;
}
TARSIA_EXPORT(view)
TARSIA_EXPORT(maybe)
TARSIA_EXPORT(optional_text)
TARSIA_EXPORT(maybe_tensor)
#endif
#if __cplusplus >= 202002L
int extent(std::span<const int> x, std::span<float, 2> y) {
  y[1] = 3;
  return static_cast<int>(x.size());
}
TARSIA_EXPORT(extent)
#endif

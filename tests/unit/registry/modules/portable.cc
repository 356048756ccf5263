// Built as C++11, 14, 17 and 20, with portable_more.cc: what TARSIA_EXPORT takes in every standard.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tarsia/op.h>

namespace t {

bool negate(bool x) {
  return !x;
}
std::int8_t add8(std::int8_t a, std::int8_t b) {
  return static_cast<std::int8_t>(a + b);
}
std::uint64_t big(std::uint64_t a) {
  return a;
}
long long sum_all(char a, signed char b, unsigned char c, short d, unsigned short e, int f, unsigned g,
                  long h, unsigned long i, long long j, unsigned long long k) {
  return a + b + c + d + e + f + static_cast<long long>(g) + h + static_cast<long long>(i) + j +
         static_cast<long long>(k);
}
float half_of(float x) {
  return x / 2;
}
double third_of(double x) {
  return x / 3;
}
long double long_double(long double x) {
  return x + 1;
}
enum Plain { k_zero, k_one };
enum class Scoped : unsigned char { a = 7, b };
int from_enum(Plain p, Scoped s) {
  return 10 * p + static_cast<int>(s);
}
Scoped to_enum() {
  return Scoped::b;
}
const char* shout(const char* text) {
  static std::string kept;
  kept = std::string(text) + "!";
  return kept.c_str();
}
const char* nothing() {
  return nullptr;
}
std::string join(const std::string& a, std::string b) {
  return a + "+" + b;
}
float sum(const float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
void fill(double* x, std::int64_t n, double value) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = value;
}
const void* any(void* x, const void*) {
  return x;
}
std::uint64_t address(const void* x) {
  return reinterpret_cast<std::uint64_t>(x);
}
std::uint64_t stream_value(CUstream_st* s) {
  return reinterpret_cast<std::uint64_t>(s);
}
std::uint64_t stream_class(tarsia::Stream s) {
  return reinterpret_cast<std::uint64_t>(static_cast<CUstream_st*>(s));
}
int defaults(int a, int b = 20, std::string c = "xyz") {
  return a + b + static_cast<int>(c.size());
}
int no_arguments() noexcept {
  return 42;
}
int overloaded(const float*) {
  return 32;
}
int overloaded(const double*) {
  return 64;
}
int overloaded(int) {
  return 0;
}
std::vector<std::string> repeat(const std::vector<std::string>& list, int times) {
  std::vector<std::string> out;
  for (int i = 0; i < times; ++i) out.insert(out.end(), list.begin(), list.end());
  return out;
}
std::vector<bool> flip(std::vector<bool> bits) {
  bits.flip();
  return bits;
}
std::tuple<int, std::string, std::vector<double>> three() {
  return std::make_tuple(1, std::string("two"), std::vector<double>{3.0});
}
std::pair<bool, float> two() {
  return std::make_pair(true, 0.5f);
}
std::int64_t total(const std::vector<tarsia::Tensor>& list) {
  std::int64_t n = 0;
  for (const tarsia::Tensor& t : list) n += t.numel();
  return n;
}
tarsia::Tensor doubled(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  const float* from = x.data<const float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = 2 * from[i];
  return y;
}
tarsia::Tensor same(tarsia::Tensor x) {
  return x;
}
tarsia::Tensor make(std::vector<std::int64_t> shape) {
  return tarsia::empty(shape, tarsia::int32, tarsia::cpu_device());
}
int on_cpu(tarsia::cpu<const float> x) {
  return static_cast<int>(x.get()[0]);
}
void on_gpu(tarsia::gpu<float>) {}
void half_pointer(__half*, const __nv_bfloat16*) {}

struct Custom : std::runtime_error {
  Custom() : std::runtime_error("custom") {}
};
void fail(int kind) {
  switch (kind) {
    case 0:
      throw std::runtime_error("runtime");
    case 1:
      throw std::invalid_argument("invalid");
    case 2:
      throw std::out_of_range("range");
    case 3:
      throw std::bad_alloc();
    case 4:
      throw tarsia::TypeError("type");
    case 5:
      throw tarsia::ValueError("value");
    case 6:
      throw 17;
    case 7:
      throw Custom();
    case 8:
      throw "text";
    case 9:
      throw std::length_error("length");
    default:
      (void)tarsia::empty({-1}, tarsia::float32, tarsia::cpu_device());
  }
}
std::string use_scratch(int bytes) {
  char* a = static_cast<char*>(tarsia::scratch(static_cast<std::uint64_t>(bytes), tarsia::cpu_device()));
  char* b = static_cast<char*>(tarsia::scratch(static_cast<std::uint64_t>(bytes), tarsia::cpu_device()));
  if (a + bytes > b && b + bytes > a) return "overlap";
  if (reinterpret_cast<std::uint64_t>(a) % 256 || reinterpret_cast<std::uint64_t>(b) % 256)
    return "unaligned";
  for (int i = 0; i < bytes; ++i) a[i] = b[i] = 'x';
  return "fine";
}

}  // namespace t

TARSIA_EXPORT(t::negate)
TARSIA_EXPORT(t::add8)
TARSIA_EXPORT(t::big)
TARSIA_EXPORT(t::sum_all)
TARSIA_EXPORT(t::half_of)
TARSIA_EXPORT(t::third_of)
TARSIA_EXPORT(t::long_double)
TARSIA_EXPORT(t::from_enum)
TARSIA_EXPORT(t::to_enum)
TARSIA_EXPORT(t::shout)
TARSIA_EXPORT(t::nothing)
TARSIA_EXPORT(t::join)
TARSIA_EXPORT(t::sum)
TARSIA_EXPORT(t::fill)
TARSIA_EXPORT(t::address)
TARSIA_EXPORT(t::stream_value)
TARSIA_EXPORT(t::stream_class)
TARSIA_EXPORT(t::defaults)
TARSIA_EXPORT(::t::no_arguments)
TARSIA_EXPORT(t::overloaded, int(const float*))
TARSIA_EXPORT(t::overloaded, int(const double*))
TARSIA_EXPORT(t::overloaded, int(int))
TARSIA_EXPORT(t::repeat)
TARSIA_EXPORT(t::flip)
TARSIA_EXPORT(t::three)
TARSIA_EXPORT(t::two)
TARSIA_EXPORT(t::total)
TARSIA_EXPORT(t::doubled)
TARSIA_EXPORT(t::same)
TARSIA_EXPORT(t::make)
TARSIA_EXPORT(t::on_cpu)
TARSIA_EXPORT(t::on_gpu)
TARSIA_EXPORT(t::half_pointer)
TARSIA_EXPORT(t::fail)
TARSIA_EXPORT(t::use_scratch)

// Functions of every parameter and result type, for the tests of the Python face.
#include <tarsia/op.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

// Exported with names, a signature and a place, as the compiler does it for inline sources.
#define NAMED(k, name, signature, type, function, required, flags, ...)                             \
  using type_##k = type;                                                                            \
  TARSIA_DETAIL_EXPORT(k, name, signature, "functions.cpp:" TARSIA_DETAIL_TEXT(__LINE__), type_##k, \
                       function, required, flags, ##__VA_ARGS__)

bool invert(bool x) {
  return !x;
}
int8_t same_i8(int8_t x) {
  return x;
}
uint8_t same_u8(uint8_t x) {
  return x;
}
int16_t same_i16(int16_t x) {
  return x;
}
uint16_t same_u16(uint16_t x) {
  return x;
}
int32_t same_i32(int32_t x) {
  return x;
}
uint32_t same_u32(uint32_t x) {
  return x;
}
int64_t same_i64(int64_t x) {
  return x;
}
uint64_t same_u64(uint64_t x) {
  return x;
}
float same_f32(float x) {
  return x;
}
double same_f64(double x) {
  return x;
}
enum class Colour : uint8_t { red, green = 7 };
Colour same_enum(Colour x) {
  return x;
}
TARSIA_EXPORT(invert)
TARSIA_EXPORT(same_i8)
TARSIA_EXPORT(same_u8)
TARSIA_EXPORT(same_i16)
TARSIA_EXPORT(same_u16)
TARSIA_EXPORT(same_i32)
TARSIA_EXPORT(same_u32)
TARSIA_EXPORT(same_i64)
TARSIA_EXPORT(same_u64)
TARSIA_EXPORT(same_f32)
TARSIA_EXPORT(same_f64)
TARSIA_EXPORT(same_enum)
double by_const_reference(const float& a, const int64_t& b, const bool& c, const Colour& d) {
  return a + double(b) + c + int(d);
}
TARSIA_EXPORT(by_const_reference)

std::string same_string(std::string x) {
  return x;
}
std::string same_string_view(std::string_view x) {
  return std::string(x);
}
const char* same_c_string(const char* x) {
  return x;
}
int length(const std::string& x) {
  return int(x.size());
}
std::optional<std::string> same_optional(std::optional<std::string> x) {
  return x;
}
std::optional<int> half(std::optional<int> x) {
  return x && *x % 2 == 0 ? std::optional<int>(*x / 2) : std::nullopt;
}
void nothing() {}
TARSIA_EXPORT(same_string)
TARSIA_EXPORT(same_string_view)
TARSIA_EXPORT(same_c_string)
TARSIA_EXPORT(length)
TARSIA_EXPORT(same_optional)
TARSIA_EXPORT(half)
TARSIA_EXPORT(nothing)

double sum_of(std::vector<double> x) {
  double sum = 0;
  for (double y : x) sum += y;
  return sum;
}
std::string join(const std::vector<std::string>& x) {
  std::string all;
  for (const auto& y : x) all += y + ";";
  return all;
}
std::vector<int> range(int n) {
  std::vector<int> list;
  for (int i = 0; i < n; ++i) list.push_back(i);
  return list;
}
std::tuple<int, double, std::string, bool> several() {
  return {1, 2.5, "three", true};
}
std::pair<std::vector<std::string>, std::optional<int>> nested() {
  return {{"a", "b"}, std::nullopt};
}
TARSIA_EXPORT(sum_of)
TARSIA_EXPORT(join)
TARSIA_EXPORT(range)
TARSIA_EXPORT(several)
TARSIA_EXPORT(nested)

// Pointers.
int64_t address_f32(const float* x) {
  return int64_t(x);
}
int64_t address_any(const void* x) {
  return int64_t(x);
}
int64_t address_any_out(void* x) {
  return int64_t(x);
}
template <class T>
int64_t address_of(const T* x) {
  return int64_t(x);
}
TARSIA_EXPORT(address_f32)
TARSIA_EXPORT(address_any)
TARSIA_EXPORT(address_any_out)
TARSIA_EXPORT(address_of<bool>)
TARSIA_EXPORT(address_of<int8_t>)
TARSIA_EXPORT(address_of<uint8_t>)
TARSIA_EXPORT(address_of<int16_t>)
TARSIA_EXPORT(address_of<uint16_t>)
TARSIA_EXPORT(address_of<int32_t>)
TARSIA_EXPORT(address_of<uint32_t>)
TARSIA_EXPORT(address_of<int64_t>)
TARSIA_EXPORT(address_of<uint64_t>)
TARSIA_EXPORT(address_of<float>)
TARSIA_EXPORT(address_of<double>)
void scale(float* x, int n, float factor) {
  for (int i = 0; i < n; ++i) x[i] *= factor;
}
NAMED(1000, "scale", "void scale(float *x, int n, float factor)", void(float*, int, float), scale, 3, 0, "x",
      "n", "factor")
double total(std::vector<const float*> lists, int n) {
  double sum = 0;
  for (const float* x : lists)
    for (int i = 0; i < n; ++i) sum += x[i];
  return sum;
}
TARSIA_EXPORT(total)
bool is_absent(std::optional<const float*> x) {
  return !x;
}
TARSIA_EXPORT(is_absent)

// CUDA's rules without CUDA: descriptors with the flags that the compiler would set.
int64_t takes_stream(const float* x, int n, tarsia::Stream stream) {
  (void)x, (void)n;
  return int64_t(static_cast<CUstream_st*>(stream));
}
NAMED(1001, "takes_stream", "int64_t takes_stream(const float *x, int n, cudaStream_t stream)",
      int64_t(const float*, int, tarsia::Stream), takes_stream, 3,
      TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM, "x", "n", "stream")
int64_t only_stream(int a, tarsia::Stream stream, int b) {
  return int64_t(static_cast<CUstream_st*>(stream)) * 100 + a * 10 + b;
}
NAMED(1002, "only_stream", "int64_t only_stream(int a, cudaStream_t stream, int b)",
      int64_t(int, tarsia::Stream, int), only_stream, 3,
      TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM, "a", "stream", "b")
int64_t anywhere(const float* x, float* y) {
  return int64_t(x) - int64_t(y);
}
NAMED(1003, "anywhere", "int64_t anywhere(const float *x, float *y)", int64_t(const float*, float*), anywhere,
      2, TARSIA_FUNCTION_SOURCE_HAS_CUDA, "x", "y")
void declared_places(tarsia::cpu<const float> x, tarsia::gpu<float> y) {
  (void)x, (void)y;
}
NAMED(1004, "declared_places", "void declared_places(cpu<const float> x, gpu<float> y)",
      void(tarsia::cpu<const float>, tarsia::gpu<float>), declared_places, 2, TARSIA_FUNCTION_SOURCE_HAS_CUDA,
      "x", "y")

// Default arguments and names.
int defaults(int a, int b = 2, int c = 3) {
  return a * 100 + b * 10 + c;
}
NAMED(1005, "defaults", "int defaults(int a, int b = 2, int c = 3)", int(int, int, int), defaults, 1, 0, "a",
      "b", "c")

// Overloads.
std::string kind(float) {
  return "float";
}
std::string kind(int) {
  return "int";
}
std::string kind(bool) {
  return "bool";
}
std::string kind(const std::string&) {
  return "string";
}
std::string kind(const float*) {
  return "float*";
}
std::string kind(const double*) {
  return "double*";
}
TARSIA_EXPORT(kind, std::string(float))
TARSIA_EXPORT(kind, std::string(int))
TARSIA_EXPORT(kind, std::string(bool))
TARSIA_EXPORT(kind, std::string(const std::string&))
TARSIA_EXPORT(kind, std::string(const float*))
TARSIA_EXPORT(kind, std::string(const double*))

namespace one {
int f() {
  return 1;
}
int twin() {
  return 1;
}
}  // namespace one
namespace two {
int twin() {
  return 2;
}
}  // namespace two
TARSIA_EXPORT(one::f)
TARSIA_EXPORT(one::twin)
TARSIA_EXPORT(two::twin)
int name() {
  return 5;
}
TARSIA_EXPORT(name)

// Tensors.
std::string describe(const tarsia::StridedTensor& x) {
  char text[16];
  std::string all = tarsia::name_of(x.dtype(), text);
  all += " (";
  for (int64_t n : x.shape()) all += std::to_string(n) + ",";
  all += ") (";
  for (int i = 0; i < x.ndim(); ++i) all += std::to_string(x.stride(i)) + ",";
  return all + ")" + (x.is_contiguous() ? " contiguous" : "");
}
int64_t tensor_address(const tarsia::Tensor& x) {
  return int64_t(x.data());
}
void fill(tarsia::Tensor x, double value) {
  float* data = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) data[i] = float(value);
}
tarsia::Tensor identity(const tarsia::Tensor& x) {
  return x;
}
tarsia::Tensor doubled(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  const float* from = x.data<const float>();
  float* to = y.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
  return y;
}
tarsia::Tensor ones(int n) {
  tarsia::Tensor y = tarsia::empty({n, 2}, tarsia::float64, tarsia::cpu_device());
  for (int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] = 1;
  return y;
}
tarsia::Tensor made(int code, int bits) {
  tarsia::Tensor y = tarsia::empty({3}, tarsia::DType{uint8_t(code), uint8_t(bits), 1}, tarsia::cpu_device());
  std::memset(y.data(), 0, size_t(y.bytes()));
  return y;
}
std::tuple<tarsia::Tensor, tarsia::Tensor, int> both(const tarsia::Tensor& x) {
  return {doubled(x), x, 7};
}
std::vector<tarsia::Tensor> copies(const tarsia::Tensor& x, int n) {
  return std::vector<tarsia::Tensor>(size_t(n), doubled(x));
}
std::optional<tarsia::Tensor> maybe(const std::optional<tarsia::Tensor>& x) {
  return x;
}
tarsia::Tensor pick(std::vector<tarsia::Tensor> list, int i) {
  return list.at(size_t(i));
}
TARSIA_EXPORT(describe)
TARSIA_EXPORT(tensor_address)
TARSIA_EXPORT(fill)
TARSIA_EXPORT(identity)
TARSIA_EXPORT(doubled)
TARSIA_EXPORT(ones)
TARSIA_EXPORT(made)
TARSIA_EXPORT(both)
TARSIA_EXPORT(copies)
TARSIA_EXPORT(maybe)
TARSIA_EXPORT(pick)

// Exceptions.
void fails(const std::string& what) {
  if (what == "runtime") throw std::runtime_error("the author's words");
  if (what == "value") throw std::invalid_argument("a bad value");
  if (what == "index") throw std::out_of_range("a bad index");
  if (what == "memory") throw std::bad_alloc();
  if (what == "number") throw 42;
}
tarsia::Tensor fails_after(const tarsia::Tensor& x) {
  tarsia::Tensor y = doubled(x);
  throw std::runtime_error("after making a tensor");
}
TARSIA_EXPORT(fails)
TARSIA_EXPORT(fails_after)

// Threads.
std::atomic<int> g_gate{0};
void open_gate() {
  g_gate = 1;
}
bool wait_for_gate(int milliseconds) {
  for (int i = 0; i < milliseconds && !g_gate; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return g_gate.exchange(0) != 0;
}
TARSIA_EXPORT(open_gate)
TARSIA_EXPORT(wait_for_gate)

int program(const std::vector<std::string>& words) {
  int n = 0;
  for (const auto& word : words) n = n * 10 + int(word.size());
  return n;
}
NAMED(1006, "main", "int main(int argc, char **argv)", int(const std::vector<std::string>&), program, 1,
      TARSIA_FUNCTION_MAIN, "argv")

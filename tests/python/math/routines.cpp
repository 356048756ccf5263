// Each routine of <tarsia/math.h> as a function: by its name, on tensors of any strides, with a write
// request.
#include <cstring>
#include <vector>

#include <tarsia/math.h>

using tarsia::Request;
using tarsia::StridedTensor;
namespace math = tarsia::math;

static Request how(int request) {
  return static_cast<Request>(request);
}

void unary(const char* name, StridedTensor out, const StridedTensor& x, int request) {
#define X(name_, ...) \
  if (!strcmp(name, #name_)) return math::name_(out, x, math::On(), how(request));
  TARSIA_DETAIL_MATH_REAL(X)
  TARSIA_DETAIL_MATH_UNARY(X)
  TARSIA_DETAIL_MATH_STEPS(X)
  TARSIA_DETAIL_MATH_TESTS(X)
  X(copy)
  X(cast)
#undef X
  throw tarsia::ValueError("no such function");
}

void binary(const char* name, StridedTensor out, const StridedTensor& a, const StridedTensor& b,
            int request) {
#define X(name_, ...) \
  if (!strcmp(name, #name_)) return math::name_(out, a, b, math::On(), how(request));
  TARSIA_DETAIL_MATH_BINARY(X)
  TARSIA_DETAIL_MATH_COMPARE(X)
  X(floor_divide)
#undef X
  throw tarsia::ValueError("no such function");
}

void add_number(StridedTensor out, const StridedTensor& a, double number) {
  math::add(out, a, number);
}
void add_whole(StridedTensor out, long long number, const StridedTensor& a) {
  math::add(out, number, a);
}
void where(StridedTensor out, const StridedTensor& c, const StridedTensor& a, const StridedTensor& b) {
  math::where(out, c, a, b);
}
void clip(StridedTensor out, const StridedTensor& x, double low, double high) {
  math::clip(out, x, low, high);
}
void fill(StridedTensor out, double value, int request) {
  math::fill(out, value, math::On(), how(request));
}
void fill_whole(StridedTensor out, long long value) {
  math::fill(out, value);
}

void reduce(const char* name, StridedTensor out, const StridedTensor& x, const std::vector<int64_t>& axes,
            int request) {
#define X(name_) \
  if (!strcmp(name, #name_)) return math::name_(out, x, axes, math::On(), how(request));
  X(sum)
  X(mean)
  X(prod)
  X(any)
  X(all)
  X(max)
  X(min)
  X(argmax)
  X(argmin)
#undef X
  throw tarsia::ValueError("no such function");
}
void sum_to(StridedTensor out, const StridedTensor& x, int request) {
  math::sum_to(out, x, math::On(), how(request));
}
void transpose(StridedTensor out, const StridedTensor& x, const std::vector<int64_t>& axes, int request) {
  math::transpose(out, x, axes, math::On(), how(request));
}
void softmax(StridedTensor out, const StridedTensor& x, int axis, bool log, int request) {
  log ? math::log_softmax(out, x, axis, math::On(), how(request))
      : math::softmax(out, x, axis, math::On(), how(request));
}
void gather(StridedTensor out, const StridedTensor& x, const StridedTensor& index, int axis, int request) {
  math::gather(out, x, index, axis, math::On(), how(request));
}
void scatter_add(StridedTensor out, const StridedTensor& index, const StridedTensor& updates, int axis) {
  math::scatter_add(out, index, updates, axis);
}
void dot(StridedTensor out, const StridedTensor& a, const StridedTensor& b, bool left, bool right,
         int request) {
  math::dot(out, a, b, math::On(), how(request), {left, right});
}
void batch_dot(StridedTensor out, const StridedTensor& a, const StridedTensor& b, bool left, bool right,
               int request) {
  math::batch_dot(out, a, b, math::On(), how(request), {left, right});
}

struct Mix {
  enum { n = 2, is_real = 1 };
  double by;
  template <class C>
  TARSIA_HOST_DEVICE C operator()(C a, C b) const {
    return a + C(by) * b;
  }
};
void mix(StridedTensor out, const StridedTensor& a, const StridedTensor& b, double by) {
  math::map(Mix{by}, out, {a, b});
}

TARSIA_EXPORT(unary)
TARSIA_EXPORT(binary)
TARSIA_EXPORT(add_number)
TARSIA_EXPORT(add_whole)
TARSIA_EXPORT(where)
TARSIA_EXPORT(clip)
TARSIA_EXPORT(fill)
TARSIA_EXPORT(fill_whole)
TARSIA_EXPORT(reduce)
TARSIA_EXPORT(sum_to)
TARSIA_EXPORT(transpose)
TARSIA_EXPORT(softmax)
TARSIA_EXPORT(gather)
TARSIA_EXPORT(scatter_add)
TARSIA_EXPORT(dot)
TARSIA_EXPORT(batch_dot)
TARSIA_EXPORT(mix)

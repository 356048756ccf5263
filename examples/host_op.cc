// An op without CUDA, on std containers. Run it:  tarsia run examples/host_op.cc 3 5 1 9 2 8
#include <tarsia/op.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

// 1. A function that C++ and Python programs call as it stands: lists go in and out.
std::vector<double> moving_median(const std::vector<double>& x, int window) {
  if (window < 1 || window % 2 == 0) throw tarsia::ValueError("the window has to be odd");
  std::vector<double> result, seen;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t half = static_cast<size_t>(window) / 2;
    const size_t first = i < half ? 0 : i - half, last = std::min(x.size(), i + half + 1);
    seen.assign(x.begin() + static_cast<long>(first), x.begin() + static_cast<long>(last));
    std::nth_element(seen.begin(), seen.begin() + static_cast<long>(seen.size() / 2), seen.end());
    result.push_back(seen[seen.size() / 2]);
  }
  return result;
}

// 2. The same as an op on tensors: shape and dtype of the output are those of the input, the window is an attribute.
static void forward(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    const T* first = x.data<const T>();
    const std::vector<double> smooth = moving_median({first, first + x.numel()}, c.attribute<int>("window"));
    std::copy(smooth.begin(), smooth.end(), y.data<T>());
  });
}
TARSIA_OP(moving_median)
    .describe("Median of each element's neighbourhood")
    .input("x")
    .describe("a signal; any shape, taken as one row")
    .output("y")
    .attribute("window", 3)
    .at_least(1)
    .describe("how many neighbours count; odd")
    .forward("cpu", forward);

// 3. `tarsia run` calls main.
int main(int argc, char** argv) {
  std::vector<double> x;
  for (int i = 1; i < argc; ++i) x.push_back(std::atof(argv[i]));
  for (double median : moving_median(x, 3)) std::printf("%g ", median);
  std::printf("\n");
}

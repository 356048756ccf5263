// Quantisation y = clip(round(scale·x), -127, 127) for float16, bfloat16, float32 and float64, on CPU and GPU, with all four
// write requests. The gradient passes through, as if there were no rounding: dx = scale·dy within the range, 0 where it is clipped.
// Test it:        tarsia check --no-gradient examples/quantise.cu
// From Python:    tarsia.load_inline(open("examples/quantise.cu").read());  y = tarsia.ops.quantise(x, scale=12.7)
#include <tarsia/elementwise.h>

#include <cmath>

// 1. The functor is the op's struct of parameters: `scale` is typed, has a default, a range and a description.
struct Quantise {
  double scale = 1;

  template <class T>
  TARSIA_HOST_DEVICE T operator()(T x) const {
    const T y = rint(T(scale) * x);  // ties to even
    return y > T(127) ? T(127) : y < T(-127) ? T(-127) : y;
  }
};

// 2. Its gradient derives from it, and so has the parameters too.
struct QuantiseGradient : Quantise {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const {
    const T scaled = T(scale) * x;
    return scaled > T(127) || scaled < T(-127) ? T(0) : T(scale) * dy;
  }
};

// 3. Requests need nothing more: null, write, in place and add are honoured for the output and the gradient.
TARSIA_ELEMENTWISE(quantise, Quantise, QuantiseGradient)
    .describe("clip(round(scale·x), -127, 127)")
    .attribute("scale", &Quantise::scale)
    .range(1e-6, 1e6)
    .describe("steps of the result for 1 of the input");

// ReLU for CPU and GPU in one source. List what it exports:  tarsia run examples/relu.cu
// Use it from Python:
//   tarsia.load_inline(open("examples/relu.cu").read());  y = tarsia.ops.relu(x, slope=0.1)
#include <tarsia/op.h>

// 1. The kernel, for any element type: a loop in which the threads of a grid of any size share the elements.
template <typename T>
__global__ void relu_kernel(const T* x, T* y, long long n, T slope) {
  TARSIA_GRID_LOOP(i, n) y[i] = x[i] > T(0) ? x[i] : slope * x[i];
}
template <typename T>
__global__ void relu_gradient_kernel(const T* gradient, const T* x, T* result, long long n, T slope) {
  TARSIA_GRID_LOOP(i, n) result[i] = x[i] > T(0) ? gradient[i] : slope * gradient[i];
}

// 2. Forward, one function for each device. Work goes to the caller's stream; nothing waits.
static void forward_cpu(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    const T* from = x.data<const T>();
    T* to = y.data<T>();
    const T slope = c.attribute<T>("slope");
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] > 0 ? from[i] : slope * from[i];
  });
}
static void forward_gpu(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    relu_kernel<T><<<tarsia::blocks(x.numel()), 256, 0, c.stream()>>>(x.data<const T>(), y.data<T>(), x.numel(),
                                                                      c.attribute<T>("slope"));
  });
}

// 3. Backward: output gradients, inputs and outputs come in, input gradients go out.
static void backward_cpu(tarsia::Context& c) {
  const tarsia::Tensor gradient = c.out_grad(0), x = c.forward_input(0), result = c.in_grad(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    const T slope = c.attribute<T>("slope");
    for (int64_t i = 0; i < x.numel(); ++i)
      result.data<T>()[i] = (x.data<T>()[i] > 0 ? T(1) : slope) * gradient.data<T>()[i];
  });
}
static void backward_gpu(tarsia::Context& c) {
  const tarsia::Tensor gradient = c.out_grad(0), x = c.forward_input(0), result = c.in_grad(0);
  TARSIA_DISPATCH(x.dtype(), T, (float, double), {
    relu_gradient_kernel<T><<<tarsia::blocks(x.numel()), 256, 0, c.stream()>>>(
        gradient.data<const T>(), x.data<const T>(), result.data<T>(), x.numel(), c.attribute<T>("slope"));
  });
}

// 4. The op. Without an inference of its own, the output is like the input.
TARSIA_OP(relu)
    .describe("max(x, slope·x)")
    .input("x")
    .describe("any shape; float or double")
    .output("y")
    .attribute("slope", 0.0)
    .range(0, 1)
    .describe("what negative elements are multiplied by")
    .forward("cpu", forward_cpu)
    .forward("gpu", forward_gpu)
    .backward("cpu", backward_cpu)
    .backward("gpu", backward_gpu)
    .inplace(0, 0);

// Three ReLUs for CPU and GPU: from a functor, with state, and with noise from the device's random states.
// Test them:      tarsia check examples/relu_variants.cu
// From Python:    tarsia.load_inline(open("examples/relu_variants.cu").read());  y = tarsia.ops.noisy_relu(x, sigma=0.1)
#include <tarsia/elementwise.h>

#include <curand_kernel.h>

#include <random>

// 1. A functor and its gradient are a whole op, with every write request and in place.
struct Relu {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? x : T(0);
  }
};
struct ReluGradient {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const {
    return x > T(0) ? dy : T(0);
  }
};
TARSIA_ELEMENTWISE(plain_relu, Relu, ReluGradient);

// 2. With a state that knows how often it ran, and calls the op above on its own stream.
struct Runs {
  int64_t forward = 0, backward = 0;
};
static void state_forward(tarsia::Context& c) {
  ++c.state<Runs>().forward;
  tarsia::InnerOp("plain_relu", {c.input(0)})({c.input(0)}, {c.output(0)});
}
static void state_backward(tarsia::Context& c) {
  ++c.state<Runs>().backward;
  tarsia::InnerOp("plain_relu", {c.forward_input(0)})
      .backward({c.out_grad(0), c.forward_input(0), c.forward_output(0)}, {c.in_grad(0)});
}
TARSIA_OP(state_relu)
    .state([](const tarsia::BindInfo&) { return new Runs; })
    .forward("cpu", state_forward)
    .forward("gpu", state_forward)
    .backward("cpu", state_backward)
    .backward("gpu", state_backward);

// 3. max(x + noise, 0), noise of the normal distribution. tarsia.seed(n) makes it repeatable. Each state serves every n-th
//    element, so that no two threads share one.
__global__ void noisy_relu_kernel(curandStatePhilox4_32_10_t* states, int n_states, const float* x, float* y, long long n,
                                  float sigma) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n_states) return;
  for (long long i = t; i < n; i += n_states) {
    const float noisy = x[i] + sigma * curand_normal(&states[t]);
    y[i] = noisy > 0 ? noisy : 0;
  }
}
static void noisy_cpu(tarsia::Context& c) {
  int n_states = 0;
  std::mt19937* states = c.random_states<std::mt19937>(&n_states);
  std::normal_distribution<float> normal(0, 1);
  const float sigma = c.attribute<float>("sigma");
  const float* x = c.input(0).data<const float>();
  float* y = c.output(0).data<float>();
  for (int64_t i = 0; i < c.input(0).numel(); ++i) {
    const float noisy = x[i] + sigma * normal(states[i % n_states]);
    y[i] = noisy > 0 ? noisy : 0;
  }
}
static void noisy_gpu(tarsia::Context& c) {
  int n_states = 0;
  auto* states = c.random_states<curandStatePhilox4_32_10_t>(&n_states);
  noisy_relu_kernel<<<(n_states + 255) / 256, 256, 0, c.stream()>>>(states, n_states, c.input(0).data<const float>(),
                                                                    c.output(0).data<float>(), c.input(0).numel(),
                                                                    c.attribute<float>("sigma"));
}
// The gradient passes where the output is above zero: what noise there was need not be known.
__global__ void noisy_gradient_kernel(const float* dy, const float* y, float* dx, long long n) {
  TARSIA_GRID_LOOP(i, n) dx[i] = y[i] > 0 ? dy[i] : 0;
}
static void noisy_gradient(tarsia::Context& c) {
  const float *dy = c.out_grad(0).data<const float>(), *y = c.forward_output(0).data<const float>();
  float* dx = c.in_grad(0).data<float>();
  const long long n = c.in_grad(0).numel();
  if (c.is_gpu())
    noisy_gradient_kernel<<<tarsia::blocks(n), 256, 0, c.stream()>>>(dy, y, dx, n);
  else
    for (long long i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
}
TARSIA_OP(noisy_relu)
    .random()
    .attribute("sigma", 1.0f)
    .at_least(0)
    .forward("cpu", noisy_cpu)
    .forward("gpu", noisy_gpu)
    .backward("cpu", noisy_gradient)
    .backward("gpu", noisy_gradient);

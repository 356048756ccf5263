// A differentiable round: forward rounds, backward lets the gradient pass as if nothing had happened. Written as
// extensions of older frameworks were: a loop macro, and C-style wrappers that take a stream.
// Test it:        tarsia check --no-gradient examples/round.cu
#include <tarsia/op.h>

#include <cmath>

#define CUDA_KERNEL_LOOP(i, n) \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

const int CUDA_NUM_THREADS = 512;
inline int GET_BLOCKS(const int n) { return (n + CUDA_NUM_THREADS - 1) / CUDA_NUM_THREADS; }

__global__ void round_forward_kernel(const int n, const float* input, float* output) {
  CUDA_KERNEL_LOOP(i, n) { output[i] = rintf(input[i]); }
}
__global__ void round_backward_kernel(const int n, const float* grad_output, float* grad_input) {
  CUDA_KERNEL_LOOP(i, n) { grad_input[i] = grad_output[i]; }
}

// 1. The wrappers are exported as they stand: lib.round_forward_gpu(x, y, n). Pointers are tensors, checked for dtype
//    and device; the stream is the caller's current one unless it is passed.
void round_forward_gpu(const float* input, float* output, int n, cudaStream_t stream) {
  if (n) round_forward_kernel<<<GET_BLOCKS(n), CUDA_NUM_THREADS, 0, stream>>>(n, input, output);
}
void round_backward_gpu(const float* grad_output, float* grad_input, int n, cudaStream_t stream) {
  if (n) round_backward_kernel<<<GET_BLOCKS(n), CUDA_NUM_THREADS, 0, stream>>>(n, grad_output, grad_input);
}
void round_forward_cpu(tarsia::cpu<const float> input, tarsia::cpu<float> output, int n) {
  for (int i = 0; i < n; ++i) output.get()[i] = std::nearbyint(input.get()[i]);
}

// 2. The op puts them together.
TARSIA_OP(differentiable_round)
    .input("x")
    .output("y")
    .forward("cpu",
             [](tarsia::Context& c) {
               round_forward_cpu(c.input(0).data<const float>(), c.output(0).data<float>(), int(c.input(0).numel()));
             })
    .forward("gpu",
             [](tarsia::Context& c) {
               round_forward_gpu(c.input(0).data<const float>(), c.output(0).data<float>(), int(c.input(0).numel()),
                                 c.stream());
             })
    .backward("cpu",
              [](tarsia::Context& c) {
                const float* from = c.out_grad(0).data<const float>();
                float* to = c.in_grad(0).data<float>();
                for (int64_t i = 0; i < c.out_grad(0).numel(); ++i) to[i] = from[i];
              })
    .backward("gpu", [](tarsia::Context& c) {
      round_backward_gpu(c.out_grad(0).data<const float>(), c.in_grad(0).data<float>(), int(c.out_grad(0).numel()),
                         c.stream());
    });

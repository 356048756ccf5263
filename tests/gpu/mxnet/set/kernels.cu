// The kernels of a library for MXNet 1.8 to 2.0 in three files.
#include "ops.h"

#define THREADS 256

__global__ void leaky_forward(float* out, const float* in, float slope, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = in[i] > 0 ? in[i] : slope * in[i];
}
__global__ void leaky_backward(float* in_grad, const float* out_grad, const float* in, float slope, int64_t n) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) in_grad[i] = in[i] > 0 ? out_grad[i] : slope * out_grad[i];
}
static float slope_of(const Attributes& attrs) { return attrs.count("slope") ? std::stof(attrs.at("slope")) : 0; }

MXReturnValue forwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) {
  cudaStream_t stream = reinterpret_cast<cudaStream_t>(res.get_cuda_stream());
  int64_t n = inputs->at(0).size();
  leaky_forward<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
      outputs->at(0).data<float>(), inputs->at(0).data<float>(), slope_of(attrs), n);
  return MX_SUCCESS;
}
MXReturnValue backwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                          const OpResource& res) {
  mx_stream_t stream = res.get_cuda_stream();
  int64_t n = inputs->at(0).size();
  leaky_backward<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
      outputs->at(0).data<float>(), inputs->at(0).data<float>(), inputs->at(1).data<float>(), slope_of(attrs), n);
  return MX_SUCCESS;
}

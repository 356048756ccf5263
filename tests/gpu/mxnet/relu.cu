// ReLU, stateful and noisy, on both devices, as sources for MXNet 1.8 to 2.0 are written.
#include <iostream>
#include "mxnet/lib_api.h"

using namespace mxnet::ext;

#define THREADS 256

typedef std::unordered_map<std::string, std::string> Attributes;

__global__ void relu_forward(float* out, const float* in, int64_t n) {
  int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] > 0 ? in[i] : 0;
}

__global__ void relu_backward(float* in_grad, const float* out_grad, const float* in, int64_t n) {
  int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) in_grad[i] = in[i] > 0 ? out_grad[i] : 0;
}

__global__ void add_noise(float* out, const float* in, int64_t n, mx_gpu_rand_t* states, int step) {
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  mx_gpu_rand_t state = states[first];
  for (int64_t i = (int64_t)first * step; i < n && i < (int64_t)(first + 1) * step; ++i) {
    float sum = in[i] + curand_normal(&state);
    out[i] = sum > 0 ? sum : 0;
  }
  states[first] = state;
}

MXReturnValue forwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) {
  mx_stream_t stream = res.get_cuda_stream();
  int64_t n = inputs->at(0).size();
  if (inputs->at(0).ctx.dev_type != "gpu" || inputs->at(0).dltensor.ctx.device_type != kDLGPU) {
    MX_ERROR_MSG << "the tensor is on " << inputs->at(0).ctx.dev_type;
    return MX_FAIL;
  }
  // Two allocations that must not overlap: through the first, the input; the second is filled with NaN.
  float* copy = static_cast<float*>(res.alloc_gpu(n * sizeof(float)));
  float* other = static_cast<float*>(res.alloc_gpu(n * sizeof(float)));
  cudaMemcpyAsync(copy, inputs->at(0).data<float>(), n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  cudaMemsetAsync(other, 0xff, n * sizeof(float), stream);
  relu_forward<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(outputs->at(0).data<float>(), copy, n);
  return MX_SUCCESS;
}

MXReturnValue backwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                          const OpResource& res) {
  int64_t n = inputs->at(0).size();
  relu_backward<<<(n + THREADS - 1) / THREADS, THREADS, 0, res.get_cuda_stream()>>>(
      outputs->at(0).data<float>(), inputs->at(0).data<float>(), inputs->at(1).data<float>(), n);
  return MX_SUCCESS;
}

MXReturnValue forwardCPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) {
  for (int64_t i = 0; i < inputs->at(0).size(); ++i)
    outputs->at(0).data<float>()[i] = std::max(0.0f, inputs->at(0).data<float>()[i]);
  return res.get_gpu_rand_states() ? MX_FAIL : MX_SUCCESS;
}

MXReturnValue noisyGPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                       const OpResource& res) {
  int64_t n = inputs->at(0).size();
  int step = (n + MX_NUM_GPU_RANDOM_STATES - 1) / MX_NUM_GPU_RANDOM_STATES;
  int64_t threads = (n + step - 1) / step;
  add_noise<<<(threads + THREADS - 1) / THREADS, THREADS, 0, res.get_cuda_stream()>>>(
      outputs->at(0).data<float>(), inputs->at(0).data<float>(), n, res.get_gpu_rand_states(), step);
  return MX_SUCCESS;
}

MXReturnValue badLaunch(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                        const OpResource& res) {
  relu_forward<<<1, 4096, 0, res.get_cuda_stream()>>>(outputs->at(0).data<float>(), inputs->at(0).data<float>(), 1);
  return MX_SUCCESS;
}

MXReturnValue parseAttrs(const Attributes& attrs, int* num_in, int* num_out) {
  *num_in = 1;
  *num_out = 1;
  return MX_SUCCESS;
}
MXReturnValue inferType(const Attributes& attrs, std::vector<int>* in, std::vector<int>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}
MXReturnValue inferShape(const Attributes& attrs, std::vector<std::vector<unsigned int>>* in,
                         std::vector<std::vector<unsigned int>>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}

REGISTER_OP(mxg_relu)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setForward(forwardCPU, "cpu")
    .setForward(forwardGPU, "gpu")
    .setBackward(backwardGPU, "gpu");

class StatefulRelu : public CustomStatefulOp {
 public:
  explicit StatefulRelu(const Attributes& attrs) : attrs(attrs) {}
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource& res) {
    return forwardGPU(attrs, inputs, outputs, res);
  }
  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource& res) {
    return backwardGPU(attrs, inputs, outputs, res);
  }

 private:
  const Attributes attrs;
};

MXReturnValue createOpStateGPU(const Attributes& attrs, const MXContext& ctx,
                               const std::vector<std::vector<unsigned int>>& in_shapes, const std::vector<int> in_types,
                               CustomStatefulOp** op) {
  *op = CustomStatefulOp::create<StatefulRelu>(attrs);
  return ctx.dev_type == "gpu" ? MX_SUCCESS : MX_FAIL;
}

REGISTER_OP(mxg_state_relu)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setCreateOpState(createOpStateGPU, "gpu");

REGISTER_OP(mxg_noisy_relu)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setForward(noisyGPU, "gpu");

REGISTER_OP(mxg_bad_launch)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setForward(badLaunch, "gpu");

MXReturnValue initialize(int version) { return version >= 10800 ? MX_SUCCESS : MX_FAIL; }

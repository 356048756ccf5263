// The ops of a library for MXNet 1.8 to 2.0 in three files.
#include "ops.h"

MXReturnValue forwardCPU(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) {
  float slope = attrs.count("slope") ? std::stof(attrs.at("slope")) : 0;
  for (int64_t i = 0; i < inputs->at(0).size(); ++i) {
    float x = inputs->at(0).data<float>()[i];
    outputs->at(0).data<float>()[i] = x > 0 ? x : slope * x;
  }
  return res.get_cuda_stream() || res.alloc_gpu(16) ? MX_FAIL : MX_SUCCESS;
}
MXReturnValue parseAttrs(const Attributes& attrs, int* num_in, int* num_out) {
  *num_in = *num_out = 1;
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
MXReturnValue createOpState(const Attributes& attrs, const MXContext& ctx,
                            const std::vector<std::vector<unsigned int>>& in_shapes, const std::vector<int> in_types,
                            CustomStatefulOp** op) {
  *op = CustomStatefulOp::create<StateGPU>(attrs);
  return MX_SUCCESS;
}

REGISTER_OP(mxg_leaky)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setForward(forwardCPU, "cpu")
    .setForward(forwardGPU, "gpu")
    .setBackward(backwardGPU, "gpu");
REGISTER_OP(mxg_leaky_state)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setCreateOpState(createOpState, "gpu");

MXReturnValue initialize(int version) { return version >= 20000 ? MX_SUCCESS : MX_FAIL; }

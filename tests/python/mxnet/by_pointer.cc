// Ops as sources for MXNet 1.8 to 2.0 are written: namespace mxnet::ext, arguments by pointer.
#include <cmath>
#include <iostream>
#include "mxnet/lib_api.h"

using namespace mxnet::ext;

using Attributes = std::unordered_map<std::string, std::string>;

static void multiply(const float* a, const float* b, float* c, unsigned n, unsigned k, unsigned m) {
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < m; ++j) {
      c[i * m + j] = 0;
      for (unsigned l = 0; l < k; ++l) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }
}

static void transpose(const float* a, float* b, unsigned n, unsigned m) {
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < m; ++j) b[j * n + i] = a[i * m + j];
}

MXReturnValue forward(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                      const OpResource& res) {
  MXTensor copy = inputs->at(0);
  if (copy.dltensor.shape != copy.shape.data() || copy.dltensor.ctx.device_type != kDLCPU || copy.dltensor.ndim != 2 ||
      copy.dltensor.data != copy.data_ptr || !copy.isSame(inputs->at(0)) || copy.dltensor.dtype.bits != 32) {
    MX_ERROR_MSG << "the copy's DLTensor is wrong";
    return MX_FAIL;
  }
  multiply(inputs->at(0).data<float>(), inputs->at(1).data<float>(), outputs->at(0).data<float>(),
           inputs->at(0).shape[0], inputs->at(0).shape[1], inputs->at(1).shape[1]);
  return MX_SUCCESS;
}

// Gradients of C = AB: dA = dC Bᵀ, dB = Aᵀ dC.
MXReturnValue backward(const Attributes& attrs, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                       const OpResource& res) {
  if (inputs->size() != 4 || outputs->size() != 2) {
    MX_ERROR_MSG << "got " << inputs->size() << " inputs";
    return MX_FAIL;
  }
  const float* dc = inputs->at(0).data<float>();
  unsigned n = inputs->at(1).shape[0], k = inputs->at(1).shape[1], m = inputs->at(2).shape[1];
  float* at = static_cast<float*>(res.alloc_cpu(n * k * sizeof(float)));
  float* bt = static_cast<float*>(res.alloc_cpu(k * m * sizeof(float)));
  transpose(inputs->at(1).data<float>(), at, n, k);
  transpose(inputs->at(2).data<float>(), bt, k, m);
  multiply(dc, bt, outputs->at(0).data<float>(), n, m, k);
  multiply(at, dc, outputs->at(1).data<float>(), k, n, m);
  return MX_SUCCESS;
}

MXReturnValue parseAttrs(const Attributes& attrs, int* num_in, int* num_out) {
  *num_in = 2;
  *num_out = 1;
  return MX_SUCCESS;
}

MXReturnValue inferType(const Attributes& attrs, std::vector<int>* intypes, std::vector<int>* outtypes) {
  for (size_t i = 0; i < intypes->size(); ++i) {
    if (intypes->at(i) == -1) intypes->at(i) = kFloat32;
    if (intypes->at(i) != kFloat32) {
      MX_ERROR_MSG << "expected input " << i << " to be float32" << std::endl;
      return MX_FAIL;
    }
  }
  outtypes->at(0) = kFloat32;
  return MX_SUCCESS;
}

MXReturnValue inferShape(const Attributes& attrs, std::vector<std::vector<unsigned int>>* inshapes,
                         std::vector<std::vector<unsigned int>>* outshapes) {
  std::vector<unsigned>&a = inshapes->at(0), &b = inshapes->at(1);
  if (a.size() == 2 && b.empty() && attrs.count("columns")) b = {a[1], (unsigned)std::stoul(attrs.at("columns"))};
  if (a.size() != 2 || b.size() != 2) {
    MX_ERROR_MSG << "expected matrices";
    return MX_FAIL;
  }
  if (b[0] == 0) b[0] = a[1];
  if (a[1] != b[0]) {
    MX_ERROR_MSG << "the inner extents are " << a[1] << " and " << b[0];
    return MX_FAIL;
  }
  outshapes->at(0) = {a[0], b[1]};
  return MX_SUCCESS;
}

REGISTER_OP(mx_gemm)
    .setForward(forward, "cpu")
    .setBackward(backward, "cpu")
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape);

class StatefulGemm : public CustomStatefulOp {
 public:
  StatefulGemm(int count, Attributes attrs) : count(count), attrs(attrs) {}
  ~StatefulGemm() { ++destroyed; }
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs, const OpResource& res) override {
    MXReturnValue result = forward(attrs, inputs, outputs, res);
    outputs->at(0).data<float>()[0] += ++count;
    return result;
  }
  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) override {
    return backward(attrs, inputs, outputs, res);
  }
  static int destroyed;

 private:
  int count;
  const Attributes attrs;
};
int StatefulGemm::destroyed = 0;
int states_destroyed() { return StatefulGemm::destroyed; }

MXReturnValue createOpState(const Attributes& attrs, const MXContext& ctx,
                            const std::vector<std::vector<unsigned int>>& in_shapes, const std::vector<int> in_types,
                            CustomStatefulOp** op) {
  if (ctx.dev_type != "cpu" || in_shapes.size() != 2 || in_shapes[1].size() != 2 || in_types.at(1) != kFloat32) {
    MX_ERROR_MSG << "context or shapes are wrong";
    return MX_FAIL;
  }
  *op = CustomStatefulOp::create<StatefulGemm>(attrs.count("start") ? std::stoi(attrs.at("start")) : 0, attrs);
  return MX_SUCCESS;
}

REGISTER_OP(mx_state_gemm)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setCreateOpState(createOpState, "cpu");

// An op with an auxiliary state, which counts its calls, random numbers and an attribute.
MXReturnValue parseNoise(const Attributes& attrs, int* num_in, int* num_out) {
  *num_in = 2;
  *num_out = 1;
  if (attrs.count("text") && attrs.at("text") != "True") {
    MX_ERROR_MSG << "text is " << attrs.at("text");
    return MX_FAIL;
  }
  return MX_SUCCESS;
}
MXReturnValue sameType(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}
MXReturnValue sameShape(const Attributes&, std::vector<std::vector<unsigned int>>* in,
                        std::vector<std::vector<unsigned int>>* out) {
  out->at(0) = in->at(0);
  return MX_SUCCESS;
}
MXReturnValue mutateInputs(const Attributes&, std::vector<int>* indices) {
  indices->push_back(1);
  return MX_SUCCESS;
}
MXReturnValue noise(const Attributes&, std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                    const OpResource& res) {
  mx_cpu_rand_t* states = res.get_cpu_rand_states();
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < inputs->at(0).size(); ++i)
    outputs->at(0).data<float>()[i] = inputs->at(0).data<float>()[i] + normal(states[i % MX_NUM_CPU_RANDOM_STATES]);
  inputs->at(1).data<float>()[0] += 1;
  return MX_SUCCESS;
}
REGISTER_OP(mx_noise)
    .setForward(noise, "cpu")
    .setParseAttrs(parseNoise)
    .setInferType(sameType)
    .setInferShape(sameShape)
    .setMutateInputs(mutateInputs);

MXReturnValue initialize(int version) {
  if (version >= 20000) return MX_SUCCESS;
  MX_ERROR_MSG << "MXNet " << version << " is too old";
  return MX_FAIL;
}

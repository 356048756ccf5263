// Ops as sources for MXNet 1.6 and its development are written: global namespace, arguments by value.
#include <iostream>
#include "lib_api.h"

MXReturnValue forward(std::map<std::string, std::string> attrs, std::vector<MXTensor> inputs,
                      std::vector<MXTensor> outputs, OpResource res) {
  float factor = attrs.count("factor") ? std::stof(attrs["factor"]) : 2;
  float* copy = static_cast<float*>(res.alloc(inputs[0].size() * sizeof(float)));
  float* other = static_cast<float*>(res.alloc_cpu(inputs[0].size() * sizeof(float)));
  for (int64_t i = 0; i < inputs[0].size(); ++i) {
    copy[i] = inputs[0].data<float>()[i];
    other[i] = -1;
  }
  for (int64_t i = 0; i < inputs[0].size(); ++i) outputs[0].data<float>()[i] = copy[i] * factor;
  return MX_SUCCESS;
}

MXReturnValue backward(std::map<std::string, std::string> attrs, std::vector<MXTensor> inputs,
                       std::vector<MXTensor> outputs, OpResource res) {
  float factor = attrs.count("factor") ? std::stof(attrs["factor"]) : 2;
  for (int64_t i = 0; i < inputs[0].size(); ++i) outputs[0].data<float>()[i] = inputs[0].data<float>()[i] * factor;
  return MX_SUCCESS;
}

MXReturnValue parseAttrs(std::map<std::string, std::string> attrs, int* num_in, int* num_out) {
  *num_in = 1;
  *num_out = 1;
  return MX_SUCCESS;
}

MXReturnValue inferType(std::map<std::string, std::string> attrs, std::vector<int>& intypes,
                        std::vector<int>& outtypes) {
  outtypes[0] = intypes[0];
  return MX_SUCCESS;
}

MXReturnValue inferShape(std::map<std::string, std::string> attrs, std::vector<std::vector<unsigned int>>& inshapes,
                         std::vector<std::vector<unsigned int>>& outshapes) {
  for (unsigned extent : inshapes[0]) outshapes[0].push_back(extent);
  return MX_SUCCESS;
}

REGISTER_OP(mx_scale)
    .setForward(forward, "cpu")
    .setBackward(backward, "cpu")
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape);

class Counting : public CustomStatefulOp {
 public:
  explicit Counting(int count) : count(count) {}
  MXReturnValue Forward(std::vector<MXTensor> inputs, std::vector<MXTensor> outputs, OpResource res) {
    int* p = static_cast<int*>(res.alloc_cpu(sizeof(int)));
    *p = ++count;
    outputs[0].data<float>()[0] = *p;
    return MX_SUCCESS;
  }
  ~Counting() {}

 private:
  int count;
};

MXReturnValue createOpState(std::map<std::string, std::string> attrs, CustomStatefulOp** op) {
  *op = new Counting(attrs.count("start") ? std::stoi(attrs["start"]) : 0);
  return MX_SUCCESS;
}

MXReturnValue mutateInputs(std::map<std::string, std::string> attrs, std::vector<int>& input_indices) {
  return MX_SUCCESS;
}

REGISTER_OP(mx_count)
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape)
    .setMutateInputs(mutateInputs)
    .setCreateOpState(createOpState, "cpu");

MXReturnValue initialize(int version) {
  if (version < 10400) {
    std::cout << "MXNet " << version << " is not supported" << std::endl;
    return MX_FAIL;
  }
  return MX_SUCCESS;
}

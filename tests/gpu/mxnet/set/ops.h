// A library for MXNet 1.8 to 2.0 in a header, a .cu and a .cc file.
#ifndef OPS_H_
#define OPS_H_
#include <iostream>
#include "mxnet/lib_api.h"

using namespace mxnet::ext;

typedef std::unordered_map<std::string, std::string> Attributes;

MXReturnValue forwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs,
                         std::vector<MXTensor>* outputs, const OpResource& res);
MXReturnValue backwardGPU(const Attributes& attrs, std::vector<MXTensor>* inputs,
                          std::vector<MXTensor>* outputs, const OpResource& res);

class StateGPU : public CustomStatefulOp {
 public:
  explicit StateGPU(const Attributes& attrs) : attrs(attrs) {}
  MXReturnValue Forward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                        const OpResource& res) {
    return forwardGPU(attrs, inputs, outputs, res);
  }
  MXReturnValue Backward(std::vector<MXTensor>* inputs, std::vector<MXTensor>* outputs,
                         const OpResource& res) {
    return backwardGPU(attrs, inputs, outputs, res);
  }

 private:
  const Attributes attrs;
};

#endif

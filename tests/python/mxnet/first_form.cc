// The form of the first proposal: int results, 1 for success, setters without a context.
#include "lib_api.h"

int forward(std::map<std::string, std::string> attrs, std::vector<MXTensor> inputs, std::vector<MXTensor> outputs,
            OpResource res) {
  for (int64_t i = 0; i < inputs[0].size(); ++i)
    outputs[0].data<double>()[i] = inputs[0].data<double>()[i] + std::stod(attrs["add"]);
  return 1;
}

int parseAttrs(std::map<std::string, std::string> attrs, int* num_in, int* num_out) {
  if (attrs.find("add") == attrs.end()) {
    std::cout << "the attribute 'add' is missing" << std::endl;
    return 0;
  }
  *num_in = 1;
  *num_out = 1;
  return 1;
}

int inferType(std::map<std::string, std::string> attrs, std::vector<int>& intypes, std::vector<int>& outtypes) {
  outtypes.push_back(intypes[0]);
  return 1;
}

int inferShape(std::map<std::string, std::string> attrs, std::vector<std::vector<unsigned int>>& inshapes,
               std::vector<std::vector<unsigned int>>& outshapes) {
  outshapes.push_back(inshapes[0]);
  return 1;
}

REGISTER_OP(mx_add).setForward(forward).setParseAttrs(parseAttrs).setInferType(inferType).setInferShape(inferShape);

int initialize(int version) { return version >= 10400 ? 1 : 0; }

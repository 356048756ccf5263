// Ops as sources for MXNet 1.7 are written: global namespace, arguments by pointer; a pass and a partitioner, whose
// names are told in a warning.
#include <iostream>
#include "lib_api.h"

MXReturnValue forward(const std::unordered_map<std::string, std::string>& attrs, std::vector<MXTensor>* inputs,
                      std::vector<MXTensor>* outputs, const OpResource& res) {
  JsonParser parser;
  JsonVal value = parser.parse_to_json(attrs.at(MX_STR_SUBGRAPH_SYM_JSON));
  int64_t add = value.map[JsonVal("heads")].list[0].list[1].num;
  for (int64_t i = 0; i < inputs->at(0).size(); ++i)
    outputs->at(0).data<int64_t>()[i] = inputs->at(0).data<int64_t>()[i] + add;
  return MX_SUCCESS;
}

MXReturnValue parseAttrs(const std::unordered_map<std::string, std::string>& attrs, int* num_in, int* num_out) {
  *num_in = *num_out = 1;
  return MX_SUCCESS;
}

MXReturnValue inferType(const std::unordered_map<std::string, std::string>& attrs, std::vector<int>* in,
                        std::vector<int>* out) {
  (*out)[0] = (*in)[0];
  return MX_SUCCESS;
}

MXReturnValue inferShape(const std::unordered_map<std::string, std::string>& attrs,
                         std::vector<std::vector<unsigned int>>* in, std::vector<std::vector<unsigned int>>* out) {
  (*out)[0] = (*in)[0];
  return MX_SUCCESS;
}

REGISTER_OP(mx_from_json)
    .setForward(forward, "cpu")
    .setParseAttrs(parseAttrs)
    .setInferType(inferType)
    .setInferShape(inferShape);

class State : public CustomStatefulOp {
 public:
  MXReturnValue Forward(std::vector<MXTensor>* in, std::vector<MXTensor>* out, const OpResource& res) {
    (*out)[0].data<float>()[0] = in->size();
    return MX_SUCCESS;
  }
};
MXReturnValue createOpState(const std::unordered_map<std::string, std::string>& attrs, CustomStatefulOp** op) {
  *op = new State();
  return MX_SUCCESS;
}
REGISTER_OP(mx_subgraph).setIsSubgraphOp().setCreateOpState(createOpState, "cpu");

MXReturnValue graphPass(const std::string& in_graph, const std::string** out_graph,
                        const std::unordered_map<std::string, std::string>& options,
                        const std::unordered_map<std::string, MXTensor>& args,
                        const std::unordered_map<std::string, MXTensor>& aux, const PassResource& res) {
  return MX_SUCCESS;
}
REGISTER_PASS(mx_pass).setBody(graphPass);

MXReturnValue supportedOps(const std::string& json, std::vector<int>* ids,
                           const std::unordered_map<std::string, std::string>& options) {
  return MX_SUCCESS;
}
REGISTER_PARTITIONER(mx_partitioner).addStrategy("first", "mx_subgraph").setSupportedOps("first", supportedOps);

MXReturnValue initialize(int version) { return version >= 10700 ? MX_SUCCESS : MX_FAIL; }

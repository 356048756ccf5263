// A class operator whose backward reads a hidden output alone; parameters that are lists, optional or unsigned.
#include <mxnet/operator.h>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
struct GateParam : public dmlc::Parameter<GateParam> {
  nnvm::Tuple<float> bounds;
  uint64_t times;
  nnvm::Tuple<uint32_t> repeats;
  dmlc::optional<uint32_t> most;
  DMLC_DECLARE_PARAMETER(GateParam) {
    DMLC_DECLARE_FIELD(bounds).set_default({0.5f}).describe("What is let through lies above all of them.");
    DMLC_DECLARE_FIELD(times).set_default(1);
    DMLC_DECLARE_FIELD(repeats).set_default(nnvm::Tuple<uint32_t>());
    DMLC_DECLARE_FIELD(most).set_default(dmlc::optional<uint32_t>());
  }
};

/// out = data * mask * times; the hidden output "mask" is 1 where data is above all bounds.
class GateOp : public Operator {
 public:
  explicit GateOp(GateParam param) : param_(param) {}
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out_data, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    Tensor<cpu, 2> data = in_data[0].FlatTo2D<cpu, real_t>(), out = out_data[0].FlatTo2D<cpu, real_t>();
    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();
    mask = 1.0f;
    for (float bound : param_.bounds) mask *= F<mshadow_op::gt>(data, bound);
    Assign(out, req[0], data * mask * static_cast<real_t>(param_.times));
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad, const std::vector<TBlob>& in_data,
                const std::vector<TBlob>& out_data, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& in_grad, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    Tensor<cpu, 2> grad = out_grad[0].FlatTo2D<cpu, real_t>(), gdata = in_grad[0].FlatTo2D<cpu, real_t>();
    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();
    Assign(gdata, req[0], grad * mask * static_cast<real_t>(param_.times));
  }

 private:
  GateParam param_;
};

class GateProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  std::vector<std::string> ListOutputs() const override { return {"output", "mask"}; }
  int NumVisibleOutputs() const override { return 1; }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                  std::vector<TShape>* aux_shape) const override {
    out_shape->assign(2, in_shape->at(0));
    return in_shape->at(0).ndim() != 0;
  }
  OperatorProperty* Copy() const override { return new GateProp(*this); }
  std::string TypeString() const override { return "Gate"; }
  std::vector<int> DeclareBackwardDependency(const std::vector<int>& out_grad, const std::vector<int>& in_data,
                                             const std::vector<int>& out_data) const override {
    return {out_grad[0], out_data[1]};
  }
  Operator* CreateOperator(Context ctx) const override { return new GateOp(param_); }

 private:
  GateParam param_;
};
DMLC_REGISTER_PARAMETER(GateParam);
MXNET_REGISTER_OP_PROPERTY(Gate, GateProp)
    .describe("Lets through what is above bounds.")
    .add_argument("data", "NDArray-or-Symbol", "What is let through.")
    .add_arguments(GateParam::__FIELDS__());
}  // namespace op
}  // namespace mxnet

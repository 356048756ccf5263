// A class operator with auxiliary states, a hidden output, scratch, random numbers and inputs that depend on parameters.
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
struct CenterParam : public dmlc::Parameter<CenterParam> {
  bool with_bias;
  bool noisy;
  int honest;
  DMLC_DECLARE_PARAMETER(CenterParam) {
    DMLC_DECLARE_FIELD(with_bias).set_default(false);
    DMLC_DECLARE_FIELD(noisy).set_default(false);
    DMLC_DECLARE_FIELD(honest).set_default(1);
  }
};

/// out = data - mean of each column (+ bias), kept in the hidden output "mean"; "seen" counts the calls.
class CenterOp : public Operator {
 public:
  explicit CenterOp(CenterParam param) : param_(param) {}
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out_data, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    Stream<cpu>* s = ctx.get_stream<cpu>();
    Tensor<cpu, 2> data = in_data[0].get<cpu, 2, real_t>(s), out = out_data[0].get<cpu, 2, real_t>(s);
    Tensor<cpu, 1> mean = out_data[1].get<cpu, 1, real_t>(s), seen = aux_states[0].get<cpu, 1, real_t>(s);
    CHECK_EQ(req[1], kWriteTo);
    mean = (1.0f / data.size(0)) * sum_rows(data);
    Tensor<cpu, 2> temp = ctx.requested[0].get_space<cpu>(data.shape_, s);
    temp = data - repmat(mean, data.size(0));
    if (param_.noisy && ctx.is_train) {
      Random<cpu>* random = ctx.requested[1].get_random<cpu, real_t>(s);
      temp += random->gaussian(temp.shape_) * 0.001f;
    }
    if (param_.with_bias) temp += broadcast<1>(in_data[1].get<cpu, 1, real_t>(s), temp.shape_);
    Assign(out, req[0], F<mshadow_op::identity>(temp));
    if (ctx.is_train) seen += 1.0f;
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad, const std::vector<TBlob>& in_data,
                const std::vector<TBlob>& out_data, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& in_grad, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    CHECK_EQ(out_grad.size(), 1U);
    CHECK(out_data[1].dptr_ != nullptr) << "the mean of forward is not here";
    Tensor<cpu, 2> data = in_data[0].get<cpu, 2, real_t>();
    Tensor<cpu, 1> mean = out_data[1].get<cpu, 1, real_t>();
    for (index_t j = 0; j < data.size(1); ++j) {
      double sum = 0;
      for (index_t i = 0; i < data.size(0); ++i) sum += data[i][j];
      CHECK_LT(std::abs(sum / data.size(0) - mean[j]), 1e-4) << "the mean is that of another forward";
    }
    Tensor<cpu, 2> grad = out_grad[0].get<cpu, 2, real_t>(), gdata = in_grad[0].get<cpu, 2, real_t>();
    Tensor<cpu, 1> sums = ctx.requested[0].get_space<cpu>(Shape1(grad.size(1)), nullptr);
    sums = sum_rows(grad);
    Assign(gdata, req[0], grad - repmat(sums, grad.size(0)) / static_cast<real_t>(grad.size(0)));
    if (param_.with_bias) {
      Tensor<cpu, 1> gbias = in_grad[1].get<cpu, 1, real_t>();
      Assign(gbias, req[1], sums);
    }
  }

 private:
  CenterParam param_;
};

class CenterProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  std::vector<std::string> ListArguments() const override {
    if (param_.with_bias) return {"data", "bias"};
    return {"data"};
  }
  std::vector<std::string> ListOutputs() const override { return {"output", "mean"}; }
  std::vector<std::string> ListAuxiliaryStates() const override { return {"seen"}; }
  int NumVisibleOutputs() const override { return 1; }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                  std::vector<TShape>* aux_shape) const override {
    const TShape data = in_shape->at(0);
    if (data.ndim() == 0) return false;
    CHECK_EQ(data.ndim(), 2U) << "Center takes a matrix";
    if (param_.with_bias) SHAPE_ASSIGN_CHECK(*in_shape, 1, mshadow::Shape1(data[1]));
    out_shape->clear();
    out_shape->push_back(data);
    if (param_.honest) out_shape->push_back(mshadow::Shape1(data[1]));
    aux_shape->clear();
    aux_shape->push_back(mshadow::Shape1(1));
    return true;
  }
  OperatorProperty* Copy() const override { return new CenterProp(*this); }
  std::string TypeString() const override { return "Center"; }
  std::vector<int> DeclareBackwardDependency(const std::vector<int>& out_grad, const std::vector<int>& in_data,
                                             const std::vector<int>& out_data) const override {
    return {out_grad[0], in_data[0], out_data[1]};
  }
  std::vector<ResourceRequest> ForwardResource(const std::vector<TShape>& in_shape) const override {
    std::vector<ResourceRequest> all = {ResourceRequest::kTempSpace};
    if (param_.noisy) all.push_back(ResourceRequest::kRandom);
    return all;
  }
  std::vector<ResourceRequest> BackwardResource(const std::vector<TShape>& in_shape) const override {
    return {ResourceRequest::kTempSpace};
  }
  Operator* CreateOperator(Context ctx) const override { return new CenterOp(param_); }

 private:
  CenterParam param_;
};
DMLC_REGISTER_PARAMETER(CenterParam);
MXNET_REGISTER_OP_PROPERTY(Center, CenterProp)
    .describe("Takes the mean away.")
    .add_argument("data", "NDArray-or-Symbol", "A matrix.")
    .add_arguments(CenterParam::__FIELDS__());
}  // namespace op
}  // namespace mxnet

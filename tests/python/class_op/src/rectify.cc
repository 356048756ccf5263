// A class operator with an input that a parameter brings, as the slope of a leaky rectifier may be learnt.
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
namespace rectify {
enum Inputs { kData, kGamma };
enum Kinds { kLeaky, kLearnt };
}  // namespace rectify

struct RectifyParam : public dmlc::Parameter<RectifyParam> {
  int act_type;
  float slope;
  DMLC_DECLARE_PARAMETER(RectifyParam) {
    DMLC_DECLARE_FIELD(act_type)
        .set_default(rectify::kLeaky)
        .add_enum("leaky", rectify::kLeaky)
        .add_enum("prelu", rectify::kLearnt);
    DMLC_DECLARE_FIELD(slope).set_default(0.25f).set_range(0.0f, 1.0f);
  }
};

/// out = data, times a slope where it is negative: a parameter, or one for each column.
class RectifyOp : public Operator {
 public:
  explicit RectifyOp(RectifyParam param) : param_(param) {}
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out_data, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    Tensor<cpu, 2> x = in_data[rectify::kData].get<cpu, 2, real_t>(), y = out_data[0].get<cpu, 2, real_t>();
    for (index_t i = 0; i < x.size(0); ++i)
      for (index_t j = 0; j < x.size(1); ++j) y[i][j] = x[i][j] > 0 ? x[i][j] : x[i][j] * slope(in_data, j);
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad, const std::vector<TBlob>& in_data,
                const std::vector<TBlob>& out_data, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& in_grad, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    Tensor<cpu, 2> x = in_data[rectify::kData].get<cpu, 2, real_t>(), dy = out_grad[0].get<cpu, 2, real_t>(),
                   dx = in_grad[rectify::kData].get<cpu, 2, real_t>();
    if (param_.act_type == rectify::kLearnt) in_grad[rectify::kGamma].get<cpu, 1, real_t>() = 0.0f;
    for (index_t i = 0; i < x.size(0); ++i)
      for (index_t j = 0; j < x.size(1); ++j) {
        const bool negative = x[i][j] <= 0;
        if (negative && param_.act_type == rectify::kLearnt)
          in_grad[rectify::kGamma].get<cpu, 1, real_t>()[j] += dy[i][j] * x[i][j];
        dx[i][j] = dy[i][j] * (negative ? slope(in_data, j) : 1.0f);
      }
  }

 private:
  real_t slope(const std::vector<TBlob>& in_data, mshadow::index_t j) const {
    if (param_.act_type == rectify::kLeaky) return param_.slope;
    return in_data[rectify::kGamma].get<cpu, 1, real_t>()[j];
  }
  RectifyParam param_;
};

class RectifyProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  std::vector<std::string> ListArguments() const override {
    if (param_.act_type == rectify::kLearnt) return {"data", "gamma"};
    return {"data"};
  }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                  std::vector<TShape>* aux_shape) const override {
    const TShape data = in_shape->at(rectify::kData);
    if (data.ndim() == 0) return false;
    CHECK_EQ(data.ndim(), 2U) << "Rectify takes a matrix";
    if (param_.act_type == rectify::kLearnt)
      SHAPE_ASSIGN_CHECK(*in_shape, rectify::kGamma, mshadow::Shape1(data[1]));
    out_shape->assign(1, data);
    return true;
  }
  OperatorProperty* Copy() const override { return new RectifyProp(*this); }
  std::string TypeString() const override { return "Rectify"; }
  Operator* CreateOperator(Context ctx) const override { return new RectifyOp(param_); }

 private:
  RectifyParam param_;
};
DMLC_REGISTER_PARAMETER(RectifyParam);
MXNET_REGISTER_OP_PROPERTY(Rectify, RectifyProp)
    .describe("A leaky rectifier.")
    .add_argument("data", "NDArray-or-Symbol", "A matrix.")
    .add_arguments(RectifyParam::__FIELDS__());
}  // namespace op
}  // namespace mxnet

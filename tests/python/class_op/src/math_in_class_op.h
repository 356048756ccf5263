// A class operator that computes with <tarsia/math.h>: y = relu(x + b) / 2, with a row for b.
#pragma once
#include <mxnet/operator.h>
#include <tarsia/math/mshadow.h>
#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {

template <class xpu>
class HalfReluOp : public Operator {
 public:
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out, const std::vector<TBlob>&) override {
    namespace math = tarsia::math;
    math::assign(math::view(out[0]), math::F<mshadow_op::relu>(math::view(in[0]) + math::view(in[1])) * 0.5,
                 math::On(), math::request_of(req[0]));
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& dy, const std::vector<TBlob>& in,
                const std::vector<TBlob>& out, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& dx, const std::vector<TBlob>&) override {
    namespace math = tarsia::math;
    // Tensors of mshadow's take the places of blobs.
    mshadow::Stream<xpu>* s = ctx.get_stream<xpu>();
    const mshadow::Tensor<xpu, 2, real_t> g = dy[0].FlatTo2D<xpu, real_t>(s),
                                          y = out[0].FlatTo2D<xpu, real_t>(s);
    const tarsia::Tensor masked =
        tarsia::empty(math::view(y).shape(), tarsia::float32, math::view(y).device());
    math::assign(masked, math::where(math::greater(math::view(y), 0), math::view(g), 0) * 0.5);
    math::copy(math::view(dx[0].FlatTo2D<xpu, real_t>(s)), masked, math::On(), math::request_of(req[0]));
    math::sum_to(math::view(dx[1]), masked, math::On(), math::request_of(req[1]));
  }
};

class HalfReluProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string>>&) override {}
  std::map<std::string, std::string> GetParams() const override { return {}; }
  std::vector<std::string> ListArguments() const override { return {"data", "bias"}; }
  bool InferShape(std::vector<TShape>* in, std::vector<TShape>* out, std::vector<TShape>*) const override {
    SHAPE_ASSIGN_CHECK(*out, 0, in->at(0));
    SHAPE_ASSIGN_CHECK(*in, 1, mshadow::Shape1(in->at(0)[1]));
    return true;
  }
  OperatorProperty* Copy() const override { return new HalfReluProp(*this); }
  std::string TypeString() const override { return "HalfRelu"; }
  Operator* CreateOperator(Context ctx) const override;
};

}  // namespace op
}  // namespace mxnet

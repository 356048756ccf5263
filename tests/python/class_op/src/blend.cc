// A class operator of every element type that honours all requests, and looks at its blobs in every way.
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
struct BlendParam : public dmlc::Parameter<BlendParam> {
  int weight;
  int axis;
  bool old;
  DMLC_DECLARE_PARAMETER(BlendParam) {
    DMLC_DECLARE_FIELD(weight).set_default(2);
    DMLC_DECLARE_FIELD(axis).set_default(1);
    DMLC_DECLARE_FIELD(old).set_default(false);
  }
};

/// sum = a + weight * b, and rows = the sums of `sum` over all but the axis.
class BlendOp : public Operator {
 public:
  explicit BlendOp(BlendParam param) : param_(param) {}
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out_data, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    CHECK_EQ(in_data.size(), 2U);
    CHECK_EQ(ctx.run_ctx.ctx.dev_mask(), cpu::kDevMask);
    CHECK_EQ(ctx.run_ctx.get_stream<cpu>(), ctx.get_stream<cpu>());
    if (param_.old) LOG(WARNING) << "old is deprecated; the weight is " << param_.weight;
    Stream<cpu>* s = ctx.run_ctx.get_stream<cpu>();
    MSHADOW_TYPE_SWITCH(in_data[0].type_flag_, DType, {
      Tensor<cpu, 1, DType> a = in_data[0].FlatTo1D<cpu, DType>(s), b = in_data[1].FlatTo1D<cpu, DType>(s);
      Tensor<cpu, 1, DType> sum = out_data[0].FlatTo1D<cpu, DType>(s);
      Assign(sum, req[0], a + b * static_cast<DType>(param_.weight));
      if (req[1] == kNullOp) return;
      // The same numbers as three dimensions around the axis, of the inputs: who asks for rows alone has no sum.
      Tensor<cpu, 3, DType> x = in_data[0].FlatTo3D<cpu, DType>(param_.axis, s);
      Tensor<cpu, 3, DType> y = in_data[1].get_with_shape<cpu, 3, DType>(x.shape_, s);
      Tensor<cpu, 1, DType> rows = out_data[1].get<cpu, 1, DType>(s);
      for (index_t k = 0; k < x.size(1); ++k) {
        double total = 0;
        for (index_t i = 0; i < x.size(0); ++i)
          for (index_t j = 0; j < x.size(2); ++j)
            total += static_cast<double>(x[i][k][j]) + param_.weight * static_cast<double>(y[i][k][j]);
        if (req[1] == kAddTo)
          rows[k] += static_cast<DType>(total);
        else
          rows[k] = static_cast<DType>(total);
      }
    })
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad, const std::vector<TBlob>& in_data,
                const std::vector<TBlob>& out_data, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& in_grad, const std::vector<TBlob>& aux_states) override {
    using namespace mshadow;
    using namespace mshadow::expr;
    const TShape& shape = in_grad[0].shape_;
    MSHADOW_TYPE_SWITCH(in_grad[0].type_flag_, DType, {
      Tensor<cpu, 3, DType> dsum = out_grad[0].FlatTo3D<cpu, DType>(param_.axis);
      Tensor<cpu, 1, DType> drows = out_grad[1].get<cpu, 1, DType>();
      Tensor<cpu, 2, DType> da = in_grad[0].FlatTo2D<cpu, DType>(), db = in_grad[1].FlatTo2D<cpu, DType>();
      CHECK_EQ(da.size(1), shape[shape.ndim() - 1]);
      Tensor<cpu, 3, DType> da3 = in_grad[0].get_with_shape<cpu, 3, DType>(dsum.shape_);
      Tensor<cpu, 3, DType> db3 = in_grad[1].get_with_shape<cpu, 3, DType>(dsum.shape_);
      Assign(da3, req[0], dsum + broadcast<1>(drows, dsum.shape_));
      Assign(db3, req[1], (dsum + broadcast<1>(drows, dsum.shape_)) * static_cast<DType>(param_.weight));
      CHECK_EQ(static_cast<void*>(db.dptr_), static_cast<void*>(db3.dptr_));
    })
  }

 private:
  BlendParam param_;
};

class BlendProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override {
    param_.Init(kwargs);
    CHECK_GT(param_.weight, 0) << "weight is positive";
    CHECK_GE(param_.axis, 0) << "axis counts from the front";
    CHECK_LT(param_.weight, 100) << "weight is small";
    CHECK_LE(param_.axis, 9) << "axis is one of ten";
    CHECK_NE(param_.weight, 13) << "weight brings no bad luck";
  }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  std::vector<std::string> ListArguments() const override { return {"a", "b"}; }
  std::vector<std::string> ListOutputs() const override { return {"sum", "rows"}; }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                  std::vector<TShape>* aux_shape) const override {
    const TShape data = in_shape->at(0);
    if (data.ndim() == 0) return false;
    SHAPE_ASSIGN_CHECK(*in_shape, 1, data);
    CHECK_LT(param_.axis, data.ndim()) << "there is no such axis";
    out_shape->assign(1, data);
    out_shape->push_back(mshadow::Shape1(data[param_.axis]));
    return true;
  }
  bool InferType(std::vector<int>* in_type, std::vector<int>* out_type, std::vector<int>* aux_type) const override {
    CHECK_NE(in_type->at(0), -1) << "the first input has a type";
    in_type->assign(2, in_type->at(0));
    out_type->assign(2, in_type->at(0));
    return true;
  }
  OperatorProperty* Copy() const override { return new BlendProp(*this); }
  std::string TypeString() const override { return "Blend"; }
  std::vector<int> DeclareBackwardDependency(const std::vector<int>& out_grad, const std::vector<int>& in_data,
                                             const std::vector<int>& out_data) const override {
    return {out_grad[0], out_grad[1]};
  }
  Operator* CreateOperator(Context ctx) const override {
    const std::vector<std::string> needed =
        BackwardInputs<std::string>({"dsum", "drows"}, {"a", "b"}, {"sum", "rows"});
    CHECK_EQ(needed.size(), 2U);
    CHECK(needed[0] == "dsum" && needed[1] == "drows") << "backward needs " << needed[0] << " and " << needed[1];
    Operator* made = new BlendOp(param_);
    return CHECK_NOTNULL(made);
  }

 private:
  BlendParam param_;
};
DMLC_REGISTER_PARAMETER(BlendParam);
MXNET_REGISTER_OP_PROPERTY(Blend, BlendProp)
    .describe("A weighted sum, and its sums around an axis.")
    .add_argument("a", "NDArray-or-Symbol", "Any tensor.")
    .add_argument("b", "NDArray-or-Symbol", "One of its shape.")
    .add_arguments(BlendParam::__FIELDS__())
    .honours_requests();
}  // namespace op
}  // namespace mxnet

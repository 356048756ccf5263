// A class operator in three files: soft thresholds. Parameters of every kind.
#ifndef SHRINK_INL_H_
#define SHRINK_INL_H_
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
namespace shrink_enum {
enum Inputs { kData };
enum Outputs { kOut };
enum Kind { kSoft, kHard };
}  // namespace shrink_enum

/// A pair of numbers, read by operator>>.
struct Pair {
  float first, second;
  bool operator==(const Pair& o) const { return first == o.first && second == o.second; }
};
inline std::istream& operator>>(std::istream& in, Pair& p) {
  char colon = 0;
  in >> p.first >> colon >> p.second;
  if (colon != ':') in.setstate(std::ios::failbit);
  return in;
}
inline std::ostream& operator<<(std::ostream& out, const Pair& p) {
  return out << p.first << ':' << p.second;
}

struct ShrinkParam : public dmlc::Parameter<ShrinkParam> {
  float bound;
  int kind;
  bool negate;
  double scale;
  std::string note;
  TShape axes;
  dmlc::optional<int> limit;
  Pair pair;
  int times;
  DMLC_DECLARE_PARAMETER(ShrinkParam) {
    DMLC_DECLARE_FIELD(bound).set_default(0.5f).set_range(0, 10).describe("What is taken away.");
    DMLC_DECLARE_FIELD(kind)
        .set_default(shrink_enum::kSoft)
        .add_enum("soft", shrink_enum::kSoft)
        .add_enum("hard", shrink_enum::kHard)
        .describe("How.");
    DMLC_DECLARE_FIELD(negate).set_default(false);
    DMLC_DECLARE_FIELD(scale).set_default(1.0);
    DMLC_DECLARE_FIELD(note).set_default("none");
    DMLC_DECLARE_FIELD(axes).set_default(TShape());
    DMLC_DECLARE_FIELD(limit).set_default(dmlc::optional<int>());
    DMLC_DECLARE_FIELD(pair).set_default(Pair{0, 0});
    DMLC_DECLARE_FIELD(times).set_default(1).set_lower_bound(1);
    DMLC_DECLARE_ALIAS(bound, lambda);
  }
};

struct soft {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    return a > b ? DType(a - b) : a < DType(-b) ? DType(a + b) : DType(0.0f);
  }
};
struct hard {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    return a > b || a < DType(-b) ? a : DType(0.0f);
  }
};
struct outside {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    return DType(a > b || a < DType(-b) ? 1.0f : 0.0f);
  }
};

template <typename xpu, typename DType>
class ShrinkOp : public Operator {
 public:
  explicit ShrinkOp(ShrinkParam param) : param_(param) {}
  virtual void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data,
                       const std::vector<OpReqType>& req, const std::vector<TBlob>& out_data,
                       const std::vector<TBlob>& aux_states) {
    using namespace mshadow;
    using namespace mshadow::expr;
    CHECK_EQ(in_data.size(), 1U);
    Stream<xpu>* s = ctx.get_stream<xpu>();
    Tensor<xpu, 2, DType> data = in_data[shrink_enum::kData].FlatTo2D<xpu, DType>(s);
    Tensor<xpu, 2, DType> out = out_data[shrink_enum::kOut].FlatTo2D<xpu, DType>(s);
    const DType scale = static_cast<DType>(param_.negate ? -param_.scale : param_.scale);
    const DType bound = static_cast<DType>(param_.bound);
    if (param_.kind == shrink_enum::kSoft) {
      Assign(out, req[shrink_enum::kOut], F<soft>(data, bound) * scale);
    } else {
      ASSIGN_DISPATCH(out, req[shrink_enum::kOut], scale * F<hard>(data, bound));
    }
  }
  virtual void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad,
                        const std::vector<TBlob>& in_data, const std::vector<TBlob>& out_data,
                        const std::vector<OpReqType>& req, const std::vector<TBlob>& in_grad,
                        const std::vector<TBlob>& aux_states) {
    using namespace mshadow;
    using namespace mshadow::expr;
    Stream<xpu>* s = ctx.get_stream<xpu>();
    Tensor<xpu, 2, DType> data = in_data[shrink_enum::kData].FlatTo2D<xpu, DType>(s);
    Tensor<xpu, 2, DType> grad = out_grad[shrink_enum::kOut].FlatTo2D<xpu, DType>(s);
    Tensor<xpu, 2, DType> gdata = in_grad[shrink_enum::kData].FlatTo2D<xpu, DType>(s);
    const DType scale = static_cast<DType>(param_.negate ? -param_.scale : param_.scale);
    Assign(gdata, req[shrink_enum::kData], F<outside>(data, static_cast<DType>(param_.bound)) * grad * scale);
  }

 private:
  ShrinkParam param_;
};

template <typename xpu>
Operator* CreateOp(ShrinkParam param, int dtype);

#if DMLC_USE_CXX11
class ShrinkProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape,
                  std::vector<TShape>* aux_shape) const override {
    SHAPE_ASSIGN_CHECK(*out_shape, shrink_enum::kOut, in_shape->at(shrink_enum::kData));
    SHAPE_ASSIGN_CHECK(*in_shape, shrink_enum::kData, out_shape->at(shrink_enum::kOut));
    return !shape_is_none(in_shape->at(0));
  }
  bool InferType(std::vector<int>* in_type, std::vector<int>* out_type,
                 std::vector<int>* aux_type) const override {
    CHECK_NE(in_type->at(0), -1) << "First input must have specified type";
    out_type->clear();
    out_type->push_back(in_type->at(0));
    return true;
  }
  OperatorProperty* Copy() const override {
    auto ptr = new ShrinkProp();
    ptr->param_ = param_;
    return ptr;
  }
  std::string TypeString() const override { return "Shrink"; }
  std::vector<int> DeclareBackwardDependency(const std::vector<int>& out_grad,
                                             const std::vector<int>& in_data,
                                             const std::vector<int>& out_data) const override {
    return {out_grad[shrink_enum::kOut], in_data[shrink_enum::kData]};
  }
  std::vector<std::pair<int, void*> > ForwardInplaceOption(
      const std::vector<int>& in_data, const std::vector<void*>& out_data) const override {
    return {{in_data[shrink_enum::kData], out_data[shrink_enum::kOut]}};
  }
  std::vector<std::pair<int, void*> > BackwardInplaceOption(
      const std::vector<int>& out_grad, const std::vector<int>& in_data, const std::vector<int>& out_data,
      const std::vector<void*>& in_grad) const override {
    return {{out_grad[shrink_enum::kOut], in_grad[shrink_enum::kData]}};
  }
  Operator* CreateOperator(Context ctx) const override {
    LOG(FATAL) << "Not Implemented.";
    return NULL;
  }
  Operator* CreateOperatorEx(Context ctx, std::vector<TShape>* in_shape,
                             std::vector<int>* in_type) const override;

 private:
  ShrinkParam param_;
};
#endif
}  // namespace op
}  // namespace mxnet
#endif

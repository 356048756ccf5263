// An operator with as many inputs as are passed: joins matrices along their columns.
#include <mxnet/operator.h>

#include "./operator_common.h"

namespace mxnet {
namespace op {

struct JoinParam : public dmlc::Parameter<JoinParam> {
  int num_args;
  bool twice;
  DMLC_DECLARE_PARAMETER(JoinParam) {
    DMLC_DECLARE_FIELD(num_args).set_lower_bound(1).describe("How many inputs there are.");
    DMLC_DECLARE_FIELD(twice).set_default(false).describe("Whether all are doubled.");
  }
};

template <typename DType>
class JoinOp : public Operator {
 public:
  explicit JoinOp(JoinParam param) : param_(param) {}
  void Forward(const OpContext&, const std::vector<TBlob>& in, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out, const std::vector<TBlob>&) override {
    index_t at = 0;
    mshadow::Tensor<cpu, 2, DType> to = out[0].get<cpu, 2, DType>();
    for (const TBlob& one : in) {
      const index_t end = at + one.size(1);
      Assign(mshadow::expr::slice<1>(to, at, end), req[0],
             (one.get<cpu, 2, DType>()) * DType(param_.twice ? 2 : 1));
      at = end;
    }
  }
  void Backward(const OpContext&, const std::vector<TBlob>& out_grad, const std::vector<TBlob>&,
                const std::vector<TBlob>&, const std::vector<OpReqType>& req,
                const std::vector<TBlob>& in_grad, const std::vector<TBlob>&) override {
    index_t at = 0;
    mshadow::Tensor<cpu, 2, DType> from = out_grad[0].get<cpu, 2, DType>();
    for (size_t i = 0; i < in_grad.size(); ++i) {
      const index_t end = at + in_grad[i].size(1);
      mshadow::Tensor<cpu, 2, DType> to = in_grad[i].get<cpu, 2, DType>();
      Assign(to, req[i], mshadow::expr::slice<1>(from, at, end) * DType(param_.twice ? 2 : 1));
      at = end;
    }
  }

 private:
  JoinParam param_;
};

class JoinProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string>>& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  std::vector<std::string> ListArguments() const override {
    std::vector<std::string> names;
    for (int i = 0; i < param_.num_args; ++i) names.push_back("arg" + std::to_string(i));
    return names;
  }
  bool InferShape(std::vector<TShape>* in, std::vector<TShape>* out, std::vector<TShape>*) const override {
    TShape joined = in->at(0);
    if (joined.ndim() == 0) return false;
    for (size_t i = 1; i < in->size(); ++i) {
      CHECK_EQ(in->at(i)[0], joined[0]) << "the matrices have different numbers of rows";
      joined[1] += in->at(i)[1];
    }
    out->assign(1, joined);
    return true;
  }
  bool InferType(std::vector<int>* in, std::vector<int>* out, std::vector<int>*) const override {
    for (int& type : *in) type = in->at(0);
    out->assign(1, in->at(0));
    return in->at(0) != -1;
  }
  OperatorProperty* Copy() const override { return new JoinProp(*this); }
  std::string TypeString() const override { return "Join"; }
  Operator* CreateOperator(Context) const override { return nullptr; }
  Operator* CreateOperatorEx(Context, std::vector<TShape>*, std::vector<int>* types) const override {
    Operator* made = nullptr;
    MSHADOW_REAL_TYPE_SWITCH(types->at(0), DType, { made = new JoinOp<DType>(param_); });
    return made;
  }

 private:
  JoinParam param_;
};

DMLC_REGISTER_PARAMETER(JoinParam);
MXNET_REGISTER_OP_PROPERTY(Join, JoinProp)
    .add_argument("data", "NDArray-or-Symbol[]", "What is joined.")
    .add_arguments(JoinParam::__FIELDS__())
    .set_key_var_num_args("num_args");

}  // namespace op
}  // namespace mxnet

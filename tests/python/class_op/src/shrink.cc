// A class operator of two files, as MXNet's are: the CPU's.
#include "./shrink-inl.h"

namespace mxnet {
namespace op {
template <>
Operator* CreateOp<cpu>(ShrinkParam param, int dtype) {
  Operator* op = NULL;
  MSHADOW_REAL_TYPE_SWITCH(dtype, DType, { op = new ShrinkOp<cpu, DType>(param); });
  return op;
}
Operator* ShrinkProp::CreateOperatorEx(Context ctx, std::vector<TShape>* in_shape, std::vector<int>* in_type) const {
  std::vector<TShape> out_shape, aux_shape;
  std::vector<int> out_type, aux_type;
  CHECK(InferType(in_type, &out_type, &aux_type));
  CHECK(InferShape(in_shape, &out_shape, &aux_shape));
  DO_BIND_DISPATCH(CreateOp, param_, (*in_type)[0]);
}
DMLC_REGISTER_PARAMETER(ShrinkParam);

MXNET_REGISTER_OP_PROPERTY(Shrink, ShrinkProp)
    .describe("Takes a bound away." ADD_FILELINE)
    .add_argument("data", "NDArray-or-Symbol", "What it is taken away from.")
    .add_arguments(ShrinkParam::__FIELDS__());

NNVM_REGISTER_OP(Shrink).add_alias("shrunken");
}  // namespace op
}  // namespace mxnet

// A class operator of two files, as MXNet's are: the GPU's.
#include "./shrink-inl.h"

namespace mxnet {
namespace op {
template <>
Operator* CreateOp<gpu>(ShrinkParam param, int dtype) {
  Operator* op = NULL;
  MSHADOW_REAL_TYPE_SWITCH(dtype, DType, { op = new ShrinkOp<gpu, DType>(param); });
  return op;
}
}  // namespace op
}  // namespace mxnet

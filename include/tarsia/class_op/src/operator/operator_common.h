// What the sources of class operators include: Assign, the checks of shapes and types, and the choice of a
// device.
#pragma once

#include <istream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <dmlc/json.h>
#include <dmlc/logging.h>
#include <mxnet/base.h>
#include <mxnet/operator.h>
#include <tarsia/class_op/src/common/cuda_utils.h>

namespace mxnet {
namespace op {

/// What is assigned: the elements of a tensor, which an assignment between tensors would not copy.
template <class Device, int dim, class DType>
mshadow::expr::UnaryMapExp<mshadow::op::identity, mshadow::Tensor<Device, dim, DType>, DType,
                           mshadow::expr::type::kMapper>
elements_of(const mshadow::Tensor<Device, dim, DType>& t) {
  return mshadow::expr::F<mshadow::op::identity>(t);
}
template <class E>
const E& elements_of(const E& e) {
  return e;
}

/// Assigns an expression as the request says.
#define Assign(out, req, exp)                   \
  {                                             \
    switch (req) {                              \
      case ::mxnet::kNullOp:                    \
        break;                                  \
      case ::mxnet::kWriteTo:                   \
      case ::mxnet::kWriteInplace:              \
        (out) = ::mxnet::op::elements_of(exp);  \
        break;                                  \
      case ::mxnet::kAddTo:                     \
        (out) += ::mxnet::op::elements_of(exp); \
        break;                                  \
      default:                                  \
        LOG(FATAL) << "not reached";            \
    }                                           \
  }
#define ASSIGN_DISPATCH(out, req, exp) Assign(out, req, exp)

/// What shapes that contradict throw; `index` is the tensor's number.
struct InferShapeError : public dmlc::Error {
  std::string msg;
  int index;
  InferShapeError(const std::string& text, int number) : dmlc::Error(text), msg(text), index(number) {}
};
struct InferTypeError : public dmlc::Error {
  std::string msg;
  int index;
  InferTypeError(const std::string& text, int number) : dmlc::Error(text), msg(text), index(number) {}
};

/// Whether a shape, or one of its extents, is unknown.
inline bool shape_is_none(const TShape& shape) {
  return shape.ndim() == 0 || shape.Size() == 0;
}
inline bool type_is_none(const int& type) {
  return type == -1;
}
inline bool shape_is_scalar(const TShape& shape) {
  return shape.ndim() == 1 && shape.Size() == 1;
}
inline std::string shape_string(const TShape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}
inline std::string type_string(const int& type) {
  static const char* const names[] = {"float32", "float64", "float16", "uint8", "int32", "int8", "int64"};
  return type >= 0 && type < 7 ? names[type] : "unknown";
}

/// Fills in what `to` does not know. False if they contradict.
inline bool shape_assign(TShape* to, const TShape& from) {
  if (to->ndim() == 0) {
    *to = from;
    return true;
  }
  if (to->ndim() != from.ndim()) return from.ndim() == 0;
  for (size_t i = 0; i < to->ndim(); ++i) {
    if ((*to)[i] == 0)
      (*to)[i] = from[i];
    else if ((*to)[i] != from[i] && from[i] != 0)
      return false;
  }
  return true;
}
inline bool type_assign(int* to, const int& from) {
  if (*to == -1) *to = from;
  return *to == from || from == -1;
}

/// The element of a list; makes the list long enough. CreateOperatorEx of the time before nnvm infers into
/// empty lists.
template <class T>
T& grown(std::vector<T>& list, size_t index, const T& unknown) {
  if (index >= list.size()) list.resize(index + 1, unknown);
  return list[index];
}

#define SHAPE_ASSIGN_CHECK(shape_array, index, shape)                                              \
  {                                                                                                \
    ::mxnet::TShape& tarsia_shape = ::mxnet::op::grown((shape_array), (index), ::mxnet::TShape()); \
    if (!::mxnet::op::shape_assign(&tarsia_shape, ::mxnet::TShape(shape))) {                       \
      std::ostringstream tarsia_text;                                                              \
      tarsia_text << "Shape inconsistent, Provided=" << tarsia_shape << ','                        \
                  << " inferred shape=" << ::mxnet::TShape(shape);                                 \
      throw ::mxnet::op::InferShapeError(tarsia_text.str(), static_cast<int>(index));              \
    }                                                                                              \
  }
#define TYPE_ASSIGN_CHECK(type_array, index, type)                                                  \
  {                                                                                                 \
    int& tarsia_type = ::mxnet::op::grown((type_array), (index), -1);                               \
    if (!::mxnet::op::type_assign(&tarsia_type, (type))) {                                          \
      std::ostringstream tarsia_text;                                                               \
      tarsia_text << "Type inconsistent, Provided=" << ::mxnet::op::type_string(tarsia_type) << ',' \
                  << " inferred type=" << ::mxnet::op::type_string(type);                           \
      throw ::mxnet::op::InferTypeError(tarsia_text.str(), static_cast<int>(index));                \
    }                                                                                               \
  }
#define UNIFORM_TYPE_CHECK(type, expected, arg)                                             \
  {                                                                                         \
    CHECK_EQ(type, expected) << "This layer requires uniform type. Expected '"              \
                             << ::mxnet::op::type_string(expected) << "' v.s. given '"      \
                             << ::mxnet::op::type_string(type) << "' at '" << (arg) << "'"; \
  }

/// Returns what the template gives for the device of `ctx`.
#if MXNET_USE_CUDA
#define DO_BIND_DISPATCH(Method, ...)           \
  if (ctx.dev_mask() == ::mxnet::cpu::kDevMask) \
    return Method< ::mxnet::cpu>(__VA_ARGS__);  \
  else                                          \
    return Method< ::mxnet::gpu>(__VA_ARGS__);
#else
#define DO_BIND_DISPATCH(Method, ...)                                                      \
  if (ctx.dev_mask() == ::mxnet::cpu::kDevMask) {                                          \
    return Method< ::mxnet::cpu>(__VA_ARGS__);                                             \
  } else {                                                                                 \
    LOG(FATAL) << "GPU is not enabled: compile the .cu file along, with MXNET_USE_CUDA=1"; \
    return nullptr;                                                                        \
  }
#endif

}  // namespace op
}  // namespace mxnet

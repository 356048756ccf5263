// Joining tensors along a dimension that is known when the op runs, and splitting them.
#pragma once

#include <vector>

#include <dmlc/logging.h>
#include <mxnet/operator.h>
#include <tarsia/class_op/src/operator/operator_common.h>

namespace mxnet {
namespace op {

/// The dimensions from `at` down to 0, one of which is the one that is asked for.
template <int at>
struct ChannelDimension {
  template <class Whole, class Part>
  static void join(const std::vector<Part>& parts, Whole* whole, int dimension, OpReqType req) {
    if (dimension != at) return ChannelDimension<at - 1>::join(parts, whole, dimension, req);
    index_t begin = 0;
    for (const Part& part : parts) {
      const index_t end = begin + part.size(at);
      Assign(mshadow::expr::slice<at>(*whole, begin, end), req, part);
      begin = end;
    }
  }
  template <class Whole, class Part>
  static void split(const Whole& whole, std::vector<Part>* parts, int dimension,
                    const std::vector<OpReqType>& req) {
    if (dimension != at) return ChannelDimension<at - 1>::split(whole, parts, dimension, req);
    index_t begin = 0;
    for (size_t i = 0; i < parts->size(); ++i) {
      const index_t end = begin + (*parts)[i].size(at);
      Assign((*parts)[i], req[i], mshadow::expr::slice<at>(whole, begin, end));
      begin = end;
    }
  }
};
template <>
struct ChannelDimension<-1> {
  template <class Whole, class Part>
  static void join(const std::vector<Part>&, Whole*, int, OpReqType) {}
  template <class Whole, class Part>
  static void split(const Whole&, std::vector<Part>*, int, const std::vector<OpReqType>&) {}
};

inline void check_channel_dimension(int dimension, int dim) {
  CHECK(dimension >= 0 && dimension < dim) << "dimension (" << dimension << ") must be from 0 to " << dim - 1;
}

/// Writes the tensors behind each other along `dimension`.
template <typename xpu, int dim, typename DType>
void Concatenate(const std::vector<mshadow::Tensor<xpu, dim, DType>>& input,
                 mshadow::Tensor<xpu, dim, DType>* output, const int dimension, const OpReqType req) {
  check_channel_dimension(dimension, dim);
  ChannelDimension<dim - 1>::join(input, output, dimension, req);
}
/// Writes the parts of a tensor along `dimension`.
template <typename xpu, int dim, typename DType>
void Split(const mshadow::Tensor<xpu, dim, DType>& input,
           std::vector<mshadow::Tensor<xpu, dim, DType>>* output, const int dimension,
           const std::vector<OpReqType>& req) {
  check_channel_dimension(dimension, dim);
  ChannelDimension<dim - 1>::split(input, output, dimension, req);
}

}  // namespace op
}  // namespace mxnet

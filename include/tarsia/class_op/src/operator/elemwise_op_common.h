// Inference of shapes and types for operators whose tensors are alike.
#pragma once

#include <string>
#include <vector>

#include <tarsia/class_op/src/operator/operator_common.h>

namespace mxnet {
namespace op {

/// What is known of one tensor is known of all, for instance shapes. False if too little is known. With
/// reverse_infer, inputs learn from outputs.
template <typename AttrType, bool (*is_none)(const AttrType&), bool (*assign)(AttrType*, const AttrType&),
          bool reverse_infer, std::string (*attr_string)(const AttrType&), int n_in = -1, int n_out = -1>
bool ElemwiseAttr(const nnvm::NodeAttrs& attrs, std::vector<AttrType>* in, std::vector<AttrType>* out,
                  const AttrType& none) {
  AttrType all = none;
  const auto learn = [&](const std::vector<AttrType>& list, size_t n, const char* what) {
    for (size_t i = 0; i < n; ++i)
      CHECK(assign(&all, list[i])) << "Incompatible attr in node " << attrs.name << " at " << i << "-th "
                                   << what << ": "
                                   << "expected " << attr_string(all) << ", got " << attr_string(list[i]);
  };
  const size_t inputs = n_in < 0 ? in->size() : static_cast<size_t>(n_in);
  const size_t outputs = n_out < 0 ? out->size() : static_cast<size_t>(n_out);
  learn(*in, inputs, "input");
  if (reverse_infer) learn(*out, outputs, "output");
  for (size_t i = 0; i < inputs; ++i) assign(&(*in)[i], all);
  for (size_t i = 0; i < outputs; ++i)
    CHECK(assign(&(*out)[i], all)) << "Incompatible attr in node " << attrs.name << " at " << i
                                   << "-th output";
  return !is_none(all);
}

}  // namespace op
}  // namespace mxnet

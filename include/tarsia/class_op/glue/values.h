// Conversions between Tarsia's descriptions and those of class operators: attributes, shapes, element types.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <mxnet/base.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
#pragma GCC visibility push(hidden)
namespace mxnet {
namespace tarsia_detail {

typedef std::vector<std::pair<std::string, std::string>> Texts;

/// An attribute's value as the text that a parameter reads.
inline std::string text_of(const tarsia_value& v) {
  switch (v.kind) {
    case TARSIA_KIND_BOOL:
      return v.i ? "True" : "False";
    case TARSIA_KIND_INT:
      return v.size == TARSIA_UNSIGNED ? std::to_string(v.u) : std::to_string(v.i);
    case TARSIA_KIND_FLOAT: {
      char text[40];
      snprintf(text, sizeof text, "%.17g", v.f);
      return text;
    }
    case TARSIA_KIND_STRING:
      return std::string(v.s, v.size);
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE: {
      std::string text = "(";
      for (uint64_t i = 0; i < v.size; ++i) text += (i ? "," : "") + text_of(v.v[i]);
      return text + (v.size == 1 ? ",)" : ")");
    }
    default:
      return "None";
  }
}

/// The attribute that says whether a call trains. It belongs to all class operators.
constexpr const char* k_is_train = "is_train";

inline Texts texts_of(const tarsia_bind_info* info, bool own_is_train) {
  Texts texts;
  for (uint32_t i = 0; i < info->n_attributes; ++i)
    if (info->attributes[i].kind != TARSIA_KIND_NONE &&
        (!own_is_train || std::string(info->attribute_names[i]) != k_is_train))
      texts.push_back(std::make_pair(std::string(info->attribute_names[i]), text_of(info->attributes[i])));
  return texts;
}

/// The number of an element type; -1 if it is unknown. Throws if MXNet has no such type.
inline int type_flag_of(tarsia_dtype dtype) {
  if (dtype.bits == 0) return -1;
  for (int flag = 0; flag < mshadow::tarsia_detail::k_types; ++flag)
    if (dtype == mshadow::tarsia_detail::dtype_of(flag)) return flag;
  throw dmlc::Error("class operators take float16, float32, float64, uint8, int8, int32 and int64");
}
inline tarsia_dtype dtype_of(int type_flag) {
  if (type_flag < 0 || type_flag >= mshadow::tarsia_detail::k_types)
    throw dmlc::Error("InferType gives " + std::to_string(type_flag) + ", which is no element type");
  return mshadow::tarsia_detail::dtype_of(type_flag);
}

/// A shape as class operators know it: unknown extents are 0, an unknown shape has none.
inline TShape shape_of(const tarsia_meta& meta) {
  TShape shape;
  if (meta.ndim == 0)
    throw dmlc::Error("class operators take no tensors without dimensions: pass one of shape (1,)");
  if (meta.ndim < 0) return shape;
  std::vector<nnvm::dim_t> extents(meta.shape, meta.shape + meta.ndim);
  for (nnvm::dim_t& extent : extents)
    if (extent < 0) extent = 0;
  shape.assign(extents.begin(), extents.end());
  return shape;
}
/// Writes what is known of a shape. What the caller knew to be 0 stays.
inline void write_shape(const TShape& shape, tarsia_meta& meta) {
  if (shape.ndim() == 0) return;
  if (shape.ndim() > TARSIA_MAX_NDIM) throw dmlc::Error("InferShape gives too many dimensions");
  const bool same = meta.ndim == static_cast<int32_t>(shape.ndim());
  meta.ndim = static_cast<int32_t>(shape.ndim());
  for (uint32_t i = 0; i < shape.ndim(); ++i)
    meta.shape[i] = shape[i] == 0 ? (same && meta.shape[i] == 0 ? 0 : -1) : shape[i];
}

inline TBlob blob_of(const tarsia_tensor* tensor, const tarsia_meta& meta, tarsia_device device) {
  const int mask =
      device.type == TARSIA_GPU ? static_cast<int>(gpu::kDevMask) : static_cast<int>(cpu::kDevMask);
  char* data = tensor && tensor->data ? static_cast<char*>(tensor->data) + tensor->byte_offset : nullptr;
  return TBlob(static_cast<void*>(data), shape_of(meta), mask, type_flag_of(meta.dtype), device.id);
}

}  // namespace tarsia_detail
}  // namespace mxnet
#pragma GCC visibility pop
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

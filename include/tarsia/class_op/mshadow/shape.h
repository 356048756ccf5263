// mshadow::Shape: the extents of a tensor whose number of dimensions is known to the compiler. Device code
// sees this file, too.
#pragma once

#include <mshadow/base.h>

#include <istream>
#include <ostream>

namespace mshadow {

template <int dimension>
struct Shape {
  enum { kDimension = dimension, kSubdim = dimension - 1 };

  MSHADOW_XINLINE index_t& operator[](index_t i) { return shape_[i]; }
  MSHADOW_XINLINE const index_t& operator[](index_t i) const { return shape_[i]; }
  MSHADOW_XINLINE bool operator==(const Shape& other) const {
    for (int i = 0; i < dimension; ++i)
      if (shape_[i] != other.shape_[i]) return false;
    return true;
  }
  MSHADOW_XINLINE bool operator!=(const Shape& other) const { return !(*this == other); }
  MSHADOW_XINLINE index_t ProdShape(int begin, int end) const {
    index_t product = 1;
    for (int i = begin; i < end; ++i) product *= shape_[i];
    return product;
  }
  MSHADOW_XINLINE size_t Size() const {
    size_t product = 1;
    for (int i = 0; i < dimension; ++i) product *= shape_[i];
    return product;
  }
  MSHADOW_XINLINE Shape<1> FlatTo1D() const {
    Shape<1> flat;
    flat.shape_[0] = static_cast<index_t>(Size());
    return flat;
  }
  /// All but the last dimension together, and the last.
  MSHADOW_XINLINE Shape<2> FlatTo2D() const {
    Shape<2> flat;
    flat.shape_[1] = shape_[dimension - 1];
    flat.shape_[0] = ProdShape(0, dimension - 1);
    return flat;
  }
  MSHADOW_XINLINE Shape<dimension == 1 ? 1 : dimension - 1> SubShape() const {
    Shape<dimension == 1 ? 1 : dimension - 1> sub;
    for (int i = 0; i < dimension - 1; ++i) sub.shape_[i] = shape_[i + 1];
    return sub;
  }
  template <int begin, int end>
  MSHADOW_XINLINE Shape<end - begin> Slice() const {
    Shape<end - begin> part;
    for (int i = begin; i < end; ++i) part.shape_[i - begin] = shape_[i];
    return part;
  }

  index_t shape_[dimension];
};

MSHADOW_XINLINE Shape<1> Shape1(index_t a) {
  Shape<1> s;
  s[0] = a;
  return s;
}
MSHADOW_XINLINE Shape<2> Shape2(index_t a, index_t b) {
  Shape<2> s;
  s[0] = a, s[1] = b;
  return s;
}
MSHADOW_XINLINE Shape<3> Shape3(index_t a, index_t b, index_t c) {
  Shape<3> s;
  s[0] = a, s[1] = b, s[2] = c;
  return s;
}
MSHADOW_XINLINE Shape<4> Shape4(index_t a, index_t b, index_t c, index_t d) {
  Shape<4> s;
  s[0] = a, s[1] = b, s[2] = c, s[3] = d;
  return s;
}
MSHADOW_XINLINE Shape<5> Shape5(index_t a, index_t b, index_t c, index_t d, index_t e) {
  Shape<5> s;
  s[0] = a, s[1] = b, s[2] = c, s[3] = d, s[4] = e;
  return s;
}

namespace tarsia_detail {
/// Where each axis of a layout of images or volumes stands: batch, channel, then the places.
inline const char* axes_of(int layout) {
  switch (layout) {
    case kNCHW:
      return "0123";
    case kNHWC:
      return "0312";
    case kCHWN:
      return "3012";
    case kNCW:
      return "012";
    case kNWC:
      return "021";
    case kCWN:
      return "201";
    case kNCDHW:
      return "01234";
    case kNDHWC:
      return "04123";
    case kCDHWN:
      return "40123";
    default:
      LOG(FATAL) << "Unknown layout enum " << layout;
  }
  return "";
}
}  // namespace tarsia_detail

/// The shape with its axes in the order of another layout.
template <int dimension>
Shape<dimension> ConvertLayout(const Shape<dimension>& from, int layout, int to_layout) {
  const char *have = tarsia_detail::axes_of(layout), *want = tarsia_detail::axes_of(to_layout);
  Shape<dimension> to;
  for (int i = 0; i < dimension; ++i) to[want[i] - '0'] = from[have[i] - '0'];
  return to;
}

template <int dimension>
std::ostream& operator<<(std::ostream& out, const Shape<dimension>& shape) {
  out << '(';
  for (int i = 0; i < dimension; ++i) out << (i ? "," : "") << shape[i];
  return out << (dimension == 1 ? ",)" : ")");
}
template <int dimension>
std::istream& operator>>(std::istream& in, Shape<dimension>& shape) {
  char c = 0;
  bool good = bool(in >> c) && (c == '(' || c == '[');
  for (int i = 0; good && i < dimension; ++i) {
    good = bool(in >> shape[i] >> c);
    if (good && i + 1 < dimension) good = c == ',';
  }
  if (good && c == ',') good = bool(in >> c);
  if (!good || (c != ')' && c != ']')) in.setstate(std::ios::failbit);
  return in;
}

}  // namespace mshadow

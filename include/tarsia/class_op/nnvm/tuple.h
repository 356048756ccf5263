// nnvm::Tuple and nnvm::TShape: lists of numbers, and the extents of tensors.
#pragma once

#include <initializer_list>
#include <istream>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dmlc/common.h>
#include <dmlc/logging.h>
#include <mshadow/shape.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
namespace nnvm {

typedef int64_t dim_t;

/// A list of numbers, written "(1,2)".
template <class T>
class Tuple {
 public:
  Tuple() {}
  Tuple(std::initializer_list<T> items) : m_items(items) {}
  Tuple(const std::vector<T>& items) : m_items(items) {}
  template <class Iterator>
  Tuple(Iterator begin, Iterator end) : m_items(begin, end) {}
  template <class Iterator>
  void assign(Iterator begin, Iterator end) {
    m_items.assign(begin, end);
  }
  void swap(Tuple& other) { m_items.swap(other.m_items); }
  uint32_t ndim() const { return static_cast<uint32_t>(m_items.size()); }
  T* data() { return m_items.data(); }
  const T* data() const { return m_items.data(); }
  T* begin() { return m_items.data(); }
  const T* begin() const { return m_items.data(); }
  T* end() { return m_items.data() + m_items.size(); }
  const T* end() const { return m_items.data() + m_items.size(); }
  /// An item. Where there is none, it is zero: operators of that time read the first extent of an empty
  /// shape. What is written there is lost. Throws where an item could never have been.
  T& operator[](size_t i) { return i < m_items.size() ? m_items[i] : (m_none = none(i)); }
  const T& operator[](size_t i) const {
    static const T s_none = T();
    return i < m_items.size() ? m_items[i] : (none(i), s_none);
  }
  bool operator==(const Tuple& other) const { return m_items == other.m_items; }
  bool operator!=(const Tuple& other) const { return m_items != other.m_items; }

 protected:
  std::vector<T> m_items;

 private:
  static constexpr size_t k_room = 4;  // that lists had without an allocation
  T none(size_t i) const {
    CHECK_LT(i, k_room) << "there is no item " << i << " in a list of " << ndim();
    return T();
  }
  T m_none = T();
};

/// Writes a list.
template <class T>
std::ostream& operator<<(std::ostream& out, const Tuple<T>& t) {
  out << '(';
  for (uint32_t i = 0; i < t.ndim(); ++i) out << (i ? "," : "") << t[i];
  return out << (t.ndim() == 1 ? ",)" : ")");
}
/// Reads a list in round or square brackets, or one number.
template <class T>
std::istream& operator>>(std::istream& in, Tuple<T>& t) {
  std::vector<T> items;
  const auto fail = [&]() -> std::istream& {
    in.setstate(std::ios::failbit);
    return in;
  };
  const auto number = [&in](T& item) {
    if (std::is_unsigned<T>::value && (in >> std::ws).peek() == '-') return false;  // it would wrap around
    if (!(in >> item)) return false;
    if (in.peek() == 'L') in.get();  // a long of Python 2
    return true;
  };
  T item = T();
  char c = 0;
  if (!(in >> c)) return fail();
  if (c != '(' && c != '[') {
    in.putback(c);
    if (!number(item)) return fail();
    items.push_back(item);
  } else {
    const char close = c == '(' ? ')' : ']';
    for (;;) {
      if (!(in >> c)) return fail();
      if (c == close) break;
      in.putback(c);
      if (!number(item)) return fail();
      items.push_back(item);
      if (!(in >> c)) return fail();
      if (c == close) break;
      if (c != ',') return fail();
    }
  }
  t.assign(items.begin(), items.end());
  return in;
}

/// The extents of a tensor. Without any, the shape is unknown; an extent of 0 is unknown.
class TShape : public Tuple<dim_t> {
 public:
  TShape() {}
  /// `ndim` extents of 0.
  TShape(uint32_t ndim) { m_items.assign(ndim, 0); }
  TShape(std::initializer_list<dim_t> items) : Tuple<dim_t>(items) {}
  TShape(const Tuple<dim_t>& other) : Tuple<dim_t>(other) {}
  template <class Iterator, class = decltype(*std::declval<Iterator>())>
  TShape(Iterator begin, Iterator end) : Tuple<dim_t>(begin, end) {}
  template <int dim>
  TShape(const mshadow::Shape<dim>& s) {
    m_items.assign(s.shape_, s.shape_ + dim);
  }
  template <int dim>
  TShape& operator=(const mshadow::Shape<dim>& s) {
    m_items.assign(s.shape_, s.shape_ + dim);
    return *this;
  }
  size_t Size() const { return ProdShape(0, static_cast<int>(ndim())); }
  size_t ProdShape(int begin, int end) const {
    size_t product = 1;
    for (int i = begin; i < end; ++i) product *= static_cast<size_t>(m_items[static_cast<size_t>(i)]);
    return product;
  }
  /// The shape with a number of dimensions that the compiler knows. Throws if that is not its own.
  template <int dim>
  mshadow::Shape<dim> get() const {
    CHECK_EQ(static_cast<uint32_t>(dim), ndim()) << "dimension do not match target dimension " << dim;
    mshadow::Shape<dim> s;
    for (int i = 0; i < dim; ++i) s[i] = static_cast<mshadow::index_t>(m_items[static_cast<size_t>(i)]);
    return s;
  }
  mshadow::Shape<2> FlatTo2D() const {
    if (!ndim()) return mshadow::Shape2(0, 0);
    return mshadow::Shape2(static_cast<mshadow::index_t>(ProdShape(0, static_cast<int>(ndim()) - 1)),
                           static_cast<mshadow::index_t>(m_items.back()));
  }
  /// All before axis_begin, axis_begin to axis_end, and all behind them.
  mshadow::Shape<3> FlatTo3D(size_t axis_begin, size_t axis_end) const {
    CHECK(axis_end >= axis_begin && axis_end < ndim()) << "FlatTo3D: there are no such axes";
    const int first = static_cast<int>(axis_begin), last = static_cast<int>(axis_end);
    return mshadow::Shape3(static_cast<mshadow::index_t>(ProdShape(0, first)),
                           static_cast<mshadow::index_t>(ProdShape(first, last + 1)),
                           static_cast<mshadow::index_t>(ProdShape(last + 1, static_cast<int>(ndim()))));
  }
  mshadow::Shape<3> FlatTo3D(size_t axis) const { return FlatTo3D(axis, axis); }
  template <int dim>
  bool operator==(const mshadow::Shape<dim>& other) const {
    return *this == TShape(other);
  }
  template <int dim>
  bool operator!=(const mshadow::Shape<dim>& other) const {
    return !(*this == other);
  }
  bool operator==(const TShape& other) const { return m_items == other.m_items; }
  bool operator!=(const TShape& other) const { return m_items != other.m_items; }
};

}  // namespace nnvm

namespace std {
template <class T>
struct hash<nnvm::Tuple<T>> {
  size_t operator()(const nnvm::Tuple<T>& items) const {
    size_t all = items.ndim();
    for (const T& item : items) all = dmlc::HashCombine(all, item);
    return all;
  }
};
template <>
struct hash<nnvm::TShape> {
  size_t operator()(const nnvm::TShape& shape) const { return hash<nnvm::Tuple<nnvm::dim_t>>()(shape); }
};
}  // namespace std

namespace mshadow {
using ::nnvm::TShape;  // where it was before nnvm
}  // namespace mshadow
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif

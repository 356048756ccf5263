// Dims: a view of the extents or strides of a tensor; and whether two tensors lie alike.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <initializer_list>

#include <tarsia/detail/exceptions.h>

namespace tarsia {

/// A view of extents or strides, 64-bit integers. It owns nothing and must not outlive them.
class Dims {
 public:
  /// No dimensions.
  Dims() noexcept : m_data(nullptr), m_size(0) {}
  /// A view of `size` numbers.
  Dims(const int64_t* data_, int size_) noexcept : m_data(data_), m_size(size_) {}
  /// A view of a braced list. Use it for arguments only, because the numbers live as long as the list.
  Dims(std::initializer_list<int64_t> list_) noexcept : m_data(nullptr), m_size(int(list_.size())) {
    m_data = list_.begin();
  }
  /// A view of a std::vector<int64_t> or another container with data() and size().
  template <class C_, class = decltype(static_cast<const int64_t*>(static_cast<const C_*>(nullptr)->data()))>
  Dims(const C_& list_) noexcept : m_data(list_.data()), m_size(int(list_.size())) {}

  /// The number of dimension i, counted from the end if negative. Throws IndexError if there is none.
  int64_t operator[](int i_) const { return m_data[checked(i_, m_size)]; }
  /// The number of dimensions.
  int size() const noexcept { return m_size; }
  /// The address of the first number.
  const int64_t* data() const noexcept { return m_data; }
  /// The address of the first number, for range-based loops.
  const int64_t* begin() const noexcept { return m_data; }
  /// The address after the last number.
  const int64_t* end() const noexcept { return m_data + m_size; }
  /// The product of the numbers; 1 without dimensions.
  int64_t numel() const noexcept {
    int64_t n_ = 1;
#if defined(__clang__)
#pragma clang loop unroll(disable) vectorize(disable)  // a few numbers, in very many places
#endif
    for (int i_ = 0; i_ < m_size; ++i_) n_ *= m_data[i_];
    return n_;
  }
  /// Whether both have the same numbers.
  bool operator==(const Dims& o_) const noexcept {
    if (m_size != o_.m_size) return false;
    for (int i_ = 0; i_ < m_size; ++i_)
      if (m_data[i_] != o_.m_data[i_]) return false;
    return true;
  }
  /// Whether they differ.
  bool operator!=(const Dims& o_) const noexcept { return !(*this == o_); }

  /// Returns dimension i of n, counted from the start. Throws IndexError if there is none.
  static int checked(int i_, int n_) {
    const int k_ = i_ < 0 ? i_ + n_ : i_;
    if (static_cast<unsigned>(k_) >= static_cast<unsigned>(n_)) outside(i_, n_);
    return k_;
  }

 private:
  [[noreturn]] static void outside(int i_, int n_);

  const int64_t* m_data;
  int m_size;
};

TARSIA_DETAIL_SUPPORT void Dims::outside(int i_, int n_) {
  Message text_("dimension ");
  text_ << static_cast<long long>(i_) << " is asked for of ";
  if (n_)
    text_ << static_cast<long long>(n_) << (n_ == 1 ? " dimension" : " dimensions") << ", counted from 0";
  else
    text_ << "a scalar, which has none";
  throw IndexError(text_);
}

namespace detail {

/// Whether the elements of two tensors of one shape, but for extents of 1, follow each other alike.
inline bool lie_alike(const tarsia_tensor& a_, const tarsia_tensor& b_) noexcept {
  int64_t row_major_ = 1;
  for (int i_ = a_.ndim, j_ = b_.ndim;;) {
    while (i_ > 0 && a_.shape[i_ - 1] == 1) --i_;
    while (j_ > 0 && b_.shape[j_ - 1] == 1) --j_;
    if (!i_ || !j_) return i_ == j_;
    --i_, --j_;
    const int64_t of_a_ = a_.strides ? a_.strides[i_] : row_major_,
                  of_b_ = b_.strides ? b_.strides[j_] : row_major_;
    if (a_.shape[i_] != b_.shape[j_] || of_a_ != of_b_) return false;
    row_major_ *= a_.shape[i_];
  }
}

}  // namespace detail
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

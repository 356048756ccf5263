// Makes loops from tensors: broadcasts, orders and merges dimensions, checks overlaps; and what loops on
// the CPU share. In device code that NVRTC compiles, only <tarsia/detail/loop.h> is left of it.
#pragma once

#include <tarsia/detail/loop.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

#include <tarsia/op_context.h>

namespace tarsia {
namespace detail {

/// A tensor of an expression. Its name is the parameter's.
struct LoopTensor {
  const tarsia_tensor* tensor;  ///< null: an output that is still to be made
  const char* name;
  bool is_output;
};

/// The shape of a loop while it is computed.
struct LoopShape {
  int ndim;
  int64_t shape[TARSIA_MAX_NDIM];
};

TARSIA_DETAIL_SUPPORT Message& operator<<(Message& text_, const LoopShape& s_) {
  text_ << "(";
  for (int i_ = 0; i_ < s_.ndim; ++i_) text_ << (i_ ? ", " : "") << static_cast<long long>(s_.shape[i_]);
  return text_ << (s_.ndim == 1 ? ",)" : ")");
}

inline LoopShape shape_of(const tarsia_tensor* t_) {
  LoopShape s_;
  s_.ndim = t_->ndim;
  for (int i_ = 0; i_ < t_->ndim && i_ < TARSIA_MAX_NDIM; ++i_) s_.shape[i_] = t_->shape[i_];
  return s_;
}

/// Computes the shape to which the inputs broadcast, by NumPy's rules. The shape of existing outputs must be
/// the same or broadcast from it. If `size_` is not negative, it is the shape of a loop without tensors.
/// Throws ValueError.
TARSIA_DETAIL_SUPPORT void broadcast(const char* op_, const LoopTensor* tensors_, int n_, int64_t size_,
                                     LoopShape& out_) {
  out_.ndim = 0;
  const LoopTensor *from_[TARSIA_MAX_NDIM], *given_ = nullptr;
  bool any_ = false;
  for (int k_ = 0; k_ < n_; ++k_) {
    const LoopTensor& t_ = tensors_[k_];
    if (!t_.tensor) continue;
    if (t_.tensor->ndim > TARSIA_MAX_NDIM)
      throw ValueError(Message(op_) << ": '" << t_.name << "' has more than 32 dimensions");
    if (t_.is_output && !given_) given_ = &t_;
    if (t_.is_output) continue;
    any_ = true;
    const int more_ = t_.tensor->ndim - out_.ndim;
    if (more_ > 0) {
      for (int i_ = out_.ndim - 1; i_ >= 0; --i_)
        out_.shape[i_ + more_] = out_.shape[i_], from_[i_ + more_] = from_[i_];
      for (int i_ = 0; i_ < more_; ++i_) out_.shape[i_] = 1, from_[i_] = &t_;
      out_.ndim += more_;
    }
    for (int i_ = 0; i_ < t_.tensor->ndim; ++i_) {
      int64_t& extent_ = out_.shape[out_.ndim - t_.tensor->ndim + i_];
      const LoopTensor*& owner_ = from_[out_.ndim - t_.tensor->ndim + i_];
      const int64_t mine_ = t_.tensor->shape[i_];
      if (mine_ == 1 || mine_ == extent_) continue;
      if (extent_ != 1)
        throw ValueError(Message(op_)
                         << ": shapes " << shape_of(owner_->tensor) << " of '" << owner_->name << "' and "
                         << shape_of(t_.tensor) << " of '" << t_.name
                         << "' do not broadcast: counted from the end, extents have to be equal or 1");
      extent_ = mine_, owner_ = &t_;
    }
  }
  if (given_) {
    const LoopShape shape_ = out_;
    out_ = shape_of(given_->tensor);
    bool fits_ = shape_.ndim <= out_.ndim;
    for (int i_ = 0; fits_ && i_ < shape_.ndim; ++i_) {
      const int64_t extent_ = shape_.shape[shape_.ndim - 1 - i_];
      fits_ = extent_ == 1 || extent_ == out_.shape[out_.ndim - 1 - i_];
    }
    if (!fits_)
      throw ValueError(Message(op_) << ": output '" << given_->name << "' has shape " << out_
                                    << ", the inputs broadcast to " << shape_);
    for (int k_ = 0; k_ < n_; ++k_)
      if (tensors_[k_].tensor && tensors_[k_].is_output &&
          Dims(tensors_[k_].tensor->shape, tensors_[k_].tensor->ndim) != Dims(out_.shape, out_.ndim))
        throw ValueError(Message(op_) << ": outputs '" << given_->name << "' and '" << tensors_[k_].name
                                      << "' have the shapes " << out_ << " and "
                                      << shape_of(tensors_[k_].tensor) << ", which have to be the same");
  } else if (!any_ && size_ >= 0) {
    out_.ndim = 1, out_.shape[0] = size_;
  }
}

/// Computes the strides in elements of a tensor that is broadcast to a shape.
TARSIA_DETAIL_SUPPORT void broadcast_strides(const tarsia_tensor* t_, const LoopShape& shape_,
                                             int64_t* strides_) {
  const Tensor tensor_(t_);
  for (int i_ = 0; i_ < shape_.ndim; ++i_) {
    const int k_ = i_ - (shape_.ndim - t_->ndim);
    strides_[i_] = k_ < 0 || t_->shape[k_] == 1 ? 0 : tensor_.stride(k_);
  }
}

inline int64_t magnitude(int64_t x_) {
  return x_ < 0 ? -x_ : x_;
}
inline int64_t divisor(int64_t a_, int64_t b_) {
  while (b_) {
    const int64_t rest_ = a_ % b_;
    a_ = b_, b_ = rest_;
  }
  return a_;
}

/// The memory of a tensor: the lowest address, and positive strides in bytes.
struct Extent {
  uint64_t begin;
  int64_t bytes;
  int ndim;
  int64_t shape[TARSIA_MAX_NDIM], strides[TARSIA_MAX_NDIM];
};

TARSIA_DETAIL_SUPPORT Extent extent_of(const tarsia_tensor* t_) {
  const Tensor tensor_(t_);
  Extent e_;
  e_.begin = reinterpret_cast<uint64_t>(tensor_.data());
  e_.bytes = bytes_of(t_->dtype);
  e_.ndim = 0;
  for (int i_ = 0; i_ < t_->ndim; ++i_) {
    const int64_t stride_ = tensor_.stride(i_) * bytes_of(t_->dtype);
    if (t_->shape[i_] == 1) continue;
    if (stride_ < 0) e_.begin -= static_cast<uint64_t>((t_->shape[i_] - 1) * -stride_);
    int at_ = e_.ndim++;  // the largest stride first
    for (; at_ > 0 && e_.strides[at_ - 1] < magnitude(stride_); --at_)
      e_.strides[at_] = e_.strides[at_ - 1], e_.shape[at_] = e_.shape[at_ - 1];
    e_.strides[at_] = magnitude(stride_), e_.shape[at_] = t_->shape[i_];
  }
  return e_;
}

/// Returns the number of bytes from the first to the last byte that the dimensions from `from` on reach.
inline int64_t span_of(const Extent& e_, int from_) {
  int64_t span_ = e_.bytes;
  for (int i_ = from_; i_ < e_.ndim; ++i_) span_ += (e_.shape[i_] - 1) * e_.strides[i_];
  return span_;
}

/// Whether two tensors may share bytes. The answer is exact for the usual slices of an array: blocks, rows,
/// columns, every n-th element. The outermost p strides of the one and q of the other move both by multiples
/// of their common divisor g. If the remaining dimensions of both fit side by side within g, they never meet.
TARSIA_DETAIL_SUPPORT bool may_overlap(const tarsia_tensor* a_, const tarsia_tensor* b_) {
  if (a_->device != b_->device) return false;
  if (!Dims(a_->shape, a_->ndim).numel() || !Dims(b_->shape, b_->ndim).numel()) return false;
  if (!a_->strides && !b_->strides) {
    const Tensor one_(a_), other_(b_);
    const char *x_ = static_cast<char*>(one_.data()), *y_ = static_cast<char*>(other_.data());
    return x_ < y_ + other_.bytes() && y_ < x_ + one_.bytes();
  }
  const Extent x_ = extent_of(a_), y_ = extent_of(b_);
  if (x_.begin + static_cast<uint64_t>(span_of(x_, 0)) <= y_.begin ||
      y_.begin + static_cast<uint64_t>(span_of(y_, 0)) <= x_.begin)
    return false;
  int64_t g_ = 0;
  int p_ = 0, q_ = 0;
  while (p_ < x_.ndim || q_ < y_.ndim) {
    const int64_t next_x_ = p_ < x_.ndim ? x_.strides[p_] : -1, next_y_ = q_ < y_.ndim ? y_.strides[q_] : -1;
    const int64_t next_ = next_x_ > next_y_ ? next_x_ : next_y_;
    if (next_x_ == next_) ++p_;
    if (next_y_ == next_) ++q_;
    g_ = divisor(g_, next_);
    if (!g_) continue;
    const uint64_t unit_ = static_cast<uint64_t>(g_);
    const int64_t gap_ =
        static_cast<int64_t>(y_.begin >= x_.begin ? (y_.begin - x_.begin) % unit_
                                                  : (unit_ - (x_.begin - y_.begin) % unit_) % unit_);
    if (gap_ >= span_of(x_, p_) && gap_ + span_of(y_, q_) <= g_) return false;
  }
  return true;
}

/// Whether an output's elements share memory with each other.
TARSIA_DETAIL_SUPPORT bool overlaps_itself(const tarsia_tensor* t_) {
  if (!t_->strides || !Dims(t_->shape, t_->ndim).numel()) return false;
  const Extent e_ = extent_of(t_);
  for (int i_ = 0; i_ < e_.ndim; ++i_)
    if (e_.strides[i_] < span_of(e_, i_ + 1)) return true;
  return false;
}

/// Refuses outputs whose elements share memory with each other, with another output, or with an input. An
/// output may be an input with the same elements in the same places: the op then works in place.
TARSIA_DETAIL_SUPPORT void check_overlaps(const char* op_, const LoopTensor* tensors_, int n_,
                                          bool in_place_) {
  for (int k_ = 0; k_ < n_; ++k_) {
    const LoopTensor& out_ = tensors_[k_];
    if (!out_.is_output || !out_.tensor) continue;
    if (overlaps_itself(out_.tensor))
      throw ValueError(Message(op_) << ": elements of output '" << out_.name
                                    << "' share memory with each other; pass one of memory of its own");
    for (int j_ = 0; j_ < n_; ++j_) {
      const LoopTensor& other_ = tensors_[j_];
      if (j_ == k_ || !other_.tensor || (other_.is_output && j_ < k_)) continue;
      if (!may_overlap(out_.tensor, other_.tensor)) continue;
      const Tensor a_(out_.tensor), b_(other_.tensor);
      if (!in_place_ || other_.is_output || a_.data() != b_.data() ||
          bytes_of(a_.dtype()) != bytes_of(b_.dtype()) || !lie_alike(*out_.tensor, *other_.tensor))
        throw ValueError(Message(op_) << ": output '" << out_.name << "' overlaps "
                                      << (other_.is_output ? "output" : "input") << " '" << other_.name
                                      << "' in memory; pass a copy of one of them");
    }
  }
}

/// A group of dimensions with the strides of n tensors. strides[j * 32 + d] is the stride of tensor j in
/// dimension d.
struct LoopGroup {
  int ndim;
  int64_t shape[TARSIA_MAX_NDIM];
  int64_t* strides;
  int n;
};

/// Removes dimensions of extent 1 and merges neighbouring dimensions that are contiguous with each other in
/// every tensor. Unless the order must be kept, it first sorts the dimensions, those with the largest strides
/// outside. The tensors from `first_` on decide before the others.
TARSIA_DETAIL_SUPPORT void simplify(LoopGroup& g_, bool keep_order_, int first_) {
  int n_dims_ = 0;
  auto stride_ = [&](int j_, int d_) -> int64_t& { return g_.strides[j_ * TARSIA_MAX_NDIM + d_]; };
  for (int d_ = 0; d_ < g_.ndim; ++d_) {
    if (g_.shape[d_] == 1) continue;
    for (int j_ = 0; j_ < g_.n; ++j_) stride_(j_, n_dims_) = stride_(j_, d_);
    g_.shape[n_dims_++] = g_.shape[d_];
  }
  // Whether dimension a belongs outside of b. The first tensor whose strides differ decides.
  auto outside_ = [&](int a_, int b_) {
    for (int k_ = 0; k_ < g_.n; ++k_) {
      const int j_ = (first_ + k_) % g_.n;
      const int64_t x_ = magnitude(stride_(j_, a_)), y_ = magnitude(stride_(j_, b_));
      if (x_ && y_ && x_ != y_) return x_ > y_;
    }
    return true;
  };
  for (int i_ = 1; !keep_order_ && i_ < n_dims_; ++i_)
    for (int d_ = i_; d_ > 0 && !outside_(d_ - 1, d_); --d_) {
      const int64_t extent_ = g_.shape[d_];
      g_.shape[d_] = g_.shape[d_ - 1], g_.shape[d_ - 1] = extent_;
      for (int j_ = 0; j_ < g_.n; ++j_) {
        const int64_t s_ = stride_(j_, d_);
        stride_(j_, d_) = stride_(j_, d_ - 1), stride_(j_, d_ - 1) = s_;
      }
    }
  int last_ = 0;
  for (int d_ = 1; d_ < n_dims_; ++d_) {
    bool as_one_ = true;
    for (int j_ = 0; as_one_ && j_ < g_.n; ++j_)
      as_one_ = stride_(j_, last_) == stride_(j_, d_) * g_.shape[d_];
    last_ += !as_one_;
    g_.shape[last_] = as_one_ ? g_.shape[last_] * g_.shape[d_] : g_.shape[d_];
    for (int j_ = 0; j_ < g_.n; ++j_) stride_(j_, last_) = stride_(j_, d_);
  }
  if (!n_dims_) {
    g_.shape[0] = 1;
    for (int j_ = 0; j_ < g_.n; ++j_) stride_(j_, 0) = 0;
  }
  g_.ndim = last_ + 1;
}

/// Makes the loop over a group. Throws ValueError if it has more than eight dimensions.
TARSIA_DETAIL_SUPPORT void set_dims(const char* op_, LoopDims& to_, const int64_t* shape_, int ndim_) {
  if (ndim_ > k_loop_dims)
    throw ValueError(
        Message(op_) << ": the tensors lie in memory in more than 8 dimensions that cannot be taken "
                        "together; pass contiguous copies");
  to_.ndim = ndim_;
  to_.count = 1;
  for (int d_ = 0; d_ < ndim_; ++d_) to_.count *= shape_[d_];
  to_.is_small = to_.count < (1LL << 31);
  for (int d_ = 0; d_ < k_loop_dims; ++d_) {
    to_.shape[d_] = d_ < ndim_ ? shape_[d_] : 1;
    to_.magic[d_] = 1, to_.shift[d_] = 0;
    if (!to_.is_small || to_.shape[d_] < 1 || d_ >= ndim_) continue;
    const unsigned long long by_ = static_cast<unsigned long long>(to_.shape[d_]);
    while ((1ULL << to_.shift[d_]) < by_) ++to_.shift[d_];
    to_.magic[d_] = static_cast<unsigned>((((1ULL << to_.shift[d_]) - by_) << 32) / by_ + 1);
  }
}

/// Copies a group's strides of tensors first … first + n - 1.
TARSIA_DETAIL_SUPPORT void set_strides(const LoopGroup& g_, int first_, int n_,
                                       long long (*to_)[k_loop_dims]) {
  for (int j_ = 0; j_ < n_; ++j_)
    for (int d_ = 0; d_ < k_loop_dims; ++d_)
      to_[j_][d_] = d_ < g_.ndim ? g_.strides[(first_ + j_) * TARSIA_MAX_NDIM + d_] : 0;
}

/// Makes the loop of an elementwise expression over a shape. The outputs come after the inputs, from
/// `first_output_` on. Dimensions are merged unless `keep_dims_` is set, and sorted by their strides unless
/// `keep_order_` or `keep_dims_` is set.
TARSIA_DETAIL_SUPPORT void plan_elementwise(const char* op_, const LoopTensor* tensors_, int n_,
                                            int first_output_, const LoopShape& shape_, bool keep_order_,
                                            bool keep_dims_, LoopDims& dims_, char** data_,
                                            long long (*strides_)[k_loop_dims]) {
  int64_t few_[8 * TARSIA_MAX_NDIM];
  int64_t* all_ = n_ <= 8 ? few_
                          : static_cast<int64_t*>(scratch(
                                static_cast<uint64_t>(n_) * TARSIA_MAX_NDIM * sizeof(int64_t), cpu_device()));
  LoopGroup g_;
  g_.ndim = shape_.ndim, g_.strides = all_, g_.n = n_;
  for (int d_ = 0; d_ < shape_.ndim; ++d_) g_.shape[d_] = shape_.shape[d_];
  for (int j_ = 0; j_ < n_; ++j_) {
    broadcast_strides(tensors_[j_].tensor, shape_, all_ + j_ * TARSIA_MAX_NDIM);
    data_[j_] = static_cast<char*>(Tensor(tensors_[j_].tensor).data());
  }
  if (n_ && (!keep_dims_ || !g_.ndim)) simplify(g_, keep_order_ || keep_dims_, first_output_ % n_);
  if (!g_.ndim) g_.ndim = 1, g_.shape[0] = 1;
  set_dims(op_, dims_, g_.shape, g_.ndim);
  set_strides(g_, 0, n_, strides_);
}

/// Returns the shape of a reduction's outputs: without the axes of the mask, or with extents of 1 there.
TARSIA_DETAIL_SUPPORT LoopShape reduced_shape(const LoopShape& shape_, int64_t axes_, bool keepdims_) {
  LoopShape out_;
  out_.ndim = 0;
  for (int d_ = 0; d_ < shape_.ndim; ++d_) {
    const bool gone_ = (axes_ >> d_ & 1) != 0;
    if (!gone_ || keepdims_) out_.shape[out_.ndim++] = gone_ ? 1 : shape_.shape[d_];
  }
  return out_;
}

/// Returns the largest pack, up to `most_`, with which the values of a block's 256 threads fit into its
/// shared memory.
constexpr int shared_pack(int most_, unsigned long bytes_) {
  return most_ <= 1 || 256 * most_ * bytes_ <= 32768 ? most_ : shared_pack(most_ / 2, bytes_);
}

/// Refuses outputs of another shape.
TARSIA_DETAIL_SUPPORT void check_reduced(const char* op_, const LoopTensor* outputs_, int n_,
                                         const LoopShape& shape_) {
  for (int k_ = 0; k_ < n_; ++k_) {
    const tarsia_tensor* t_ = outputs_[k_].tensor;
    if (t_ && Dims(t_->shape, t_->ndim) != Dims(shape_.shape, shape_.ndim))
      throw ValueError(Message(op_) << ": output '" << outputs_[k_].name << "' has shape " << shape_of(t_)
                                    << ", the result " << shape_);
  }
}

/// Makes the two loops of a reduction, over the kept and over the reduced dimensions. The inputs come first,
/// `n_in_` of them, then the outputs. The inputs have strides for both loops, the outputs for the first. With
/// `index_` there is one input more, whose offset is the number of the element in row-major order.
TARSIA_DETAIL_SUPPORT void plan_reduction(const char* op_, const LoopTensor* tensors_, int n_in_, int n_out_,
                                          bool index_, const LoopShape& shape_, int64_t axes_,
                                          bool keep_order_, LoopDims& kept_, LoopDims& reduced_, char** data_,
                                          long long (*kept_strides_)[k_loop_dims],
                                          long long (*reduced_strides_)[k_loop_dims], char** out_data_,
                                          long long (*out_strides_)[k_loop_dims]) {
  const int n_ = n_in_ + index_, all_ = n_ + n_out_;
  int64_t few_[8 * TARSIA_MAX_NDIM];
  int64_t* memory_ =
      all_ + n_ <= 8
          ? few_
          : static_cast<int64_t*>(
                scratch(static_cast<uint64_t>(all_ + n_) * TARSIA_MAX_NDIM * sizeof(int64_t), cpu_device()));
  LoopGroup k_, r_;
  k_.ndim = r_.ndim = 0;
  k_.n = all_, r_.n = n_;
  k_.strides = memory_, r_.strides = memory_ + all_ * TARSIA_MAX_NDIM;
  const int rank_ = n_out_ && tensors_[n_in_].tensor ? tensors_[n_in_].tensor->ndim : 0;
  int64_t pitch_ = 1;
  for (int d_ = shape_.ndim - 1; d_ >= 0; --d_) pitch_ *= shape_.shape[d_];
  for (int d_ = 0, out_ = 0; d_ < shape_.ndim; ++d_) {
    const bool gone_ = (axes_ >> d_ & 1) != 0;
    LoopGroup& g_ = gone_ ? r_ : k_;
    const int at_ = g_.ndim++;
    g_.shape[at_] = shape_.shape[d_];
    for (int j_ = 0; j_ < n_in_; ++j_) {
      const tarsia_tensor* t_ = tensors_[j_].tensor;
      const int own_ = d_ - (shape_.ndim - t_->ndim);
      g_.strides[j_ * TARSIA_MAX_NDIM + at_] = own_ < 0 || t_->shape[own_] == 1 ? 0 : Tensor(t_).stride(own_);
    }
    pitch_ = shape_.shape[d_] ? pitch_ / shape_.shape[d_] : 0;
    if (index_) g_.strides[n_in_ * TARSIA_MAX_NDIM + at_] = pitch_;
    if (gone_) {
      out_ += rank_ == shape_.ndim;  // with keepdims, or where nothing is reduced
      continue;
    }
    for (int j_ = 0; j_ < n_out_; ++j_)
      g_.strides[(n_ + j_) * TARSIA_MAX_NDIM + at_] = Tensor(tensors_[n_in_ + j_].tensor).stride(out_);
    ++out_;
  }
  simplify(k_, false, 0);
  simplify(r_, keep_order_, 0);
  set_dims(op_, kept_, k_.shape, k_.ndim);
  set_dims(op_, reduced_, r_.shape, r_.ndim);
  set_strides(k_, 0, n_, kept_strides_);
  set_strides(r_, 0, n_, reduced_strides_);
  set_strides(k_, n_, n_out_, out_strides_);
  for (int j_ = 0; j_ < n_in_; ++j_) data_[j_] = static_cast<char*>(Tensor(tensors_[j_].tensor).data());
  if (index_) data_[n_in_] = nullptr;
  for (int j_ = 0; j_ < n_out_; ++j_)
    out_data_[j_] = static_cast<char*>(Tensor(tensors_[n_in_ + j_].tensor).data());
}

/// Whether elements that are neighbours in memory are kept rather than reduced together.
TARSIA_DETAIL_SUPPORT bool keeps_neighbours(const LoopDims& kept_, const LoopDims& reduced_,
                                            const long long (*kept_strides_)[k_loop_dims],
                                            const long long (*reduced_strides_)[k_loop_dims], int n_) {
  if (kept_.count <= 1) return false;
  if (reduced_.count <= 1) return true;
  for (int j_ = 0; j_ < n_; ++j_) {
    const int64_t k_ = magnitude(kept_strides_[j_][kept_.ndim - 1]),
                  r_ = magnitude(reduced_strides_[j_][reduced_.ndim - 1]);
    if (k_ && r_ && k_ != r_) return k_ < r_;
  }
  return false;
}

/// Returns the number of parts in which a GPU reduces `rows_` steps, if a block takes `step_` steps at once
/// and there are already `blocks_` blocks. The parts fill the GPU, and each has work to do.
inline int64_t parts_of(int64_t blocks_, int64_t rows_, int64_t step_) {
  int32_t processors_ = 0;
  const int device_ = detail::host()->call_device().id;
  enum { k_multiprocessor_count = 16 };
  if (detail::host()->device_attribute(device_, k_multiprocessor_count, &processors_) || processors_ < 1)
    processors_ = 1;
  if (blocks_ >= processors_ * 4) return 1;
  const int64_t wanted_ = (processors_ * 8 + blocks_ - 1) / blocks_, most_ = rows_ / (step_ * 8);
  const int64_t parts_ = wanted_ < most_ ? wanted_ : most_;
  return parts_ < 1 ? 1 : parts_ > 65535 ? 65535 : parts_;
}

/// Whether the loop can run in packs of `v_` elements along its last dimension. Each of the n tensors, whose
/// elements have `bytes_` bytes, must have a stride of 0 or 1 there. All its other strides, and its strides
/// `others_` in another loop, must be multiples of a pack.
TARSIA_DETAIL_SUPPORT bool fits_packs(const LoopDims& d_, const long long (*strides_)[k_loop_dims],
                                      char* const* data_, const int* bytes_, int n_, int v_, bool with_tail_,
                                      const LoopDims* other_ = nullptr,
                                      const long long (*others_)[k_loop_dims] = nullptr) {
  const int last_ = d_.ndim - 1;
  if (d_.shape[last_] < v_ || (d_.shape[last_] % v_ && !(with_tail_ && d_.ndim == 1))) return false;
  for (int j_ = 0; j_ < n_; ++j_) {
    if (strides_[j_][last_] == 0) continue;
    if (strides_[j_][last_] != 1) return false;
    if (reinterpret_cast<uint64_t>(data_[j_]) % static_cast<uint64_t>(bytes_[j_] * v_)) return false;
    for (int i_ = 0; i_ < last_; ++i_)
      if (strides_[j_][i_] % v_) return false;
    for (int i_ = 0; other_ && i_ < other_->ndim; ++i_)
      if (others_[j_][i_] % v_) return false;
  }
  return true;
}

/// Converts a loop to packs of `v_` elements: the extent of the last dimension, and the other strides of the
/// tensors that move along it, `others_` included.
TARSIA_DETAIL_SUPPORT void count_in_packs(const char* op_, LoopDims& d_, long long (*strides_)[k_loop_dims],
                                          int n_, int v_, long long (*others_)[k_loop_dims] = nullptr) {
  const int last_ = d_.ndim - 1;
  int64_t shape_[k_loop_dims];
  for (int i_ = 0; i_ < d_.ndim; ++i_) shape_[i_] = i_ == last_ ? d_.shape[i_] / v_ : d_.shape[i_];
  for (int j_ = 0; j_ < n_; ++j_) {
    if (!strides_[j_][last_]) continue;
    for (int i_ = 0; i_ < last_; ++i_) strides_[j_][i_] /= v_;
    for (int i_ = 0; others_ && i_ < k_loop_dims; ++i_) others_[j_][i_] /= v_;
  }
  set_dims(op_, d_, shape_, d_.ndim);
}

/// Returns a bit for each tensor whose innermost stride is 0.
inline unsigned long long ones_of(const LoopDims& d_, const long long (*strides_)[k_loop_dims], int n_) {
  unsigned long long ones_ = 0;
  for (int j_ = 0; j_ < n_; ++j_) ones_ |= static_cast<unsigned long long>(!strides_[j_][d_.ndim - 1]) << j_;
  return ones_;
}

#pragma GCC visibility push(hidden)
/// A place in a loop on the CPU.
struct LoopCursor {
  long long at[k_loop_dims];

  LoopCursor() = default;
  LoopCursor(const LoopDims& d_, long long k_) {
    if (!d_.count) {  // there is no place, and extents of 0
      for (int i_ = 0; i_ < d_.ndim; ++i_) at[i_] = 0;
      return;
    }
    for (int i_ = d_.ndim - 1; i_ > 0; --i_) at[i_] = k_ % d_.shape[i_], k_ /= d_.shape[i_];
    at[0] = k_;
  }
  long long offset(const LoopDims& d_, const long long* strides_) const {
    long long offset_ = 0;
    for (int i_ = 0; i_ < d_.ndim; ++i_) offset_ += at[i_] * strides_[i_];
    return offset_;
  }
  /// The number of steps that are left in the last dimension.
  long long left(const LoopDims& d_) const { return d_.shape[d_.ndim - 1] - at[d_.ndim - 1]; }
  void advance(const LoopDims& d_, long long n_) {
    int i_ = d_.ndim - 1;
    at[i_] += n_;
    for (; i_ > 0 && at[i_] >= d_.shape[i_]; --i_) {
      if (at[i_] == d_.shape[i_]) {  // the usual step, without a division
        at[i_] = 0;
        ++at[i_ - 1];
      } else {
        at[i_ - 1] += at[i_] / d_.shape[i_];
        at[i_] %= d_.shape[i_];
      }
    }
  }
};

/// Memory of one loop's body on the CPU.
class RowMemory {
 public:
  explicit RowMemory(size_t bytes_) : m_data(static_cast<char*>(::operator new(bytes_))) {}
  ~RowMemory() { ::operator delete(m_data); }
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;
  template <class T_>
  T_* as() const {
    return reinterpret_cast<T_*>(m_data);
  }

 private:
  char* m_data;
};
#pragma GCC visibility pop

/// Makes a tensor that an expression indexes itself.
template <class T_>
RawTensor<T_> raw(const char* op_, const char* name_, const Tensor& t_) {
  RawTensor<T_> r_ = RawTensor<T_>();
  if (t_.ndim() > k_loop_dims)
    throw ValueError(Message(op_) << ": '" << name_ << "' has more than 8 dimensions");
  r_.data = static_cast<T_*>(t_.data());
  r_.count = t_.numel();
  r_.dims = t_.ndim();
  r_.is_contiguous = t_.is_contiguous();
  for (int i_ = 0; i_ < r_.dims; ++i_) r_.extents[i_] = t_.size(i_), r_.strides[i_] = t_.stride(i_);
  return r_;
}

}  // namespace detail
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif

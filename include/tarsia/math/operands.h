// What the functions of <tarsia/math.h> take: tensors, numbers, and where to compute.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/loop_plan.h>
#include <tarsia/math/elements.h>
#include <tarsia/small_floats.h>

#include <type_traits>

namespace tarsia {
namespace math {

/// An input: a tensor, which is borrowed, or a number. A number does not make whole numbers of another width,
/// or floats of another width, of the tensors beside it.
class Operand {
 public:
  /// The number 0.
  Operand() : Operand(0) {}
  /// A tensor. Any strides will do.
  Operand(const Tensor& tensor_) : m_tensor(tensor_.get()), m_number(0), m_whole(0), m_kind(Kind::fraction) {
    tensor_.shape();  // throws if there is none
  }
  /// A number of any type, whole or not.
  template <class T_,
            class = std::enable_if_t<std::is_arithmetic<T_>::value ||
                                     (std::is_enum<T_>::value && std::is_convertible<T_, int>::value)>>
  Operand(T_ number_) : m_tensor(nullptr), m_number(static_cast<double>(number_)) {
    if constexpr (std::is_floating_point<T_>::value) {
      m_whole = 0, m_kind = Kind::fraction;
    } else {
      m_whole = static_cast<long long>(number_);
      m_kind = number_ > T_(0) && m_whole < 0 ? Kind::large : Kind::whole;
    }
  }

  /// The tensor; null for a number.
  const tarsia_tensor* tensor() const { return m_tensor; }
  /// The number.
  double number() const { return m_number; }
  /// The number, if it is whole; less 2^64 if it is large.
  long long whole() const { return m_whole; }
  /// Whether it is a whole number.
  bool is_whole() const { return m_kind != Kind::fraction; }
  /// Whether it is a whole number that no int64 holds.
  bool is_large() const { return m_kind == Kind::large; }

 private:
  enum class Kind { fraction, whole, large };

  const tarsia_tensor* m_tensor;
  double m_number;
  long long m_whole;
  Kind m_kind;
};

/// Where a function computes on a GPU: an op's context, or a stream. On the CPU it does not matter.
class On {
 public:
  /// The current stream of the call.
  On() : m_is_given(false) {}
  /// A stream.
  On(Stream stream_) : m_stream(stream_), m_is_given(true) {}
  /// The stream of an op's context.
  On(const Context& context_) : m_stream(context_.stream()), m_is_given(true) {}
  /// The stream.
  Stream stream() const { return m_is_given ? m_stream : Stream::current(); }

 private:
  Stream m_stream;
  bool m_is_given;
};

namespace detail {

using ::tarsia::detail::broadcast;
using ::tarsia::detail::check_overlaps;
using ::tarsia::detail::LoopShape;
using ::tarsia::detail::LoopTensor;

/// The Type of a dtype. Throws TypeError for complex numbers and vectors.
TARSIA_DETAIL_SUPPORT int type_of(const char* op_, const char* name_, DType d_) {
  const int log_ = d_.bits == 8 ? 0 : d_.bits == 16 ? 1 : d_.bits == 32 ? 2 : d_.bits == 64 ? 3 : -1;
  if (d_.lanes == 1 && log_ >= 0) switch (d_.code) {
      case TARSIA_BOOL:
        return k_bool;
      case TARSIA_INT:
        return k_int8 + log_;
      case TARSIA_UINT:
        return k_uint8 + log_;
      case TARSIA_BFLOAT:
        if (d_.bits == 16) return k_bfloat16;
        break;
      case TARSIA_FLOAT:
        if (d_.bits >= 16) return log_ == 1 ? k_float16 : log_ == 2 ? k_float32 : k_float64;
        break;
      default:
        break;
    }
  char text_[16];
  throw TypeError(
      Message("math::") << op_ << ": '" << name_ << "' has elements of " << name_of(d_, text_)
                        << "; bool, integers, float16, bfloat16, float32 and float64 are computed "
                           "with");
}

/// The type for inputs of these types: the widest float among them, else 64-bit integers. int64 and uint64
/// together are doubles.
TARSIA_DETAIL_SUPPORT Computed computed_as(const Operand* operands_, const int* types_, int n_, bool real_) {
  bool wide_ = false, floats_ = false, uint64_ = false, signed_ = false, fraction_ = false;
  for (int j_ = 0; j_ < n_; ++j_) {
    if (!operands_[j_].tensor()) {
      fraction_ |= !operands_[j_].is_whole();
      uint64_ |= operands_[j_].is_large();
      signed_ |= operands_[j_].is_whole() && !operands_[j_].is_large() && operands_[j_].whole() < 0;
      continue;
    }
    const int t_ = types_[j_];
    wide_ |= t_ == k_float64;
    floats_ |= t_ == k_float16 || t_ == k_bfloat16 || t_ == k_float32;
    uint64_ |= t_ == k_uint64;
    signed_ |= t_ >= k_int8 && t_ <= k_int64;
  }
  if (wide_) return k_as_double;
  if (floats_) return k_as_float;
  if (real_ || fraction_ || (uint64_ && signed_)) return k_as_double;
  return uint64_ ? k_as_uint : k_as_int;
}

inline Side side_of_number(double number_, long long whole_) {
  Side s_ = Side();
  s_.number = number_, s_.whole = whole_;
  return s_;
}
inline Side side_of(const tarsia_tensor* t_, int type_) {
  Side s_ = Side();
  s_.data = static_cast<char*>(Tensor(t_).data());
  s_.type = type_;
  return s_;
}

/// Throws unless all tensors are where the first one is.
TARSIA_DETAIL_SUPPORT void check_devices(const char* op_, const LoopTensor* tensors_, int n_) {
  for (int j_ = 1; j_ < n_; ++j_)
    if (tensors_[j_].tensor->device != tensors_[0].tensor->device)
      throw ValueError(Message("math::") << op_ << ": '" << tensors_[j_].name << "' and '" << tensors_[0].name
                                         << "' are on two devices");
}

/// The most tensors and numbers of an elementwise function.
inline constexpr int k_most_inputs = 8;

/// A loop over tensors that are broadcast to the shape of the output, the last of them.
struct Plan {
  LoopDims dims;
  Computed computed;
  bool on_gpu;
};

/// Plans an elementwise function of n inputs, and fills n + 1 sides. Throws ValueError for shapes that do not
/// broadcast to the output's, for tensors on two devices, and for outputs that overlap an input in other
/// places.
TARSIA_DETAIL_SUPPORT Plan plan_map(const char* op_, const Operand* inputs_, int n_, const Tensor& out_,
                                    bool real_, Side* sides_) {
  static constexpr const char* k_names[k_most_inputs] = {"input 1", "input 2", "input 3", "input 4",
                                                         "input 5", "input 6", "input 7", "input 8"};
  LoopTensor tensors_[k_most_inputs + 1];
  int types_[k_most_inputs] = {}, at_[k_most_inputs + 1], count_ = 0;
  for (int j_ = 0; j_ < n_; ++j_) {
    if (!inputs_[j_].tensor()) {
      sides_[j_] = side_of_number(inputs_[j_].number(), inputs_[j_].whole());
      continue;
    }
    types_[j_] = type_of(op_, k_names[j_], inputs_[j_].tensor()->dtype);
    sides_[j_] = side_of(inputs_[j_].tensor(), types_[j_]);
    at_[count_] = j_;
    tensors_[count_++] = LoopTensor{inputs_[j_].tensor(), k_names[j_], false};
  }
  sides_[n_] = side_of(out_.get(), type_of(op_, "out", out_.dtype()));
  at_[count_] = n_;
  tensors_[count_++] = LoopTensor{out_.get(), "out", true};
  check_devices(op_, tensors_, count_);
  LoopShape shape_;
  broadcast(op_, tensors_, count_, -1, shape_);
  check_overlaps(op_, tensors_, count_, true);
  Plan plan_;
  char* data_[k_most_inputs + 1];
  long long strides_[k_most_inputs + 1][k_loop_dims];
  ::tarsia::detail::plan_elementwise(op_, tensors_, count_, count_ - 1, shape_, false, false, plan_.dims,
                                     data_, strides_);
  for (int c_ = 0; c_ < count_; ++c_)
    for (int d_ = 0; d_ < k_loop_dims; ++d_) sides_[at_[c_]].strides[d_] = strides_[c_][d_];
  plan_.computed = computed_as(inputs_, types_, n_, real_);
  plan_.on_gpu = out_.is_gpu();
  return plan_;
}

[[noreturn]] TARSIA_DETAIL_SUPPORT void needs_cuda(const char* op_) {
  throw TypeError(
      Message("math::") << op_
                        << ": the tensors are on a GPU, and the source has no CUDA: name it .cu, or "
                           "pass cuda=True");
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

// Tensors, streams, devices and dtypes in the code of functions and ops. Includes no heavy std header.
#pragma once

#if defined(__CUDACC_RTC__)
#include <tarsia/device.h>
#else

#include <tarsia/detail/macros_push.h>

#include <initializer_list>

#include <tarsia/detail/exceptions.h>

#include <tarsia/detail/adapter.h>
#include <tarsia/detail/dims.h>
#include <tarsia/detail/dtype_names.h>
#include <tarsia/device.h>

/// Whether two dtypes are the same.
inline bool operator==(tarsia_dtype a_, tarsia_dtype b_) {
  return a_.code == b_.code && a_.bits == b_.bits && a_.lanes == b_.lanes;
}
/// Whether two dtypes differ.
inline bool operator!=(tarsia_dtype a_, tarsia_dtype b_) {
  return !(a_ == b_);
}
/// Whether two devices are the same.
inline bool operator==(tarsia_device a_, tarsia_device b_) {
  return a_.type == b_.type && a_.id == b_.id;
}
/// Whether two devices differ.
inline bool operator!=(tarsia_device a_, tarsia_device b_) {
  return !(a_ == b_);
}

namespace tarsia {

/// The type of a tensor's elements.
typedef tarsia_dtype DType;
/// The CPU or a GPU.
typedef tarsia_device Device;

/// Returns the dtype of the C++ type T. Does not compile if T is not an element type.
template <class T_>
constexpr DType dtype() {
  static_assert(detail::dtype_of<T_>::code != TARSIA_ANY_DTYPE, "tarsia: not an element type of tensors");
  return detail::dtype<T_>();
}

/// The dtypes of tensors.
constexpr DType bool8{TARSIA_BOOL, 8, 1}, int8{TARSIA_INT, 8, 1}, int16{TARSIA_INT, 16, 1},
    int32{TARSIA_INT, 32, 1}, int64{TARSIA_INT, 64, 1}, uint8{TARSIA_UINT, 8, 1}, uint16{TARSIA_UINT, 16, 1},
    uint32{TARSIA_UINT, 32, 1}, uint64{TARSIA_UINT, 64, 1}, float16{TARSIA_FLOAT, 16, 1},
    float32{TARSIA_FLOAT, 32, 1}, float64{TARSIA_FLOAT, 64, 1}, bfloat16{TARSIA_BFLOAT, 16, 1},
    complex64{TARSIA_COMPLEX, 64, 1}, complex128{TARSIA_COMPLEX, 128, 1};

/// Returns the number of bytes of one element.
constexpr int64_t bytes_of(DType d_) {
  return (int64_t(d_.bits) * d_.lanes + 7) / 8;
}

/// The CPU.
constexpr Device cpu_device() {
  return Device{TARSIA_CPU, 0};
}
/// A GPU by its number, from 0.
constexpr Device gpu_device(int id_ = 0) {
  return Device{TARSIA_GPU, id_};
}
/// Whether a device is a GPU.
constexpr bool is_gpu(Device d_) {
  return d_.type == TARSIA_GPU;
}

namespace detail {
[[noreturn]] TARSIA_DETAIL_SUPPORT void not_attached() {
  throw CallError(TARSIA_OP_ERROR,
                  "a function of Tarsia is called while static initialisers run, before the library is "
                  "loaded: call it in a function, or when it is first needed");
}
/// What host() returns. Throws CallError before the library is loaded.
inline const tarsia_host* attached() {
  if (!host()) not_attached();
  return host();
}
}  // namespace detail

/// Returns the number of GPUs; 0 without a driver.
inline int device_count() {
  return detail::attached()->device_count();
}

/// A CUDA stream, not owned. As a parameter of a function, it gets the current stream if the caller omits it.
class Stream {
 public:
  /// CUDA's default stream.
  Stream() noexcept : m_stream(nullptr) {}
  /// Refers to a cudaStream_t.
  Stream(CUstream_st* stream_) noexcept : m_stream(stream_) {}
  /// The stream as a cudaStream_t.
  operator CUstream_st*() const noexcept { return m_stream; }
  /// Returns the stream of the call under way on GPU `device` (-1: the call's own GPU).
  static Stream current(int device_ = -1) {
    return Stream(static_cast<CUstream_st*>(detail::attached()->current_stream(device_)));
  }

 private:
  CUstream_st* m_stream;
};

/// A pointer to CPU memory, for parameters of functions. A tensor on a GPU is refused.
template <class T_>
class cpu {
 public:
  /// Wraps a pointer.
  cpu(T_* data_) noexcept : m_data(data_) {}
  /// The pointer.
  operator T_*() const noexcept { return m_data; }
  /// The pointer.
  T_* get() const noexcept { return m_data; }

 private:
  T_* m_data;
};

/// A pointer to GPU memory, for parameters of functions. A tensor on the CPU is refused.
template <class T_>
class gpu {
 public:
  /// Wraps a pointer.
  gpu(T_* data_) noexcept : m_data(data_) {}
  /// The pointer.
  operator T_*() const noexcept { return m_data; }
  /// The pointer.
  T_* get() const noexcept { return m_data; }

 private:
  T_* m_data;
};

/// A tensor: a view of an argument of the call under way, or an owner that tarsia::empty made. Copies share
/// the elements. A view must not outlive the call. References are counted atomically. The functions throw
/// ValueError if there is no tensor, as for an optional input that the caller omitted.
///
/// As a function's parameter, a Tensor is contiguous; a call with another tensor is refused. StridedTensor
/// takes any strides.
class Tensor {
 public:
  /// No tensor.
  Tensor() noexcept : m_tensor(nullptr), m_storage(nullptr), m_read_only(false) {}
  /// A view that owns nothing. Memory that is read only is given out by data<const T>() and the like alone.
  explicit Tensor(const tarsia_tensor* tensor_, bool read_only_ = false) noexcept
      : m_tensor(tensor_), m_storage(nullptr), m_read_only(read_only_) {}
  /// Takes over one reference.
  static Tensor own(tarsia_storage* storage_) noexcept {
    Tensor t_;
    t_.m_tensor = storage_->tensor;
    t_.m_storage = storage_;
    return t_;
  }
  Tensor(const Tensor& o_) noexcept
      : m_tensor(o_.m_tensor), m_storage(o_.m_storage), m_read_only(o_.m_read_only) {
    if (m_storage) __atomic_add_fetch(&m_storage->refs, 1, __ATOMIC_RELAXED);
  }
  Tensor(Tensor&& o_) noexcept : m_tensor(o_.m_tensor), m_storage(o_.m_storage), m_read_only(o_.m_read_only) {
    o_.m_tensor = nullptr, o_.m_storage = nullptr;
  }
  Tensor& operator=(Tensor o_) noexcept {
    const tarsia_tensor* t_ = m_tensor;
    tarsia_storage* s_ = m_storage;
    m_tensor = o_.m_tensor, m_storage = o_.m_storage, m_read_only = o_.m_read_only;
    o_.m_tensor = t_, o_.m_storage = s_;
    return *this;
  }
  ~Tensor() {
    if (m_storage && __atomic_sub_fetch(&m_storage->refs, 1, __ATOMIC_ACQ_REL) == 0)
      m_storage->release(m_storage);
  }

  /// Whether there is a tensor.
  explicit operator bool() const noexcept { return m_tensor != nullptr; }
  /// The extents. The view lives as long as the tensor.
  Dims shape() const { return Dims(given()->shape, m_tensor->ndim); }
  /// The extent of dimension i, counted from the end if negative. Throws IndexError if there is none.
  int64_t size(int i_) const { return shape()[i_]; }
  /// The number of dimensions.
  int ndim() const { return given()->ndim; }
  /// The type of the elements.
  DType dtype() const { return given()->dtype; }
  /// The device that holds the elements.
  Device device() const { return given()->device; }
  /// Whether that device is a GPU.
  bool is_gpu() const { return given()->device.type == TARSIA_GPU; }
  /// The number of elements.
  int64_t numel() const { return shape().numel(); }
  /// The number of bytes of all elements, without gaps.
  int64_t bytes() const { return numel() * bytes_of(dtype()); }
  /// The stride of dimension i in elements; i is counted from the end if negative. Throws IndexError if there
  /// is no such dimension.
  int64_t stride(int i_) const {
    i_ = Dims::checked(i_, given()->ndim);
    if (m_tensor->strides) return m_tensor->strides[i_];
    int64_t n_ = 1;
    for (int k_ = i_ + 1; k_ < m_tensor->ndim; ++k_) n_ *= m_tensor->shape[k_];
    return n_;
  }
  /// Whether the elements lie in row-major order without gaps.
  bool is_contiguous() const {
    if (!given()->strides) return true;
    int64_t n_ = 1;
    for (int i_ = m_tensor->ndim - 1; i_ >= 0; --i_) {
      if (m_tensor->shape[i_] != 1 && m_tensor->strides[i_] != n_) return numel() == 0;
      n_ *= m_tensor->shape[i_];
    }
    return true;
  }
  /// Returns the tensor itself if it is contiguous, or else a contiguous copy that lives until the call under
  /// way returns. Writing to the copy does not change the tensor. Throws TypeError for a strided tensor on a
  /// GPU.
  Tensor contiguous() const;
  /// Whether the memory is the caller's and may not be written to, such as an array of NumPy's that is not
  /// writeable, or one of JAX. Only parameters that are taken by const reference get such tensors.
  bool is_read_only() const noexcept { return m_read_only; }
  /// The address of the first element, untyped and unchecked.
  void* data() const { return static_cast<char*>(given()->data) + m_tensor->byte_offset; }
  /// The address of the first element of a contiguous tensor: data<const float>() to read, data<float>() to
  /// write. Throws TypeError if the tensor's dtype is not that of T, if the tensor is not contiguous, or if T
  /// is not const and the tensor's memory is read only.
  template <class T_>
  T_* data() const {
    T_* const first_ = strided_data<T_>();
    if (m_tensor->strides) needs_contiguous(*this);
    return first_;
  }
  /// The address of the first element; the others are found by stride(i). Throws TypeError if the tensor's
  /// dtype is not that of T, or if T is not const and the tensor's memory is read only.
  template <class T_>
  T_* strided_data() const {
    typedef typename detail::remove_const<T_>::type E_;
    if (!m_tensor) absent();
    if (m_tensor->dtype.code != detail::dtype_of<E_>::code ||
        m_tensor->dtype.bits != detail::dtype_of<E_>::bits ||
        m_tensor->dtype.lanes != detail::dtype_of<E_>::lanes)
      wrong_dtype(m_tensor->dtype, detail::dtype<E_>());
    if (!detail::is_const<T_>::value && m_read_only) not_writable();
    return static_cast<T_*>(data());
  }
  /// The element at an index, with a number for each dimension: `x.at<float>(i, j)`. Follows strides. Every
  /// call is checked. Throws IndexError for an index outside of the tensor, a negative index, or another
  /// number of dimensions. Throws TypeError for another dtype or a tensor on a GPU, or if T is not const and
  /// the tensor's memory is read only.
  template <class T_, class... I_>
  T_& at(I_... i_) const {
    const int64_t index_[sizeof...(I_) + 1] = {static_cast<int64_t>(i_)..., 0};
    T_* const first_ = strided_data<T_>();
    if (m_tensor->ndim != int(sizeof...(I_)) || m_tensor->device.type == TARSIA_GPU)
      no_element(m_tensor, index_, int(sizeof...(I_)));
    int64_t at_ = 0;
    for (int k_ = 0; k_ < int(sizeof...(I_)); ++k_) {
      if (static_cast<uint64_t>(index_[k_]) >= static_cast<uint64_t>(m_tensor->shape[k_]))
        no_element(m_tensor, index_, int(sizeof...(I_)));
      at_ = m_tensor->strides ? at_ + index_[k_] * m_tensor->strides[k_]
                              : at_ * m_tensor->shape[k_] + index_[k_];
    }
    return first_[at_];
  }

  /// The view of the tensor, borrowed; null if there is none.
  const tarsia_tensor* get() const noexcept { return m_tensor; }
  /// The owner, borrowed; null for a view.
  tarsia_storage* storage() const noexcept { return m_storage; }
  /// Hands over the reference to the caller, and leaves no tensor. Returns null for a view.
  tarsia_storage* release() noexcept {
    tarsia_storage* s_ = m_storage;
    m_tensor = nullptr, m_storage = nullptr;
    return s_;
  }

 private:
  [[noreturn]] static void wrong_dtype(DType have_, DType wanted_);
  static void needs_contiguous(const Tensor& t_);
  [[noreturn]] static void absent();
  [[noreturn]] static void not_writable();
  [[noreturn]] static void no_element(const tarsia_tensor* t_, const int64_t* index_, int n_);
  const tarsia_tensor* given() const {
    if (!m_tensor) absent();
    return m_tensor;
  }

  const tarsia_tensor* m_tensor;
  tarsia_storage* m_storage;
  bool m_read_only;
};

/// Writes the name of a dtype, as in "float32", to `text`, which has 16 bytes. Returns `text`. A longer name
/// is cut.
TARSIA_DETAIL_SUPPORT const char* name_of(DType d_, char* text_) {
  const char* const known_ = detail::element_name(d_);
  const char* base_ = known_                      ? known_
                      : d_.code == TARSIA_INT     ? "int"
                      : d_.code == TARSIA_UINT    ? "uint"
                      : d_.code == TARSIA_FLOAT   ? "float"
                      : d_.code == TARSIA_BFLOAT  ? "bfloat"
                      : d_.code == TARSIA_COMPLEX ? "complex"
                      : d_.code == TARSIA_BOOL    ? "bool"
                                                  : "dtype";
  char* w_ = text_;
  while (*base_ && w_ < text_ + 15) *w_++ = *base_++;
  if (!known_ && d_.code != TARSIA_BOOL) {
    if (d_.bits >= 100) *w_++ = char('0' + d_.bits / 100);
    if (d_.bits >= 10) *w_++ = char('0' + d_.bits / 10 % 10);
    *w_++ = char('0' + d_.bits % 10);
  }
  if (d_.lanes > 1 && d_.lanes < 10 && w_ < text_ + 14) *w_++ = 'x', *w_++ = char('0' + d_.lanes);
  *w_ = 0;
  return text_;
}

TARSIA_DETAIL_SUPPORT void Tensor::wrong_dtype(DType have_, DType wanted_) {
  char had_[16], want_[16];
  throw TypeError(Message("the tensor holds ")
                  << name_of(have_, had_) << ", but its data is asked for as " << name_of(wanted_, want_));
}

TARSIA_DETAIL_SUPPORT void Tensor::needs_contiguous(const Tensor& t_) {
  if (t_.is_contiguous()) return;
  throw TypeError(
      "data<T>() is asked for of a tensor that is not contiguous: take at<T>(...), or contiguous(), or "
      "strided_data<T>() and stride(i)");
}

TARSIA_DETAIL_SUPPORT void Tensor::absent() {
  throw ValueError(
      "a tensor is asked for its shape or data that was not given: an optional input, what .backward_needs "
      "leaves out, the forward output of a gradient, or an output whose request is null");
}

TARSIA_DETAIL_SUPPORT void Tensor::not_writable() {
  throw TypeError(
      "data to write to is asked for of a tensor whose memory is read only: to read, ask for data<const "
      "T>(), "
      "at<const T>(...) or strided_data<const T>(); to write, take a tarsia::Tensor by value, which is given "
      "writable memory");
}

TARSIA_DETAIL_SUPPORT void Tensor::no_element(const tarsia_tensor* t_, const int64_t* index_, int n_) {
  if (t_->device.type == TARSIA_GPU)
    throw TypeError("at() reads and writes elements on the CPU, and the tensor is on a GPU");
  Message text_("element (");
  for (int i_ = 0; i_ < n_; ++i_) text_ << (i_ ? ", " : "") << static_cast<long long>(index_[i_]);
  text_ << (n_ == 1 ? ",) of a tensor of shape (" : ") of a tensor of shape (");
  for (int i_ = 0; i_ < t_->ndim; ++i_) text_ << (i_ ? ", " : "") << static_cast<long long>(t_->shape[i_]);
  text_ << (t_->ndim == 1 ? ",)" : ")") << " is asked for";
  if (n_ != t_->ndim) text_ << ": one index is needed for each dimension";
  throw IndexError(text_);
}

/// A tensor with any strides, for parameters of functions. at<T>(…) follows the strides; contiguous() makes a
/// copy without gaps; strided_data<T>() is read by stride(i). A parameter of type `const StridedTensor&` is
/// only read.
class StridedTensor : public Tensor {
 public:
  /// No tensor.
  StridedTensor() noexcept {}
  /// The tensor, shared.
  StridedTensor(Tensor t_) noexcept : Tensor(static_cast<Tensor&&>(t_)) {}
};

/// Makes a contiguous tensor in the caller's framework. Its elements are unset. Throws CallError if the
/// framework fails.
TARSIA_DETAIL_SUPPORT Tensor empty(const Dims& shape_, DType dtype_, Device device_) {
  tarsia_storage* s_ = detail::attached()->empty(shape_.data(), shape_.size(), dtype_, device_);
  if (!s_) detail::throw_last(detail::host());
  return Tensor::own(s_);
}
/// Makes a tensor of the same shape, dtype and device. Its elements are unset. Throws as empty().
TARSIA_DETAIL_SUPPORT Tensor empty_like(const Tensor& t_) {
  return empty(t_.shape(), t_.dtype(), t_.device());
}

/// Returns memory that lives until the call under way returns. On a GPU it is ordered on the current stream.
/// Throws CallError if the memory is exhausted.
TARSIA_DETAIL_SUPPORT void* scratch(uint64_t bytes_, Device device_) {
  void* p_ = detail::attached()->scratch(bytes_, device_);
  if (!p_ && bytes_) detail::throw_last(detail::host());
  return p_;
}

/// Returns such memory for n elements of `element_` bytes each. Throws ValueError also if n is negative or no
/// memory holds so many.
TARSIA_DETAIL_SUPPORT void* scratch(int64_t n_, uint64_t element_, Device device_) {
  uint64_t bytes_ = 0;
  if (n_ >= 0 && !__builtin_mul_overflow(static_cast<uint64_t>(n_), element_, &bytes_))
    return scratch(bytes_, device_);
  throw ValueError(Message("scratch for ")
                   << static_cast<long long>(n_) << " elements of " << static_cast<long long>(element_)
                   << " bytes is asked for: "
                   << (n_ < 0 ? "a number of elements is not negative" : "no memory holds them"));
}

/// Makes a contiguous tensor in such memory. Its elements are unset. Throws ValueError for a negative extent
/// or a shape that no memory holds.
TARSIA_DETAIL_SUPPORT Tensor scratch_tensor(const Dims& shape_, DType dtype_, Device device_) {
  uint64_t bytes_ = static_cast<uint64_t>(bytes_of(dtype_));
  bool wraps_ = false;
  for (int64_t extent_ : shape_) {
    if (extent_ < 0) throw ValueError("a tensor's extent cannot be negative");
    wraps_ = __builtin_mul_overflow(bytes_, static_cast<uint64_t>(extent_), &bytes_) || wraps_;
  }
  if (wraps_) throw ValueError("scratch for a tensor of that shape is asked for, which no memory holds");
  const size_t ndim_ = static_cast<size_t>(shape_.size());
  char* own_ = static_cast<char*>(scratch(sizeof(tarsia_tensor) + ndim_ * sizeof(int64_t), cpu_device()));
  int64_t* extents_ = reinterpret_cast<int64_t*>(own_ + sizeof(tarsia_tensor));
  for (size_t i_ = 0; i_ < ndim_; ++i_) extents_[i_] = shape_[static_cast<int>(i_)];
  tarsia_tensor* t_ = reinterpret_cast<tarsia_tensor*>(own_);
  *t_ = tarsia_tensor();
  t_->device = device_;
  t_->ndim = shape_.size();
  t_->dtype = dtype_;
  t_->shape = extents_;
  t_->data = scratch(bytes_, device_);
  return Tensor(t_);
}

TARSIA_DETAIL_SUPPORT Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  if (is_gpu())
    throw TypeError(
        "contiguous() copies on the CPU, and the tensor is on a GPU: let the caller pass a contiguous one");
  Tensor copy_ = scratch_tensor(shape(), dtype(), device());
  const size_t bytes_ = static_cast<size_t>(tarsia::bytes_of(dtype()));
  char* to_ = static_cast<char*>(copy_.data());
  const char* from_ = static_cast<const char*>(data());
  const int last_ = ndim() - 1;  // what is not contiguous has dimensions, and elements
  const int64_t n_ = size(last_), step_ = stride(last_) * static_cast<int64_t>(bytes_);
  int64_t* at_ =
      static_cast<int64_t*>(scratch(static_cast<uint64_t>(ndim()) * sizeof(int64_t), cpu_device()));
  for (int i_ = 0; i_ <= last_; ++i_) at_[i_] = 0;
  for (int k_ = 0; k_ >= 0;) {
    for (int64_t i_ = 0; i_ < n_; ++i_, to_ += bytes_) __builtin_memcpy(to_, from_ + i_ * step_, bytes_);
    for (k_ = last_ - 1; k_ >= 0; --k_) {
      const int64_t row_ = stride(k_) * static_cast<int64_t>(bytes_);
      from_ += row_;
      if (++at_[k_] < size(k_)) break;
      from_ -= row_ * size(k_);
      at_[k_] = 0;
    }
  }
  return copy_;
}

/// Ends the call under way by an exception if its caller wants that: in Python, if Ctrl-C is pressed or
/// another signal's handler raises. A long loop calls this now and then. It takes a few nanoseconds and asks
/// the caller at most 50 times a second. Python runs signal handlers only on its main thread: calls from
/// other threads go on, as do threads that the loop itself has started. In a parallel region of OpenMP's,
/// which no exception may leave, it asks and does not throw: see interrupted(). Throws CallError.
TARSIA_DETAIL_SUPPORT void check_interrupt() {
  if (int32_t code_ = detail::attached()->check_interrupt()) detail::throw_last(detail::host(), code_);
}

/// Whether the caller of the call under way wants it to end, asked as check_interrupt() asks, without an
/// exception: for loops that must not throw, such as those of OpenMP. True on the thread of the call alone,
/// and from then on until the call ends. The call then raises the caller's exception, whatever it returns.
TARSIA_DETAIL_SUPPORT bool interrupted() {
  const tarsia_host* host_ = detail::attached();
  return TARSIA_DETAIL_HAS_FIELD(*host_, interrupted) && host_->interrupted() != 0;
}

/// Returns the device's random states, as Context::random_states does. `kind` is 1 for std::mt19937 on the
/// CPU and 2 for curandStatePhilox4_32_10_t on a GPU. Throws CallError.
TARSIA_DETAIL_SUPPORT void* random_states(Device device_, int kind_, int* n_) {
  uint32_t count_ = 0;
  void* states_ = detail::attached()->random_states(device_, kind_, &count_);
  if (!states_) detail::throw_last(detail::host());
  if (n_) *n_ = static_cast<int>(count_);
  return states_;
}

/// A part of a device's random sequence: arguments of curand_init(seed, thread, offset), or a seed for a
/// generator on the CPU.
struct RandomRange {
  uint64_t seed;
  uint64_t offset;
};

/// Reserves n numbers of the device's random sequence for this call. Throws CallError.
TARSIA_DETAIL_SUPPORT RandomRange reserve_random(Device device_, uint64_t n_) {
  RandomRange r_ = {0, 0};
  if (int32_t code_ = detail::attached()->random_reserve(device_, n_, &r_.seed, &r_.offset))
    detail::throw_last(detail::host(), code_);
  return r_;
}

#pragma GCC visibility push(hidden)
namespace detail {
template <>
struct arg<Tensor, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_TENSOR, tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1});
  }
  static Tensor get(const tarsia_value& v_) { return Tensor(v_.t, v_.size == TARSIA_TENSOR_READ_ONLY); }
};
template <>
struct arg<const Tensor&, k_unsupported> : arg<Tensor> {
  static constexpr tarsia_type describe() { return add_flags(arg<Tensor>::describe(), TARSIA_TYPE_CONST); }
};
template <>
struct arg<StridedTensor, k_unsupported> : arg<Tensor> {
  static constexpr tarsia_type describe() { return add_flags(arg<Tensor>::describe(), TARSIA_TYPE_STRIDED); }
};
template <>
struct arg<const StridedTensor&, k_unsupported> : arg<StridedTensor> {
  static constexpr tarsia_type describe() {
    return add_flags(arg<StridedTensor>::describe(), TARSIA_TYPE_CONST);
  }
};
template <>
struct result<Tensor, k_unsupported> : arg<Tensor> {
  static int32_t put(tarsia_value* r_, Tensor x_) {
    if (x_.storage()) {
      r_->kind = TARSIA_KIND_TENSOR;
      r_->storage = x_.release();
    } else if (x_) {
      r_->kind = TARSIA_KIND_ARGUMENT;
      r_->t = x_.get();
    }
    return 0;
  }
};
template <>
struct result<StridedTensor, k_unsupported> : result<Tensor> {};
template <>
struct arg<Stream, k_unsupported> : arg<CUstream_st*> {};
template <class T_>
struct arg<cpu<T_>, k_unsupported> {
  static constexpr tarsia_type describe() { return add_flags(arg<T_*>::describe(), TARSIA_TYPE_CPU); }
  static T_* get(const tarsia_value& v_) { return static_cast<T_*>(v_.p); }
};
template <class T_>
struct arg<gpu<T_>, k_unsupported> {
  static constexpr tarsia_type describe() { return add_flags(arg<T_*>::describe(), TARSIA_TYPE_GPU); }
  static T_* get(const tarsia_value& v_) { return static_cast<T_*>(v_.p); }
};
// Here, const char is an element: only a bare const char* is a string.
template <>
struct arg<cpu<const char>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return pointer<char>::describe(TARSIA_TYPE_CONST | TARSIA_TYPE_CPU);
  }
  static const char* get(const tarsia_value& v_) { return static_cast<const char*>(v_.p); }
};
template <>
struct arg<gpu<const char>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return pointer<char>::describe(TARSIA_TYPE_CONST | TARSIA_TYPE_GPU);
  }
  static const char* get(const tarsia_value& v_) { return static_cast<const char*>(v_.p); }
};
}  // namespace detail
#pragma GCC visibility pop

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif

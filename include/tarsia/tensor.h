// Tensors, streams, devices and dtypes as an op's code sees them. Light: no heavy std header.
#pragma once

#if defined(__CUDACC_RTC__)
#include <tarsia/device.h>
#else

#include <tarsia/detail/macros_push.h>

#include <initializer_list>

#include <tarsia/detail/exceptions.h>

#include <tarsia/detail/adapter.h>
#include <tarsia/device.h>

inline bool operator==(tarsia_dtype a_, tarsia_dtype b_) {
  return a_.code == b_.code && a_.bits == b_.bits && a_.lanes == b_.lanes;
}
inline bool operator!=(tarsia_dtype a_, tarsia_dtype b_) {
  return !(a_ == b_);
}
inline bool operator==(tarsia_device a_, tarsia_device b_) {
  return a_.type == b_.type && a_.id == b_.id;
}
inline bool operator!=(tarsia_device a_, tarsia_device b_) {
  return !(a_ == b_);
}

namespace tarsia {

typedef tarsia_dtype DType;
typedef tarsia_device Device;

/// The dtype of C++ type T.
template <class T_>
constexpr DType dtype() {
  static_assert(detail::dtype_of<T_>::code != TARSIA_ANY_DTYPE, "tarsia: not an element type of tensors");
  return detail::dtype<T_>();
}

constexpr DType bool8{TARSIA_BOOL, 8, 1}, int8{TARSIA_INT, 8, 1}, int16{TARSIA_INT, 16, 1},
    int32{TARSIA_INT, 32, 1}, int64{TARSIA_INT, 64, 1}, uint8{TARSIA_UINT, 8, 1}, uint16{TARSIA_UINT, 16, 1},
    uint32{TARSIA_UINT, 32, 1}, uint64{TARSIA_UINT, 64, 1}, float16{TARSIA_FLOAT, 16, 1},
    float32{TARSIA_FLOAT, 32, 1}, float64{TARSIA_FLOAT, 64, 1}, bfloat16{TARSIA_BFLOAT, 16, 1},
    complex64{TARSIA_COMPLEX, 64, 1}, complex128{TARSIA_COMPLEX, 128, 1};

/// Bytes of one element.
constexpr int64_t bytes_of(DType d_) {
  return (int64_t(d_.bits) * d_.lanes + 7) / 8;
}

constexpr Device cpu_device() {
  return Device{TARSIA_CPU, 0};
}
constexpr Device gpu_device(int id_ = 0) {
  return Device{TARSIA_GPU, id_};
}
/// Whether kernels run on it.
constexpr bool is_gpu(Device d_) {
  return d_.type == TARSIA_GPU;
}

/// How many GPUs there are.
inline int device_count() {
  return detail::host()->device_count();
}

/// A CUDA stream, not owned. Converts to and from cudaStream_t.
class Stream {
 public:
  Stream() noexcept : m_stream(nullptr) {}
  Stream(CUstream_st* stream_) noexcept : m_stream(stream_) {}
  operator CUstream_st*() const noexcept { return m_stream; }
  /// The stream of the call under way on GPU `device` (-1: the call's own).
  static Stream current(int device_ = -1) {
    return Stream(static_cast<CUstream_st*>(detail::host()->current_stream(device_)));
  }

 private:
  CUstream_st* m_stream;
};

/// A pointer parameter that is declared to point to CPU memory.
template <class T_>
class cpu {
 public:
  cpu(T_* data_) noexcept : m_data(data_) {}
  operator T_*() const noexcept { return m_data; }
  T_* get() const noexcept { return m_data; }

 private:
  T_* m_data;
};

/// A pointer parameter that is declared to point to GPU memory.
template <class T_>
class gpu {
 public:
  gpu(T_* data_) noexcept : m_data(data_) {}
  operator T_*() const noexcept { return m_data; }
  T_* get() const noexcept { return m_data; }

 private:
  T_* m_data;
};

/// Extents or strides: a view of 64-bit integers.
class Dims {
 public:
  Dims() noexcept : m_data(nullptr), m_size(0) {}
  Dims(const int64_t* data_, int size_) noexcept : m_data(data_), m_size(size_) {}
  /// Of a braced list: for arguments only, the numbers live as long as the list.
  Dims(std::initializer_list<int64_t> list_) noexcept : m_data(nullptr), m_size(int(list_.size())) {
    m_data = list_.begin();
  }
  /// Of a std::vector<int64_t> and the like.
  template <class C_, class = decltype(static_cast<const int64_t*>(static_cast<const C_*>(nullptr)->data()))>
  Dims(const C_& list_) noexcept : m_data(list_.data()), m_size(int(list_.size())) {}

  int64_t operator[](int i_) const { return m_data[i_ < 0 ? i_ + m_size : i_]; }
  int size() const noexcept { return m_size; }
  const int64_t* data() const noexcept { return m_data; }
  const int64_t* begin() const noexcept { return m_data; }
  const int64_t* end() const noexcept { return m_data + m_size; }
  /// The product.
  int64_t numel() const noexcept {
    int64_t n_ = 1;
#if defined(__clang__)
#pragma clang loop unroll(disable) vectorize(disable)  // a few numbers, in very many places
#endif
    for (int i_ = 0; i_ < m_size; ++i_) n_ *= m_data[i_];
    return n_;
  }
  bool operator==(const Dims& o_) const noexcept {
    if (m_size != o_.m_size) return false;
    for (int i_ = 0; i_ < m_size; ++i_)
      if (m_data[i_] != o_.m_data[i_]) return false;
    return true;
  }
  bool operator!=(const Dims& o_) const noexcept { return !(*this == o_); }

 private:
  const int64_t* m_data;
  int m_size;
};

/// A tensor: a view of an argument of the call under way, or an owner made by tarsia::empty. Copies share the
/// elements; a view must not outlive the call.
class Tensor {
 public:
  Tensor() noexcept : m_tensor(nullptr), m_storage(nullptr) {}
  /// A view, not owned.
  explicit Tensor(const tarsia_tensor* tensor_) noexcept : m_tensor(tensor_), m_storage(nullptr) {}
  /// Takes one reference over.
  static Tensor own(tarsia_storage* storage_) noexcept {
    Tensor t_;
    t_.m_tensor = storage_->tensor;
    t_.m_storage = storage_;
    return t_;
  }
  Tensor(const Tensor& o_) noexcept : m_tensor(o_.m_tensor), m_storage(o_.m_storage) {
    if (m_storage) __atomic_add_fetch(&m_storage->refs, 1, __ATOMIC_RELAXED);
  }
  Tensor(Tensor&& o_) noexcept : m_tensor(o_.m_tensor), m_storage(o_.m_storage) {
    o_.m_tensor = nullptr, o_.m_storage = nullptr;
  }
  Tensor& operator=(Tensor o_) noexcept {
    const tarsia_tensor* t_ = m_tensor;
    tarsia_storage* s_ = m_storage;
    m_tensor = o_.m_tensor, m_storage = o_.m_storage;
    o_.m_tensor = t_, o_.m_storage = s_;
    return *this;
  }
  ~Tensor() {
    if (m_storage && __atomic_sub_fetch(&m_storage->refs, 1, __ATOMIC_ACQ_REL) == 0)
      m_storage->release(m_storage);
  }

  /// False for an optional input that was not given.
  explicit operator bool() const noexcept { return m_tensor != nullptr; }
  Dims shape() const noexcept { return Dims(m_tensor->shape, m_tensor->ndim); }
  int64_t size(int i_) const { return shape()[i_]; }
  int ndim() const noexcept { return m_tensor->ndim; }
  DType dtype() const noexcept { return m_tensor->dtype; }
  Device device() const noexcept { return m_tensor->device; }
  bool is_gpu() const noexcept { return m_tensor->device.type == TARSIA_GPU; }
  int64_t numel() const noexcept { return shape().numel(); }
  int64_t bytes() const noexcept { return numel() * bytes_of(dtype()); }
  /// In elements; of dimension i, counted from the end if negative.
  int64_t stride(int i_) const noexcept {
    if (i_ < 0) i_ += m_tensor->ndim;
    if (m_tensor->strides) return m_tensor->strides[i_];
    int64_t n_ = 1;
    for (int k_ = i_ + 1; k_ < m_tensor->ndim; ++k_) n_ *= m_tensor->shape[k_];
    return n_;
  }
  /// Row-major without gaps.
  bool is_contiguous() const noexcept {
    if (!m_tensor->strides) return true;
    int64_t n_ = 1;
    for (int i_ = m_tensor->ndim - 1; i_ >= 0; --i_) {
      if (m_tensor->shape[i_] != 1 && m_tensor->strides[i_] != n_) return numel() == 0;
      n_ *= m_tensor->shape[i_];
    }
    return true;
  }
  /// The first element, untyped.
  void* data() const noexcept { return static_cast<char*>(m_tensor->data) + m_tensor->byte_offset; }
  /// The first element. Throws TypeError if the tensor's dtype is another, ValueError if there is no tensor.
  template <class T_>
  T_* data() const {
    typedef typename detail::remove_const<T_>::type E_;
    if (!m_tensor) absent();
    if (m_tensor->dtype.code != detail::dtype_of<E_>::code ||
        m_tensor->dtype.bits != detail::dtype_of<E_>::bits ||
        m_tensor->dtype.lanes != detail::dtype_of<E_>::lanes)
      wrong_dtype(m_tensor->dtype, detail::dtype<E_>());
    return static_cast<T_*>(data());
  }

  const tarsia_tensor* get() const noexcept { return m_tensor; }
  tarsia_storage* storage() const noexcept { return m_storage; }
  /// Hands the reference over to the caller.
  tarsia_storage* release() noexcept {
    tarsia_storage* s_ = m_storage;
    m_tensor = nullptr, m_storage = nullptr;
    return s_;
  }

 private:
  [[noreturn]] static void wrong_dtype(DType have_, DType wanted_);
  [[noreturn]] static void absent();

  const tarsia_tensor* m_tensor;
  tarsia_storage* m_storage;
};

/// "float32" and so on, written to `text` (16 bytes).
TARSIA_DETAIL_SUPPORT const char* name_of(DType d_, char* text_) {
  const char* base_ = d_.code == TARSIA_INT       ? "int"
                      : d_.code == TARSIA_UINT    ? "uint"
                      : d_.code == TARSIA_FLOAT   ? "float"
                      : d_.code == TARSIA_BFLOAT  ? "bfloat"
                      : d_.code == TARSIA_COMPLEX ? "complex"
                      : d_.code == TARSIA_BOOL    ? "bool"
                                                  : "dtype";
  char* w_ = text_;
  while (*base_) *w_++ = *base_++;
  if (d_.code != TARSIA_BOOL) {
    if (d_.bits >= 100) *w_++ = char('0' + d_.bits / 100);
    if (d_.bits >= 10) *w_++ = char('0' + d_.bits / 10 % 10);
    *w_++ = char('0' + d_.bits % 10);
  }
  if (d_.lanes > 1 && d_.lanes < 10) *w_++ = 'x', *w_++ = char('0' + d_.lanes);
  *w_ = 0;
  return text_;
}

TARSIA_DETAIL_SUPPORT void Tensor::wrong_dtype(DType have_, DType wanted_) {
  char had_[16], want_[16];
  throw TypeError(Message("the tensor holds ")
                  << name_of(have_, had_) << ", but its data is asked for as " << name_of(wanted_, want_));
}

TARSIA_DETAIL_SUPPORT void Tensor::absent() {
  throw ValueError(
      "a tensor is asked for its data that was not given: an optional input, the forward output of a "
      "gradient, or an output whose request is null");
}

/// A new contiguous tensor, elements unset, made by the framework of the caller.
TARSIA_DETAIL_SUPPORT Tensor empty(const Dims& shape_, DType dtype_, Device device_) {
  tarsia_storage* s_ = detail::host()->empty(shape_.data(), shape_.size(), dtype_, device_);
  if (!s_) detail::throw_last(detail::host());
  return Tensor::own(s_);
}
TARSIA_DETAIL_SUPPORT Tensor empty_like(const Tensor& t_) {
  return empty(t_.shape(), t_.dtype(), t_.device());
}

/// Memory that lives until the call under way returns; on a GPU, ordered on the current stream.
TARSIA_DETAIL_SUPPORT void* scratch(uint64_t bytes_, Device device_) {
  void* p_ = detail::host()->scratch(bytes_, device_);
  if (!p_ && bytes_) detail::throw_last(detail::host());
  return p_;
}

/// The same for n elements of a size in bytes. Throws ValueError for a number that no memory holds.
TARSIA_DETAIL_SUPPORT void* scratch(int64_t n_, uint64_t element_, Device device_) {
  uint64_t bytes_ = 0;
  if (n_ >= 0 && !__builtin_mul_overflow(static_cast<uint64_t>(n_), element_, &bytes_))
    return scratch(bytes_, device_);
  throw ValueError(Message("scratch for ")
                   << static_cast<long long>(n_) << " elements of " << static_cast<long long>(element_)
                   << " bytes is asked for: "
                   << (n_ < 0 ? "a number of elements is not negative" : "no memory holds them"));
}

/// A contiguous tensor in such memory, elements unset.
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

/// The device's persistent states: see Context::random_states.
TARSIA_DETAIL_SUPPORT void* random_states(Device device_, int kind_, int* n_) {
  uint32_t count_ = 0;
  void* states_ = detail::host()->random_states(device_, kind_, &count_);
  if (!states_) detail::throw_last(detail::host());
  if (n_) *n_ = static_cast<int>(count_);
  return states_;
}

/// Reserves n numbers of the device's random sequence: what curand_init(seed, thread, offset) takes, or what
/// seeds a generator on the CPU.
struct RandomRange {
  uint64_t seed;
  uint64_t offset;
};
TARSIA_DETAIL_SUPPORT RandomRange reserve_random(Device device_, uint64_t n_) {
  RandomRange r_ = {0, 0};
  if (int32_t code_ = detail::host()->random_reserve(device_, n_, &r_.seed, &r_.offset))
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
  static Tensor get(const tarsia_value& v_) { return Tensor(v_.t); }
};
template <>
struct arg<const Tensor&, k_unsupported> : arg<Tensor> {
  static constexpr tarsia_type describe() { return add_flags(arg<Tensor>::describe(), TARSIA_TYPE_CONST); }
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
// const char is an element here: only a bare const char* is a string.
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

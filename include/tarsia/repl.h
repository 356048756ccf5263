// What cells of a session use without saying so: how the value of an expression is shown, and values to try
// ops with. Sessions include it; see docs/repl.md.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/detail/show.h>
#include <tarsia/op.h>

#include <type_traits>

extern "C" {
/// Begin and end what is timed. Both wait for the GPU if the process uses one. The end writes nanoseconds
/// into the value: by the host's clock; with a GPU also by CUDA's events, and 1 if it still had work to do,
/// else 0.
void tarsia_cell_bench_begin(void);
void tarsia_cell_bench_end(void);
#ifndef TARSIA_DETAIL_CODE_IS_SHOWN
/// Sets a contiguous tensor's elements on the CPU or a GPU: 0: all to `a`; 1: to a + i * b; 2: to numbers of
/// the normal distribution with mean `a` and deviation `b`; 3: to numbers uniform in [a, b).
void tarsia_cell_fill(const tarsia_tensor* tensor, int how, double a, double b);
int tarsia_cell_allclose(const tarsia_tensor* x, const tarsia_tensor* y, double rtol, double atol);
tarsia_storage* tarsia_cell_load_npy(const char* path, const char* device);
void tarsia_cell_save_npy(const char* path, const tarsia_tensor* tensor);
void tarsia_cell_check_image(const tarsia_tensor* tensor);
tarsia_storage* tarsia_cell_empty(const long* shape, unsigned long n, tarsia_dtype dtype, const char* device);
#else
// Code that is looked at is loaded without its session. The little of it that runs then, initial values of
// constants, gets a tensor of one element, which has no memory.
inline tarsia_storage* tarsia_cell_empty(const long*, unsigned long, tarsia_dtype dtype, const char*) {
  static tarsia_tensor tensor = {};
  static tarsia_storage storage = {&tensor, 1 << 30, 0, nullptr, nullptr};
  tensor.dtype = dtype;
  return &storage;
}
inline tarsia_storage* tarsia_cell_load_npy(const char*, const char* device) {
  return tarsia_cell_empty(nullptr, 0, tarsia::float32, device);
}
inline void tarsia_cell_save_npy(const char*, const tarsia_tensor*) {}
inline void tarsia_cell_check_image(const tarsia_tensor*) {}
inline void tarsia_cell_fill(const tarsia_tensor*, int, double, double) {}
inline int tarsia_cell_allclose(const tarsia_tensor*, const tarsia_tensor*, double, double) {
  return 0;
}
#endif
}

namespace tarsia {
/// What sessions use.
namespace repl {

#if __cplusplus >= 201703L
/// Makes the compiler compute a value, though nothing else uses it.
template <class T_>
void keep(const T_& value_) {
  if constexpr ((std::is_integral_v<T_> || std::is_enum_v<T_> || std::is_pointer_v<T_>) && sizeof(T_) <= 8) {
    const T_ read_ = value_;
    __asm__ volatile("" : : "r"(read_) : "memory");
  } else if constexpr (std::is_floating_point_v<T_>) {
    const T_ read_ = value_;
    __asm__ volatile("" : : "m"(read_) : "memory");
  } else {
    __asm__ volatile("" : : "r"(__builtin_addressof(value_)) : "memory");
  }
}

/// Runs `body` `runs` times and shows how long that took. Work that it gives to a GPU counts. What it returns
/// is computed.
template <class Body_>
void bench(long runs_, Body_&& body_) {
  tarsia_cell_bench_begin();
  for (long i_ = 0; i_ < runs_; ++i_) {
    if constexpr (std::is_void_v<decltype(body_())>) {
      body_();
      __asm__ volatile("" ::: "memory");
    } else {
      keep(body_());
    }
  }
  tarsia_cell_bench_end();
}

#endif  // C++17

/* Values to try ops with. Devices are "cpu", "gpu", "gpu:1". */

/// Returns a contiguous tensor with unset elements. Throws ValueError for a negative extent or an unknown
/// device.
inline Tensor empty(const Dims& shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return Tensor::own(
      tarsia_cell_empty(shape_.data(), static_cast<unsigned long>(shape_.size()), dtype_, device_));
}
/// The same in float32 on a device.
inline Tensor empty(const Dims& shape_, const char* device_) {
  return repl::empty(shape_, float32, device_);
}
/// Returns a tensor whose elements are all `value`.
inline Tensor full(const Dims& shape_, double value_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 0, value_, 0);
  return made_;
}
/// The same in float32 on a device.
inline Tensor full(const Dims& shape_, double value_, const char* device_) {
  return repl::full(shape_, value_, float32, device_);
}
/// Returns a tensor of zeros.
inline Tensor zeros(const Dims& shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return repl::full(shape_, 0, dtype_, device_);
}
/// The same in float32 on a device.
inline Tensor zeros(const Dims& shape_, const char* device_) {
  return repl::zeros(shape_, float32, device_);
}
/// Returns a tensor of ones.
inline Tensor ones(const Dims& shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return repl::full(shape_, 1, dtype_, device_);
}
/// The same in float32 on a device.
inline Tensor ones(const Dims& shape_, const char* device_) {
  return repl::ones(shape_, float32, device_);
}
/// Returns 0, 1, …, n - 1.
inline Tensor arange(long n_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty({n_}, dtype_, device_);
  tarsia_cell_fill(made_.get(), 1, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor arange(long n_, const char* device_) {
  return repl::arange(n_, float32, device_);
}
/// Returns begin, begin + step, … before `end`, as numpy.arange does. Throws ValueError for a step of 0, and
/// for what is not finite.
inline Tensor arange(double begin_, double end_, double step_ = 1, DType dtype_ = float32,
                     const char* device_ = "cpu") {
  const double n_ = __builtin_ceil((end_ - begin_) / step_);
  if (!(__builtin_fabs(n_) < 0x1p62))
    throw ValueError("arange: the step does not lead from the first to the end");
  Tensor made_ = repl::empty({n_ > 0 ? static_cast<int64_t>(n_) : 0}, dtype_, device_);
  tarsia_cell_fill(made_.get(), 1, begin_, step_);
  return made_;
}
/// The same in float32 on a device.
inline Tensor arange(double begin_, double end_, double step_, const char* device_) {
  return repl::arange(begin_, end_, step_, float32, device_);
}
/// Returns numbers of the normal distribution, mean 0 and deviation 1, as tarsia::seed decides.
inline Tensor randn(const Dims& shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 2, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor randn(const Dims& shape_, const char* device_) {
  return repl::randn(shape_, float32, device_);
}
/// Returns numbers uniform in [0, 1), as tarsia::seed decides.
inline Tensor rand_uniform(const Dims& shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 3, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor rand_uniform(const Dims& shape_, const char* device_) {
  return repl::rand_uniform(shape_, float32, device_);
}
#if __cplusplus >= 201703L
/* The same with the extents as arguments. */

/// What stands in calls like zeros(2, 3, tarsia::float16, "gpu").
class Wanted {
 public:
  /// Takes the arguments of a call: extents, which may be followed by a dtype and a device.
  template <class... Given_>
  explicit Wanted(Given_... given_) {
    static_assert(sizeof...(given_) <= TARSIA_MAX_NDIM + 2, "a tensor has 32 dimensions at most");
    (take(given_), ...);
  }
  /// The extents.
  Dims shape() const { return Dims(m_extents, m_size); }
  /// The dtype, float32 by default.
  DType dtype() const { return m_dtype; }
  /// The device, "cpu" by default.
  const char* device() const { return m_device; }

 private:
  template <class T_>
  std::enable_if_t<std::is_integral_v<T_>> take(T_ extent_) {
    m_extents[m_size++] = static_cast<int64_t>(extent_);
  }
  void take(DType dtype_) { m_dtype = dtype_; }
  void take(const char* device_) { m_device = device_; }

  int64_t m_extents[TARSIA_MAX_NDIM + 2];
  int m_size = 0;
  DType m_dtype = float32;
  const char* m_device = "cpu";
};
/// Whether a type is that of an extent.
template <class T_>
using IfExtent = std::enable_if_t<std::is_integral_v<T_> && !std::is_same_v<T_, bool>, int>;

/// zeros(2, 3, tarsia::float16, "gpu"): of these extents; the dtype and the device may be left out.
template <class Extent_, class... More_, IfExtent<Extent_> = 0>
Tensor zeros(Extent_ extent_, More_... more_) {
  const Wanted wanted_(extent_, more_...);
  return repl::zeros(wanted_.shape(), wanted_.dtype(), wanted_.device());
}
/// ones(2, 3, tarsia::float16, "gpu"): of these extents; the dtype and the device may be left out.
template <class Extent_, class... More_, IfExtent<Extent_> = 0>
Tensor ones(Extent_ extent_, More_... more_) {
  const Wanted wanted_(extent_, more_...);
  return repl::ones(wanted_.shape(), wanted_.dtype(), wanted_.device());
}
/// randn(2, 3, tarsia::float16, "gpu"): of these extents; the dtype and the device may be left out.
template <class Extent_, class... More_, IfExtent<Extent_> = 0>
Tensor randn(Extent_ extent_, More_... more_) {
  const Wanted wanted_(extent_, more_...);
  return repl::randn(wanted_.shape(), wanted_.dtype(), wanted_.device());
}
/// rand_uniform(2, 3, tarsia::float16, "gpu"): of these extents; the dtype and the device may be left out.
template <class Extent_, class... More_, IfExtent<Extent_> = 0>
Tensor rand_uniform(Extent_ extent_, More_... more_) {
  const Wanted wanted_(extent_, more_...);
  return repl::rand_uniform(wanted_.shape(), wanted_.dtype(), wanted_.device());
}
#endif  // C++17

/// Whether |x - y| <= atol + rtol * |y| for all elements, as numpy.allclose has it. Throws ValueError if the
/// shapes differ.
inline bool allclose(const Tensor& x_, const Tensor& y_, double rtol_ = 1e-5, double atol_ = 1e-8) {
  return tarsia_cell_allclose(x_.get(), y_.get(), rtol_, atol_) != 0;
}
/// Reads and writes NumPy's .npy files. Throws Error, naming the path.
inline Tensor load_npy(const char* path_, const char* device_ = "cpu") {
  return Tensor::own(tarsia_cell_load_npy(path_, device_));
}
inline void save_npy(const char* path_, const Tensor& tensor_) {
  tarsia_cell_save_npy(path_, tensor_.get());
}

/// Makes an image of a tensor: as the value of a cell, notebooks show it as one. H x W is grey, H x W x C has
/// 1, 3 or 4 channels: grey, RGB or RGBA; C x H x W is taken as well. Elements are uint8, bool, or floats
/// from 0 (dark) to 1. Throws ValueError for any other tensor.
inline Image image(const Tensor& tensor_) {
  tarsia_cell_check_image(tensor_.get());
  return Image{tensor_};
}

}  // namespace repl
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

// Random numbers as lazy expressions: element i of a drawing is number `offset + i` of the device's Philox
// sequence. tarsia::seed seeds it. Device code sees this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {

/// Word `i` of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
MSHADOW_XINLINE unsigned philox(unsigned long long seed, unsigned long long i) {
  unsigned key0 = static_cast<unsigned>(seed), key1 = static_cast<unsigned>(seed >> 32);
  const unsigned long long block = i >> 2;
  unsigned c[4] = {static_cast<unsigned>(block), static_cast<unsigned>(block >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
    const unsigned n0 = static_cast<unsigned>(b >> 32) ^ c[1] ^ key0,
                   n2 = static_cast<unsigned>(a >> 32) ^ c[3] ^ key1;
    c[0] = n0, c[1] = static_cast<unsigned>(b), c[2] = n2, c[3] = static_cast<unsigned>(a);
    key0 += 0x9e3779b9u, key1 += 0xbb67ae85u;
  }
  return c[i & 3];
}

namespace expr {
template <class DType, int dim, bool gaussian>
struct RandomExp;
template <class DType, int dim, bool gaussian>
class Plan<RandomExp<DType, dim, gaussian>, DType> {
 public:
  Plan(unsigned long long seed, unsigned long long offset, size_t last, DType scale, DType shift)
      : seed_(seed), offset_(offset), last_(last), scale_(scale), shift_(shift) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    const unsigned long long i = static_cast<unsigned long long>(y) * last_ + x;
    float value;
    if (gaussian) {  // Box and Muller, of two numbers for each element
      const float u =
          (static_cast<float>(philox(seed_, offset_ + 2 * i) >> 8) + 1.0f) * 5.9604644775390625e-8f;
      const float v = static_cast<float>(philox(seed_, offset_ + 2 * i + 1) >> 8) * 5.9604644775390625e-8f;
      value = ::sqrtf(-2.0f * ::logf(u)) * ::cosf(6.283185307179586f * v);
    } else {
      value = static_cast<float>(philox(seed_, offset_ + i) >> 8) * 5.9604644775390625e-8f;  // 2^-24
    }
    return static_cast<DType>(static_cast<DType>(value) * scale_ + shift_);
  }

 private:
  unsigned long long seed_, offset_;
  size_t last_;
  DType scale_, shift_;
};
}  // namespace expr

namespace expr {
template <class DType, int dim, bool gaussian>
struct RandomExp
    : public MakeTensorExp<RandomExp<DType, dim, gaussian>, RandomExp<DType, dim, gaussian>, dim, DType> {
  unsigned long long seed_, offset_;
  DType scale_, shift_;
  RandomExp(const Shape<dim>& shape, unsigned long long seed, unsigned long long offset, DType scale,
            DType shift)
      : seed_(seed), offset_(offset), scale_(scale), shift_(shift) {
    this->shape_ = shape;
  }
};
template <class DType, int dim, bool gaussian>
Plan<RandomExp<DType, dim, gaussian>, DType> MakePlan(
    const MakeTensorExp<RandomExp<DType, dim, gaussian>, RandomExp<DType, dim, gaussian>, dim, DType>& e) {
  const auto& r = e.real_self();
  return Plan<RandomExp<DType, dim, gaussian>, DType>(r.seed_, r.offset_, e.shape_[dim - 1], r.scale_,
                                                      r.shift_);
}
}  // namespace expr

/// Draws random numbers. Every drawing goes on where the last one of the device ended.
template <class Device, class DType = default_real_t>
class Random {
 public:
  explicit Random(int device = 0) : m_device(device) {}
  void Seed(int) {}
  void set_stream(Stream<Device>*) {}
  /// Numbers from 0 up to, and without, 1.
  template <int dim>
  expr::RandomExp<DType, dim, false> uniform(const Shape<dim>& shape) {
    return draw<dim, false>(shape, DType(1.0f), DType(0.0f));
  }
  /// Numbers of a normal distribution.
  template <int dim>
  expr::RandomExp<DType, dim, true> gaussian(const Shape<dim>& shape, DType mean = DType(0.0f),
                                             DType deviation = DType(1.0f)) {
    return draw<dim, true>(shape, deviation, mean);
  }
  template <int dim>
  void SampleUniform(Tensor<Device, dim, DType>* to, DType a = DType(0.0f), DType b = DType(1.0f)) {
    *to = draw<dim, false>(to->shape_, DType(b - a), a);
  }
  template <int dim>
  void SampleGaussian(Tensor<Device, dim, DType>* to, DType mean = DType(0.0f),
                      DType deviation = DType(1.0f)) {
    *to = draw<dim, true>(to->shape_, deviation, mean);
  }

 private:
  template <int dim, bool is_gaussian>
  expr::RandomExp<DType, dim, is_gaussian> draw(const Shape<dim>& shape, DType scale, DType shift) {
    uint64_t seed = 0, offset = 0;
    ::mxnet::tarsia_detail::random_reserve(!Device::kDevCPU, m_device, shape.Size() * (is_gaussian ? 2 : 1),
                                           &seed, &offset);
    return expr::RandomExp<DType, dim, is_gaussian>(shape, seed, offset, scale, shift);
  }
  int m_device;
};

}  // namespace mshadow

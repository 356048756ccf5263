// Expressions of images: the last two dimensions are rows and columns. Device code sees this file, too.
#pragma once

#include <mshadow/extension/sequence.h>

namespace mshadow {
namespace expr {

// The plans take the place of an element as its image, its row and its column.

template <class Src, class DType, int dim>
struct PaddingExp;
template <class Src, class DType, int dim>
class Plan<PaddingExp<Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t pad_y, index_t pad_x, index_t rows, index_t src_rows,
       index_t src_cols)
      : src_(src), pad_y_(pad_y), pad_x_(pad_x), rows_(rows), src_rows_(src_rows), src_cols_(src_cols) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    const index_t y = i % rows_, image = i / rows_;
    if (y < pad_y_ || x < pad_x_ || y - pad_y_ >= src_rows_ || x - pad_x_ >= src_cols_) return DType(0.0f);
    return src_.Eval(image * src_rows_ + y - pad_y_, x - pad_x_);
  }

 private:
  Plan<Src, DType> src_;
  index_t pad_y_, pad_x_, rows_, src_rows_, src_cols_;
};

template <class Src, class DType, int dim>
struct CroppingExp;
template <class Src, class DType, int dim>
class Plan<CroppingExp<Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t at_y, index_t at_x, index_t rows, index_t src_rows)
      : src_(src), at_y_(at_y), at_x_(at_x), rows_(rows), src_rows_(src_rows) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    return src_.Eval(i / rows_ * src_rows_ + i % rows_ + at_y_, x + at_x_);
  }

 private:
  Plan<Src, DType> src_;
  index_t at_y_, at_x_, rows_, src_rows_;
};

template <class Src, class DType, int dim>
struct UpSamplingNearestExp;
template <class Src, class DType, int dim>
class Plan<UpSamplingNearestExp<Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t scale, index_t rows, index_t src_rows)
      : src_(src), scale_(scale), rows_(rows), src_rows_(src_rows) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    return src_.Eval(i / rows_ * src_rows_ + i % rows_ / scale_, x / scale_);
  }

 private:
  Plan<Src, DType> src_;
  index_t scale_, rows_, src_rows_;
};

template <class Reducer, class Src, class DType, int dim>
struct PoolingExp;
template <class Reducer, class Src, class DType, int dim>
class Plan<PoolingExp<Reducer, Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Shape<4>& window, index_t rows, index_t src_rows, index_t src_cols)
      : src_(src), window_(window), rows_(rows), src_rows_(src_rows), src_cols_(src_cols) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    typedef typename accumulated<DType>::type A;
    const index_t image = i / rows_ * src_rows_, y0 = i % rows_ * window_[2], x0 = x * window_[3];
    const index_t y1 = y0 + window_[0] < src_rows_ ? y0 + window_[0] : src_rows_,
                  x1 = x0 + window_[1] < src_cols_ ? x0 + window_[1] : src_cols_;
    A all;
    Reducer::SetInitValue(all);
    for (index_t y = y0; y < y1; ++y)
      for (index_t k = x0; k < x1; ++k) Reducer::Reduce(all, static_cast<A>(src_.Eval(image + y, k)));
    return DType(all);
  }

 private:
  Plan<Src, DType> src_;
  Shape<4> window_;  ///< rows, columns, and the steps between windows
  index_t rows_, src_rows_, src_cols_;
};

template <class Reducer, class Src, class Pooled, class Grad, class DType, int dim>
struct UnPoolingExp;
template <class Reducer, class Src, class Pooled, class Grad, class DType, int dim>
class Plan<UnPoolingExp<Reducer, Src, Pooled, Grad, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Plan<Pooled, DType>& pooled, const Plan<Grad, DType>& grad,
       const Shape<4>& window, index_t rows, index_t pooled_rows, index_t pooled_cols)
      : src_(src),
        pooled_(pooled),
        grad_(grad),
        window_(window),
        rows_(rows),
        pooled_rows_(pooled_rows),
        pooled_cols_(pooled_cols) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    typedef typename accumulated<DType>::type A;
    const index_t y = i % rows_, image = i / rows_ * pooled_rows_;
    const DType value = src_.Eval(i, x);
    const index_t y0 = first(y, window_[0], window_[2]), x0 = first(x, window_[1], window_[3]);
    const index_t y1 = end(y, window_[2], pooled_rows_), x1 = end(x, window_[3], pooled_cols_);
    A all = A(0);
    for (index_t py = y0; py < y1; ++py)
      for (index_t px = x0; px < x1; ++px)
        all += static_cast<A>(Reducer::PartialGrad(value, DType(pooled_.Eval(image + py, px)))) *
               static_cast<A>(grad_.Eval(image + py, px));
    return DType(all);
  }

 private:
  /// The first window with a place in it, and the end of those.
  MSHADOW_XINLINE static index_t first(index_t at, index_t size, index_t step) {
    return at < size ? 0 : (at - size + step) / step;
  }
  MSHADOW_XINLINE static index_t end(index_t at, index_t step, index_t n) {
    return (at + step) / step < n ? (at + step) / step : n;
  }
  Plan<Src, DType> src_;
  Plan<Pooled, DType> pooled_;
  Plan<Grad, DType> grad_;
  Shape<4> window_;
  index_t rows_, pooled_rows_, pooled_cols_;
};

template <class Reducer, class Src, class DType, int dim>
struct ChannelPoolingExp;
template <class Reducer, class Src, class DType, int dim>
class Plan<ChannelPoolingExp<Reducer, Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t half, index_t channels, index_t rows)
      : src_(src), half_(half), channels_(channels), rows_(rows) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    typedef typename accumulated<DType>::type A;
    const index_t y = i % rows_, c = i / rows_ % channels_, image = i / rows_ / channels_;
    const index_t begin = c < half_ ? 0 : c - half_,
                  end = c + half_ + 1 < channels_ ? c + half_ + 1 : channels_;
    A all;
    Reducer::SetInitValue(all);
    for (index_t k = begin; k < end; ++k)
      Reducer::Reduce(all, static_cast<A>(src_.Eval((image * channels_ + k) * rows_ + y, x)));
    return DType(all);
  }

 private:
  Plan<Src, DType> src_;
  index_t half_, channels_, rows_;
};

template <class Src, class DType, int dim>
struct PaddingExp : public MakeTensorExp<PaddingExp<Src, DType, dim>, Src, dim, DType> {
  Src src_;
  index_t pad_y_, pad_x_, src_rows_, src_cols_;
  PaddingExp(const Src& src, index_t pad_y, index_t pad_x) : src_(src), pad_y_(pad_y), pad_x_(pad_x) {
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
    src_rows_ = this->shape_[dim - 2], src_cols_ = this->shape_[dim - 1];
    this->shape_[dim - 2] += 2 * pad_y;
    this->shape_[dim - 1] += 2 * pad_x;
  }
};
template <class Src, class DType, int dim>
Plan<PaddingExp<Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<PaddingExp<Src, DType, dim>, Src, dim, DType>& e) {
  const auto& p = e.real_self();
  return Plan<PaddingExp<Src, DType, dim>, DType>(MakePlan(p.src_), p.pad_y_, p.pad_x_, e.shape_[dim - 2],
                                                  p.src_rows_, p.src_cols_);
}
/// Zeros around each image.
template <class Src, class DType, int kind>
PaddingExp<real_t<Src>, DType, ExpInfo<Src>::kDim> pad(const Exp<Src, DType, kind>& src, index_t pad_y,
                                                       index_t pad_x) {
  return PaddingExp<real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), pad_y, pad_x);
}
template <class Src, class DType, int kind>
PaddingExp<real_t<Src>, DType, ExpInfo<Src>::kDim> pad(const Exp<Src, DType, kind>& src, index_t all) {
  return pad(src, all, all);
}

template <class Src, class DType, int dim>
struct CroppingExp : public MakeTensorExp<CroppingExp<Src, DType, dim>, Src, dim, DType> {
  Src src_;
  index_t at_y_, at_x_, src_rows_;
  CroppingExp(const Src& src, Shape<2> size, index_t at_y, index_t at_x)
      : src_(src), at_y_(at_y), at_x_(at_x) {
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
    src_rows_ = this->shape_[dim - 2];
    const index_t cols = this->shape_[dim - 1];
    CHECK(size[0] <= src_rows_ && at_y <= src_rows_ - size[0] && size[1] <= cols && at_x <= cols - size[1])
        << "crop: " << size << " at (" << at_y << "," << at_x << ") is not inside " << this->shape_;
    this->shape_[dim - 2] = size[0];
    this->shape_[dim - 1] = size[1];
  }
};
template <class Src, class DType, int dim>
Plan<CroppingExp<Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<CroppingExp<Src, DType, dim>, Src, dim, DType>& e) {
  const auto& c = e.real_self();
  return Plan<CroppingExp<Src, DType, dim>, DType>(MakePlan(c.src_), c.at_y_, c.at_x_, e.shape_[dim - 2],
                                                   c.src_rows_);
}
/// A part of each image: the middle, or from a place on.
template <class Src, class DType, int kind>
CroppingExp<real_t<Src>, DType, ExpInfo<Src>::kDim> crop(const Exp<Src, DType, kind>& src, Shape<2> size,
                                                         index_t at_y, index_t at_x) {
  return CroppingExp<real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), size, at_y, at_x);
}
template <class Src, class DType, int kind>
CroppingExp<real_t<Src>, DType, ExpInfo<Src>::kDim> crop(const Exp<Src, DType, kind>& src, Shape<2> size) {
  constexpr int dim = ExpInfo<Src>::kDim;
  const Shape<dim> have = ShapeCheck<dim, real_t<Src>>::Check(Real<Src>::of(src.self()));
  CHECK(size[0] <= have[dim - 2] && size[1] <= have[dim - 1])
      << "crop: " << size << " is not inside " << have;
  return crop(src, size, (have[dim - 2] - size[0]) / 2, (have[dim - 1] - size[1]) / 2);
}

/// The columns in the other order.
template <class Src, class DType, int kind>
FlipExp<real_t<Src>, DType, ExpInfo<Src>::kDim> mirror(const Exp<Src, DType, kind>& src) {
  return flip(src, ExpInfo<Src>::kDim - 1);
}

template <class Src, class DType, int dim>
struct UpSamplingNearestExp : public MakeTensorExp<UpSamplingNearestExp<Src, DType, dim>, Src, dim, DType> {
  Src src_;
  index_t scale_, src_rows_;
  UpSamplingNearestExp(const Src& src, index_t scale) : src_(src), scale_(scale) {
    CHECK_GE(scale, 1U) << "upsampling_nearest: the scale has to be at least 1";
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
    src_rows_ = this->shape_[dim - 2];
    this->shape_[dim - 2] *= scale;
    this->shape_[dim - 1] *= scale;
  }
};
template <class Src, class DType, int dim>
Plan<UpSamplingNearestExp<Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<UpSamplingNearestExp<Src, DType, dim>, Src, dim, DType>& e) {
  const auto& u = e.real_self();
  return Plan<UpSamplingNearestExp<Src, DType, dim>, DType>(MakePlan(u.src_), u.scale_, e.shape_[dim - 2],
                                                            u.src_rows_);
}
/// Each element as a square of `scale` by `scale`.
template <class Src, class DType, int kind>
UpSamplingNearestExp<real_t<Src>, DType, ExpInfo<Src>::kDim> upsampling_nearest(
    const Exp<Src, DType, kind>& src, index_t scale) {
  return UpSamplingNearestExp<real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), scale);
}

inline void check_steps(const char* name, const Shape<4>& window) {
  CHECK(window[2] && window[3]) << name << ": a step of 0 leads nowhere";
}

template <class Reducer, class Src, class DType, int dim>
struct PoolingExp : public MakeTensorExp<PoolingExp<Reducer, Src, DType, dim>, Src, dim, DType> {
  Src src_;
  Shape<4> window_;
  index_t src_rows_, src_cols_;
  PoolingExp(const Src& src, Shape<2> size, const Shape<4>& window) : src_(src), window_(window) {
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
    src_rows_ = this->shape_[dim - 2], src_cols_ = this->shape_[dim - 1];
    CHECK(src_cols_ >= window[1] && src_rows_ >= window[0])
        << "PoolingExp: kernel must be smaller than image: " << window[0] << " by " << window[1] << " of "
        << this->shape_;
    check_steps("pool", window);
    this->shape_[dim - 2] = size[0];
    this->shape_[dim - 1] = size[1];
  }
};
template <class Reducer, class Src, class DType, int dim>
Plan<PoolingExp<Reducer, Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<PoolingExp<Reducer, Src, DType, dim>, Src, dim, DType>& e) {
  const auto& p = e.real_self();
  return Plan<PoolingExp<Reducer, Src, DType, dim>, DType>(MakePlan(p.src_), p.window_, e.shape_[dim - 2],
                                                           p.src_rows_, p.src_cols_);
}
/// What Reducer makes of windows of each image. `size` is that of the result.
template <class Reducer, class Src, class DType, int kind>
PoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim> pool(const Exp<Src, DType, kind>& src,
                                                                 Shape<2> size, index_t rows, index_t cols,
                                                                 index_t step_y, index_t step_x) {
  return PoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), size,
                                                                     Shape4(rows, cols, step_y, step_x));
}
template <class Reducer, class Src, class DType, int kind>
PoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim> pool(const Exp<Src, DType, kind>& src,
                                                                 index_t rows, index_t cols, index_t step_y,
                                                                 index_t step_x) {
  constexpr int dim = ExpInfo<Src>::kDim;
  const Shape<dim> have = ShapeCheck<dim, real_t<Src>>::Check(Real<Src>::of(src.self()));
  CHECK(have[dim - 2] >= rows && have[dim - 1] >= cols) << "PoolingExp: kernel must be smaller than image";
  check_steps("pool", Shape4(rows, cols, step_y, step_x));
  return pool<Reducer>(src, Shape2((have[dim - 2] - rows) / step_y + 1, (have[dim - 1] - cols) / step_x + 1),
                       rows, cols, step_y, step_x);
}
template <class Reducer, class Src, class DType, int kind>
PoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim> pool(const Exp<Src, DType, kind>& src,
                                                                 index_t rows, index_t cols, index_t step) {
  return pool<Reducer>(src, rows, cols, step, step);
}

template <class Reducer, class Src, class Pooled, class Grad, class DType, int dim>
struct UnPoolingExp
    : public MakeTensorExp<UnPoolingExp<Reducer, Src, Pooled, Grad, DType, dim>, Src, dim, DType> {
  Src src_;
  Pooled pooled_;
  Grad grad_;
  Shape<4> window_;
  index_t pooled_rows_, pooled_cols_;
  UnPoolingExp(const Src& src, const Pooled& pooled, const Grad& grad, const Shape<4>& window)
      : src_(src), pooled_(pooled), grad_(grad), window_(window) {
    const Shape<dim> small = ShapeCheck<dim, Pooled>::Check(pooled);
    CHECK_EQ(small, (ShapeCheck<dim, Grad>::Check(grad)))
        << "unpool: the gradient has another shape than the pooled";
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
    check_steps("unpool", window);
    for (int i = 0; i < dim - 2; ++i)
      CHECK_EQ(this->shape_[i], small[i]) << "unpool: the pooled are not of these images";
    pooled_rows_ = small[dim - 2], pooled_cols_ = small[dim - 1];
  }
};
template <class Reducer, class Src, class Pooled, class Grad, class DType, int dim>
Plan<UnPoolingExp<Reducer, Src, Pooled, Grad, DType, dim>, DType> MakePlan(
    const MakeTensorExp<UnPoolingExp<Reducer, Src, Pooled, Grad, DType, dim>, Src, dim, DType>& e) {
  const auto& u = e.real_self();
  return Plan<UnPoolingExp<Reducer, Src, Pooled, Grad, DType, dim>, DType>(
      MakePlan(u.src_), MakePlan(u.pooled_), MakePlan(u.grad_), u.window_, e.shape_[dim - 2], u.pooled_rows_,
      u.pooled_cols_);
}
/// The gradient of pool, from its operand, its result and the result's gradient.
template <class Reducer, class Src, class Pooled, class Grad, class DType, int ks, int kp, int kg>
UnPoolingExp<Reducer, real_t<Src>, real_t<Pooled>, real_t<Grad>, DType, ExpInfo<Src>::kDim> unpool(
    const Exp<Src, DType, ks>& src, const Exp<Pooled, DType, kp>& pooled, const Exp<Grad, DType, kg>& grad,
    index_t rows, index_t cols, index_t step_y, index_t step_x) {
  return UnPoolingExp<Reducer, real_t<Src>, real_t<Pooled>, real_t<Grad>, DType, ExpInfo<Src>::kDim>(
      Real<Src>::of(src.self()), Real<Pooled>::of(pooled.self()), Real<Grad>::of(grad.self()),
      Shape4(rows, cols, step_y, step_x));
}
template <class Reducer, class Src, class Pooled, class Grad, class DType, int ks, int kp, int kg>
UnPoolingExp<Reducer, real_t<Src>, real_t<Pooled>, real_t<Grad>, DType, ExpInfo<Src>::kDim> unpool(
    const Exp<Src, DType, ks>& src, const Exp<Pooled, DType, kp>& pooled, const Exp<Grad, DType, kg>& grad,
    index_t size, index_t step) {
  return unpool<Reducer>(src, pooled, grad, size, size, step, step);
}

template <class Reducer, class Src, class DType, int dim>
struct ChannelPoolingExp
    : public MakeTensorExp<ChannelPoolingExp<Reducer, Src, DType, dim>, Src, dim, DType> {
  Src src_;
  index_t half_;
  ChannelPoolingExp(const Src& src, index_t size) : src_(src), half_(size / 2) {
    CHECK_EQ(size % 2, 1U) << "chpool: the window has to have an odd number of channels";
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
  }
};
template <class Reducer, class Src, class DType, int dim>
Plan<ChannelPoolingExp<Reducer, Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<ChannelPoolingExp<Reducer, Src, DType, dim>, Src, dim, DType>& e) {
  const auto& c = e.real_self();
  return Plan<ChannelPoolingExp<Reducer, Src, DType, dim>, DType>(MakePlan(c.src_), c.half_,
                                                                  e.shape_[dim - 3], e.shape_[dim - 2]);
}
/// What Reducer makes of `size` neighbouring channels; the channels are the third dimension from the end.
template <class Reducer, class Src, class DType, int kind>
ChannelPoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim> chpool(const Exp<Src, DType, kind>& src,
                                                                          index_t size) {
  static_assert(ExpInfo<Src>::kDim >= 3, "mshadow: chpool takes at least three dimensions");
  return ChannelPoolingExp<Reducer, real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), size);
}

}  // namespace expr
}  // namespace mshadow

// Images as matrices of their patches, and back: what makes a convolution of a matrix product. Device code
// sees this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {
namespace expr {

/// Windows of images: their size, the steps between them, and those between the elements of one.
struct Windows {
  index_t size_y, size_x, step_y, step_x, dilate_y, dilate_x;
  index_t rows, cols, channels;  ///< of the images
  index_t down, across;          ///< windows in a column and in a row
};

template <class Src, class DType, int dimsrc>
struct UnpackPatchExp;
template <class Src, class DType, int dimsrc>
class Plan<UnpackPatchExp<Src, DType, dimsrc>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Windows& w) : src_(src), w_(w) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t j) const {
    const index_t x = j % w_.across * w_.step_x + i % w_.size_x * w_.dilate_x,
                  y = j / w_.across % w_.down * w_.step_y + i / w_.size_x % w_.size_y * w_.dilate_y;
    if (y >= w_.rows || x >= w_.cols) return DType(0.0f);
    const index_t channel = i / w_.size_x / w_.size_y, image = j / w_.across / w_.down;
    return src_.Eval((image * w_.channels + channel) * w_.rows + y, x);
  }

 private:
  Plan<Src, DType> src_;
  Windows w_;
};

template <class Src, class DType, int dimdst>
struct PackPatchExp;
template <class Src, class DType, int dimdst>
class Plan<PackPatchExp<Src, DType, dimdst>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Windows& w) : src_(src), w_(w) {}
  MSHADOW_XINLINE DType Eval(index_t i, index_t x) const {
    typedef typename accumulated<DType>::type A;
    const index_t y = i % w_.rows, channel = i / w_.rows % w_.channels, image = i / w_.rows / w_.channels;
    A all = A(0);
    for (index_t ky = 0; ky < w_.size_y; ++ky) {
      const index_t from_y = y - ky * w_.dilate_y;  // wraps around above the image, to no window
      if (y < ky * w_.dilate_y || from_y % w_.step_y || from_y / w_.step_y >= w_.down) continue;
      for (index_t kx = 0; kx < w_.size_x; ++kx) {
        const index_t from_x = x - kx * w_.dilate_x;
        if (x < kx * w_.dilate_x || from_x % w_.step_x || from_x / w_.step_x >= w_.across) continue;
        all += static_cast<A>(
            src_.Eval((channel * w_.size_y + ky) * w_.size_x + kx,
                      (image * w_.down + from_y / w_.step_y) * w_.across + from_x / w_.step_x));
      }
    }
    return DType(all);
  }

 private:
  Plan<Src, DType> src_;
  Windows w_;
};

template <int dim>
Windows windows_of(const char* name, const Shape<dim>& images, index_t size_y, index_t size_x, index_t step_y,
                   index_t step_x, index_t dilate_y, index_t dilate_x) {
  static_assert(dim >= 3, "mshadow: images have at least three dimensions");
  Windows w = {size_y,          size_x,          step_y,          step_x, dilate_y, dilate_x,
               images[dim - 2], images[dim - 1], images[dim - 3], 0,      0};
  CHECK(size_y && size_x && step_y && step_x) << name << ": sizes and steps have to be at least 1";
  CHECK(w.rows > (size_y - 1) * dilate_y && w.cols > (size_x - 1) * dilate_x)
      << name << ": a window of " << size_y << " by " << size_x << " is larger than the images, of "
      << images;
  w.down = (w.rows - (size_y - 1) * dilate_y - 1) / step_y + 1;
  w.across = (w.cols - (size_x - 1) * dilate_x - 1) / step_x + 1;
  return w;
}

template <class Src, class DType, int dimsrc>
struct UnpackPatchExp : public MakeTensorExp<UnpackPatchExp<Src, DType, dimsrc>, Src, 2, DType> {
  Src src_;
  Windows windows_;
  UnpackPatchExp(const Src& src, index_t size_y, index_t size_x, index_t step_y, index_t step_x,
                 index_t dilate_y, index_t dilate_x)
      : src_(src) {
    const Shape<dimsrc> have = ShapeCheck<dimsrc, Src>::Check(src);
    windows_ = windows_of("unpack_patch2col", have, size_y, size_x, step_y, step_x, dilate_y, dilate_x);
    this->shape_ = Shape2(windows_.channels * size_y * size_x,
                          have.ProdShape(0, dimsrc - 3) * windows_.down * windows_.across);
  }
};
template <class Src, class DType, int dimsrc>
Plan<UnpackPatchExp<Src, DType, dimsrc>, DType> MakePlan(
    const MakeTensorExp<UnpackPatchExp<Src, DType, dimsrc>, Src, 2, DType>& e) {
  return Plan<UnpackPatchExp<Src, DType, dimsrc>, DType>(MakePlan(e.real_self().src_),
                                                         e.real_self().windows_);
}
/// A column for each window of the images; a row for each channel and place in a window.
template <class Src, class DType, int kind>
UnpackPatchExp<real_t<Src>, DType, ExpInfo<Src>::kDim> unpack_patch2col(const Exp<Src, DType, kind>& src,
                                                                        index_t size_y, index_t size_x,
                                                                        index_t step_y, index_t step_x,
                                                                        index_t dilate_y, index_t dilate_x) {
  return UnpackPatchExp<real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), size_y, size_x,
                                                                step_y, step_x, dilate_y, dilate_x);
}
template <class Src, class DType, int kind>
UnpackPatchExp<real_t<Src>, DType, ExpInfo<Src>::kDim> unpack_patch2col(const Exp<Src, DType, kind>& src,
                                                                        index_t size_y, index_t size_x,
                                                                        index_t step, index_t dilate = 1) {
  return unpack_patch2col(src, size_y, size_x, step, step, dilate, dilate);
}

template <class Src, class DType, int dimdst>
struct PackPatchExp : public MakeTensorExp<PackPatchExp<Src, DType, dimdst>, Src, dimdst, DType> {
  Src src_;
  Windows windows_;
  PackPatchExp(const Src& src, const Shape<dimdst>& images, index_t size_y, index_t size_x, index_t step_y,
               index_t step_x, index_t dilate_y, index_t dilate_x)
      : src_(src) {
    windows_ = windows_of("pack_col2patch", images, size_y, size_x, step_y, step_x, dilate_y, dilate_x);
    const Shape<2> wanted = Shape2(windows_.channels * size_y * size_x,
                                   images.ProdShape(0, dimdst - 3) * windows_.down * windows_.across);
    CHECK_EQ((ShapeCheck<2, Src>::Check(src)), wanted)
        << "pack_col2patch: the matrix has another shape than the patches of images of " << images;
    this->shape_ = images;
  }
};
template <class Src, class DType, int dimdst>
Plan<PackPatchExp<Src, DType, dimdst>, DType> MakePlan(
    const MakeTensorExp<PackPatchExp<Src, DType, dimdst>, Src, dimdst, DType>& e) {
  return Plan<PackPatchExp<Src, DType, dimdst>, DType>(MakePlan(e.real_self().src_), e.real_self().windows_);
}
/// Images of the shape; an element is the sum of what the windows with it say.
template <class Src, class DType, int kind, int dim>
PackPatchExp<real_t<Src>, DType, dim> pack_col2patch(const Exp<Src, DType, kind>& src,
                                                     const Shape<dim>& images, index_t size_y, index_t size_x,
                                                     index_t step_y, index_t step_x, index_t dilate_y,
                                                     index_t dilate_x) {
  static_assert(ExpInfo<Src>::kDim == 2, "mshadow: pack_col2patch takes a matrix");
  return PackPatchExp<real_t<Src>, DType, dim>(Real<Src>::of(src.self()), images, size_y, size_x, step_y,
                                               step_x, dilate_y, dilate_x);
}
template <class Src, class DType, int kind, int dim>
PackPatchExp<real_t<Src>, DType, dim> pack_col2patch(const Exp<Src, DType, kind>& src,
                                                     const Shape<dim>& images, index_t size_y, index_t size_x,
                                                     index_t step, index_t dilate = 1) {
  return pack_col2patch(src, images, size_y, size_x, step, step, dilate, dilate);
}

}  // namespace expr
}  // namespace mshadow

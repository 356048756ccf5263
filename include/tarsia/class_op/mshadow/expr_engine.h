// How assignments are evaluated, on the CPU by the threads of the call, on the GPU by one kernel.
#pragma once

#include <mshadow/expr_kernels.h>

#include <mshadow/tensor.h>
#include <tarsia/class_op/glue/host.h>

namespace mshadow {
namespace tarsia_detail {

/// Calls body(begin, end) for parts of 0 … n-1, on several threads if there is much to do.
template <class Body>
void in_parts(size_t n, size_t grain, const Body& body) {
  const tarsia_host* host = ::mxnet::tarsia_detail::host();
  if (n <= grain || !host) {
    if (n) body(size_t(0), n);
    return;
  }
  host->parallel(
      static_cast<int64_t>(n), static_cast<int64_t>(grain),
      [](void* with, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(with))(static_cast<size_t>(begin), static_cast<size_t>(end));
      },
      const_cast<Body*>(&body));
}

enum { k_grain = 1 << 15 };  ///< elements that one thread does faster than two

inline unsigned blocks_for(size_t total) {
  const size_t blocks = (total + cuda::kBaseThreadNum - 1) / cuda::kBaseThreadNum;
  return static_cast<unsigned>(blocks < size_t(cuda::kMaxGridNum) ? blocks : size_t(cuda::kMaxGridNum));
}

template <class Saver, class Dst, class P>
void map(Stream<cpu>*, Dst dst, const P& plan, Shape<2> shape) {
  const size_t cols = shape[1];
  in_parts(shape.Size(), k_grain, [&](size_t begin, size_t end) {
    Dst to = dst;
    for (size_t y = begin / cols; y * cols < end; ++y) {
      const size_t row = y * cols;
      const index_t first = static_cast<index_t>(begin > row ? begin - row : 0),
                    last = static_cast<index_t>(end - row < cols ? end - row : cols);
      for (index_t x = first; x < last; ++x)
        Saver::Save(to.REval(static_cast<index_t>(y), x), plan.Eval(static_cast<index_t>(y), x));
    }
  });
}

template <class Saver, class Reducer, class DType, class Dst, class P>
void reduce(Stream<cpu>*, Dst dst, const P& plan, DType scale, Shape<4> shape, bool keeps_last) {
  typedef typename accumulated<DType>::type A;
  const index_t n_outer = shape[0], n_kept = shape[1], n_inner = shape[2], cols = shape[3];
  const size_t each = shape.Size() / (n_kept ? n_kept : 1);
  in_parts(n_kept, each ? k_grain / each + 1 : n_kept, [&](size_t begin, size_t end) {
    Dst to = dst;
    for (size_t kept = begin; kept < end; ++kept) {
      A all;
      Reducer::SetInitValue(all);
      for (index_t outer = 0; outer < n_outer; ++outer)
        for (index_t inner = 0; inner < n_inner; ++inner) {
          A row;  // the sum of a row's sums is more accurate than that of all elements in turn
          Reducer::SetInitValue(row);
          const size_t y = (static_cast<size_t>(outer) * n_kept + kept) * n_inner + inner;
          if (keeps_last)
            Reducer::Reduce(row, static_cast<A>(plan.Eval(outer, static_cast<index_t>(kept))));
          else
            for (index_t x = 0; x < cols; ++x)
              Reducer::Reduce(row, static_cast<A>(plan.Eval(static_cast<index_t>(y), x)));
          Reducer::Reduce(all, row);
        }
      Saver::Save(to.REval(0, static_cast<index_t>(kept)), DType(all * static_cast<A>(scale)));
    }
  });
}

#if MSHADOW_USE_CUDA
inline void check_launch() {
  const cudaError_t error = cudaPeekAtLastError();
  if (error != cudaSuccess) LOG(FATAL) << "a kernel was not launched: " << cudaGetErrorString(error);
}
template <class Saver, class Dst, class P>
void map(Stream<gpu>* stream, Dst dst, const P& plan, Shape<2> shape) {
  const size_t total = shape.Size();
  if (!total) return;
  cuda::map_plan<Saver, Dst, P>
      <<<blocks_for(total), cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(dst, plan, total,
                                                                                       shape[1]);
  check_launch();
}
template <class Saver, class Reducer, class DType, class Dst, class P>
void reduce(Stream<gpu>* stream, Dst dst, const P& plan, DType scale, Shape<4> shape, bool keeps_last) {
  typedef typename accumulated<DType>::type A;
  if (!shape[1]) return;
  const unsigned blocks = blocks_for(static_cast<size_t>(shape[1]) * (keeps_last ? 8 : cuda::kBaseThreadNum));
  if (keeps_last)
    cuda::reduce_columns<Saver, Reducer, A, DType, Dst, P>
        <<<blocks, cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(dst, plan, scale, shape[0],
                                                                              shape[1]);
  else
    cuda::reduce_rows<Saver, Reducer, A, DType, Dst, P>
        <<<blocks, cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(dst, plan, scale, shape[0],
                                                                              shape[1], shape[2], shape[3]);
  check_launch();
}
#else
template <class Saver, class Dst, class P>
void map(Stream<gpu>*, Dst, const P&, Shape<2>) {
  static_assert(sizeof(P) == 0,
                "mshadow: an expression on a GPU is compiled as CUDA alone: name the source .cu, or include "
                "<cuda_runtime.h>");
}
template <class Saver, class Reducer, class DType, class Dst, class P>
void reduce(Stream<gpu>* stream, Dst dst, const P& plan, DType, Shape<4>, bool) {
  map<Saver>(stream, dst, plan, Shape<2>());
}
#endif

}  // namespace tarsia_detail

#if MSHADOW_USE_CUDA
namespace cuda {
/// Throws if a grid or its blocks are larger than a GPU takes; `name` is that of the kernel.
inline void CheckLaunchParam(dim3 grid, dim3 block, const char* name = "") {
  CHECK(grid.x <= 0x7fffffffu && grid.y <= unsigned(kMaxGridDim) && grid.z <= unsigned(kMaxGridDim))
      << "too large launch parameter: " << name << "[" << grid.x << "," << grid.y << "," << grid.z
      << "] blocks; y and z go up to " << kMaxGridDim;
  CHECK(static_cast<size_t>(block.x) * block.y * block.z <= size_t(kMaxThreadsPerBlock) && block.z <= 64)
      << "too large launch parameter: " << name << "[" << block.x << "," << block.y << "," << block.z
      << "] threads in a block; it has up to " << kMaxThreadsPerBlock;
}
}  // namespace cuda
#endif

namespace expr {

/// The stream that a tensor, or a part of one, is on.
template <class Device, class E>
struct StreamInfo {
  static Stream<Device>* Get(const E&) { return nullptr; }
};
template <class Device, int dim, class DType>
struct StreamInfo<Device, Tensor<Device, dim, DType>> {
  static Stream<Device>* Get(const Tensor<Device, dim, DType>& t) { return t.stream_; }
};

}  // namespace expr

/// Assigns an expression to `dst` by a functor of mshadow::sv.
template <class Saver, class R, class Device, int dim, class DType, class E, int kind>
void MapExp(TRValue<R, Device, dim, DType>* dst, const expr::Exp<E, DType, kind>& e) {
  static_assert(expr::ExpInfo<E>::kDim == 0 || expr::ExpInfo<E>::kDim == dim,
                "mshadow: the expression has another number of dimensions than what it is assigned to");
  const Shape<dim> shape = expr::ShapeCheck<dim, R>::Check(dst->self());
  if (expr::ExpInfo<E>::kDim != 0)
    CHECK_EQ((expr::ShapeCheck<dim, E>::Check(e.self())), shape)
        << "the expression has another shape than what it is assigned to";
  tarsia_detail::map<Saver>(expr::StreamInfo<Device, R>::Get(dst->self()), MakePlan(dst->self()),
                            MakePlan(e.self()), shape.FlatTo2D());
}

namespace expr {

/// Evaluates whole computations.
template <class Saver, class R, class E, class DType>
struct ExpComplexEngine;

template <class Saver, class Device, class Src, class DType, class Reducer, int keep>
struct ExpComplexEngine<Saver, Tensor<Device, 1, DType>, ReduceTo1DExp<Src, DType, Reducer, keep>, DType> {
  static void Eval(Tensor<Device, 1, DType>* dst, const ReduceTo1DExp<Src, DType, Reducer, keep>& e) {
    constexpr int dim = ExpInfo<Src>::kDim;
    static_assert(keep < dim, "mshadow: a reduction keeps a dimension that its operand does not have");
    const Shape<dim> shape = ShapeCheck<dim, Src>::Check(e.src_);
    CHECK_EQ(shape[keep], dst->shape_[0]) << "a reduction is assigned to a vector of another length";
    constexpr bool last = keep == dim - 1;
    const Shape<4> flat = last ? Shape4(shape.ProdShape(0, keep), shape[keep], 1, 1)
                               : Shape4(shape.ProdShape(0, keep), shape[keep],
                                        shape.ProdShape(keep + 1, dim - 1), shape[dim - 1]);
    tarsia_detail::reduce<Saver, Reducer, DType>(dst->stream_, MakePlan(*dst), MakePlan(e.src_), e.scale_,
                                                 flat, last);
  }
};

template <class Saver, class R, class DType>
struct ExpEngine {
  template <class E, int kind>
  static void Eval(R* dst, const Exp<E, DType, kind>& e) {
    MapExp<Saver>(dst, e);
  }
  template <class E>
  static void Eval(R* dst, const Exp<E, DType, type::kComplex>& e) {
    ExpComplexEngine<Saver, R, E, DType>::Eval(dst, e.self());
  }
};

#define TARSIA_DETAIL_ASSIGN(name, saver)                    \
  template <class Container, class DType>                    \
  Container& RValueExp<Container, DType>::name(DType s) {    \
    MapExp<sv::saver>(this->ptrself(), ScalarExp<DType>(s)); \
    return *this->ptrself();                                 \
  }
TARSIA_DETAIL_ASSIGN(__assign, saveto)
TARSIA_DETAIL_ASSIGN(operator+=, plusto)
TARSIA_DETAIL_ASSIGN(operator-=, minusto)
TARSIA_DETAIL_ASSIGN(operator*=, multo)
TARSIA_DETAIL_ASSIGN(operator/=, divto)
#undef TARSIA_DETAIL_ASSIGN

}  // namespace expr
}  // namespace mshadow

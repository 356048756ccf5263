// expect: kernel plain, kernel hidden, kernel ns::scale<float>, kernel ns::scale<double>, kernel with_op<Op>
namespace ns {
template <class T>
__global__ void scale(T *x, T a) { x[threadIdx.x] *= a; }
}
static __global__ void plain(int *x) { *x = 1; }
namespace {
__global__ void hidden(int *x) { *x = 2; }
__constant__ int limits_of[4];
}
struct Op { __device__ int operator()(int x) const { return x + limits_of[1]; } };
template <class F>
__global__ void with_op(F f, int *x) { *x = f(*x); }
#define MAKE_KERNEL(name, op) \
  extern "C" __global__ void name##_kernel(float *x, float y) { x[threadIdx.x] op y; }
MAKE_KERNEL(add, +=)
MAKE_KERNEL(mul, *=)

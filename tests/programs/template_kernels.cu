// Template kernels: defaults, non-type and template parameters, specialisations, instantiations, packs.
// expect: max 9 min -2 sum 12
// expect: special 1 general 0
// expect: instantiated 8 2.5
// expect: pack 15
// expect: nested 4
// expect: modes 1 2 3
#include <cfloat>
#include <climits>
#include <cstdio>
#include <type_traits>

template <class T>
struct Max {
  static constexpr T start = T(-1000000);
  __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class T>
struct Min {
  static constexpr T start = T(1000000);
  __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T>
struct Sum {
  static constexpr T start = T(0);
  __device__ T operator()(T a, T b) const { return a + b; }
};

template <template <class> class Op, class T = int, unsigned kThreads = 32>
__global__ void __launch_bounds__(kThreads) reduce(const T* in, T* out, int n) {
  Op<T> op;
  T value = Op<T>::start;
  for (int i = threadIdx.x; i < n; i += kThreads) value = op(value, in[i]);
  for (int offset = kThreads / 2; offset > 0; offset /= 2)
    value = op(value, __shfl_down_sync(0xffffffffu, value, offset));
  if (threadIdx.x == 0) *out = value;
}

template <typename T>
__global__ void kind(int* out) {
  *out = 0;
}
template <>
__global__ void kind<double>(int* out) {
  *out = 1;
}

template <typename T, int N>
__device__ T power(T x) {
  if constexpr (N == 0)
    return T(1);
  else
    return x * power<T, N - 1>(x);
}
template <typename T>
__global__ void cube(T* x) {
  *x = power<T, 3>(*x);
}
template __global__ void cube<int>(int*);
template <typename T, typename U>
__global__ void convert(const T* in, U* out) {
  *out = static_cast<U>(*in);
}
template __global__ void convert(const double*, float*);

template <typename... Ts>
__global__ void pack(int* out, Ts... values) {
  int total = 0;
  int each[] = {static_cast<int>(values)...};
  for (int v : each) total += v;
  *out = total;
}

namespace outer {
template <typename T>
struct Wrap {
  T value;
  typedef T type;
  struct Inner {
    T doubled;
  };
};
template <typename W>
__global__ void unwrap(W w, typename W::type* out) {
  *out = w.value;
}
template <typename T>
__global__ void inner(typename Wrap<T>::Inner in, T* out) {
  *out = in.doubled;
}
}  // namespace outer

enum class Mode : char { one = 'a', two, three };
template <Mode M, bool Flag, char C, long long L>
__global__ void mode(int* out) {
  *out = static_cast<int>(M) - static_cast<int>(Mode::one) + (Flag && C == 'x' && L < 0 ? 1 : 100);
}

int *d_in, *d_out;
template <typename T>
T fetch(void* p) {
  T h;
  cudaMemcpy(&h, p, sizeof(T), cudaMemcpyDeviceToHost);
  return h;
}

template <template <class> class Op>
int reduced(int n) {
  reduce<Op><<<1, 32>>>(d_in, d_out, n);
  return fetch<int>(d_out);
}

int main() {
  const int h[] = {4, -2, 9, 1};
  cudaMalloc(&d_in, sizeof h);
  cudaMalloc(&d_out, 64);
  cudaMemcpy(d_in, h, sizeof h, cudaMemcpyHostToDevice);
  int a = reduced<Max>(4), b = reduced<Min>(4), c = reduced<Sum>(4);
  printf("max %d min %d sum %d\n", a, b, c);
  kind<double><<<1, 1>>>(d_out);
  a = fetch<int>(d_out);
  kind<float><<<1, 1>>>(d_out);
  printf("special %d general %d\n", a, fetch<int>(d_out));
  int two = 2;
  cudaMemcpy(d_in, &two, 4, cudaMemcpyHostToDevice);
  cube<<<1, 1>>>(d_in);
  a = fetch<int>(d_in);
  double half = 2.5;
  cudaMemcpy(d_in, &half, 8, cudaMemcpyHostToDevice);
  convert<double, float><<<1, 1>>>((double*)d_in, (float*)d_out);
  printf("instantiated %d %g\n", a, fetch<float>(d_out));
  pack<<<1, 1>>>(d_out, 1, 2.0f, short(3), 4LL, 5u);
  printf("pack %d\n", fetch<int>(d_out));
  outer::Wrap<int> wrap = {4};
  outer::unwrap<<<1, 1>>>(wrap, d_out);
  outer::Wrap<int>::Inner in{fetch<int>(d_out)};
  outer::inner<int><<<1, 1>>>(in, d_out);
  printf("nested %d\n", fetch<int>(d_out));
  mode<Mode::one, true, 'x', -1><<<1, 1>>>(d_out);
  a = fetch<int>(d_out);
  mode<Mode::two, true, 'x', LLONG_MIN><<<1, 1>>>(d_out);
  b = fetch<int>(d_out);
  mode<Mode::three, true, 'x', -5LL><<<1, 1>>>(d_out);
  printf("modes %d %d %d\n", a, b, fetch<int>(d_out));
}

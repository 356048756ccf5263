// RMSNorm fused with the residual sum before it, as transformers have it, with its gradient, for float16, bfloat16 and float32:
//   sum = x + residual,   y = sum / sqrt(mean(sum²) + eps) · weight,   over the last dimension.
// The source of examples/rms_norm.py, which trains a model with it.
// Test it:   tarsia check examples/rms_norm.cu
#include <tarsia/op.h>
#include <tarsia/small_floats.h>

#include <cmath>

// 1. What several elements are read and written as: 16 bytes where rows allow it, else one element.
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T items[n];
};

__device__ float block_sum(float value) {
  __shared__ float of_warps[32];
  for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  __syncthreads();  // the last sum was read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? of_warps[threadIdx.x % 32] : 0;
  for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

// 2. Forward: a block for each row. `width` is in packs.
template <class T, int n>
__global__ void norm(const Pack<T, n>* x, const Pack<T, n>* residual, const Pack<T, n>* weight, Pack<T, n>* y,
                     Pack<T, n>* sum, int width, float eps) {
  const long long row = (long long)blockIdx.x * width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const Pack<T, n> a = x[row + i], b = residual[row + i];
    Pack<T, n> s;
    for (int k = 0; k < n; ++k) {
      s.items[k] = T(float(a.items[k]) + float(b.items[k]));
      squares += float(s.items[k]) * float(s.items[k]);
    }
    sum[row + i] = s;
  }
  const float scale = rsqrtf(block_sum(squares) / (width * n) + eps);
  for (int i = threadIdx.x; i < width; i += blockDim.x) {  // each thread reads what it wrote
    Pack<T, n> s = sum[row + i];
    const Pack<T, n> w = weight[i];
    for (int k = 0; k < n; ++k) s.items[k] = T(float(s.items[k]) * scale * float(w.items[k]));
    y[row + i] = s;
  }
}

// 3. Backward: blocks take rows in turn, and keep what their rows add to the weight's gradient in registers; what has no
// room there, in memory of their own.
constexpr int k_kept = 4;

template <class T, int n>
__global__ void norm_backward(const Pack<T, n>* dy, const Pack<T, n>* dsum, const Pack<T, n>* sum, const Pack<T, n>* weight,
                              Pack<T, n>* dx, Pack<T, n>* dresidual, float* partial, long long rows, int width, float eps) {
  float kept[k_kept][n] = {};
  Pack<float, n>* own = reinterpret_cast<Pack<float, n>*>(partial) + (long long)blockIdx.x * width;
  for (int i = threadIdx.x + k_kept * blockDim.x; i < width; i += blockDim.x) own[i] = {};
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    const long long row = r * width;
    float squares = 0, dot = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      const Pack<T, n> s = sum[row + i], g = dy[row + i], w = weight[i];
      for (int k = 0; k < n; ++k) {
        const float at = float(s.items[k]);
        squares += at * at;
        dot += float(g.items[k]) * float(w.items[k]) * at;
      }
    }
    squares = block_sum(squares);
    dot = block_sum(dot);
    const float scale = rsqrtf(squares / (width * n) + eps);
    const float pull = dot * scale * scale * scale / (width * n);
    auto one = [&](int i, float* of_weight) {
      const Pack<T, n> s = sum[row + i], g = dy[row + i], w = weight[i];
      Pack<T, n> d;
      if (dsum) d = dsum[row + i];
      for (int k = 0; k < n; ++k) {
        const float at = float(s.items[k]), of_y = float(g.items[k]);
        of_weight[k] += of_y * at * scale;
        d.items[k] = T((dsum ? float(d.items[k]) : 0.0f) + of_y * float(w.items[k]) * scale - at * pull);
      }
      if (dx) dx[row + i] = d;
      if (dresidual) dresidual[row + i] = d;
    };
#pragma unroll
    for (int j = 0; j < k_kept; ++j)
      if (const int i = threadIdx.x + j * blockDim.x; i < width) one(i, kept[j]);
    for (int i = threadIdx.x + k_kept * blockDim.x; i < width; i += blockDim.x) one(i, own[i].items);
  }
#pragma unroll
  for (int j = 0; j < k_kept; ++j)
    if (const int i = threadIdx.x + j * blockDim.x; i < width)
      for (int k = 0; k < n; ++k) own[i].items[k] = kept[j][k];
}

// The sum over blocks, in an order that is always the same: 32 columns for each block, 32 threads for each.
template <class T>
__global__ void add_up(const float* partial, T* dweight, int blocks, int columns) {
  __shared__ float of_rows[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float total = 0;
  if (column < columns)
    for (int b = threadIdx.y; b < blocks; b += 32) total += partial[(long long)b * columns + column];
  of_rows[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  total = of_rows[threadIdx.x][threadIdx.y];
  for (int offset = 16; offset; offset /= 2) total += __shfl_xor_sync(~0u, total, offset);
  const int mine = blockIdx.x * 32 + threadIdx.y;
  if (threadIdx.x == 0 && mine < columns) dweight[mine] = T(total);
}

// 4. What launches them.
struct Norm {
  double eps = 1e-6;
};

// Whether rows of a tensor can be read by 16 bytes, n elements.
static bool fits(const tarsia::Tensor& t, long long columns, int n) {
  return !t || (columns % n == 0 && (unsigned long long)t.data() % 16 == 0);
}

static unsigned threads_for(long long width) {
  const long long threads = (width + 31) / 32 * 32;
  return unsigned(threads < 32 ? 32 : threads > 256 ? (threads > 1024 ? 1024 : 256) : threads);
}

template <class T, int n>
static void run_norm(tarsia::Context& c, long long rows, long long columns) {
  typedef Pack<T, n> P;
  auto packs = [](const tarsia::Tensor& t) { return reinterpret_cast<P*>(t.data<T>()); };
  norm<T, n><<<unsigned(rows), threads_for(columns / n), 0, c.stream()>>>(
      packs(c.input(0)), packs(c.input(1)), packs(c.input(2)), packs(c.output(0)), packs(c.output(1)), int(columns / n),
      float(c.params<Norm>().eps));
}

template <class T, int n>
static void run_backward(tarsia::Context& c, long long rows, long long columns) {
  typedef Pack<T, n> P;
  auto packs = [](const tarsia::Tensor& t) { return t ? reinterpret_cast<P*>(t.data<T>()) : nullptr; };
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const unsigned threads = threads_for(columns / n);
  const long long most = (long long)processors * (2048 / threads);
  const unsigned blocks = unsigned(rows < most ? rows : most);
  float* partial = c.scratch<float>(blocks * columns);
  norm_backward<T, n><<<blocks, threads, 0, c.stream()>>>(
      packs(c.out_grad(0)), packs(c.out_grad(1)), packs(c.forward_output(1)), packs(c.forward_input(2)), packs(c.in_grad(0)),
      packs(c.in_grad(1)), partial, rows, int(columns / n),
      float(c.params<Norm>().eps));
  if (c.in_grad(2))
    add_up<T><<<unsigned((columns + 31) / 32), dim3(32, 32), 0, c.stream()>>>(partial, c.in_grad(2).data<T>(), int(blocks),
                                                                               int(columns));
}

#define TYPES (float, tarsia::half_element, tarsia::bfloat_element)

static void forward_gpu(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0);
  const long long columns = x.size(-1), rows = columns ? x.numel() / columns : 0;
  if (!rows) return;
  TARSIA_DISPATCH(x.dtype(), T, TYPES, {
    constexpr int n = 16 / sizeof(T);
    bool wide = true;
    for (int i = 0; i < 3; ++i) wide = wide && fits(c.input(i), columns, n);
    for (int i = 0; i < 2; ++i) wide = wide && fits(c.output(i), columns, n);
    wide ? run_norm<T, n>(c, rows, columns) : run_norm<T, 1>(c, rows, columns);
  });
}

static void backward_gpu(tarsia::Context& c) {
  const tarsia::Tensor sum = c.forward_output(1);
  const long long columns = sum.size(-1), rows = columns ? sum.numel() / columns : 0;
  if (!rows) {
    if (c.in_grad(2) && columns) cudaMemsetAsync(c.in_grad(2).data(), 0, c.in_grad(2).bytes(), c.stream());
    return;
  }
  TARSIA_DISPATCH(sum.dtype(), T, TYPES, {
    constexpr int n = 16 / sizeof(T);
    bool wide = fits(c.out_grad(0), columns, n) && fits(c.out_grad(1), columns, n) && fits(sum, columns, n) &&
                fits(c.forward_input(2), columns, n) && fits(c.in_grad(0), columns, n) && fits(c.in_grad(1), columns, n);
    wide ? run_backward<T, n>(c, rows, columns) : run_backward<T, 1>(c, rows, columns);
  });
}

// 5. The same on the CPU.
static void forward_cpu(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0);
  const long long columns = x.size(-1), rows = columns ? x.numel() / columns : 0;
  TARSIA_DISPATCH(x.dtype(), T, TYPES, {
    const T* weight = c.input(2).data<const T>();
    for (long long r = 0; r < rows; ++r) {
      const T *a = x.data<const T>() + r * columns, *b = c.input(1).data<const T>() + r * columns;
      T *y = c.output(0).data<T>() + r * columns, *sum = c.output(1).data<T>() + r * columns;
      float squares = 0;
      for (long long i = 0; i < columns; ++i) {
        sum[i] = T(float(a[i]) + float(b[i]));
        squares += float(sum[i]) * float(sum[i]);
      }
      const float scale = 1 / std::sqrt(squares / float(columns) + float(c.params<Norm>().eps));
      for (long long i = 0; i < columns; ++i) y[i] = T(float(sum[i]) * scale * float(weight[i]));
    }
  });
}

static void backward_cpu(tarsia::Context& c) {
  const tarsia::Tensor sum = c.forward_output(1), of_sum = c.out_grad(1);
  const long long columns = sum.size(-1), rows = columns ? sum.numel() / columns : 0;
  float* dweight = c.scratch<float>(columns);
  for (long long i = 0; i < columns; ++i) dweight[i] = 0;
  TARSIA_DISPATCH(sum.dtype(), T, TYPES, {
    const T* weight = c.forward_input(2).data<const T>();
    for (long long r = 0; r < rows; ++r) {
      const T *s = sum.data<const T>() + r * columns, *dy = c.out_grad(0).data<const T>() + r * columns;
      float squares = 0, dot = 0;
      for (long long i = 0; i < columns; ++i) {
        squares += float(s[i]) * float(s[i]);
        dot += float(dy[i]) * float(weight[i]) * float(s[i]);
      }
      const float scale = 1 / std::sqrt(squares / float(columns) + float(c.params<Norm>().eps));
      const float pull = dot * scale * scale * scale / float(columns);
      for (long long i = 0; i < columns; ++i) {
        dweight[i] += float(dy[i]) * float(s[i]) * scale;
        const float d = (of_sum ? float(of_sum.data<const T>()[r * columns + i]) : 0.0f) +
                        float(dy[i]) * float(weight[i]) * scale - float(s[i]) * pull;
        for (int k = 0; k < 2; ++k)
          if (c.in_grad(k)) c.in_grad(k).data<T>()[r * columns + i] = T(d);
      }
    }
    if (c.in_grad(2))
      for (long long i = 0; i < columns; ++i) c.in_grad(2).data<T>()[i] = T(dweight[i]);
  });
}

// 6. The op: its inputs, outputs and parameter, what follows from their shapes, and the four functions.
TARSIA_OP(rms_norm_residual)
    .describe("sum = x + residual, y = sum / sqrt(mean(sum²) + eps) · weight")
    .input("x")
    .input("residual")
    .input("weight")
    .output("y")
    .output("sum")
    .attribute("eps", &Norm::eps)
    .at_least(0)
    .infer([](tarsia::BindInfo& i) {
      const tarsia::Meta x = i.input(0), weight = i.input(2);
      tarsia::unify(x, i.input(1));
      tarsia::unify(x, i.output(0));
      tarsia::unify(x, i.output(1));
      tarsia::unify_dtype(x, weight);
      if (!x.has_shape()) return;
      if (!x.ndim()) throw tarsia::ValueError("x needs a dimension to be normed over");
      if (!weight.has_shape()) weight.set_shape({-1});
      if (weight.ndim() != 1 || (weight.size(0) >= 0 && x.size(-1) >= 0 && weight.size(0) != x.size(-1)))
        throw tarsia::ValueError("weight has to have one dimension, as long as x's last");
      if (weight.size(0) < 0) weight.set_size(0, x.size(-1));
    })
    .forward("cpu", forward_cpu)
    .backward("cpu", backward_cpu)
    .forward("gpu", forward_gpu)
    .backward("gpu", backward_gpu);

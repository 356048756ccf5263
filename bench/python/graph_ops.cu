// The ops of a transformer's layers on a GPU, in float16: what bench_graph.py makes its graph of.
#include <cublasLt.h>
#include <cuda_fp16.h>
#include <tarsia/op.h>

#include <string>

namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw tarsia::ValueError((std::string(what) + " failed: " + std::to_string(static_cast<int>(status))).c_str());
}

constexpr size_t k_workspace = 1 << 20;

/// y = x w^T + b, and GELU behind it on request: x (rows, in), w (out, in), b (out).
struct Linear {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm;

  Linear(int64_t rows, int64_t in, int64_t out, bool gelu) {
    check(cublasLtCreate(&handle), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    const cublasLtEpilogue_t epilogue = gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    // Row-major y = x w^T is column-major y^T = (w as it lies)^T^T x^T.
    check(cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, in, out, in), "layout");
    check(cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, in, rows, in), "layout");
    check(cublasLtMatrixLayoutCreate(&c, CUDA_R_16F, out, rows, out), "layout");
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "preference");
    size_t workspace = k_workspace;
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                               sizeof workspace),
          "preference");
    cublasLtMatmulHeuristicResult_t found;
    int n = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, c, preference, 1, &found, &n), "heuristic");
    cublasLtMatmulPreferenceDestroy(preference);
    if (!n) throw tarsia::ValueError("cublasLt has no algorithm for these shapes");
    algorithm = found.algo;
  }
  ~Linear() {
    if (c) cublasLtMatrixLayoutDestroy(c);
    if (b) cublasLtMatrixLayoutDestroy(b);
    if (a) cublasLtMatrixLayoutDestroy(a);
    if (operation) cublasLtMatmulDescDestroy(operation);
    if (handle) cublasLtDestroy(handle);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "attribute");
  }
  void run(tarsia::Context& context) {
    const float one = 1, zero = 0;
    const void* bias = context.input(2).data<const half>();
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    void* workspace = context.scratch<char>(k_workspace);
    check(cublasLtMatmul(handle, operation, &one, context.input(1).data<const half>(), a,
                         context.input(0).data<const half>(), b, &zero, context.output(0).data<half>(), c,
                         context.output(0).data<half>(), c, &algorithm, workspace, k_workspace, context.stream()),
          "cublasLtMatmul");
  }
};

void infer_linear(tarsia::BindInfo& info) {
  info.output(0).set_shape({info.input(0).size(0), info.input(1).size(0)});
  info.output(0).set_dtype(info.input(0).dtype());
}
Linear* make_linear(const tarsia::BindInfo& info) {
  return new Linear(info.input(0).size(0), info.input(0).size(1), info.input(1).size(0), info.attribute<bool>("gelu"));
}

/// One block a row: y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta.
__global__ void layer_norm(const half* x, const half* gamma, const half* beta, half* y, int width) {
  __shared__ float sums[2][32];
  const half2* row = reinterpret_cast<const half2*>(x + static_cast<size_t>(blockIdx.x) * width);
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width / 2; i += blockDim.x) {
    const float2 v = __half22float2(row[i]);
    sum += v.x + v.y;
    squares += v.x * v.x + v.y * v.y;
  }
  for (int d = 16; d; d /= 2) {
    sum += __shfl_xor_sync(~0u, sum, d);
    squares += __shfl_xor_sync(~0u, squares, d);
  }
  if (threadIdx.x % 32 == 0) {
    sums[0][threadIdx.x / 32] = sum;
    sums[1][threadIdx.x / 32] = squares;
  }
  __syncthreads();
  sum = squares = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x) / 32; ++i) {
    sum += sums[0][i];
    squares += sums[1][i];
  }
  const float mean = sum / width, scale = rsqrtf(squares / width - mean * mean + 1e-5f);
  half2* out = reinterpret_cast<half2*>(y + static_cast<size_t>(blockIdx.x) * width);
  for (int i = threadIdx.x; i < width / 2; i += blockDim.x) {
    const float2 v = __half22float2(row[i]), g = __half22float2(reinterpret_cast<const half2*>(gamma)[i]),
                 b = __half22float2(reinterpret_cast<const half2*>(beta)[i]);
    out[i] = __floats2half2_rn((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y);
  }
}

__global__ void add(const half2* a, const half2* b, half2* y, long n) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = __hadd2(a[i], b[i]);
}

constexpr int k_head = 64, k_queries = 16, k_threads = 128;

/// Attention of one head for 16 queries; the scores live in shared memory. qkv (tokens, 3 * width).
__global__ void attention(const half* qkv, half* y, int tokens, int width) {
  extern __shared__ float shared[];
  float* query = shared;                          // [k_queries][k_head]
  float* scores = shared + k_queries * k_head;    // [k_queries][tokens]
  const int head = blockIdx.x, first = blockIdx.y * k_queries, stride = 3 * width;
  for (int i = threadIdx.x; i < k_queries * k_head; i += k_threads) {
    const int token = first + i / k_head;
    query[i] = token < tokens ? __half2float(qkv[static_cast<size_t>(token) * stride + head * k_head + i % k_head]) * 0.125f : 0;
  }
  __syncthreads();
  for (int key = threadIdx.x; key < tokens; key += k_threads) {
    const half2* row = reinterpret_cast<const half2*>(qkv + static_cast<size_t>(key) * stride + width + head * k_head);
    float2 k[k_head / 2];
    for (int d = 0; d < k_head / 2; ++d) k[d] = __half22float2(row[d]);
    for (int q = 0; q < k_queries; ++q) {
      float dot = 0;
      for (int d = 0; d < k_head / 2; ++d) dot += k[d].x * query[q * k_head + 2 * d] + k[d].y * query[q * k_head + 2 * d + 1];
      scores[q * tokens + key] = dot;
    }
  }
  __syncthreads();
  const int q = threadIdx.x / 8, lane = threadIdx.x % 8;  // 8 threads a row
  float most = -INFINITY, sum = 0;
  for (int key = lane; key < tokens; key += 8) most = fmaxf(most, scores[q * tokens + key]);
  for (int d = 4; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  for (int key = lane; key < tokens; key += 8) sum += scores[q * tokens + key] = __expf(scores[q * tokens + key] - most);
  for (int d = 4; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int key = lane; key < tokens; key += 8) scores[q * tokens + key] /= sum;
  __syncthreads();
  const int d = threadIdx.x % k_head, part = threadIdx.x / k_head * (k_queries / 2);
  float sums[k_queries / 2] = {};
  for (int key = 0; key < tokens; ++key) {
    const float v = __half2float(qkv[static_cast<size_t>(key) * stride + 2 * width + head * k_head + d]);
    for (int i = 0; i < k_queries / 2; ++i) sums[i] += scores[(part + i) * tokens + key] * v;
  }
  for (int i = 0; i < k_queries / 2; ++i)
    if (first + part + i < tokens) y[static_cast<size_t>(first + part + i) * width + head * k_head + d] = __float2half(sums[i]);
}

}  // namespace

TARSIA_OP(bench_linear).input("x").input("w").input("b").attribute("gelu", false).infer(infer_linear).state(make_linear)
    .forward("gpu", [](tarsia::Context& c) { c.state<Linear>().run(c); }).named("cublasLt")
    .workspace([](const tarsia::BindInfo&) { return static_cast<int64_t>(k_workspace); });

TARSIA_OP(bench_layer_norm).input("x").input("gamma").input("beta")
    .infer([](tarsia::BindInfo& info) { info.output(0) = info.input(0); })
    .forward("gpu", [](tarsia::Context& c) {
      const int width = static_cast<int>(c.input(0).size(1));
      layer_norm<<<static_cast<unsigned>(c.input(0).size(0)), 256, 0, c.stream()>>>(
          reinterpret_cast<const half*>(c.input(0).data<const half>()),
          reinterpret_cast<const half*>(c.input(1).data<const half>()),
          reinterpret_cast<const half*>(c.input(2).data<const half>()),
          reinterpret_cast<half*>(c.output(0).data<half>()), width);
    }).forward_inplace(0, 0);

TARSIA_OP(bench_add).input("a").input("b")
    .forward("gpu", [](tarsia::Context& c) {
      const long n = c.output(0).numel() / 2;
      add<<<static_cast<unsigned>((n + 255) / 256), 256, 0, c.stream()>>>(
          reinterpret_cast<const half2*>(c.input(0).data<const half>()),
          reinterpret_cast<const half2*>(c.input(1).data<const half>()),
          reinterpret_cast<half2*>(c.output(0).data<half>()), n);
    }).inplace(0, 0).inplace(1, 0);

TARSIA_OP(bench_attention).input("qkv")
    .infer([](tarsia::BindInfo& info) {
      info.output(0).set_shape({info.input(0).size(0), info.input(0).size(1) / 3});
      info.output(0).set_dtype(info.input(0).dtype());
    })
    .forward("gpu", [](tarsia::Context& c) {
      const int tokens = static_cast<int>(c.output(0).size(0)), width = static_cast<int>(c.output(0).size(1));
      const size_t shared = (k_queries * k_head + static_cast<size_t>(k_queries) * tokens) * sizeof(float);
      attention<<<dim3(width / k_head, (tokens + k_queries - 1) / k_queries), k_threads, shared, c.stream()>>>(
          reinterpret_cast<const half*>(c.input(0).data<const half>()),
          reinterpret_cast<half*>(c.output(0).data<half>()), tokens, width);
    });

// Kernels made by macros, put into tables, launched by pointer; arguments of main; streams, priorities, callbacks.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define ELEMENTWISE(name, expression)                                        \
  __global__ void name##_kernel(const float *x, float *y, int n, float a) {  \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) { \
      const float v = x[i];                                                  \
      y[i] = (expression);                                                   \
    }                                                                        \
  }
ELEMENTWISE(add, v + a)
ELEMENTWISE(scale, v *a)
ELEMENTWISE(relu, v > 0 ? v : 0)
ELEMENTWISE(clip, fminf(fmaxf(v, -a), a))

typedef void (*Kernel)(const float *, float *, int, float);
typedef float (*Function)(float);
__device__ float square(float x) { return x * x; }
__device__ float cube(float x) { return x * x * x; }
__device__ Function functions[] = {square, cube};
__global__ void apply(float *x, int n, int which) {
  if (threadIdx.x < n) x[threadIdx.x] = functions[which](x[threadIdx.x]);
}

static void CUDART_CB on_host(void *data) { ++*static_cast<int *>(data); }

class Program {
 public:
  explicit Program(int n) : m_n(n) {
    cudaMalloc(&m_x, n * sizeof(float));
    cudaMalloc(&m_y, n * sizeof(float));
    std::vector<float> values;
    for (int i = 0; i < n; ++i) values.push_back(i - n / 2);
    cudaMemcpy(m_x, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    int least, greatest;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    cudaStreamCreateWithPriority(&m_stream, cudaStreamNonBlocking, greatest);
  }
  ~Program() {
    cudaFree(m_x);
    cudaFree(m_y);
    cudaStreamDestroy(m_stream);
  }
  void step(const std::string &name, float a) {
    static const std::map<std::string, Kernel> kernels = {{"add", add_kernel}, {"scale", scale_kernel}, {"relu", relu_kernel}, {"clip", clip_kernel}};
    auto found = kernels.find(name);
    if (found == kernels.end()) {
      printf("%s: no such step\n", name.c_str());
      std::exit(3);
    }
    void *arguments[] = {&m_x, &m_y, &m_n, &a};
    cudaLaunchKernel(reinterpret_cast<const void *>(found->second), dim3(2), dim3(32), arguments, 0, m_stream);
    std::swap(m_x, m_y);
    cudaLaunchHostFunc(m_stream, on_host, &m_steps);
  }
  void finish() {
    cudaStreamSynchronize(m_stream);  // for m_steps
    apply<<<1, m_n, 0, m_stream>>>(m_x, m_n, m_steps % 2);
    std::vector<float> values(m_n);
    cudaMemcpyAsync(values.data(), m_x, m_n * sizeof(float), cudaMemcpyDeviceToHost, m_stream);
    printf("%s after %d steps:", cudaGetErrorString(cudaStreamSynchronize(m_stream)), m_steps);
    for (float v : values) printf(" %g", v);
    printf("\n");
  }

 private:
  int m_n, m_steps = 0;
  float *m_x, *m_y;
  cudaStream_t m_stream;
};

int main(int argc, char *argv[]) {
  Program program(8);
  for (int i = 1; i < argc; ++i) {
    char *colon = std::strchr(argv[i], ':');
    program.step(std::string(argv[i], colon ? colon - argv[i] : std::strlen(argv[i])), colon ? std::atof(colon + 1) : 0.0f);
  }
  program.finish();
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, clip_kernel);
  printf("%d bytes of shared memory, %d of constants\n", (int)attributes.sharedSizeBytes, (int)attributes.constSizeBytes);
  return argc - 1;
}

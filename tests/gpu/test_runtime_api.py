"""What the host code of a source may ask of the CUDA runtime, checked by results computed on the GPU."""

import pytest
from gpu_support import flush_c, inline

torch = pytest.importorskip("torch")


def test_textures_and_surfaces():
    lib = inline(r"""
    __global__ void sample(cudaTextureObject_t texture, float* y, int width, int height) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
      if (i < width && j < height) y[j * width + i] = tex2D<float>(texture, i + 1.0f, j + 0.5f);
    }
    __global__ void write(cudaSurfaceObject_t surface, int width, int height) {
      int i = threadIdx.x, j = threadIdx.y;
      if (i < width && j < height) surf2Dwrite(float(100 * j + i), surface, i * sizeof(float), j);
    }
    int run(float* y, int width, int height) {
      cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
      cudaArray_t array;
      if (cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore)) return 1;
      cudaResourceDesc resource = {};
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array;
      cudaSurfaceObject_t surface = 0;
      if (cudaCreateSurfaceObject(&surface, &resource)) return 2;
      write<<<1, dim3(16, 16)>>>(surface, width, height);
      cudaTextureDesc how = {};
      how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
      how.filterMode = cudaFilterModeLinear;
      how.readMode = cudaReadModeElementType;
      cudaTextureObject_t texture = 0;
      if (cudaCreateTextureObject(&texture, &resource, &how, nullptr)) return 3;
      sample<<<dim3(1, 1), dim3(16, 16)>>>(texture, y, width, height);
      cudaError_t error = cudaDeviceSynchronize();
      cudaDestroyTextureObject(texture);
      cudaDestroySurfaceObject(surface);
      cudaFreeArray(array);
      return int(error);
    }
    """)
    y = torch.zeros(8, 12, device="cuda")
    assert lib.run(y, 12, 8) == 0
    expected = [[100 * j + min(i + 0.5, 11) for i in range(12)] for j in range(8)]
    assert y.tolist() == expected


def test_the_runtime_api_of_the_host():
    lib = inline(r"""
    #include <cstdio>
    #include <stdexcept>
    #include <string>
    #include <vector>
    #define CHECK(call) do { cudaError_t e = (call); if (e) throw std::runtime_error(std::string(#call) + ": " + cudaGetErrorString(e)); } while (0)
    __global__ void kernel(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
    std::vector<float> run(const std::vector<float>& x) {
      const size_t bytes = x.size() * sizeof(float);
      float *a, *b, *pinned;
      cudaStream_t stream;
      cudaEvent_t begin, end;
      CHECK(cudaMalloc(&a, bytes));
      CHECK(cudaMalloc((void**)&b, bytes));
      CHECK(cudaMallocHost(&pinned, bytes));
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      CHECK(cudaEventCreate(&begin));
      CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault));
      CHECK(cudaEventRecord(begin, stream));
      CHECK(cudaMemcpyAsync(a, x.data(), bytes, cudaMemcpyHostToDevice, stream));
      kernel<<<(unsigned(x.size()) + 127) / 128, 128, 0, stream>>>(a, b, int(x.size()));
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(pinned, b, bytes, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaEventRecord(end, stream));
      CHECK(cudaStreamSynchronize(stream));
      float milliseconds = -1;
      CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
      std::vector<float> y(pinned, pinned + x.size());
      if (milliseconds <= 0) throw std::runtime_error("no time passed");
      cudaFree(a), cudaFree(b), cudaFreeHost(pinned), cudaStreamDestroy(stream), cudaEventDestroy(begin), cudaEventDestroy(end);
      return y;
    }
    std::string name() {
      cudaDeviceProp properties;
      CHECK(cudaGetDeviceProperties(&properties, 0));
      int multiprocessors = 0;
      CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
      return std::string(properties.name) + " " + std::to_string(multiprocessors);
    }
    void fails() { CHECK(cudaSetDevice(1000)); }
    """)
    assert lib.run([1, 2, 3.5]) == [2, 4, 7]
    properties = torch.cuda.get_device_properties(0)
    assert lib["name"]() == f"{properties.name} {properties.multi_processor_count}"
    with pytest.raises(RuntimeError, match=r"cudaSetDevice\(1000\): invalid device ordinal"):
        lib.fails()


def test_printf_and_assert_on_the_device(capfd):
    lib = inline(r"""
    #include <cassert>
    #include <cstdio>
    __global__ void kernel(int n) {
      assert(n > 0);
      printf("thread %d of %d: %s %.2f\n", threadIdx.x, n, "text", 1.5);
    }
    int run(int n) {
      printf("on the host\n");
      kernel<<<1, n>>>(n);
      return int(cudaDeviceSynchronize());
    }
    int fail() {
      kernel<<<1, 1>>>(0);
      return int(cudaDeviceSynchronize());
    }
    """)
    assert lib.run(2) == 0
    flush_c()
    assert sorted(capfd.readouterr().out.splitlines()) == [
        "on the host", "thread 0 of 2: text 1.50", "thread 1 of 2: text 1.50"]
    assert lib.fail() == 710  # cudaErrorAssert
    assert "n > 0" in capfd.readouterr().err


def test_graphs_made_by_the_source():
    lib = inline(r"""
    __global__ void add(int* x) { atomicAdd(x, 1); }
    int run(int* x) {
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      cudaGraph_t graph;
      cudaGraphExec_t executable;
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
      for (int i = 0; i < 5; ++i) add<<<1, 2, 0, stream>>>(x);
      cudaStreamEndCapture(stream, &graph);
      if (cudaGraphInstantiate(&executable, graph, 0)) return -1;
      for (int i = 0; i < 3; ++i) cudaGraphLaunch(executable, stream);
      cudaError_t error = cudaStreamSynchronize(stream);
      cudaGraphExecDestroy(executable);
      cudaGraphDestroy(graph);
      cudaStreamDestroy(stream);
      return int(error);
    }
    """)
    x = torch.zeros(1, device="cuda", dtype=torch.int32)
    assert lib.run(x) == 0 and x.item() == 30


def test_unified_memory():
    lib = inline(r"""
    struct Node { int value; Node* next; };
    __global__ void sum(const Node* first, int* total) { for (; first; first = first->next) *total += first->value; }
    int run(int n) {
      Node* nodes;
      int* total;
      cudaMallocManaged(&nodes, n * sizeof(Node));
      cudaMallocManaged(&total, sizeof(int));
      *total = 0;
      for (int i = 0; i < n; ++i) nodes[i] = {i, i + 1 < n ? nodes + i + 1 : nullptr};
      sum<<<1, 1>>>(nodes, total);
      cudaDeviceSynchronize();
      int result = *total;
      cudaFree(nodes);
      cudaFree(total);
      return result;
    }
    """)
    assert lib.run(100) == 4950

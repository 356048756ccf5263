"""Launches, which go straight to the driver after a kernel's first one: they do what the runtime's launches do."""

import pytest
from gpu_support import inline, run_python

import tarsia


def run_program(source, gpus=1):
    """Runs a program in a process of its own, and gives what it prints; compiled wherever CUDA code compiles."""
    inline(source, gpus=gpus)
    return run_python("import sys, tarsia; sys.exit(tarsia.load_inline(sys.argv[1]).main())", source)


def test_kernels_launch_again_after_a_reset_of_the_device():
    out = run_program(r"""
        #include <cstdio>
        __constant__ int offset = 5;
        __device__ int counter;
        __global__ void count(int* y) { *y = ++counter + offset; }
        int one() {
          int *y, host = -1;
          cudaMalloc(&y, 4);
          count<<<1, 1>>>(y);
          count<<<1, 1>>>(y);
          cudaMemcpy(&host, y, 4, cudaMemcpyDeviceToHost);
          return host;
        }
        int main() {
          for (int i = 0; i < 3; ++i) {
            printf("%d ", one());
            cudaDeviceReset();
          }
          return cudaGetLastError();
        }""")
    assert out == "7 7 7 "


def test_threads_without_a_context_launch_and_each_has_its_own_error():
    out = run_program(r"""
        #include <cstdio>
        #include <thread>
        __global__ void set(int* y, int v) { *y = v; }
        int main() {
          int* y;
          cudaMallocManaged(&y, 4);
          set<<<1, 1>>>(y, 1);
          cudaDeviceSynchronize();
          int wrong = -1, fine = -1, seen = 0;
          std::thread([&] { set<<<1, 2048>>>(y, 2); wrong = cudaGetLastError(); }).join();
          std::thread([&] { set<<<1, 1>>>(y, 3); fine = cudaGetLastError(); cudaDeviceSynchronize(); seen = *y; }).join();
          printf("%d %d %d %d\n", wrong, fine, seen, cudaGetLastError());
        }""")
    # cudaErrorInvalidValue or …InvalidConfiguration, by the driver
    assert out in ("1 0 3 0\n", "9 0 3 0\n")


def test_a_failed_launch_of_a_kernel_that_ran_before_is_told_by_the_runtime():
    out = run_program(r"""
        #include <cstdio>
        __global__ void set(int* y) { extern __shared__ int s[]; s[0] = 1; *y = s[0]; }
        __global__ void never(int* y) { extern __shared__ int s[]; s[0] = 2; *y = s[0]; }
        int main() {
          int* y;
          cudaMalloc(&y, 4);
          for (int i = 0; i < 3; ++i) set<<<1, 1, 64>>>(y);
          printf("%d\n", cudaGetLastError());
          // What the runtime says of a kernel's first launch it says of the fourth.
          for (auto kernel : {set, never}) {
            kernel<<<1, 0, 64>>>(y);
            printf("%d ", cudaPeekAtLastError() != 0);
            printf("%s ", cudaGetErrorName(cudaGetLastError()));
            kernel<<<1, 1, 200 << 10>>>(y);
            printf("%s ", cudaGetErrorName(cudaGetLastError()));
            kernel<<<1, 4096, 64>>>(y);
            printf("%s\n", cudaGetErrorName(cudaGetLastError()));
          }
          cudaFuncSetAttribute(set, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
          set<<<1, 1, 100 << 10>>>(y);
          void* args[] = {&y};
          printf("%d ", cudaLaunchKernel(set, dim3(1), dim3(1), args, 64, cudaStream_t(0)));
          printf("%d\n", cudaDeviceSynchronize());
        }""")
    lines = out.splitlines()
    assert lines[0] == "0" and lines[3] == "0 0"
    assert lines[1] == lines[2] and lines[1].startswith("1 cudaErrorInvalid")


def test_an_error_that_was_pending_stays():
    out = run_program(r"""
        #include <cstdio>
        __global__ void nothing() {}
        int main() {
          cudaFree(0);
          void* p;
          cudaMalloc(&p, size_t(1) << 50);
          nothing<<<1, 1>>>();
          nothing<<<1, 1>>>();
          printf("%d ", cudaGetLastError());
          nothing<<<1, 1>>>();
          nothing<<<1, 1>>>();
          printf("%d\n", cudaGetLastError());
        }""")
    assert out == "2 0\n"


def test_more_kernels_than_are_remembered():
    out = run_program(r"""
        #include <cstdio>
        #include <utility>
        template <int i> __global__ void add(int* y) { atomicAdd(y, i); }
        template <int... i> void all(int* y, std::integer_sequence<int, i...>) { ((add<i><<<1, 1>>>(y)), ...); }
        int main() {
          int *y, host;
          cudaMalloc(&y, 4);
          cudaMemset(y, 0, 4);
          for (int k = 0; k < 3; ++k) {
            all(y, std::make_integer_sequence<int, 700>());
            all(y, std::make_integer_sequence<int, 900>());
          }
          cudaMemcpy(&host, y, 4, cudaMemcpyDeviceToHost);
          printf("%d %d\n", host, cudaGetLastError());
        }""")
    assert out == f"{3 * (699 * 700 // 2 + 899 * 900 // 2)} 0\n"


def test_streams_of_all_kinds_and_graphs_that_are_captured():
    out = run_program(r"""
        #include <cstdio>
        __global__ void add(int* y, int v) { *y += v; }
        int main() {
          int* y;
          cudaMallocManaged(&y, 4);
          *y = 0;
          cudaStream_t s, t;
          cudaStreamCreate(&s);
          cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
          for (int round = 0; round < 2; ++round)
            for (cudaStream_t stream : {cudaStream_t(0), cudaStreamLegacy, cudaStreamPerThread, s, t}) {
              add<<<1, 1, 0, stream>>>(y, 1);
              cudaStreamSynchronize(stream);
            }
          printf("%d ", *y);
          cudaGraph_t graph;
          cudaGraphExec_t exec;
          cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal);
          for (int i = 0; i < 3; ++i) add<<<1, 1, 0, t>>>(y, 100);
          cudaStreamEndCapture(t, &graph);
          cudaDeviceSynchronize();
          printf("%d ", *y);
          cudaGraphInstantiate(&exec, graph, 0);
          for (int i = 0; i < 2; ++i) cudaGraphLaunch(exec, t);
          cudaStreamSynchronize(t);
          printf("%d %d\n", *y, cudaGetLastError());
        }""")
    assert out == "10 10 610 0\n"


def test_a_kernel_known_on_one_gpu_runs_on_the_other():
    out = run_program(r"""
        #include <cstdio>
        __device__ int counter;
        __global__ void count(int* y) { *y = ++counter; }
        int main() {
          for (int round = 0; round < 2; ++round)
            for (int device = 0; device < 2; ++device) {
              cudaSetDevice(device);
              int *y, host;
              cudaMalloc(&y, 4);
              for (int i = 0; i <= device; ++i) count<<<1, 1>>>(y);
              cudaMemcpy(&host, y, 4, cudaMemcpyDeviceToHost);
              printf("%d ", host);
            }
          printf("%d\n", cudaGetLastError());
        }""", gpus=2)
    assert out == "1 2 2 4 0\n"


def test_a_bad_launch_names_the_function_each_time():
    torch = pytest.importorskip("torch")
    lib = inline(r"""
        __global__ void set(float* y) { *y = 1; }
        void go(float* y, int threads, cudaStream_t s) { set<<<1, threads, 0, s>>>(y); }
    """)
    y = torch.zeros(1, device="cuda")
    lib.go(y, 1)
    for _ in range(2):
        with pytest.raises(tarsia.CudaError, match=r"go\(\).*cudaErrorInvalid"):
            lib.go(y, 4096)
        lib.go(y, 32)
    assert y.item() == 1

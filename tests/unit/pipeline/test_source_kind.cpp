// Texts that are CUDA, and texts that are not.
#include "pipeline/source_kind.h"

#include <gtest/gtest.h>

namespace tarsia::pipeline {
namespace {

TEST(SourceKind, cuda_words_are_seen) {
  for (const char* text : {
           "__global__ void k();",
           "static\n__device__ int f();",
           "f<<<1, 2>>>(x);",
           "cudaStream_t s;",
           "void g() { cudaMalloc(&p, 1); }",
           "CUstream s;",
           "__constant__ float c[4];",
           "__managed__ int m;",
           "#include <cuda_runtime.h>\n",
           "  #  include \"sub/kernels.cuh\"\n",
           "#include <cub/block/block_reduce.cuh>",
           "#include <cooperative_groups.h>",
           "#include <mma.h>\n",
           "#include <nv/target>\n",
           "int x; // comment\n#include <curand_kernel.h>",
           "char c = '\"'; __global__ void k();",
           "auto s = R\"(text)\"; __global__ void k();",
           "int n = 1'000'000; __global__ void k();",
           "char q = '\\''; __global__ void k();",
           "const char* s = u8\"text\"; cudaError_t e;",
           "#define KERNEL __global__\n",
           "/* a */ __host__ void f();",
           "std::cout << 'x' <<\"y\"; k<<<1,1>>>();",
       }) {
    EXPECT_TRUE(mentions_cuda(text)) << text;
  }
}

TEST(SourceKind, comments_strings_and_likenesses_are_not) {
  for (const char* text : {
           "",
           "int f(int x) { return x << 3; }",
           "// __global__ void k();",
           "// carried over \\\n __global__ void k();",
           "/* __device__ \n cudaMalloc <<<1,1>>> */ int x;",
           "const char* s = \"__global__ <<<\";",
           "const char* s = \"a\\\"b __global__\";",
           "auto s = R\"x(__global__ )\" cudaMalloc )x\";",
           "auto s = LR\"(<<<)\";",
           "int my__global__x, x__device__;",
           "int barracuda, cuda, cudaclysm, cuda_like, CU, CUBE, CUSTOM;",
           "#include <vector>\n#include \"barracuda.h\"\n#include <cubic.h>\n",
           "int a = b <<c; std::cout << x << y;",
           "#if 0\n#endif",
           "// #include <cuda_runtime.h>\n",
           "\"unterminated __global__",
           "R\"unterminated",
           "/* unterminated __global__",
           "\\",
           "#",
           "#include",
           "#include <",
       }) {
    EXPECT_FALSE(mentions_cuda(text)) << text;
  }
}

TEST(SourceKind, suffixes_decide_where_there_are_some) {
  const std::string kernel = "__global__ void k();", plain = "int x;";
  EXPECT_EQ(kind_of({{"a.cu", plain}}, {}), SourceKind::cuda);
  EXPECT_EQ(kind_of({{"dir.cc/a.cu", ""}}, {}), SourceKind::cuda);
  EXPECT_EQ(kind_of({{"a.cc", plain}, {"b.cu", plain}}, {}), SourceKind::cuda);
  for (const char* name : {"a.c", "a.cc", "a.cpp", "a.cxx", "a.c++", "a.C", "a.CPP", "a.cu.cc"}) {
    EXPECT_EQ(kind_of({{name, plain}}, {}), SourceKind::host) << name;
    EXPECT_EQ(kind_of({{name, kernel}}, {}), SourceKind::host_with_cuda) << name;
    EXPECT_EQ(kind_of({{name, kernel}, {"b.cc", plain}}, {}), SourceKind::host_with_cuda) << name;
    EXPECT_EQ(kind_of({{name, plain}}, {{"k.h", kernel}}), SourceKind::host_with_cuda) << name;
  }
  for (const char* name : {"a", "op", "dir.cu/op", "v1.2/kernel", "my.op"}) {
    EXPECT_EQ(kind_of({{name, kernel}}, {}), SourceKind::cuda) << name;
    EXPECT_EQ(kind_of({{name, plain}}, {}), SourceKind::host) << name;
    EXPECT_EQ(kind_of({{name, "KERNEL(f)"}}, {{"k.h", "#define KERNEL(f) __global__ void f() {}"}}),
              SourceKind::cuda);
  }
}

TEST(SourceKind, a_host_source_that_includes_thc_is_cuda) {
  for (const char* text :
       {"#include <THC/THC.h>\n", " # include \"THC.h\"\n", "int x; // c\n#include <THC/THCTensor.h>\n"})
    EXPECT_EQ(kind_of({{"a.c", text}}, {}), SourceKind::cuda) << text;
  for (const char* text :
       {"/*\n#include <THC/THC.h>\n*/ cudaError_t e;", "// include \"THC\"\ncudaError_t e;",
        "cudaError_t e; const char* s = \"#include \\\"THC.h\";",
        "#include <cuda.h> // as <THC does, include it\n"})
    EXPECT_EQ(kind_of({{"a.c", text}}, {}), SourceKind::host_with_cuda) << text;
}

}  // namespace
}  // namespace tarsia::pipeline

// What a module tells the CUDA runtime when it is loaded and unloaded. The functions of the runtime that do
// the registration are this program's here, and take note; no GPU is asked.
#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>

#include "tests/unit/worker/compile_fixture.h"

namespace {

struct Noted {
  int binaries = 0, ends = 0, unregistered = 0;
  std::string image;
  std::map<std::string, const void*> kernels;
  std::map<std::string, size_t> variables, managed;
};
Noted noted;

struct Dim3 {
  unsigned x, y, z;
  auto operator<=>(const Dim3&) const = default;
};
struct Launch {
  Dim3 grid, block;
  size_t shared_bytes;
  const void* stream;
  int argument;
  auto operator<=>(const Launch&) const = default;
};
std::vector<Launch> launches;

struct Wrapper {  // __fatBinC_Wrapper_t
  int magic, version;
  const char* data;
  void* more;
};

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void** __cudaRegisterFatBinary(void* wrapper) {
  ++noted.binaries;
  const auto* header = static_cast<const Wrapper*>(wrapper);
  Elf64_Ehdr elf;  // for one architecture a bare cubin
  std::memcpy(&elf, header->data, sizeof elf);
  noted.image.assign(header->data, elf.e_shoff + size_t(elf.e_shnum) * elf.e_shentsize);
  return reinterpret_cast<void**>(&noted);
}
EXPORTED void __cudaRegisterFatBinaryEnd(void**) {
  ++noted.ends;
}
EXPORTED void __cudaUnregisterFatBinary(void**) {
  ++noted.unregistered;
}
EXPORTED void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*,
                                     void*, void*, int*) {
  noted.kernels[name] = stub;
}
EXPORTED void __cudaRegisterVar(void**, char*, char*, const char* name, int, size_t size, int, int) {
  noted.variables[name] = size;
}
EXPORTED void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, size_t size, int, int) {
  noted.managed[name] = size;
}

EXPORTED int cudaLaunchKernel(const void*, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                              void* stream) {
  launches.push_back({grid, block, shared_bytes, stream, *static_cast<int*>(arguments[0])});
  return 0;
}

namespace tarsia::jit {
namespace {

using testing::IsSupersetOf;
using testing::Pair;
using testing::SizeIs;

TEST_F(CompileTest, a_module_registers_what_its_source_holds) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileResult result = compile(request("a.cu", R"(
__constant__ float table[10];
__device__ int counter;
__managed__ double total;
template <class T> __global__ void scale(T* x, T by) { *x = *x * by + table[0] + counter + total; }
__global__ void plain(float* x) { *x = 1; }
void f(float* x, double* y, cudaStream_t s) {
  scale<<<1, 1, 0, s>>>(x, 2.0f);
  scale<<<1, 1, 0, s>>>(y, 2.0);
  plain<<<1, 1, 0, s>>>(x);
}
)"));
  ASSERT_TRUE(result.ok) << errors(result);
  noted = {};
  ASSERT_NE(::dlopen(find_cuda_parts().cudart.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  {
    Opened library(result.module);
    EXPECT_EQ(noted.binaries, 1);
    EXPECT_EQ(noted.ends, 1);
    EXPECT_THAT(noted.kernels, SizeIs(3));
    for (const auto& [name, stub] : noted.kernels) EXPECT_NE(stub, nullptr) << name;
    EXPECT_TRUE(noted.kernels.contains("_Z5plainPf"));
    EXPECT_THAT(noted.variables, IsSupersetOf({Pair("table", 40u), Pair("counter", 4u)}));
    EXPECT_THAT(noted.managed, SizeIs(1));
    // The names are those of the device code that was registered.
    for (const auto& [name, stub] : noted.kernels)
      EXPECT_NE(noted.image.find(name), std::string::npos) << name;
    EXPECT_EQ(noted.unregistered, 0);
  }
  EXPECT_EQ(noted.unregistered, 1);
}

TEST_F(CompileTest, clangs_module_registers_the_kernels_of_headers_as_well) {
  if (!have_cuda_headers() || find_cuda_parts().nvjitlink.empty())
    GTEST_SKIP() << "no CUDA headers or no nvJitLink";
  CompileRequest asked = request("a.cu", R"(
#include "launch.h"
static __device__ int hidden;
__managed__ double total;
static __global__ void plain(float* x) { *x = 1 + total + hidden; }
template <class F> __global__ void each(float* x, F f) { *x = f(*x); }
void f(float* x) {
  struct Local { __device__ float operator()(float v) const { return v; } };
  plain<<<1, 1>>>(x);
  fill_all(x);
  each<<<1, 1>>>(x, Local());
  each<<<1, 1>>>(x, [=] __device__ (float v) { return x[0] + v; });
  fill_with(x, [] __device__ { return 4.f; });
}
)");
  // A header that is not the user's.
  asked.headers.push_back({"launch.h", R"(#pragma once
#pragma GCC system_header
template <class T> __global__ void fill(T* x, T v) { *x = v; }
template <class T> inline void fill_all(T* x) { fill<<<1, 1>>>(x, T(3)); }
namespace ns { namespace { template <class T, class F> __global__ void make(T* x, F f) { *x = f(); } } }
template <class T, class F> void fill_with(T* x, F f) { ns::make<<<1, 1>>>(x, f); }
)"});
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  noted = {};
  ASSERT_NE(::dlopen(find_cuda_parts().cudart.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  Opened library(result.module);
  EXPECT_THAT(library.kernels(), SizeIs(3));  // the user's
  EXPECT_THAT(noted.kernels, SizeIs(5));
  EXPECT_TRUE(noted.kernels.contains("_Z4fillIfEvPT_S0_"));
  for (const auto& [name, stub] : noted.kernels) {
    EXPECT_NE(stub, nullptr) << name;
    EXPECT_NE(noted.image.find(name), std::string::npos) << name;
  }
  EXPECT_THAT(noted.variables, testing::Contains(Pair("_ZL6hidden", 4u)));
  EXPECT_THAT(noted.managed, SizeIs(1));
}

TEST_F(CompileTest, launches_in_the_arguments_of_launches_keep_their_grids) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileResult result = compile(request("a.cu", R"(
__global__ void k(int n) {}
int inner(int n) { k<<<dim3(7, n), 8, n>>>(n); return n + 1; }
int no() { throw 1; }
struct AtLoad {
  AtLoad() {
    k<<<dim3(2, 3, 4), dim3(5, 6), 7, (cudaStream_t)8>>>(inner(inner(10)));
    for (int i = 0; i < 40; i++) {
      try {
        k<<<1, 1>>>(no());
      } catch (int) {
      }
    }
    k<<<9, 1>>>(12);
  }
} at_load;
)"));
  ASSERT_TRUE(result.ok) << errors(result);
  launches.clear();
  ASSERT_NE(::dlopen(find_cuda_parts().cudart.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  Opened library(result.module);
  EXPECT_EQ(launches, (std::vector<Launch>{{{7, 10, 1}, {8, 1, 1}, 10, nullptr, 10},
                                           {{7, 11, 1}, {8, 1, 1}, 11, nullptr, 11},
                                           {{2, 3, 4}, {5, 6, 1}, 7, reinterpret_cast<void*>(8), 12},
                                           {{9, 1, 1}, {1, 1, 1}, 0, nullptr, 12}}));
}

}  // namespace
}  // namespace tarsia::jit

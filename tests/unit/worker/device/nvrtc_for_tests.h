// The CUDA that the tests of device code use: what the machine has, or the wheels in the checkout's .venv.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/cuda/cuda_parts.h"
#include "base/diagnostic.h"
#include "jit/worker/device/device_compiler.h"

namespace tarsia::jit {

inline const CudaParts& cuda_for_tests() {
  static const CudaParts parts = [] {
    std::error_code ignored;
    if (!std::getenv("TARSIA_SITE_PACKAGES"))
      for (const auto& lib :
           std::filesystem::directory_iterator(TARSIA_TEST_SOURCE_DIR "/.venv/lib", ignored))
        add_site_packages((lib.path() / "site-packages").string());
    return find_cuda_parts();
  }();
  return parts;
}

/// Tests that need NVRTC and the CUDA headers derive from this.
class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    const CudaParts& cuda = cuda_for_tests();
    if (cuda.nvrtc.empty())
      GTEST_SKIP() << "NVRTC is not installed here; TARSIA_SITE_PACKAGES may name a folder";
    if (cuda.include_dirs.empty()) GTEST_SKIP() << "the CUDA headers are not installed here";
  }

  static DeviceRequest request(std::string text) {
    DeviceRequest request;
    request.main = {"kernels.cu", std::move(text)};
    request.cuda = cuda_for_tests();
    request.archs = {"sm_90"};
    return request;
  }

  DeviceResult compile(const DeviceRequest& request) { return compiler.compile(request); }
  DeviceResult compile(std::string text) { return compile(request(std::move(text))); }

  DeviceCompiler compiler;
};

}  // namespace tarsia::jit

// What the C++ tests of GPUs share.
#pragma once

#include <gtest/gtest.h>
#include <tarsia/tarsia.h>

#include <vector>

/// A test that is skipped where there is no GPU.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (tarsia_device_count() == 0) GTEST_SKIP() << "needs a GPU";
  }
};

template <class T = float>
tarsia::Tensor on_gpu(const std::vector<T>& values) {
  return tarsia::copy_to(tarsia::tensor<T>(values), tarsia::gpu_device());
}

// Sparse tensors on a GPU for ops that take dense ones alone. The op is the program's own, so nothing is
// compiled.
#include <gtest/gtest.h>
#include <tarsia/tarsia.h>

#include <dlfcn.h>

#include <complex>
#include <string>
#include <vector>

#include "tests/gpu/op/on_gpu.h"

namespace {

using tarsia::AnyTensor;
using tarsia::SparseTensor;
using tarsia::Tensor;

/// y = x, in forward and backward. `sparse`: inference says that y is stored as x.
struct CopyOp {
  explicit CopyOp(const char* name, bool sparse) {
    for (int pass : {0, 1}) {
      implementations[pass].size = sizeof(tarsia_implementation);
      implementations[pass].pass = static_cast<uint32_t>(pass);
      implementations[pass].device_type = TARSIA_GPU;
      implementations[pass].requests = 1u << TARSIA_REQUEST_WRITE;
      implementations[pass].name = "";
      implementations[pass].run = &run;
    }
    op.size = sizeof op;
    op.name = name;
    op.description = op.location = "";
    op.n_inputs = op.n_outputs = 1;
    op.inputs = &x;
    op.outputs = &y;
    op.n_implementations = 2;
    op.implementations = implementations;
    if (sparse) {
      op.flags = TARSIA_OP_INFERS_STORAGE;
      op.infer = [](void*, const tarsia_bind_info* info) {
        info->outputs[0] = info->inputs[0];
        return 0;
      };
    }
    const tarsia_op* described = &op;
    EXPECT_EQ(tarsia_define_ops(name, &described, 1, [](void*) {}, nullptr, &library), 0);
  }
  ~CopyOp() {
    tarsia_library_unload(library);
    tarsia_library_release(library);
  }

  static int32_t run(void*, const tarsia_op_context* c) {
    static auto* const copy = reinterpret_cast<int (*)(void*, const void*, size_t, void*)>(
        dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyAsync"));
    size_t bytes = c->outputs[0]->dtype.bits / 8u;
    for (int i = 0; i < c->outputs[0]->ndim; ++i) bytes *= static_cast<size_t>(c->outputs[0]->shape[i]);
    return copy(c->outputs[0]->data, c->inputs[0]->data, bytes, c->stream);
  }

  tarsia_port x{"x", "", 0}, y{"y", "", 0};
  tarsia_implementation implementations[2]{};
  tarsia_op op{};
  tarsia_library* library = nullptr;
};

class GpuStorageFallback : public OnGpu {};

template <class T>
std::vector<T> from_gpu(const Tensor& x) {
  return tarsia::to_vector<T>(tarsia::copy_to(x, tarsia::cpu_device()));
}

/// 0 1 0 0
/// 0 0 0 0
/// 2 0 0 3, whose last element is stored in two halves
template <class T>
SparseTensor csr() {
  return SparseTensor::csr(on_gpu<T>({T(1), T(2), T(1), T(2)}), on_gpu<int64_t>({1, 0, 3, 3}),
                           on_gpu<int64_t>({0, 1, 1, 4}), {3, 4});
}

template <class T>
void dense_of_csr_is_right() {
  const tarsia::BoundOp bound = tarsia::Op("gpu_dense_copy").bind_any({csr<T>()});
  EXPECT_EQ(bound.conversions(), std::vector<std::string>{"input 'x': csr -> dense"});
  const Tensor y = std::get<Tensor>(bound.run_any({csr<T>()}).at(0));
  EXPECT_EQ(from_gpu<T>(y),
            (std::vector<T>{T(0), T(1), T(0), T(0), T(0), T(0), T(0), T(0), T(2), T(0), T(0), T(3)}));
}

TEST_F(GpuStorageFallback, csr_is_made_dense_and_what_is_stored_twice_is_added) {
  const CopyOp op("gpu_dense_copy", false);
  dense_of_csr_is_right<float>();
  dense_of_csr_is_right<double>();
  dense_of_csr_is_right<int8_t>();
  dense_of_csr_is_right<int16_t>();
  dense_of_csr_is_right<int32_t>();
  dense_of_csr_is_right<int64_t>();
}

TEST_F(GpuStorageFallback, large_and_empty_matrices) {
  const CopyOp op("gpu_dense_copy", false);
  constexpr int64_t k_rows = 70'000, k_columns = 33;
  std::vector<float> values, wanted(k_rows * k_columns);
  std::vector<int64_t> indices, indptr{0};
  for (int64_t row = 0; row < k_rows; ++row) {
    for (int64_t column = row % 7; column < k_columns; column += 7) {
      values.push_back(static_cast<float>(row + column));
      indices.push_back(column);
      wanted[static_cast<size_t>(row * k_columns + column)] = values.back();
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  const SparseTensor x =
      SparseTensor::csr(on_gpu(values), on_gpu(indices), on_gpu(indptr), {k_rows, k_columns});
  const tarsia::BoundOp bound = tarsia::Op("gpu_dense_copy").bind_any({x});
  EXPECT_EQ(from_gpu<float>(std::get<Tensor>(bound.run_any({x}).at(0))), wanted);
  const SparseTensor none =
      SparseTensor::csr(on_gpu<float>({}), on_gpu<int64_t>({}), on_gpu<int64_t>({0, 0, 0}), {2, 3});
  const tarsia::BoundOp empty = tarsia::Op("gpu_dense_copy").bind_any({none});
  EXPECT_EQ(from_gpu<float>(std::get<Tensor>(empty.run_any({none}).at(0))), std::vector<float>(6));
}

TEST_F(GpuStorageFallback, row_sparse_tensors_and_sparse_outputs) {
  const CopyOp op("gpu_sparse_copy", true);
  const Tensor values = tarsia::copy_to(tarsia::tensor<float>({1, 2, 3, 4}, {2, 2}), tarsia::gpu_device());
  const SparseTensor x = SparseTensor::row_sparse(values, on_gpu<int64_t>({1, 3}), {5, 2});
  const tarsia::BoundOp bound = tarsia::Op("gpu_sparse_copy").bind_any({x});
  const std::vector<AnyTensor> y = bound.run_any({x});
  EXPECT_EQ(from_gpu<float>(std::get<SparseTensor>(y.at(0)).values), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(from_gpu<int64_t>(std::get<SparseTensor>(y.at(0)).indices), (std::vector<int64_t>{1, 3}));
  const auto dx = std::get<SparseTensor>(bound.backward_any(y, {x}, y).at(0));
  EXPECT_EQ(from_gpu<float>(dx.values), (std::vector<float>{1, 2, 3, 4}));
  const auto z = std::get<SparseTensor>(
      tarsia::Op("gpu_sparse_copy").bind_any({csr<float>()}).run_any({csr<float>()}).at(0));
  EXPECT_EQ(from_gpu<float>(z.values), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(from_gpu<int64_t>(z.indices), (std::vector<int64_t>{1, 0, 3}));
  EXPECT_EQ(from_gpu<int64_t>(z.indptr), (std::vector<int64_t>{0, 1, 1, 3}));
}

template <class T>
void sums_are_right() {
  const Tensor x = on_gpu<T>({T(1), T(2), T(3)}), y = on_gpu<T>({T(10), T(20), T(30)});
  const std::vector<Tensor> in{x}, out{y};
  const std::vector<uint8_t> add{TARSIA_REQUEST_ADD};
  tarsia::Op("gpu_dense_copy").bind(in).run(in, out, add);
  EXPECT_EQ(from_gpu<T>(y), (std::vector<T>{T(11), T(22), T(33)}));
}

TEST_F(GpuStorageFallback, the_request_add_of_dense_tensors) {
  const CopyOp op("gpu_dense_copy", false);
  sums_are_right<float>();
  sums_are_right<double>();
  sums_are_right<int8_t>();
  sums_are_right<int64_t>();
}

}  // namespace

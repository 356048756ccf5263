// Ops with sparse tensors, as C++ programs call them.
#include <gmock/gmock.h>
#include <tarsia/tarsia.h>

#include <string>
#include <variant>
#include <vector>

#include "tests/unit/api/error_of.h"

namespace {

using tarsia::AnyTensor;
using tarsia::SparseTensor;
using tarsia::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

/// [[0, 1], [2, 3], [0, 0]]
SparseTensor csr() {
  return SparseTensor::csr(tarsia::tensor<float>({1, 2, 3}), tarsia::tensor<int64_t>({1, 0, 1}),
                           tarsia::tensor<int64_t>({0, 1, 3, 3}), {3, 2});
}

class SparseOps : public testing::Test {
 protected:
  const tarsia::Library lib = tarsia::load(TARSIA_TEST_MODULES "/mxnet_sparse.so");
  const tarsia::Op transpose{"mx_transpose_p"};
};

TEST_F(SparseOps, csr_goes_in_and_out) {
  const tarsia::BoundOp bound = transpose.bind_any({csr()});
  for (int i = 0; i < 2; ++i) {
    const auto y = std::get<SparseTensor>(bound.run_any({csr()}).at(0));
    EXPECT_EQ(y.storage, TARSIA_CSR);
    EXPECT_THAT(y.shape, ElementsAre(2, 3));
    EXPECT_THAT(tarsia::to_vector<float>(y.values), ElementsAre(2, 1, 3));
    EXPECT_THAT(tarsia::to_vector<int64_t>(y.indices), ElementsAre(1, 0, 1));
    EXPECT_THAT(tarsia::to_vector<int64_t>(y.indptr), ElementsAre(0, 1, 3));
  }
}

TEST_F(SparseOps, row_sparse_goes_in_and_out_and_has_gradients) {
  const SparseTensor x = SparseTensor::row_sparse(tarsia::tensor<float>({1, 2, 3, 4}, {2, 2}),
                                                  tarsia::tensor<int64_t>({0, 2}), {3, 2});
  const tarsia::BoundOp bound = transpose.bind_any({x});
  const std::vector<AnyTensor> y = bound.run_any({x});
  const auto& made = std::get<SparseTensor>(y.at(0));
  EXPECT_THAT(made.shape, ElementsAre(2, 3));
  EXPECT_THAT(tarsia::to_vector<int64_t>(made.indices), ElementsAre(0, 1));
  EXPECT_THAT(tarsia::to_vector<float>(made.values), ElementsAre(1, 0, 3, 2, 0, 4));
  const auto dx = std::get<SparseTensor>(bound.backward_any(y, {x}, y).at(0));
  EXPECT_THAT(dx.shape, ElementsAre(3, 2));
  EXPECT_EQ(dx.storage, TARSIA_ROW_SPARSE);
}

TEST_F(SparseOps, what_does_not_fit_is_an_error) {
  const tarsia::BoundOp bound = transpose.bind_any({csr()});
  const Tensor dense = tarsia::tensor<float>({0, 1, 2, 3, 0, 0}, {3, 2});
  EXPECT_THAT(error_of<tarsia::ArgumentError>([&] { bound.run_any({dense}); }),
              HasSubstr("input 0 is dense; the op is bound to a CSR"));
  EXPECT_THAT(error_of<tarsia::ArgumentError>([&] { bound({dense}); }), HasSubstr("use run_any"));
  EXPECT_THAT(error_of<tarsia::ArgumentError>([&] { bound.run_any({}); }), HasSubstr("is missing"));
  SparseTensor wrong = csr();
  wrong.indptr = tarsia::tensor<int64_t>({0, 1});
  EXPECT_THAT(error_of<tarsia::ArgumentError>([&] { bound.run_any({wrong}); }), HasSubstr("rows + 1 indptr"));
  wrong = csr();
  wrong.indices = tarsia::tensor<int32_t>({1, 0, 1});
  EXPECT_THAT(error_of<tarsia::ArgumentError>([&] { bound.run_any({wrong}); }), HasSubstr("int64"));
}

}  // namespace

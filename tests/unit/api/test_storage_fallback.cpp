// Sparse tensors for ops that take dense ones alone, as C++ programs call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tarsia/tarsia.h>

#include <string>

namespace {

using tarsia::AnyTensor;
using tarsia::BoundOp;
using tarsia::Op;
using tarsia::SparseTensor;
using tarsia::Tensor;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<float> elements(const AnyTensor& x) {
  const auto* dense = std::get_if<Tensor>(&x);
  return tarsia::to_vector<float>(dense ? *dense : std::get<SparseTensor>(x).values);
}

std::vector<int64_t> numbers(const Tensor& x) {
  return tarsia::to_vector<int64_t>(x);
}

class StorageFallback : public testing::Test {
 protected:
  const tarsia::Library lib = tarsia::load(TARSIA_TEST_MODULES "/implementations.so");
  /// 0 1 0
  /// 0 0 0
  /// 2 0 3, or of two rows without the middle one.
  static SparseTensor csr(int rows = 3) {
    return rows == 3 ? SparseTensor::csr(tarsia::tensor<float>({1, 2, 3}), tarsia::tensor<int64_t>({1, 0, 2}),
                                         tarsia::tensor<int64_t>({0, 1, 1, 3}), {3, 3})
                     : SparseTensor::csr(tarsia::tensor<float>({1, 2, 3}), tarsia::tensor<int64_t>({1, 0, 2}),
                                         tarsia::tensor<int64_t>({0, 1, 3}), {2, 3});
  }
};

TEST_F(StorageFallback, an_op_that_says_nothing_of_storage_gets_dense_inputs) {
  const BoundOp bound = Op("test_dense_double").bind_any({csr()});
  EXPECT_THAT(bound.conversions(), ElementsAre("input 'x': csr -> dense"));
  EXPECT_THAT(bound.inplace(), IsEmpty());
  const std::vector<AnyTensor> y = bound.run_any({csr()});
  EXPECT_THAT(elements(y.at(0)), ElementsAre(0, 2, 0, 0, 0, 0, 4, 0, 6));
  EXPECT_THAT(bound.conversions(TARSIA_BACKWARD),
              ElementsAre("input 'x': csr -> dense", "gradient of input 'x': dense -> csr"));
  const auto dx = std::get<SparseTensor>(bound.backward_any(y, {csr()}, y).at(0));
  EXPECT_THAT(elements(dx), ElementsAre(4, 8, 12));
  EXPECT_THAT(numbers(dx.indices), ElementsAre(1, 0, 2));
  EXPECT_THAT(numbers(dx.indptr), ElementsAre(0, 1, 1, 3));
}

TEST_F(StorageFallback, outputs_that_are_inferred_sparse_are_made_so) {
  const Op op("test_double");
  const BoundOp native = op.bind_any({csr()}), converted = op.bind_any({csr(2)});
  EXPECT_EQ(native.implementation(), "sparse");
  EXPECT_THAT(native.conversions(), IsEmpty());
  EXPECT_THAT(elements(native.run_any({csr()}).at(0)), ElementsAre(200, 400, 600));
  EXPECT_EQ(converted.implementation(), "dense");
  EXPECT_THAT(converted.conversions(), ElementsAre("input 'x': csr -> dense", "output 'y': dense -> csr"));
  const auto y = std::get<SparseTensor>(converted.run_any({csr(2)}).at(0));
  EXPECT_THAT(elements(y), ElementsAre(2, 4, 6));
  EXPECT_THAT(numbers(y.indptr), ElementsAre(0, 1, 3));
}

TEST_F(StorageFallback, the_passes_convert_each_for_itself) {
  const BoundOp bound = Op("test_double").bind_any({csr()});
  EXPECT_THAT(bound.conversions(), IsEmpty());
  EXPECT_EQ(bound.conversions(TARSIA_BACKWARD).size(), 4u);
  const std::vector<AnyTensor> y = bound.run_any({csr()});
  EXPECT_THAT(elements(bound.backward_any(y, {csr()}, y).at(0)), ElementsAre(400, 800, 1200));
}

TEST_F(StorageFallback, row_sparse_tensors_are_converted_too) {
  const SparseTensor x = SparseTensor::row_sparse(tarsia::tensor<float>({1, 2, 3, 4}, {2, 2}),
                                                  tarsia::tensor<int64_t>({1, 3}), {5, 2});
  const BoundOp bound = Op("test_double").bind_any({x});
  EXPECT_THAT(bound.conversions(),
              ElementsAre("input 'x': row_sparse -> dense", "output 'y': dense -> row_sparse"));
  const auto y = std::get<SparseTensor>(bound.run_any({x}).at(0));
  EXPECT_THAT(elements(y), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(numbers(y.indices), ElementsAre(1, 3));
}

TEST_F(StorageFallback, what_is_stored_twice_is_added_and_empty_tensors_are_zeros) {
  const SparseTensor twice =
      SparseTensor::csr(tarsia::tensor<float>({1, 2, 4, 8}), tarsia::tensor<int64_t>({1, 0, 1, 1}),
                        tarsia::tensor<int64_t>({0, 3, 4}), {2, 2});
  const Op op("test_dense_double");
  EXPECT_THAT(elements(op.bind_any({twice}).run_any({twice}).at(0)), ElementsAre(4, 10, 0, 16));
  const SparseTensor empty = SparseTensor::csr(tarsia::tensor<float>(std::vector<float>()),
                                               tarsia::tensor<int64_t>(std::vector<int64_t>()),
                                               tarsia::tensor<int64_t>({0, 0, 0}), {2, 2});
  EXPECT_THAT(elements(op.bind_any({empty}).run_any({empty}).at(0)), ElementsAre(0, 0, 0, 0));
}

TEST_F(StorageFallback, a_column_that_is_not_there_is_an_error) {
  const SparseTensor bad = SparseTensor::csr(tarsia::tensor<float>({1}), tarsia::tensor<int64_t>({7}),
                                             tarsia::tensor<int64_t>({0, 1, 1}), {2, 2});
  const BoundOp bound = Op("test_dense_double").bind_any({bad});
  EXPECT_THROW(
      {
        try {
          bound.run_any({bad});
        } catch (const tarsia::ArgumentError& e) {
          EXPECT_STREQ(e.what(), "a sparse tensor has the column 7, and there are 2");
          throw;
        }
      },
      tarsia::ArgumentError);
}

TEST_F(StorageFallback, conversions_are_counted) {
  const auto count = [] {
    char* json = nullptr;
    EXPECT_EQ(tarsia_stats(&json), 0);
    const std::string text = json;
    tarsia_free(json);
    const size_t at = text.find("\"tensors\":");
    return at == text.npos ? -1 : std::stol(text.substr(at + 10));
  };
  const BoundOp bound = Op("test_double").bind_any({csr(2)});
  const long before = count();
  bound.run_any({csr(2)});
  EXPECT_EQ(count(), before + 2);
}

TEST_F(StorageFallback, explain_tells_of_it) {
  EXPECT_THAT(
      Op("test_dense_double").explain({csr()}),
      testing::HasSubstr("forward: 'cpu #1', with its sparse tensors made dense\n  input 'x': csr -> dense"));
}

}  // namespace

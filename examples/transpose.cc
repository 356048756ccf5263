// Transposes CSR and row-sparse matrices: the op says how many elements its output has. CPU, float32.
// Test it:        tarsia check examples/transpose.cc
// From Python:    tarsia.load_inline(open("examples/transpose.cc").read())
//                 y = tarsia.ops.sparse_transpose(scipy_csr_matrix)       # or tarsia.RowSparse(data, indices, shape)
#include <tarsia/op.h>

#include <vector>

// 1. CSR: count the elements of each column, turn the counts into where the new rows start, and put the elements there.
static void transpose_csr(tarsia::Context& c, const tarsia::Sparse& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  const tarsia::Sparse y = c.allocate_sparse(0, x.count());
  std::vector<int64_t> next(columns + 1);
  for (int64_t i = 0; i < x.count(); ++i) ++next[x.indices()[i] + 1];
  for (int64_t k = 0; k < columns; ++k) next[k + 1] += next[k];
  for (int64_t k = 0; k <= columns; ++k) y.indptr()[k] = next[k];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = x.indptr()[row]; i < x.indptr()[row + 1]; ++i) {
      const int64_t at = next[x.indices()[i]]++;
      y.indices()[at] = row;
      y.values<float>()[at] = x.values<float>()[i];
    }
}

// 2. Row-sparse: the rows of the result are the columns that hold something other than zero.
static void transpose_rows(tarsia::Context& c, const tarsia::Sparse& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  std::vector<int64_t> wanted;
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t i = 0; i < x.count(); ++i)
      if (x.values<float>()[i * columns + column] != 0) {
        wanted.push_back(column);
        break;
      }
  const tarsia::Sparse y = c.allocate_sparse(0, int64_t(wanted.size()));
  for (size_t k = 0; k < wanted.size(); ++k) {
    y.indices()[k] = wanted[k];
    for (int64_t row = 0; row < rows; ++row) y.values<float>()[k * rows + row] = 0;
    for (int64_t i = 0; i < x.count(); ++i)
      y.values<float>()[k * rows + x.indices()[i]] = x.values<float>()[i * columns + wanted[k]];
  }
}

static void transpose(tarsia::Context& c) {
  const tarsia::Sparse x = c.sparse_input(0);
  if (x.storage() == TARSIA_CSR)
    transpose_csr(c, x);
  else
    transpose_rows(c, x);
}

// 3. The output is stored as the input is. Dense inputs are refused. The gradient's transpose is the input's gradient.
TARSIA_OP(sparse_transpose)
    .infer([](tarsia::BindInfo& i) {
      tarsia::Meta x = i.input(0), y = i.output(0);
      if (x.storage() == TARSIA_DENSE) throw tarsia::TypeError("takes CSR and row-sparse matrices");
      if (x.has_shape()) {
        if (x.ndim() != 2) throw tarsia::ValueError("takes matrices");
        y.set_shape({x.size(1), x.size(0)});
      }
      x.set_dtype(tarsia::float32);
      y.set_dtype(tarsia::float32);
      y.set_storage(x.storage());
    })
    .forward("cpu", transpose)
    .sparse()
    .backward("cpu", transpose)
    .sparse();

// Matrix product C = A·B with its gradient: without state, and with a state that counts its calls. CPU, float32.
// Test it:        tarsia check examples/gemm.cc
// From Python:    tarsia.load_inline(open("examples/gemm.cc").read());  c = tarsia.ops.gemm(a, b)
#include <tarsia/op.h>

// 1. C = op(A)·op(B), where op transposes on request: forward and both gradients are such products.
static void multiply(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c, int64_t rows, int64_t inner,
                     int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += (transpose_a ? a[k * rows + i] : a[i * inner + k]) * (transpose_b ? b[j * inner + k] : b[k * columns + j]);
      c[i * columns + j] = sum;
    }
}

// 2. Inference sees what is known, and fills in what follows from it: B's rows are A's columns.
static void infer(tarsia::BindInfo& i) {
  tarsia::Meta a = i.input("a"), b = i.input("b"), c = i.output("c");
  if ((a.has_shape() && a.ndim() != 2) || (b.has_shape() && b.ndim() != 2)) throw tarsia::ValueError("takes matrices");
  if (a.has_shape() && b.has_shape()) {
    if (b.size(0) < 0) b.set_shape({a.size(1), b.size(1)});
    if (a.size(1) < 0) a.set_shape({a.size(0), b.size(0)});
    if (a.size(1) != b.size(0))
      throw tarsia::ValueError(tarsia::Message("the inner extents differ: ") << a << " and " << b);
    c.set_shape({a.size(0), b.size(1)});
  }
  for (tarsia::Meta m : {a, b, c}) m.set_dtype(tarsia::float32);
}

// 3. Forward; backward gets dC, A, B, C and gives dA = dC·Bᵀ and dB = Aᵀ·dC.
static void forward(tarsia::Context& c) {
  const tarsia::Tensor a = c.input("a"), b = c.input("b");
  multiply(a.data<const float>(), false, b.data<const float>(), false, c.output("c").data<float>(), a.size(0), a.size(1),
           b.size(1));
}
static void backward(tarsia::Context& c) {
  const float* dc = c.out_grad(0).data<const float>();
  const tarsia::Tensor a = c.forward_input(0), b = c.forward_input(1);
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  if (c.in_grad(0)) multiply(dc, false, b.data<const float>(), true, c.in_grad(0).data<float>(), m, n, k);
  if (c.in_grad(1)) multiply(a.data<const float>(), true, dc, false, c.in_grad(1).data<float>(), k, m, n);
}
TARSIA_OP(gemm).input("a").input("b").output("c").infer(infer).forward("cpu", forward).backward("cpu", backward);

// 4. With state: made once for each bound op, from its shapes and attributes, and destroyed with it. A bound op with state runs
//    one call at a time.
struct Calls {
  int64_t n;
};
TARSIA_OP(state_gemm)
    .input("a")
    .input("b")
    .output("c")
    .attribute("start", int64_t(0))
    .describe("what the count of calls starts with; the count is added to C[0]")
    .infer(infer)
    .state([](const tarsia::BindInfo& i) { return new Calls{i.attribute<int64_t>("start")}; })
    .forward("cpu",
             [](tarsia::Context& c) {
               forward(c);
               if (c.output("c").numel()) c.output("c").data<float>()[0] += float(c.state<Calls>().n++);
             })
    .backward("cpu", backward);

"""Ops of a string as operators of PyTorch, trained through torch.compile.

    python examples/torch_ops.py

It runs on the GPU where there is one, from the same source.
"""

SOURCE = r"""
#include <tarsia/elementwise.h>
#include <cmath>

// 1. An op with a gradient, for the CPU and for GPUs: y = x * sigmoid(beta * x).
struct Swish {
  double beta = 1;
  template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x / (1 + exp(-T(beta) * x)); }
};
struct SwishGradient : Swish {
  template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T x, T y) const {
    const T s = 1 / (1 + exp(-T(beta) * x));
    return dy * (s + T(beta) * y * (1 - s));
  }
};
TARSIA_ELEMENTWISE(swish, Swish, SwishGradient).attribute("beta", &Swish::beta);

// 2. Plain functions: rows divided by their length, and the gradient of that. They write into what they are given.
void unit_rows(const float* x, float* y, long rows, long n) {
  for (long r = 0; r < rows; r++) {
    float sum = 1e-12f;
    for (long i = 0; i < n; i++) sum += x[r * n + i] * x[r * n + i];
    for (long i = 0; i < n; i++) y[r * n + i] = x[r * n + i] / std::sqrt(sum);
  }
}
void unit_rows_backward(const float* dy, const float* x, const float* y, float* dx, long rows, long n) {
  for (long r = 0; r < rows; r++) {
    float sum = 1e-12f, dot = 0;
    for (long i = 0; i < n; i++) sum += x[r * n + i] * x[r * n + i], dot += dy[r * n + i] * y[r * n + i];
    for (long i = 0; i < n; i++) dx[r * n + i] = (dy[r * n + i] - dot * y[r * n + i]) / std::sqrt(sum);
  }
}
"""


def main():
    try:
        import torch
    except ImportError:
        return print("PyTorch is not installed")
    import tarsia.torch

    gpu = torch.cuda.is_available()
    lib = tarsia.load_inline({"ops.cu" if gpu else "ops.cc": SOURCE})

    # 3. The op becomes torch.ops.tarsia.swish: schema, shapes for tracing and gradient follow from its declaration.
    swish = tarsia.torch.register(tarsia.op("swish"), vmap=True)
    print(swish.default._schema)
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda x: swish(x, beta=2.0), [x])
    torch.library.opcheck(swish.default, (x,), {"beta": 2.0})

    # 4. Two functions become one that is differentiable: arguments of backward are found by their names.
    unit_rows = tarsia.torch.function(lib.unit_rows, lib.unit_rows_backward, "unit_rows",
                                      outputs=lambda x, rows, n: torch.empty_like(x))
    print(unit_rows.default._schema)

    # 5. A model of them, compiled as a whole and trained.
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 32), torch.nn.Linear(32, 2)

        def forward(self, x):
            y = swish(self.first(x), beta=1.5)
            y = unit_rows(y.cpu(), *y.shape).to(y.device)  # its source has no kernel
            return self.second(y)

    torch.manual_seed(0)
    device = "cuda" if gpu else "cpu"
    model = Model().to(device)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    points = torch.randn(256, 2, device=device)
    inside = (points.norm(dim=1) < 1).long()
    for _ in range(100):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(compiled(points), inside)
        loss.backward()
        optimizer.step()
    accuracy = (compiled(points).argmax(1) == inside).float().mean().item()
    print(f"loss {loss.item():.3f}, {accuracy:.0%} right")
    assert accuracy > 0.9

    # 6. An exported program calls the same operator.
    program = torch.export.export(model, (points,))
    torch.testing.assert_close(program.module()(points), model(points))
    print("ok")


if __name__ == "__main__":
    main()

"""An op written in Python around inline kernels: attributes, shapes, a gradient, state.

    python examples/python_op.py
"""

import numpy as np

import tarsia
from tarsia.testing import assert_op

# 1. What does the work: here of one line each, on the CPU and on GPUs; functions and kernels of a source will do as well.
normalise = tarsia.elementwise("T x, T mean_of_squares, float epsilon", "T y", "y = x * rsqrt(mean_of_squares + epsilon)", "normalise")
mean_of_squares = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = a / n", "0", "mean_of_squares")
gradient = tarsia.elementwise("T dy, T x, T m, T dot, float epsilon", "T dx",
                              "T r = rsqrt(m + epsilon); dx = r * (dy - x * dot * r * r)", "gradient")
mean_of_products = tarsia.reduction("T p, T q", "T y", "p * q", "a + b", "y = a / n", "0", "mean_of_products")


# 2. The op. Annotated members are attributes; forward takes the inputs and then the outputs, which it writes to.
@tarsia.define_op
class rms_normalise:
    """Divides rows by the root of the mean of their squares."""

    epsilon: float = 1e-6

    def forward(self, x, y):
        normalise(x, mean_of_squares(x, axis=-1, keepdims=True), self.epsilon, out=y)

    # 3. The gradients of the outputs, the inputs, the outputs, and the gradients of the inputs, which it writes.
    def backward(self, dy, x, y, dx):
        m = mean_of_squares(x, axis=-1, keepdims=True)
        gradient(dy, x, m, mean_of_products(dy, x, axis=-1, keepdims=True), self.epsilon, out=dx)


x = np.array([[3, 4], [1, 1]], np.float32)
print(rms_normalise(x))  # also tarsia.ops.rms_normalise
bound = tarsia.op("rms_normalise").bind(x, epsilon=1e-3)
y = bound(x)
(dx,) = bound.backward(np.ones_like(x), x, y)

# 4. The same checks as for ops in C++: write requests, inference, the gradient against finite differences.
assert_op("rms_normalise", shapes=[(3, 5)], dtypes="float32")


# 5. A shape of its own, from those of the inputs. A function is an op too; its keyword-only parameters are attributes.
@tarsia.define_op(infer_shape=lambda x, *, times: (x[0] * times, *x[1:]))
def stack(x, y, *, times: int = 2):
    """Puts copies of a tensor one below the other."""
    for k in range(times):
        y[k * len(x) : (k + 1) * len(x)] = x


print(stack(x, times=3).shape)


# 6. State that belongs to a binding: an instance is made for each.
@tarsia.define_op
class running_mean:
    stateful = True
    momentum: float = 0.5

    def __init__(self):
        self.mean = None

    def forward(self, x, y):
        self.mean = x.copy() if self.mean is None else (1 - self.momentum) * self.mean + self.momentum * x
        y[...] = self.mean


mean = tarsia.op("running_mean").bind(x)
mean(x)
print(mean(3 * x)[0])


# 7. Sparse tensors: how large the output is, the op finds out. Row-sparse ones here; scipy.sparse.csr_matrix and torch.sparse_csr alike.
@tarsia.define_op
class rows_above:
    """Keeps the rows that have an element above a threshold."""

    sparse = True
    threshold: float = 0.0

    def infer_storage(self, x):
        return "row_sparse"

    def forward(self, x, y):  # dense
        rows = np.flatnonzero((x > self.threshold).any(1))
        y[...] = tarsia.RowSparse(x[rows], rows, x.shape)

    # 8. Another implementation, which takes the sparse tensors.
    @tarsia.implementation("forward", when=lambda self, x, y: x.storage == "row_sparse", sparse=True, priority=1)
    def forward_sparse(self, x, y):
        kept = np.flatnonzero((x.data > self.threshold).any(1))
        values, indices, _ = y.allocate(len(kept))  # memory to be filled, by a kernel say
        values[...], indices[...] = x.data[kept], x.indices[kept]


y = rows_above(x, threshold=1)
print(y, rows_above(y, threshold=3.5).indices)
print("ok")

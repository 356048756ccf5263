"""Elementwise ops and reductions from one line of C++ each, on NumPy arrays and, where there are, on GPU tensors.

    python examples/elementwise.py
"""

import numpy as np

import tarsia

# 1. An operation is a line of C++ over elements. T is the type of the tensors that are passed.
saxpy = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "saxpy")
x = np.arange(12, dtype=np.float32).reshape(3, 4)
print(saxpy(x, x[0], 2.0))  # shapes broadcast; the result is a NumPy array
print(saxpy(x.astype(np.float16), 1, 0.5).dtype)  # compiled for float16 when it is first met

# 2. Any strides, and into memory that is there: views, transposed arrays, the input itself.
out = np.zeros((4, 3), np.float32)
saxpy(x.T, x.T[:, ::-1], 1.0, out=out)
saxpy(x, x, 1.0, out=x)

# 3. Several outputs, several types, functions of one's own.
parts = tarsia.elementwise("T x", "int64 whole, T rest", "whole = floored(x); rest = x - whole", "parts",
                           preamble="TARSIA_HOST_DEVICE inline long long floored(double x) { return (long long)(x - (x < 0)); }")
print(parts(np.array([2.5, -0.25])))

# 4. A reduction: what is taken of each element, how two values become one, what is made of the last.
norm = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
print(norm(x, axis=-1), norm(x), norm(x, axis=0, keepdims=True).shape)

# 5. Values may be structs: the largest element and where it is. j counts the elements that are reduced.
largest = tarsia.reduction("T x", "T value, int64 at", "Best{(float)x, j}", "a.x > b.x || (a.x == b.x && a.at < b.at) ? a : b",
                           "value = a.x; at = a.at", None, "largest", reduce_type="Best",
                           preamble="struct Best { float x; long long at; };")
value, at = largest(x, axis=1)
assert (at == x.argmax(axis=1)).all()
print(value, at)

# 6. The same line on a GPU: on the caller's stream, in the tensors' own framework.
if tarsia.doctor()["works"].get("gpu"):
    import torch

    y = torch.randn(1 << 20, device="cuda")
    assert torch.allclose(saxpy(y, 1, 2.0), 2 * y + 1)
    assert torch.allclose(norm(y), y.norm())
    print("the same on", torch.cuda.get_device_name())
else:
    print("no GPU here: this is what would be compiled for one,",
          f"{len(saxpy.source('float32', 'float32', 'float', 'float32', gpu=True).splitlines())} lines of CUDA")

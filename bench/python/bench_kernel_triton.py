"""Triton's kernels for bench_kernel.py: Triton reads them from their file."""

import triton
import triton.language as tl


@triton.jit
def empty(x, y, n: tl.int32):
    pass


@triton.jit
def many(a, b, c, d, e, f, g, h, i):
    pass

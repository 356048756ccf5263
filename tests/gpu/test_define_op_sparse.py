"""Sparse tensors on the GPU in ops written in Python."""

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

KERNELS = r"""
__global__ void doubled_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }
void doubled(const float* x, float* y, long n, cudaStream_t s) { doubled_kernel<<<tarsia::blocks(n), 256, 0, s>>>(x, y, n); }
"""


@pytest.fixture
def ops():
    lib = inline("#include <tarsia/op.h>\n" + KERNELS, name="gpu_sparse_kernels")

    @tarsia.define_op(name="gpu_double_csr", sparse=True, infer_storage=lambda x: x)
    def double_csr(x, y):
        values, indices, indptr = tarsia.sparse_parts(x)
        made = y.allocate(len(indices))
        lib.doubled(values, made[0], len(values))
        made[1].copy_(indices)
        made[2].copy_(indptr)

    @tarsia.define_op(name="gpu_triple_csr", sparse=True, infer_storage=lambda x: x, backward=lambda dy, x, y, dx: dx.__setitem__(..., 3 * dy))
    def triple_csr(x, y):
        y[...] = 3 * x

    return double_csr, triple_csr


def test_csr_goes_in_and_out(ops):
    dense = torch.tensor([[0, 1, 0], [2, 0, 3]], dtype=torch.float32, device="cuda")
    for op, factor in zip(ops, (2, 3)):
        y = op(dense.to_sparse_csr())
        assert y.layout == torch.sparse_csr and y.device == dense.device and torch.equal(y.to_dense(), factor * dense)
    bound = tarsia.op("gpu_triple_csr").bind(dense.to_sparse_csr())
    (dx,) = bound.backward([dense.to_sparse_csr()], [dense.to_sparse_csr()], [bound(dense.to_sparse_csr())])
    assert torch.equal(dx.to_dense(), 3 * dense)


def test_on_the_current_stream(ops):
    stream = torch.cuda.Stream()
    x = torch.eye(1000, device="cuda").to_sparse_csr()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        y = ops[1](ops[0](x))
    stream.synchronize()
    assert y.values().unique().tolist() == [6]

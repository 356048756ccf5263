"""C extensions of early PyTorch on a GPU: their kernels, THC's functions, the stream, errors."""

import pathlib

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")
import tarsia.torch  # noqa: E402

SOURCES = pathlib.Path(__file__).parents[2] / "python" / "c_extensions" / "sources"

SOURCE = r"""
#include <THC/THC.h>
extern THCState *state;

void arithmetic(THCudaTensor *a, THCudaTensor *b, THCudaTensor *out) {
  THCudaTensor *product = THCudaTensor_new(state);
  THCudaTensor_cmul(state, product, a, b);
  THCudaTensor_resizeAs(state, out, a);
  THCudaTensor_sigmoid(state, out, product);
  THCudaTensor_add(state, out, out, 1);
  THCudaTensor_free(state, product);
}
double sum(THCudaTensor *t) { return THCudaTensor_sumall(state, t); }
long most(THCudaLongTensor *t) { return THCudaLongTensor_maxall(state, t); }
void product(THCudaTensor *a, THCudaTensor *b, THCudaTensor *out) {
  THCudaTensor_resize2d(state, out, a->size[0], b->size[1]);
  THCudaTensor_zero(state, out);
  THCudaTensor_addmm(state, out, 1, out, 1, a, b);
}
void gemm(THCudaTensor *a, THCudaTensor *b, THCudaTensor *c) {
  long m = c->size[0], n = c->size[1], k = a->size[1];
  THCudaBlas_Sgemm(state, 'n', 'n', n, m, k, 1, THCudaTensor_data(state, b), n, THCudaTensor_data(state, a), k, 0,
                   THCudaTensor_data(state, c), n);
}
void turn(THCudaTensor *t, THCudaTensor *out) {
  THCudaTensor *turned = THCudaTensor_newTranspose(state, t, 0, 1);
  THCudaTensor *plain = THCudaTensor_newContiguous(state, turned);
  THCudaTensor_resizeAs(state, out, plain);
  THCudaTensor_copy(state, out, plain);
  THCudaTensor_free(state, plain);
  THCudaTensor_free(state, turned);
}
void there_and_back(THLongTensor *host, THCudaTensor *middle, THFloatTensor *back) {
  THCudaTensor_resize1d(state, middle, THLongTensor_nElement(host));
  THCudaTensor_copyLong(state, middle, host);
  THCudaTensor_mul(state, middle, middle, 2);
  THFloatTensor_resize1d(back, THLongTensor_nElement(host));
  THFloatTensor_copyCuda(state, back, middle);
}
void rows(THCudaTensor *t) {
  THCudaTensor *row = THCudaTensor_new(state);
  long i;
  for (i = 0; i < THCudaTensor_size(state, t, 0); ++i) {
    THCudaTensor_select(state, row, t, 0, i);
    THCudaTensor_fill(state, row, (float)i);
  }
  THCudaTensor_free(state, row);
}
float element(THCudaTensor *t) { THCudaTensor_set2d(state, t, 1, 0, 7); return THCudaTensor_get2d(state, t, 1, 0); }
void cmul(THCudaTensor *out, THCudaTensor *a, THCudaTensor *b) { THCudaTensor_cmul(state, out, a, b); }
void floor_sin(THCudaTensor *t, THCudaTensor *out) {
  THCudaTensor_floor(state, out, t);
  THCudaTensor_sin(state, out, out);
}
void lerp(THCudaDoubleTensor *a, THCudaDoubleTensor *b, THCudaDoubleTensor *out) { THCudaDoubleTensor_lerp(state, out, a, b, 0.25); }
void sign(THCudaLongTensor *t, THCudaLongTensor *out) { THCudaLongTensor_sign(state, out, t); }
double product_of_all(THCudaTensor *t) { return THCudaTensor_prodall(state, t); }
float second(THCudaTensor *t) {
  THCudaTensor *view = THCudaTensor_newWithStorage1d(state, t->storage, t->storageOffset, 2, t->stride[0]);
  float seen = THCudaTensor_get1d(state, view, 1);
  THCudaTensor_free(state, view);
  return seen;
}
void check(void) { THCudaCheck(cudaErrorInvalidValue); }
"""


def test_the_kernels_of_an_extension_run_on_the_current_stream():
    shift = tarsia.torch.create_extension("shift", headers="shift.h", sources=["shift.c", "shift_kernel.cu"],
                                          relative_to=str(SOURCES / "build.py"))
    inline("int unused() { return 0; }")  # skips without a GPU
    x = torch.arange(1000., device="cuda")
    y = torch.cuda.FloatTensor()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        assert shift.shift_cuda(x, 2.0, y) == 1
        torch.cuda.current_stream().synchronize()
    assert torch.equal(y, x + 2)
    out = torch.cuda.FloatTensor()
    shift.add_cuda(x.view(10, 100), torch.ones(100, 10, device="cuda").t(), out)
    assert torch.equal(out, x.view(10, 100) + 2)
    host = torch.LongTensor()
    assert shift.largest_cuda(torch.tensor([3, 9, 4], device="cuda"), host) == 9 and host.tolist() == [3, 9, 4]
    with pytest.raises(tarsia.OpValueError, match="argument 1: x has to be contiguous"):
        shift.shift_cuda(x.view(10, 100).t(), 2.0, y)
    with pytest.raises(tarsia.ArgumentValueError, match=r"shift_cuda: argument 'x' .*must be on a GPU.*pass x.cuda\(\)"):
        shift.shift_cuda(x.cpu(), 2.0, y)


def test_the_functions_of_thc():
    lib = inline({"thc.c": SOURCE})
    a, b, out = torch.rand(30, 40, device="cuda"), torch.rand(40, 30, device="cuda").t(), torch.cuda.FloatTensor()
    lib.arithmetic(a, b, out)
    torch.testing.assert_close(out, torch.sigmoid(a * b) + 1)
    assert lib.sum(b) == pytest.approx(b.double().sum().item(), rel=1e-6)
    assert lib.most(torch.tensor([5, -3, 8], device="cuda")) == 8
    for run in (lib.product, lambda x, y, z: lib.gemm(x, y, z.resize_(30, 17))):
        c, right = torch.cuda.FloatTensor(), torch.rand(40, 17, device="cuda")
        run(a, right, c)
        torch.testing.assert_close(c, a.double().mm(right.double()).float(), rtol=1e-5, atol=1e-5)
    lib.turn(a, out)
    assert torch.equal(out, a.t())
    middle, back = torch.cuda.FloatTensor(), torch.FloatTensor()
    lib.there_and_back(torch.arange(5), middle, back)
    assert back.tolist() == middle.tolist() == [0, 2, 4, 6, 8]
    t = torch.zeros(4, 5, device="cuda")
    lib.rows(t)
    assert torch.equal(t, torch.arange(4., device="cuda").view(4, 1).expand(4, 5))
    assert lib.element(t) == 7 and t[1, 0] == 7
    lib.floor_sin(a * 9, out)
    torch.testing.assert_close(out, torch.sin(torch.floor(a * 9)))
    x, y, z = (torch.rand(shape, dtype=torch.float64, device="cuda") for shape in ((3, 4, 5), (5, 4, 3), (0,)))
    lib.lerp(x.transpose(0, 2), y, z)
    torch.testing.assert_close(z, torch.lerp(x.transpose(0, 2), y, 0.25))
    signs = torch.empty(0, dtype=torch.int64, device="cuda")
    lib.sign(torch.tensor([-4, 0, 9], device="cuda"), signs)
    assert signs.tolist() == [-1, 0, 1]
    assert lib.product_of_all(torch.tensor([2., 3, -4], device="cuda")) == -24 and lib.second(torch.arange(6., device="cuda")[::3]) == 3
    short, out = torch.ones(2, device="cuda"), torch.zeros(3, device="cuda")
    with pytest.raises(tarsia.OpValueError, match="other numbers of elements"):
        lib.cmul(out, a, short)
    assert out.shape == (3,)
    with pytest.raises(tarsia.CudaError, match=r"invalid argument \(.*thc.c:\d+\)"):
        lib.check()

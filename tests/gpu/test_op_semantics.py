"""Functors, inner ops and launch errors on a GPU."""

import pathlib

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

SOURCE = (pathlib.Path(__file__).resolve().parents[1] / "python" / "op" / "op_semantics.cc").read_text() + r"""
#include <curand_kernel.h>
__global__ void sem_fill(float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 1; }
TARSIA_OP(sem_bad_launch).forward("gpu", [](tarsia::Context& c) {
  sem_fill<<<1, 4096, 0, c.stream()>>>(c.output(0).data<float>(), c.output(0).numel());
});
// Two ops of other libraries or of this one, on this op's stream, the product in scratch.
TARSIA_OP(sem_composed_gpu).input("a").input("b").forward("gpu", [](tarsia::Context& c) {
  const tarsia::InnerOp product("sem_product", {c.input("a"), c.input("b")});
  const tarsia::Tensor between = product.scratch_output(0, c.device());
  product({c.input("a"), c.input("b")}, {between});
  tarsia::InnerOp("sem_leaky", {between}, {{"slope", 0.5}})({between}, {c.output(0)});
});
__global__ void sem_draw(curandStatePhilox4_32_10_t* states, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = curand_uniform(states + i);
}
TARSIA_OP(sem_random_gpu).forward("gpu", [](tarsia::Context& c) {
  int n = 0;
  auto* states = c.random_states<curandStatePhilox4_32_10_t>(&n);
  if (n != 32768) throw tarsia::ValueError("not 32768 states");
  sem_draw<<<128, 256, 0, c.stream()>>>(states, c.output(0).data<float>(), n);
});
"""


@pytest.fixture(scope="module", autouse=True)
def library():
    return inline(SOURCE, name="op_semantics")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [0, 1, 1000, 1 << 20])
def test_a_functor_gives_on_the_gpu_what_it_gives_on_the_cpu(dtype, n):
    x, g = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    cpu, gpu = (tarsia.op("sem_leaky").bind(t, slope=0.125) for t in (x, x.cuda()))
    y = gpu(x.cuda())
    assert torch.equal(y.cpu(), cpu(x))
    assert torch.equal(gpu.backward(g.cuda(), x.cuda(), y)[0].cpu(), cpu.backward(g, x, cpu(x))[0])
    assert torch.equal(gpu.backward(g.cuda(), x.cuda())[0].cpu(), cpu.backward(g, x, cpu(x))[0])
    out, expected = torch.randn(n).to(dtype), None
    expected = out.clone()
    cpu(x, out=expected, req="add")
    added = out.cuda()
    gpu(x.cuda(), out=added, req="add")
    assert torch.equal(added.cpu(), expected)
    assert gpu(x.cuda(), out=added, req="null") is added and torch.equal(added.cpu(), expected)
    same = x.cuda()
    gpu(same, out=same, req="inplace")
    assert torch.equal(same.cpu(), cpu(x))


def test_inner_ops_run_on_the_callers_stream():
    a, b = torch.randn(1 << 20, device="cuda"), torch.randn(1 << 20, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            y = tarsia.ops.sem_composed_gpu(a, b)
    stream.synchronize()
    assert torch.equal(y, torch.where(a * b > 0, a * b, 0.5 * (a * b)))


def test_a_launch_error_names_the_op_and_leaves_nothing_behind():
    x = torch.ones(8, device="cuda")
    with pytest.raises(tarsia.CudaError, match="op 'sem_bad_launch', forward on GPU 0: .*nvalid"):
        tarsia.ops.sem_bad_launch(x)
    assert tarsia.ops.sem_leaky(x).tolist() == [1] * 8


def test_random_states_of_the_gpu():
    x = torch.zeros(32768, device="cuda")
    tarsia.seed(5)
    first = tarsia.ops.sem_random_gpu(x)
    assert not torch.equal(tarsia.ops.sem_random_gpu(x), first)
    tarsia.seed(5)
    assert torch.equal(tarsia.ops.sem_random_gpu(x), first)
    assert 0.49 < float(first.mean()) < 0.51


def test_sparse_outputs_are_added_to_on_the_gpu():
    lib = inline(r"""
#include <tarsia/op.h>
__global__ void twice(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }
TARSIA_OP(sem_double_gpu).infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); }).forward("gpu", [](tarsia::Context& c) {
  const tarsia::Sparse x = c.sparse_input(0), y = c.allocate_sparse(0, x.count());
  cudaMemcpyAsync(y.indices(), x.indices(), x.count() * 8, cudaMemcpyDeviceToDevice, c.stream());
  cudaMemcpyAsync(y.indptr(), x.indptr(), (x.shape()[0] + 1) * 8, cudaMemcpyDeviceToDevice, c.stream());
  if (x.count()) twice<<<tarsia::blocks(x.count()), 256, 0, c.stream()>>>(x.values<float>(), y.values<float>(), x.count());
}).sparse();
""", name="sem_double_gpu")
    x = torch.tensor([[0, 1.0, 0], [2, 0, 3]]).cuda().to_sparse_csr()
    out = torch.tensor([[5.0, 1, 0], [0, 0, -6]]).cuda().to_sparse_csr()
    bound = tarsia.op("sem_double_gpu").bind(x)
    assert bound(x).to_dense().tolist() == [[0, 2, 0], [4, 0, 6]]
    bound(x, out=out, req="add")
    assert out.to_dense().tolist() == [[5, 3, 0], [4, 0, 0]]
    lib.unload()

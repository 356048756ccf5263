"""Layouts on a GPU: what is copied, what is taken where it lies, and values of graphs that stay in a layout."""

import itertools

import pytest
from gpu_support import inline, require_gpus

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
struct Strided { float* at; long n, c, h, w, sn, sc, sh, sw; };
__global__ void scale_kernel(Strided y, Strided x, const float* s) {
  const long all = x.n * x.c * x.h * x.w;
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < all; i += gridDim.x * (long)blockDim.x) {
    const long l = i % x.w, k = i / x.w % x.h, j = i / x.w / x.h % x.c, b = i / x.w / x.h / x.c;
    y.at[b * y.sn + j * y.sc + k * y.sh + l * y.sw] = x.at[b * x.sn + j * x.sc + k * x.sh + l * x.sw] * s[j];
  }
}
__global__ void half_kernel(float* y, const float* x, long n) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 2;
}
static long long x_at;
long long at_x() { return x_at; }
static Strided of(const tarsia::Tensor& t) {
  return {const_cast<float*>(t.strided_data<const float>()), t.size(0), t.size(1), t.size(2), t.size(3), t.stride(0), t.stride(1), t.stride(2), t.stride(3)};
}
static void forward(tarsia::Context& c) {
  x_at = (long long)c.input(0).strided_data<const float>();
  scale_kernel<<<64, 256, 0, c.stream()>>>(of(c.output(0)), of(c.input(0)), c.input(1).data<const float>());
}
static void half(tarsia::Context& c) {
  const long n = c.input(0).numel();
  half_kernel<<<(n + 255) / 256, 256, 0, c.stream()>>>(c.output(0).data<float>(), c.input(0).data<const float>(), n);
}
static void infer(tarsia::BindInfo& i) { i.output(0) = i.input(0); }
TARSIA_OP(gpulay_scale).input("x").input("s").output("y").infer(infer).forward("gpu", forward)
    .layout("x", {0, 2, 3, 1}).layout("y", {0, 2, 3, 1});
TARSIA_OP(gpulay_half).input("x").output("y").forward("gpu", half).any_layout().forward_inplace(0, 0);
"""


@pytest.fixture(scope="module")
def seen():
    return inline(SOURCE, functions=["at_x"])


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return torch.randn(2, 37, 9, 11, device="cuda"), torch.randn(37, device="cuda")


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("out_format", [torch.contiguous_format, torch.channels_last])
def test_calls_copy_what_lies_otherwise(seen, tensors, memory_format, out_format):
    x, s = tensors
    x = x.to(memory_format=memory_format)
    out = torch.zeros_like(x).contiguous().to(memory_format=out_format)
    tarsia.op("gpulay_scale")(x, s, out=out)
    assert torch.equal(out, x * s[:, None, None])
    assert (seen.at_x() == x.data_ptr()) is (memory_format is torch.channels_last)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64, torch.complex128])
def test_elements_keep_their_places_in_every_order_of_axes(dtype):
    require_gpus()
    x = (torch.randn(3, 5, 33, 7, device="cuda") * 50).to(dtype)
    for axes in itertools.permutations(range(4)):
        def forward(x, y):
            y[...] = x

        op = tarsia.define_op(name="gpulay_order", implementations=[])(tarsia.implementation("forward", layout={"x": axes})(forward))
        assert torch.equal(op(x), x), axes


def test_a_graph_keeps_values_in_the_layout(seen, tensors):
    x, s = tensors
    g = tarsia.Graph()
    value, scales = g.input("x"), g.input("s")
    g.output(g.gpulay_scale(g.gpulay_half(g.gpulay_scale(value, scales, name="a"), name="b"), scales, name="c"))
    bound = g.bind(x=(tuple(x.shape), "float32", "gpu"), s=(tuple(s.shape), "float32", "gpu"))
    assert bound.plan.conversions == ["a: 'x': row-major -> axes (0, 2, 3, 1)", "c: 'c': axes (0, 2, 3, 1) -> row-major"]
    assert torch.equal(bound(x=x, s=s), x * s[:, None, None] / 2 * s[:, None, None])
    captured = bound.capture()
    assert torch.equal(torch.as_tensor(captured(x=x, s=s), device="cuda"), x * s[:, None, None] / 2 * s[:, None, None])

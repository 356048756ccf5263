"""<tarsia/math.h> on a GPU: what it computes on the CPU, it computes there."""

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <vector>

#include <tarsia/math.h>
namespace math = tarsia::math;
using tarsia::StridedTensor;
static tarsia::Request how(int request) { return static_cast<tarsia::Request>(request); }
void tanh(StridedTensor y, const StridedTensor& x, int request, tarsia::Stream s) { math::tanh(y, x, s, how(request)); }
void add(StridedTensor y, const StridedTensor& a, const StridedTensor& b, int request, tarsia::Stream s) { math::add(y, a, b, s, how(request)); }
void scale(StridedTensor y, const StridedTensor& x, double by, tarsia::Stream s) { math::multiply(y, x, by, s); }
void cast(StridedTensor y, const StridedTensor& x, tarsia::Stream s) { math::cast(y, x, s); }
void sum(StridedTensor y, const StridedTensor& x, const std::vector<int64_t>& axes, int request, tarsia::Stream s) { math::sum(y, x, axes, s, how(request)); }
void argmax(StridedTensor y, const StridedTensor& x, const std::vector<int64_t>& axes, tarsia::Stream s) { math::argmax(y, x, axes, s); }
void softmax(StridedTensor y, const StridedTensor& x, int axis, tarsia::Stream s) { math::softmax(y, x, axis, s); }
void gather(StridedTensor y, const StridedTensor& x, const StridedTensor& index, int axis, tarsia::Stream s) { math::gather(y, x, index, axis, s); }
void scatter_add(StridedTensor y, const StridedTensor& index, const StridedTensor& x, int axis, tarsia::Stream s) { math::scatter_add(y, index, x, axis, s); }
void batch_dot(StridedTensor y, const StridedTensor& a, const StridedTensor& b, bool left, bool right, int request, tarsia::Stream s) {
  math::batch_dot(y, a, b, s, how(request), {left, right});
}
"""
WRITE, ADD = 1, 3


@pytest.fixture(scope="module")
def lib():
    return inline({"math.cu": SOURCE})


LAYOUTS = {"contiguous": lambda x: x, "transposed": lambda x: x.mT.contiguous().mT, "every second": lambda x: x.repeat_interleave(2, -1)[..., ::2]}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("request_", [WRITE, ADD])
def test_elementwise(lib, layout, dtype, request_):
    a, b = (layout(torch.randn(5, 33, dtype=torch.float64).to(getattr(torch, dtype)).cuda()) for _ in range(2))
    y = layout(torch.ones_like(a))
    old = 1 if request_ == ADD else 0
    lib.tanh(y, a, request_)
    torch.testing.assert_close(y, torch.tanh(a) + old, rtol=1e-2 if "16" in dtype else 1e-5, atol=1e-2 if "16" in dtype else 1e-5)
    lib.add(y, a, b[:1], WRITE)
    torch.testing.assert_close(y, a + b[:1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_whole_numbers(lib, dtype):
    a, b = (torch.randint(0, 5, (4, 50), dtype=getattr(torch, dtype), device="cuda") for _ in range(2))
    y = torch.empty_like(a)
    lib.add(y, a, b, WRITE)
    assert torch.equal(y, a + b)
    half = torch.empty(4, 50, dtype=torch.float16, device="cuda")
    lib.scale(half, a, 0.5)
    assert torch.equal(half, (a * 0.5).half())
    truth = torch.empty(4, 50, dtype=torch.bool, device="cuda")
    lib.cast(truth, a)
    assert torch.equal(truth, a.bool())


@pytest.mark.parametrize("axes", [[], [0], [1], [0, 2], [2]], ids=str)
def test_reductions(lib, layout, axes):
    x = layout(torch.randn(6, 70, 90, device="cuda"))
    expected = x.sum(axes or None, dtype=torch.float64)
    y = torch.ones(expected.shape, device="cuda")
    lib.sum(y, x, axes, ADD)
    torch.testing.assert_close(y, expected.float() + 1, rtol=1e-4, atol=1e-3)
    if len(axes) < 2:
        place = torch.empty(expected.shape, dtype=torch.int64, device="cuda")
        lib.argmax(place, x, axes)
        assert torch.equal(place, x.argmax(axes[0]) if axes else x.argmax())


def test_many_columns_and_nothing(lib):
    x = torch.randn(30, 5000, device="cuda")
    y = torch.empty(5000, device="cuda")
    lib.sum(y, x, [0], WRITE)
    torch.testing.assert_close(y, x.sum(0), rtol=1e-4, atol=1e-4)
    lib.sum(y, torch.empty(0, 5000, device="cuda"), [0], WRITE)
    assert not y.any()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_indices(lib, layout, axis):
    x = layout(torch.randn(4, 30, 50, device="cuda"))
    y = layout(torch.empty_like(x))
    lib.softmax(y, x, axis)
    torch.testing.assert_close(y, torch.softmax(x, axis))
    index = torch.tensor([[0, 3], [-1, 3]], device="cuda")
    picked = torch.empty(torch.index_select(x, axis, index.flatten() % x.shape[axis]).unflatten(axis % 3, (2, 2)).shape, device="cuda")
    lib.gather(picked, x, index, axis)
    assert torch.equal(picked, torch.index_select(x, axis, index.flatten() % x.shape[axis]).unflatten(axis % 3, (2, 2)))
    to, expected = torch.ones_like(x), torch.ones_like(x)
    lib.scatter_add(to, index, picked, axis)
    expected.index_add_(axis, index.flatten() % x.shape[axis], picked.flatten(axis % 3, axis % 3 + 1))
    torch.testing.assert_close(to, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
@pytest.mark.parametrize("left, right", [(False, False), (True, False), (False, True), (True, True)])
def test_products(lib, layout, dtype, left, right):
    a, b = (torch.randint(-3, 4, shape, dtype=torch.float64) for shape in ((3, 20, 37), (3, 37, 25)))
    expected = torch.matmul(a, b)
    a, b = (layout((x.mT.contiguous() if flip else x).to(getattr(torch, dtype)).cuda()) for x, flip in ((a, left), (b, right)))
    y = layout(torch.ones(3, 20, 25, dtype=getattr(torch, dtype), device="cuda"))
    lib.batch_dot(y, a, b, left, right, ADD)
    torch.testing.assert_close(y.double().cpu(), expected + 1, rtol=1e-2 if dtype == "bfloat16" else 2e-3, atol=1 if dtype == "bfloat16" else 1e-3)


def test_ops_with_gradients(lib):
    dot, gelu = tarsia.torch.register(tarsia.op("dot"), name="gpu_math::dot"), tarsia.torch.register(tarsia.op("gelu"), name="gpu_math::gelu")
    a, b = (torch.randn(shape, dtype=torch.float64, device="cuda", requires_grad=True) for shape in ((3, 4), (4, 5)))
    torch.autograd.gradcheck(lambda a, b: gelu(dot(a, b)), (a, b))


LAZY = r"""
#include <tarsia/math.h>
namespace math = tarsia::math;
struct half_of { template <class D> TARSIA_HOST_DEVICE static D Map(D a) { return a / 2; } };
void gate(tarsia::StridedTensor y, const tarsia::StridedTensor& a, const tarsia::StridedTensor& b, tarsia::Stream stream) {
  math::assign(y, math::F<half_of>(math::exp(-a) + b) * 0.5 - math::where(math::less(a, b), a, 0), stream);
}
"""


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_lazy_expressions_are_one_kernel_for_any_strides(dtype):
    lib = inline({"lazy.cu": LAZY})
    a, b = torch.randn(33, 65, device="cuda").to(dtype).t(), torch.randn(33, device="cuda").to(dtype)
    y = torch.empty(65, 66, device="cuda", dtype=dtype)[:, ::2]
    lib.gate(y, a, b)
    wide_a, wide_b = a.double(), b.double()
    expected = ((-wide_a).exp() + wide_b) / 2 * 0.5 - torch.where(wide_a < wide_b, wide_a, 0)
    torch.testing.assert_close(y.double(), expected, rtol=2e-3 if dtype is torch.float16 else 1e-5, atol=2e-3 if dtype is torch.float16 else 1e-6)

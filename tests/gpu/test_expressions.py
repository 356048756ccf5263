"""tarsia.elementwise and tarsia.reduction on GPUs, against PyTorch."""

import itertools

import gpu_support
import pytest

import tarsia

SAXPY = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "saxpy")
TOTAL = tarsia.reduction("T x", "T y", "x", "a + b", None, "0", "total")
LARGEST = tarsia.reduction("T x", "T y", "x", "a > b ? a : b", name="largest")
ARGMAX = tarsia.reduction("T x", "int64 y", "best{double(x), j}", "a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b",
                          "y = a.at", None, "argmax", reduce_type="best", preamble="struct best { double value; long long at; };")


@pytest.fixture
def torch():
    gpu_support.require_gpus()
    return pytest.importorskip("torch")


def test_the_device_code_compiles_without_a_gpu():
    for f, dtypes in [(SAXPY, ["float16", "float16", "float32", "float16"]), (TOTAL, ["float32"] * 2), (TOTAL, ["bool"] * 2),
                      (LARGEST, ["bfloat16"] * 2), (ARGMAX, ["int8", "int64"])]:
        lib = tarsia.load_inline({f"{f.__name__}.cu": f.source(*dtypes, gpu=True)}, functions=[f"tarsia_expression::{f.__name__}"])
        assert lib.kernels and all(lib[name].attributes.local == 0 for name in lib.kernels)  # nothing spills, no array is left in memory
        lib.unload()


def layouts(torch, shape, dtype=None):
    """Tensors of a shape, whose memory lies in different ways."""
    def filled(shape):
        return torch.randint(-8, 9, shape, device="cuda").to(dtype or torch.float32)

    yield filled(shape)
    yield filled([n * 2 for n in shape])[tuple(slice(None, None, 2) for _ in shape)]
    yield filled([n + 1 for n in shape])[tuple(slice(1, None) for _ in shape)]  # not aligned
    yield filled(shape[::-1]).permute(*range(len(shape))[::-1])
    yield filled([1, *shape[1:]]).expand(shape)
    yield filled([*shape[:-1], 1]).expand(shape)


@pytest.mark.parametrize("shape", [(1,), (1000003,), (64, 4096), (7, 13, 101), (3, 2, 5, 4, 2, 3, 2, 8), (1000, 3), (2, 0, 3)])
def test_elementwise_over_any_strides(torch, shape):
    for x, y in itertools.product(layouts(torch, shape), repeat=2):
        assert torch.equal(SAXPY(x, y, 2.0), 2 * x + y)
        out = torch.empty([*shape[:-1], shape[-1] + 3], device="cuda")[..., 3:]
        assert SAXPY(x, y[:1], 2.0, out=out) is out and torch.equal(out, (2 * x + y[:1]).expand(shape))
        if x.stride() == x.contiguous().stride():
            expected = 2 * x + y
            SAXPY(x, y, 2.0, out=x)
            assert torch.equal(x, expected)


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_types(torch, name):
    dtype = getattr(torch, name)
    x = torch.randint(0, 2 if name == "bool" else 50, (10, 999), device="cuda").to(dtype)
    double = tarsia.elementwise("T x, U y", "T z, float w", "z = x; w = x + y", "both_types")
    z, w = double(x, x.t().contiguous().t().float())
    assert torch.equal(z, x) and torch.equal(w, 2 * x.float())
    for axis in (None, 0, 1):
        assert torch.equal(LARGEST(x, axis=axis).float(), x.float().amax(() if axis is None else axis))


@pytest.mark.parametrize("shape", [(1,), (1000003,), (5, 100000), (100000, 5), (4096, 1000), (1000, 4096), (300000, 3), (3, 300000),
                                   (40, 50, 60), (2, 3, 4, 5, 6, 7), (17, 1, 33)])
def test_reductions_of_any_axes_and_strides(torch, shape):
    for x in layouts(torch, shape):
        for k in range(len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), k):
                # small integers: sums are exact, in whatever order
                expected = x.double().sum(axes) if axes else x.double()
                assert torch.equal(TOTAL(x, axis=axes).double(), expected), (x.stride(), axes)
                if axes:
                    assert torch.equal(LARGEST(x, axis=axes, keepdims=True), x.amax(axes, keepdim=True))
        for axis in range(len(shape)):
            best = ARGMAX(x, axis=axis)
            assert torch.equal(x.gather(axis, best.unsqueeze(axis)).squeeze(axis), x.amax(axis))
            first = (x == x.amax(axis, keepdim=True)).int().argmax(axis)
            assert torch.equal(best, first)


def test_sums_are_accurate_and_the_same_each_time(torch):
    x = torch.rand(1 << 26, device="cuda")
    for axis, y in [(None, x), (0, x.view(-1, 64)), (1, x.view(8, -1)), (0, x.view(1 << 13, -1)), (1, x.view(1 << 13, -1))]:
        first = TOTAL(y, axis=axis)
        exact = y.double().sum() if axis is None else y.double().sum(axis)
        assert ((first.double() - exact).abs() / exact).max() < 1e-6
        for _ in range(5):
            assert torch.equal(TOTAL(y, axis=axis), first)


def test_more_elements_than_an_int_counts(torch):
    n = (1 << 31) + 12345
    if torch.cuda.mem_get_info()[0] < 3 * n:
        pytest.skip("needs 7 GB of GPU memory")
    x = torch.ones(n, dtype=torch.int8, device="cuda")
    plus = tarsia.elementwise("int8 x, int8 y", "int8 z", "z = x + y", "plus")
    z = plus(x, 1)
    assert bool((z[-100:] == 2).all()) and bool((z[:100] == 2).all())
    wide = tarsia.reduction("int8 x", "int64 y", "(long long)x", "a + b", identity="0", name="wide_total")
    assert wide(z).item() == 2 * n
    square = z[: 1 << 31].view(1 << 16, 1 << 15)
    assert wide(square[:, ::2]).item() == 1 << 31
    plus(square.t(), torch.ones(1, dtype=torch.int8, device="cuda"), out=square.t())
    assert wide(square, axis=0).unique().tolist() == [3 << 16]
    number = tarsia.elementwise("int8 x", "inout int8 y", "y = y + (i > 2147483647 ? 1 : 0)", "number")
    number(x, x)
    assert wide(x).item() == n + 12345


def test_on_the_current_stream(torch):
    spin = tarsia.load_inline(gpu_support.SPIN).spin
    stream = torch.cuda.Stream()
    x = torch.zeros(1000, device="cuda")
    with torch.cuda.stream(stream):
        spin(0)
        x.add_(0)
        TOTAL(SAXPY(x, 1, 2.0))  # all are compiled and loaded, with memory of the stream, before it spins: CUDA waits for that
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        spin(1)
        x.add_(1)
        z = SAXPY(x, 1, 2.0)
        total = TOTAL(z)
    assert not stream.query()
    stream.synchronize()
    assert total.item() == 3000


def test_in_a_cuda_graph(torch):
    x = torch.zeros(1 << 20, device="cuda")
    z, total = torch.empty_like(x), torch.empty((), device="cuda")
    SAXPY(x, 1, 1.0, out=z), TOTAL(z, out=total)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        SAXPY(x, 1, 1.0, out=z)
        TOTAL(z, out=total)
    x.fill_(2)
    graph.replay()
    assert total.item() == 3 << 20


def test_tensors_on_different_devices_are_refused(torch):
    with pytest.raises(ValueError, match="saxpy: all tensors have to be on one device: 'x' is .*cuda:0, 'y' is .*CPU"):
        SAXPY(torch.zeros(3, device="cuda"), torch.zeros(3), 1.0)
    with pytest.raises(ValueError, match="all tensors have to be on one device"):
        SAXPY(torch.zeros(3, device="cuda"), 1, 1.0, out=torch.zeros(3))


def test_cupy_arrays(torch):
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    z = SAXPY(x[:, ::-1], x, 2.0)
    assert isinstance(z, cupy.ndarray) and bool((z == 2 * x[:, ::-1] + x).all())
    assert bool((TOTAL(x, axis=0) == x.sum(0)).all())


def test_raw_and_inout(torch):
    count = tarsia.elementwise("int32 x", "raw int32 bins", "atomicAdd(&bins[x % 7], 1)", "count")
    x = torch.arange(100000, dtype=torch.int32, device="cuda")
    bins = torch.zeros(7, dtype=torch.int32, device="cuda")
    count(x, bins)
    assert torch.equal(bins, torch.bincount(x % 7).int())
    add = tarsia.elementwise("T x", "inout T sum", "sum += x", "add")
    total = torch.ones(5, 100000, device="cuda", dtype=torch.bfloat16)
    add(torch.ones(100000, device="cuda", dtype=torch.bfloat16), total)
    assert bool((total == 2).all())
    place = tarsia.elementwise("T x", "int32 row, int32 column", "row = _ind.get()[0]; column = _ind.get()[1]", "place")
    row, column = place(total)
    assert torch.equal(row[:, 0].cpu(), torch.arange(5).int()) and torch.equal(column[0].cpu(), torch.arange(100000).int())


def test_errors_of_device_code_stand_in_the_users_text(torch):
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.elementwise("T x", "T y", "y = x;\ny += nothing", "wrong")(torch.zeros(3, device="cuda"))
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.file, diagnostic.line, diagnostic.source_line) == ("wrong: operation", 2, "y += nothing")

"""Expressions as operators of PyTorch: schemas and inference from the declaration, tracing that compiles nothing."""

import itertools
import re

import pytest
from torch_support import nothing_stays, schema  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")
import tarsia.torch  # noqa: E402

SAXPY = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "e_saxpy")
ADD_TO = tarsia.elementwise("T x, double a", "inout T sum, U copy", "sum += T(a) * x; copy = sum", "e_add_to")
PARTS = tarsia.elementwise("T x", "T whole, int64 sign", "whole = floor(x); sign = x < 0 ? -1 : x > 0", "e_parts")
LOOKUP = tarsia.elementwise("raw T table, int32 index", "T z", "z = table[index]", "e_lookup")
NORM = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "e_norm")
SPREAD = tarsia.reduction("T x, T y", "T least, double sum", "V{x * y, x * y}", "V{a.x < b.x ? a.x : b.x, a.y + b.y}",
                          "least = a.x; sum = a.y", "V{1e30, 0}", "e_spread", reduce_type="V",
                          preamble="struct V { double x, y; };")
register = tarsia.torch.register


def check(operator, *args, **kwargs):
    results = torch.library.opcheck(operator.default, args, kwargs)
    assert set(results.values()) == {"SUCCESS"} and len(results) >= 4, results


def test_schemas_follow_startdeclarations():
    assert schema(register(SAXPY)) == "tarsia::e_saxpy(Tensor x, Tensor y, float a) -> Tensor"
    assert schema(register(ADD_TO)) == "tarsia::e_add_to(Tensor x, float a, Tensor(a2!) sum) -> Tensor"
    assert schema(register(PARTS)) == "tarsia::e_parts(Tensor x) -> (Tensor, Tensor)"
    assert schema(register(LOOKUP)) == "tarsia::e_lookup(Tensor table, Tensor index) -> Tensor"
    assert schema(register(NORM)) == "tarsia::e_norm(Tensor x, *, int[1]? axis=None, bool keepdims=False) -> Tensor"
    in_place = tarsia.elementwise("", "inout T x", "x = -x", "e_negate")
    assert schema(register(in_place)) == "tarsia::e_negate(Tensor(a0!) x) -> ()"
    of_kinds = tarsia.elementwise("T x, bool b, uint8 n, half h", "raw T z", "z[i] = b ? x * n : h", "e_kinds")
    assert schema(register(of_kinds)) == "tarsia::e_kinds(Tensor x, bool b, SymInt n, float h, Tensor(a4!) z) -> ()"
    keyword = tarsia.elementwise("T lambda, T axis", "T z", "z = lambda + axis", "e_keyword")
    assert schema(register(keyword)) == "tarsia::e_keyword(Tensor lambda_, Tensor axis) -> Tensor"
    counting = tarsia.elementwise("raw T x", "T z", "z = x[i]", "e_count")
    assert schema(register(counting)) == "tarsia::e_count(Tensor x, *, SymInt? size=None) -> Tensor"


def test_which_inputs_are_numbers():
    assert schema(register(SAXPY, numbers=())) == "tarsia::e_saxpy(Tensor x, Tensor y, Tensor a) -> Tensor"
    assert schema(register(SAXPY, numbers=["y", "a"])) == "tarsia::e_saxpy(Tensor x, Scalar y, float a) -> Tensor"
    x = torch.arange(3.0)
    assert torch.ops.tarsia.e_saxpy(x, 1, 2).tolist() == [1, 3, 5]
    assert schema(register(LOOKUP, numbers="index")) == (
        "tarsia::e_lookup(Tensor table, SymInt index, *, SymInt? size=None) -> Tensor")
    assert torch.ops.tarsia.e_lookup(x, 2).tolist() == 2 and torch.ops.tarsia.e_lookup(x, 2, size=2).tolist() == [2, 2]
    with pytest.raises(ValueError, match="numbers names 'b', 'table'; the inputs of e_lookup that may be numbers are index"):
        register(LOOKUP, numbers=("table", "b"))
    with pytest.raises(ValueError, match="e_norm reduces a tensor: numbers must not name all of x"):
        register(NORM, numbers="x")
    with pytest.raises(TypeError, match="numbers are inputs of an expression"):
        register(tarsia.load_inline("int e_one() { return 1; }").e_one, numbers="x")
    with pytest.raises(TypeError, match="an expression says itself what it writes"):
        register(SAXPY, mutates="z")


def test_expressions_without_a_name_do_not_replace_each_other():
    square, cube = (register(tarsia.elementwise("T x", "T y", f"y = {text}")) for text in ("x * x", "x * x * x"))
    x = torch.tensor([2.0])
    assert square(x) == 4 and cube(x) == 8
    names = list(tarsia.torch.registered())
    assert len(names) >= 2 and all(re.fullmatch(r"tarsia::elementwise_[0-9a-f]{8}", name) for name in names)
    assert register(tarsia.elementwise("T x", "T y", "y = x * x")) is square


def test_calls_are_those_of_the_expression():
    x, y = torch.randn(3, 4), torch.randn(4)
    assert torch.equal(register(SAXPY)(x, y, 2.0), SAXPY(x, y, 2.0))
    assert torch.equal(register(SAXPY)(x.t()[:, :2], a=0.5, y=y[:, None]), SAXPY(x.t()[:, :2], y[:, None], 0.5))
    total, expected = torch.zeros(3, 4), torch.zeros(3, 4)
    add = register(tarsia.elementwise("T x, double a", "inout T sum, double copy", "sum += T(a) * x; copy = sum", "e_add"))
    version = total._version
    copy = add(y, 2.0, total)
    expected += 2 * y
    assert torch.equal(total, expected) and torch.equal(copy, expected.double()) and total._version == version + 1
    whole, sign = register(PARTS)(x)
    assert torch.equal(whole, x.floor()) and torch.equal(sign, x.sign().long())
    norm = register(NORM)
    for axis, keepdims in itertools.product((None, 0, -1, (0, 1), [1]), (False, True)):
        assert torch.allclose(norm(x, axis=axis, keepdims=keepdims), NORM(x, axis=axis, keepdims=keepdims))
    assert torch.equal(norm(x, axis=()), x.abs())
    least, total = register(SPREAD)(x, y, axis=0)
    assert torch.allclose(least, (x * y).amin(0)) and torch.allclose(total, (x * y).sum(0).double())


def test_numbers_and_sizes_alone():
    ramp = register(tarsia.elementwise("float start", "float z", "z = start + i", "e_ramp"), numbers="start")
    assert schema(ramp) == "tarsia::e_ramp(float start, *, SymInt? size=None) -> Tensor"
    assert ramp(1.0, size=3).tolist() == [1, 2, 3] and ramp(2.5).tolist() == 2.5 and ramp(2.5).shape == ()
    negate = register(tarsia.elementwise("T x", "T z", "z = -x", "e_minus"), numbers="x")
    assert negate(2).dtype == torch.int64 and negate(2.0).dtype == torch.float64
    check(ramp, 1.0, size=3)
    index = register(tarsia.elementwise("raw T x", "T z", "z = x[i]", "e_count"))
    assert index(torch.arange(4.0), size=2).tolist() == [0, 1]
    for make in (lambda x: x, lambda x: x.to("meta")):
        with pytest.raises(ValueError, match="no tensor tells how many elements there are; pass size="):
            index(make(torch.zeros(2)))


def test_opcheck_passes():
    x, y = torch.randn(3, 4), torch.randn(4)
    check(register(SAXPY), x, y, 2.0)
    check(register(SAXPY), x.half().t(), x.half().t()[:1], 2.0)
    add = tarsia.elementwise("T x, double a", "inout T sum, double copy", "sum += T(a) * x; copy = sum", "e_add")
    check(register(add), y, 2.0, torch.zeros(3, 4))
    check(register(PARTS), x)
    check(register(LOOKUP), x, torch.tensor([[1, 2], [0, 3]], dtype=torch.int32))
    for axis in (None, [0], [1, 0], []):
        check(register(NORM), x, axis=axis)
        check(register(SPREAD), x, y, axis=axis, keepdims=True)
    check(register(SAXPY, numbers=("a", "y")), x, 1, 2.0)


CALLS = [
    (SAXPY, ((3, 1), (4,)), (2.0,), {}),
    (SAXPY, ((), (2, 0, 3)), (1.0,), {}),
    (SAXPY, ((3,), (4,)), (1.0,), {}),
    (SAXPY, ((0,), (1,)), (1.0,), {}),
    (NORM, ((2, 3, 4),), (), {"axis": (0, -1)}),
    (NORM, ((2, 3, 4),), (), {"axis": 1, "keepdims": True}),
    (NORM, ((),), (), {}),
    (NORM, ((2, 3),), (), {"axis": 2}),
    (NORM, ((2, 3),), (), {"axis": (1, -1)}),
    (SPREAD, ((2, 1), (3,)), (), {"axis": 0}),
    (SPREAD, ((2, 1), (3,)), (), {"keepdims": True}),
]


@pytest.mark.parametrize("expression, shapes, rest, options", CALLS)
def test_inference_says_what_calls_do(expression, shapes, rest, options):
    operator = register(expression)
    outcomes = []
    for device in ("cpu", "meta"):
        try:
            made = operator(*(torch.ones(shape, device=device) for shape in shapes), *rest, **options)
            outcomes.append([(one.shape, one.dtype, one.stride()) for one in (made if isinstance(made, tuple) else (made,))])
        except ValueError as error:
            outcomes.append((type(error), re.split(r" of |: shapes", str(error))[0]))
    assert outcomes[0] == outcomes[1]


def test_inference_refuses_what_calls_refuse():
    saxpy, lookup = register(SAXPY), register(LOOKUP)
    halves = tarsia.elementwise("T x, T y", "inout T z", "z = x + y", "e_into")
    into, x = register(halves), torch.zeros(3)
    index = torch.zeros(2, dtype=torch.int32)
    for move in (lambda t: t, lambda t: t.to("meta")):
        def refused(error, match, operator, *args):
            with pytest.raises(error, match=match):
                operator(*(move(one) if isinstance(one, torch.Tensor) else one for one in args))

        refused(tarsia.ArgumentTypeError, "T is float32 by 'x' and float64 by 'y'", saxpy, x, x.double(), 1.0)
        refused(tarsia.ArgumentTypeError, "complex64, which expressions do not take", saxpy, x.cfloat(), x.cfloat(), 1.0)
        refused(tarsia.ArgumentTypeError, "'index' is declared as int32, which is int32", lookup, x, index.long())
        refused(tarsia.OpValueError, r"output 'z' has shape \(?3.*, the inputs broadcast to", into, x, torch.zeros(2, 3), x)
        refused(tarsia.ArgumentTypeError, "output 'copy' has the type U, which no input tells", register(ADD_TO), x, 1.0, x)


def fresh(text):
    """An expression that nothing was compiled for."""
    return tarsia.elementwise("T x, float a", "T y", f"y = a * x + {text}", "e_fresh")


def test_inference_compiles_nothing():
    expression = fresh(1)
    operator = register(expression)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        made = operator(torch.empty(2, 3, dtype=torch.bfloat16), 2.0)
        assert made.shape == (2, 3) and made.dtype == torch.bfloat16
    graph = torch.export.export(Module(operator), (torch.zeros(3),)).graph
    assert operator.default in [node.target for node in graph.nodes]
    assert operator(torch.empty(4, device="meta"), 1.0).shape == (4,)
    assert expression.libraries == {}
    operator(torch.zeros(1), 1.0)
    assert len(expression.libraries) == 1


class Module(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x, 2.0) * 3


def test_exported_programs_keep_their_shapes_open():
    operator = register(fresh(2))
    dynamic = {"x": {0: torch.export.Dim("n", min=1, max=64)}}
    program = torch.export.export(Module(operator), (torch.randn(3, 2),), dynamic_shapes=dynamic)
    for n in (1, 3, 9):
        x = torch.randn(n, 2)
        assert torch.allclose(program.module()(x), 3 * (2 * x + 2))


def test_compiled_graphs():
    add = register(tarsia.elementwise("T x, double a", "inout T sum, double copy", "sum += T(a) * x; copy = sum", "e_add"))
    saxpy, norm = register(SAXPY), register(NORM)

    def model(x, y):
        total = torch.zeros_like(x)
        copy = add(y, 3.0, total)
        return saxpy(total, norm(x, axis=-1, keepdims=True), float(x.shape[0])) + norm(copy.float(), axis=0), total

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for shape in ((2, 5), (3, 5), (4, 7)):
        x, y = torch.randn(shape), torch.randn(shape[-1])
        for a, b in zip(compiled(x, y), model(x, y)):
            assert torch.allclose(a, b)


def test_vmap_and_autocast():
    saxpy = register(SAXPY, vmap=True, autocast=torch.float32)
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    assert torch.allclose(torch.vmap(lambda x, y: saxpy(x, y, 2.0))(x, y), 2 * x + y)
    with torch.autocast("cpu", torch.bfloat16):
        assert saxpy(x.bfloat16(), y, 2.0).dtype == torch.float32


def test_a_given_fake_is_taken():
    operator = register(SAXPY, fake=lambda x, y, a: x.new_empty(7))
    assert operator(torch.empty(3, device="meta"), torch.empty(3, device="meta"), 1.0).shape == (7,)

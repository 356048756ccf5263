"""Functions as operators of PyTorch: schemas, calls, replacing and letting go."""

import gc
import os
import subprocess
import sys
import weakref

import pytest
from torch_support import check, functions_library, nothing_stays, ops_library, schema  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")

ops = torch.ops.tarsia


def test_schemas_follow_from_signatures(lib):
    register = tarsia.torch.register
    assert schema(register(lib.axpy)) == "tarsia::axpy(float a, Tensor x, Tensor(a2!) y, SymInt n) -> ()"
    assert schema(register(lib.twice)) == "tarsia::twice(Tensor x) -> Tensor"
    assert schema(register(lib.norm)) == "tarsia::norm(Tensor x, SymInt n, float? p=None) -> float"
    assert schema(register(lib.many)) == (
        "tarsia::many(Tensor(a0!)[] tensors, SymInt? k, bool flag, float[] factors, str word) -> SymInt")
    assert schema(register(lib.many, mutates=())).startswith("tarsia::many(Tensor[] tensors, ")
    assert schema(register(lib.both)) == "tarsia::both(Tensor x) -> (Tensor, Tensor)"
    assert schema(register(lib.fill)) == "tarsia::fill(Tensor(a0!) x) -> ()"
    assert schema(register(lib["lambda"])) == "tarsia::lambda_(SymInt from_, SymInt arg2) -> SymInt"
    assert schema(register(lib.inner, "mine::inner")) == "mine::inner(float x) -> float"
    assert torch.ops.mine.inner(1.5) == 1.5 and "mine::inner" in tarsia.torch.registered()
    with pytest.raises(tarsia.Unsupported, match="nested: PyTorch has no type for its result"):
        register(lib.nested)
    for bad in ("a b", "a::b::c", "::x", ""):
        with pytest.raises(ValueError, match="names no operator"):
            register(lib.twice, bad)
    with pytest.raises(ValueError, match="mutates names 'x', which the function cannot write to"):
        register(lib.axpy, mutates=["x"])
    with pytest.raises(ValueError, match="mutates names z, which it does not have"):
        register(lib.axpy, mutates=["z"])
    with pytest.raises(TypeError, match="not int"):
        register(3)


def test_functions_are_called_and_traced(lib):
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.randn(6), torch.zeros(6)
    version = y._version
    axpy(2.0, x, y, 6)
    ops.axpy(1.0, x=x, y=y, n=6)
    assert torch.allclose(y, 3 * x) and y._version == version + 2
    check(axpy, 2.0, x, y, 6)
    norm = tarsia.torch.register(lib.norm, fake=lambda x, n, p=None: 0.0)
    assert norm(x, 6) == pytest.approx(float(x.norm())) and norm(x, 6, 1.0) == pytest.approx(float(x.abs().sum()))
    assert norm(x, n=6, p=None) == norm(x, 6)
    twice = tarsia.torch.register(lib.twice, fake=torch.empty_like)
    assert torch.equal(twice(x), 2 * x)
    check(twice, x)
    check(tarsia.torch.register(lib.both, fake=lambda x: (torch.empty_like(x), torch.empty_like(x))), x)
    many = tarsia.torch.register(lib.many)
    assert many([x, y], None, True, [0.5], "ab") == 2 + 100 + 1 + 1 + 2
    with pytest.raises(TypeError, match="must be a float32 tensor, got torch.Tensor of float64"):
        axpy(2.0, x.double(), y, 6)


def test_a_tensor_that_is_read_may_have_any_strides_and_one_that_is_written_not(lib):
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.randn(2, 3), torch.zeros(6)
    axpy(1.0, x.t(), y, 6)
    assert torch.equal(y, x.t().reshape(-1))
    with pytest.raises(ValueError, match="'y' .* must be contiguous"):
        axpy(1.0, y, torch.zeros(3, 2).t(), 6)
    ops.axpy(1.0, torch.ones(1).expand(6), y, 6)
    assert torch.equal(y, x.t().reshape(-1) + 1)


def test_overloads(lib):
    dtype_of = tarsia.torch.register(lib.dtype_of)
    assert dtype_of.overloads() == ["default", "overload2"]
    assert dtype_of(torch.zeros(1)) == 32 and dtype_of(torch.zeros(1).double()) == 64 and dtype_of(1) == 0


def test_a_result_that_is_an_argument_is_refused(lib):
    same = tarsia.torch.register(lib.same)
    with pytest.raises(tarsia.Unsupported, match="same gave one of its arguments as its result"):
        same(torch.ones(2))


def test_inference_mode_and_version_counters(lib):
    fill = tarsia.torch.register(lib.fill)
    with torch.inference_mode():
        x = torch.zeros(3)
        fill(x)
    assert x.tolist() == [7] * 3
    y = torch.zeros(3, requires_grad=True)
    z = y * 2
    squared = z * z
    fill(z.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()


def test_without_a_fake_tracing_says_what_is_missing(lib):
    twice = tarsia.torch.register(lib.twice)
    with pytest.raises(Exception, match="register it with fake="):
        torch.compile(lambda x: twice(x), fullgraph=True, backend="aot_eager")(torch.ones(2))


def test_what_draws_random_numbers_is_tagged(lib):
    noise = tarsia.torch.register(lib.noise, random=True)
    assert torch.Tag.nondeterministic_seeded in noise.default.tags
    assert torch.Tag.nondeterministic_seeded not in tarsia.torch.register(lib.fill).default.tags
    dice = tarsia.torch.register(tarsia.op("t_dice"))
    assert torch.Tag.nondeterministic_seeded in dice.default.tags
    compiled = torch.compile(lambda x: dice(x) - dice(x), fullgraph=True, backend="aot_eager")
    assert compiled(torch.zeros(1)).tolist() == [-1]  # the same call twice is made twice
    check(noise, torch.zeros(3), 3, tests=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_a_whole_library(lib, op_library):
    done = tarsia.torch.register(lib)
    assert set(done) == {"axpy", "twice", "norm", "many", "both", "same", "dtype_of", "lambda_", "inner", "fill", "noise"}
    assert list(done.skipped) == ["nested"] and "no type" in done.skipped["nested"]
    assert set(tarsia.torch.register(op_library)) == set(op_library.ops)
    assert ops.inner(2.0) == 2.0
    with pytest.raises(TypeError, match="of a whole library name cannot be given"):
        tarsia.torch.register(lib, "x")


# ---- replacing and letting go ----

VERSION = r"""
extern "C" {}
float version(const float* x%s) { return %d + x[0]; }
"""


def test_a_new_source_replaces_the_old_one():
    first = tarsia.load_inline(VERSION % ("", 1))
    operator = tarsia.torch.register(first.version)
    tarsia.torch.register(tarsia.load_inline("void scale(float a, float* x) { *x *= a; }").scale)
    compiled = torch.compile(lambda x, y: (x + y, ops.scale(2.0, x))[0], backend="aot_eager", fullgraph=True)
    x = torch.zeros(1)
    assert compiled(torch.ones(1), x) == 1
    assert operator(x) == 1
    second = tarsia.load_inline(VERSION % ("", 2))
    assert tarsia.torch.register(second.version)(x) == 2
    assert operator(x) == 2  # whoever kept the operator calls the new code
    third = tarsia.load_inline(VERSION % (", int n", 3))
    newest = tarsia.torch.register(third.version)
    assert str(newest.default._schema) == "tarsia::version.version2(Tensor x, SymInt n) -> float"
    assert newest(x, 1) == ops.version(x, 1) == ops.version.default(x, 1) == 3
    with pytest.raises((AttributeError, RuntimeError)):  # the old one is no more
        operator.default(x)
    with pytest.raises(RuntimeError):
        operator(x)
    for fake in (lambda x, n: 5.0, lambda x, n: 6.0):
        operator = tarsia.torch.register(third.version, fake=fake)
        assert operator(x, 1) == 3 and operator(torch.empty(1, device="meta"), 1) == fake(x, 1)
    assert compiled(torch.ones(1), torch.zeros(1)) == 1


def test_an_op_is_that_of_the_library_loaded_last():
    text = """
    #include <tarsia/op.h>
    TARSIA_OP(t_replaced).forward("cpu", [](tarsia::Context& c) { *c.output(0).data<float>() = VERSION; });
    """
    first = tarsia.load_inline(text, defines={"VERSION": 1})
    operator = tarsia.torch.register(tarsia.op("t_replaced"))
    x = torch.zeros(1)
    assert operator(x) == 1
    second = tarsia.load_inline(text, defines={"VERSION": 2})
    assert operator(x) == 2
    first.unload()
    assert operator(x) == 2
    second.unload()
    with pytest.raises(tarsia.NotFound):
        operator(x)


def test_libraries_live_as_long_as_their_operators():
    lib = tarsia.load_inline("int eleven() { return 11; }")
    function = lib.eleven
    alive = weakref.ref(function)
    operator = tarsia.torch.register(function)
    del lib, function
    gc.collect()
    assert operator() == 11 and alive() is not None
    tarsia.torch.unregister("eleven")
    gc.collect()
    assert alive() is None
    with pytest.raises(tarsia.NotFound, match="was taken out"):
        operator()
    with pytest.raises(LookupError, match="no operator tarsia::eleven"):
        tarsia.torch.unregister("eleven")
    assert tarsia.torch.registered() == ()
    tarsia.torch.register(tarsia.load_inline("int eleven() { return 12; }").eleven)
    assert operator() == 12


def run(program):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_tarsia_imports_no_torch_and_leaves_nothing_behind():
    out, _ = run("import sys, tarsia; print('torch' in sys.modules)")
    assert out == "False\n"
    out, err = run("import tarsia, torch\n"
                   "lib = tarsia.load_inline('int twelve() { return 12; }')\n"
                   "tarsia.torch.register(lib)\nprint(torch.ops.tarsia.twelve())")
    assert out == "12\n" and "leaked" not in err


def test_lists_of_optional_tensors():
    lists = tarsia.load_inline("""
    #include <tarsia/op.h>
    #include <optional>
    #include <vector>
    tarsia::Tensor t_total(const std::vector<std::optional<tarsia::Tensor>>& xs, const tarsia::Tensor& start) {
      tarsia::Tensor y = tarsia::empty_like(start);
      *y.data<float>() = *start.data<const float>();
      for (const auto& x : xs) if (x) *y.data<float>() += *x->data<const float>();
      return y;
    }
    void t_fill(std::vector<std::optional<tarsia::Tensor>> xs) { for (auto& x : xs) if (x) *x->data<float>() = 7; }
    """)
    register = tarsia.torch.register
    total, fill = register(lists.t_total, fake=lambda xs, start: torch.empty_like(start)), register(lists.t_fill)
    assert schema(total) == "tarsia::t_total(Tensor?[] xs, Tensor start) -> Tensor"
    assert schema(fill) == "tarsia::t_fill(Tensor?(a0!)[] xs) -> ()"
    x = torch.ones(1)
    assert total([x, None, x], x).item() == 3
    assert torch.compile(lambda x: total([None, x], x), fullgraph=True, backend="aot_eager")(x).item() == 2
    version = x._version
    fill([None, x])
    assert x.item() == 7 and x._version > version
    with pytest.raises(RuntimeError, match="t_total has no gradient"):
        total([None, x.clone().requires_grad_()], x).sum().backward()

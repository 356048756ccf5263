"""Functions and ops in JAX: through XLA's FFI, eager and compiled, with gradients."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from places import REPO
from threads import at_once

import tarsia

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("this JAX has no jax.ffi", allow_module_level=True)
import jax.numpy as jnp  # noqa: E402

import tarsia.jax  # noqa: E402

FUNCTIONS = r"""
#include <tarsia/op.h>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

void axpy(float a, const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] += a * x[i]; }
void relu(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0; }
void relu_backward(const float* dy, const float* y, float* dx, long n) {
  for (long i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}
tarsia::Tensor scaled(const tarsia::Tensor& x, float scale = 2, bool negate = false) {
  tarsia::Tensor y = tarsia::empty_like(x);
  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = (negate ? -scale : scale) * x.data<const float>()[i];
  return y;
}
tarsia::Tensor scaled_backward(const tarsia::Tensor& dy, float scale = 2, bool negate = false) { return scaled(dy, scale, negate); }
std::tuple<tarsia::Tensor, tarsia::Tensor> both(const tarsia::Tensor& x) { return {scaled(x), x}; }
void spoil(std::vector<tarsia::Tensor> xs) { for (tarsia::Tensor& x : xs) x.data<float>()[0] = 0; }
void total(const std::vector<tarsia::Tensor>& xs, const std::vector<double>& weights, const std::string& word, float* y) {
  *y = float(word.size());
  for (size_t k = 0; k < xs.size(); k++)
    for (long i = 0; i < xs[k].numel(); i++) *y += float(weights[k]) * xs[k].data<const float>()[i];
}
void pick(const float* table, const int* index, float* out, long n, long width) {
  for (long i = 0; i < n; i++) for (long k = 0; k < width; k++) out[i * width + k] = table[index[i] * width + k];
}
void pick_backward(const float* dout, const int* index, float* dtable, long n, long width) {
  for (long i = 0; i < 2 * width; i++) dtable[i] = 0;
  for (long i = 0; i < n; i++) for (long k = 0; k < width; k++) dtable[index[i] * width + k] += dout[i * width + k];
}
void fails(const float* x, float* y) { throw std::invalid_argument("y is unwell"); }
double number(const float* x) { return x[0]; }
void nothing(const float* x) {}
int over(const float* x) { return 0; }
int over(const float* x, int n) { return 0; }
"""

OPS = r"""
#include "leaky.h"
#include <atomic>
#include <stdexcept>

TARSIA_ELEMENTWISE(j_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);

TARSIA_OP(j_take)
    .input("table").input("index").no_gradient().optional_input("bias").output("rows").output("mean").hidden()
    .infer([](tarsia::BindInfo& i) {
      if (!i.input(0).has_shape() || !i.input(1).has_shape()) return;
      i.output(0).set_shape({i.input(1).size(0), i.input(0).size(1)});
      i.output(0).set_dtype(i.input(0).dtype());
      i.output(1).set_shape({});
      i.output(1).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor t = c.input(0), index = c.input(1), bias = c.input(2), y = c.output(0);
      const long n = t.size(1);
      *c.output(1).data<float>() = 5;
      for (long i = 0; i < index.numel(); i++)
        for (long k = 0; k < n; k++)
          y.data<float>()[i * n + k] = t.data<float>()[index.data<int32_t>()[i] * n + k] + (bias ? bias.data<float>()[k] : 0);
    })
    .backward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor dy = c.out_grad(0), index = c.forward_input(1), dt = c.in_grad(0), db = c.in_grad(2);
      if (*c.forward_output(1).data<float>() != 5) throw std::logic_error("the hidden output is lost");
      const long n = dy.size(1);
      for (long i = 0; i < dt.numel(); i++) dt.data<float>()[i] = 0;
      if (db) for (long i = 0; i < n; i++) db.data<float>()[i] = 0;
      for (long i = 0; i < index.numel(); i++)
        for (long k = 0; k < n; k++) {
          dt.data<float>()[index.data<int32_t>()[i] * n + k] += dy.data<float>()[i * n + k];
          if (db) db.data<float>()[k] += dy.data<float>()[i * n + k];
        }
    });

TARSIA_OP(j_running)
    .input("x").mutable_input("total").output("y")
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.input(0).numel(); i++)
        c.output(0).data<float>()[i] = c.input(1).data<float>()[i] += c.input(0).data<float>()[i];
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++) c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i];
    });

struct Count { std::atomic<int> n{0}; };
TARSIA_OP(j_count)
    .input("x").output("y")
    .state([](const tarsia::BindInfo&) { return new Count; })
    .forward("cpu", [](tarsia::Context& c) {
      const float n = float(++c.state<Count>().n);
      for (long i = 0; i < c.output(0).numel(); i++) c.output(0).data<float>()[i] = c.input(0).data<float>()[i] + n;
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++) c.in_grad(0).data<float>()[i] = float(c.state<Count>().n);
    });
TARSIA_OP(j_dice).random().input("x").output("y").forward("cpu", [](tarsia::Context& c) {
  static std::atomic<int> last{0};
  *c.output(0).data<float>() = float(++last);
});
TARSIA_OP(j_fails).input("x").output("y").forward("cpu", [](tarsia::Context&) { throw std::out_of_range("no such row"); });
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(FUNCTIONS)


@pytest.fixture(scope="module", autouse=True)
def op_library():
    library = tarsia.load_inline(OPS, include_dirs=[REPO / "tests/ops"])
    yield library
    library.unload()


def like(x, *_):
    return x


# ---- ops ----


def test_ops_eager_and_compiled():
    leaky = tarsia.jax.function(tarsia.op("j_leaky"))
    x = jnp.array([[-4.0, 8], [2, -1]])
    expected = jnp.where(x > 0, x, 0.25 * x)
    y = leaky(x)
    assert isinstance(y, jax.Array) and jnp.array_equal(y, expected)
    assert jnp.array_equal(jax.jit(lambda x: leaky(x) + 1)(x), expected + 1)
    assert jnp.array_equal(leaky(x, slope=0.5), jnp.where(x > 0, x, 0.5 * x))
    assert jnp.array_equal(leaky(np.asarray(x).T), expected.T)
    for dtype in (jnp.float16, jnp.bfloat16):
        assert leaky(x.astype(dtype)).dtype == dtype and jnp.array_equal(leaky(x.astype(dtype)), expected.astype(dtype))


def test_gradients_of_ops():
    leaky = tarsia.jax.function(tarsia.op("j_leaky"))
    x = jnp.array([-4.0, 8, 2, -1])
    gradient = jax.grad(lambda x: (leaky(x, slope=0.5) * leaky(x, slope=0.5)).sum())
    assert jnp.allclose(gradient(x), jnp.where(x > 0, 2 * x, 0.5 * x)) and jnp.allclose(jax.jit(gradient)(x), gradient(x))
    take = tarsia.jax.function(tarsia.op("j_take"))
    table, index, bias = jnp.arange(6.0).reshape(3, 2), jnp.array([2, 0, 2]), jnp.ones(2)
    assert jnp.array_equal(take(table, index), table[index]) and jnp.array_equal(take(table, index, bias), table[index] + 1)
    for f in (lambda t, b: take(t, index, b).sum(), jax.jit(lambda t, b: take(t, index, b).sum())):
        dt, db = jax.grad(f, (0, 1))(table, bias)
        assert dt.tolist() == [[1, 1], [0, 0], [2, 2]] and db.tolist() == [3, 3]
    assert jax.grad(lambda t: take(t, index, None)[0, 0])(table).tolist() == [[0, 0], [0, 0], [1, 0]]
    with pytest.raises(Exception, match="differentiated|differentiate"):
        jax.grad(lambda x: gradient(x).sum())(x)


def test_inputs_that_are_written_to_are_results():
    running = tarsia.jax.function(tarsia.op("j_running"))
    x, total = jnp.ones(2), jnp.zeros(2)
    y, after = running(x, total)
    assert y.tolist() == after.tolist() == [1, 1] and total.tolist() == [0, 0]

    @jax.jit
    def twice(x, total):
        y, total = running(x, total)
        return running(y, total)

    assert [one.tolist() for one in twice(x, total)] == [[2, 2], [2, 2]]
    assert jax.grad(lambda x: running(x, total)[0].sum())(x).tolist() == [1, 1]


def test_state_goes_on():
    count = tarsia.jax.function(tarsia.op("j_count"))
    x = jnp.zeros(2)
    assert [float(count(x)[0]) for _ in range(3)] == [1, 2, 3]

    @jax.jit
    def unused(x):
        count(x)
        return x

    jax.block_until_ready(unused(x))
    assert float(count(x)[0]) == 5 and float(count(jnp.zeros(3))[0]) == 1
    for gradient in (jax.grad(lambda x: count(x).sum()), jax.jit(jax.grad(lambda x: count(x).sum()))):
        n = float(count(x)[0])
        assert gradient(x).tolist() == [n + 1] * 2  # of the state of the call


def test_random_ops_are_called_each_time():
    dice = tarsia.jax.function(tarsia.op("j_dice"))
    assert float(jax.jit(lambda x: abs(dice(x) - dice(x)))(jnp.zeros(()))) == 1


def test_vmap():
    leaky = tarsia.jax.function(tarsia.op("j_leaky"), vmap="broadcast_all")
    x = jnp.array([[-4.0, 8], [2, -1]])
    assert jnp.array_equal(jax.vmap(leaky)(x), leaky(x))
    take = tarsia.jax.function(tarsia.op("j_take"))
    table, index = jnp.arange(6.0).reshape(3, 2), jnp.array([[0, 2], [1, 1]])
    assert jnp.array_equal(jax.vmap(take, (None, 0))(table, index), table[index])
    gradients = jax.vmap(jax.grad(lambda t, i: take(t, i).sum()), (None, 0))(table, index)
    assert gradients.tolist() == [[[1, 1], [0, 0], [1, 1]], [[0, 0], [2, 2], [0, 0]]]


def test_a_replaced_op_is_the_new_one():
    text = """
    #include <tarsia/op.h>
    TARSIA_OP(j_replaced).forward("cpu", [](tarsia::Context& c) { *c.output(0).data<float>() = VERSION; });
    """
    first = tarsia.load_inline(text, defines={"VERSION": 1})
    replaced = tarsia.jax.function(tarsia.op("j_replaced"))
    x = jnp.zeros(1)
    compiled = jax.jit(lambda x: replaced(x))
    assert float(replaced(x)[0]) == float(compiled(x)[0]) == 1
    second = tarsia.load_inline(text, defines={"VERSION": 2})
    assert float(replaced(x)[0]) == 2
    first.unload()
    second.unload()
    with pytest.raises(tarsia.NotFound):
        replaced(x)


# ---- functions ----


def test_what_a_function_writes_to_is_a_result(lib):
    axpy = tarsia.jax.function(lib.axpy)
    x, y = jnp.arange(3.0), jnp.ones(3)
    assert axpy(2.0, x, y, 3).tolist() == [1, 3, 5] and y.tolist() == [1, 1, 1]
    assert axpy(a=2.0, x=x, y=y, n=3).tolist() == [1, 3, 5]
    compiled = jax.jit(lambda x, y: axpy(2.0, x, axpy(1.0, x, y, 3), x.size))
    assert compiled(x, y).tolist() == [1, 4, 7] and y.tolist() == [1, 1, 1]
    donating = jax.jit(lambda x, y: axpy(2.0, x, y, 3), donate_argnums=1)
    assert donating(x, y).tolist() == [1, 3, 5]


def test_outputs(lib):
    relu = tarsia.jax.function(lib.relu, outputs=like)
    x = jnp.array([-1.0, 2, -3])
    assert relu(x, 3).tolist() == [0, 2, 0] and str(relu.__signature__) == "(x, n)"
    scaled = tarsia.jax.function(lib.scaled, outputs=lambda x, *_: jax.ShapeDtypeStruct(x.shape, x.dtype))
    assert scaled(x).tolist() == [-2, 4, -6] and scaled(x, negate=True, scale=3.0).tolist() == [3, -6, 9]
    assert scaled(x, np.float32(0.5)).tolist() == [-0.5, 1, -1.5] and scaled(x, 1).tolist() == x.tolist()
    both = tarsia.jax.function(lib.both, outputs=lambda x: (x, x))
    assert [one.tolist() for one in both(x)] == [[-2, 4, -6], [-1, 2, -3]]
    total = tarsia.jax.function(lib.total, outputs=lambda xs, *_: jax.ShapeDtypeStruct((), jnp.float32))
    assert float(jax.jit(lambda x: total([x, 2 * x], [1.0, 0.5], "word"))(x)) == 4 - 2 - 2
    wrong = tarsia.jax.function(lib.scaled, outputs=lambda x, *_: jax.ShapeDtypeStruct((2,), x.dtype))
    with pytest.raises(Exception, match=r"scaled: result 0 is float32 \(3,\), and outputs= says float32 \(2,\)"):
        jax.block_until_ready(wrong(x))


def test_pairs(lib):
    relu = tarsia.jax.function(lib.relu, lib.relu_backward, outputs=like)
    x = jnp.array([-1.0, 2, -3, 4])
    gradient = jax.grad(lambda x: (relu(x, 4) * relu(x, x.size)).sum())
    assert gradient(x).tolist() == jax.jit(gradient)(x).tolist() == [0, 4, 0, 8]
    scaled = tarsia.jax.function(lib.scaled, lib.scaled_backward, outputs=like)
    assert jax.grad(lambda x: scaled(x, 3.0, True).sum())(x).tolist() == [-3] * 4
    assert jax.grad(lambda x: scaled(x).sum())(x).tolist() == [2] * 4
    pick = tarsia.jax.function(lib.pick, lib.pick_backward, gradients="table",
                               outputs=lambda table, index, n, width: jax.ShapeDtypeStruct((n, width), table.dtype))
    table, index = jnp.arange(6.0).reshape(2, 3), jnp.array([1, 0, 1])
    assert jnp.array_equal(pick(table, index, 3, 3), table[index])
    assert jax.grad(lambda t: pick(t, index, 3, 3).sum())(table).tolist() == [[1] * 3, [2] * 3]


def test_libraries_live_as_long_as_what_calls_them():
    twelve = tarsia.jax.function(tarsia.load_inline("void twelve(float* x) { *x = 12; }").twelve,
                                 outputs=lambda: jax.ShapeDtypeStruct((), jnp.float32))
    compiled = jax.jit(lambda: twelve())
    assert float(compiled()) == 12
    gc.collect()
    assert float(compiled()) == float(twelve()) == 12


# ---- errors ----


def test_errors_arrive(lib):
    for f, message in [(tarsia.jax.function(lib.fails, outputs=like), "y is unwell"),
                       (tarsia.jax.function(tarsia.op("j_fails")), "op 'j_fails', forward on the CPU: no such row")]:
        for call in (f, jax.jit(f)):
            with pytest.raises(Exception, match=message):
                jax.block_until_ready(call(jnp.ones(2)))
    axpy = tarsia.jax.function(lib.axpy)
    x = jnp.ones(3)
    for call in (axpy, jax.jit(lambda a, x, y, n: axpy(1.0, x, y, 3), static_argnums=(0, 3))):
        with pytest.raises(TypeError, match="axpy: argument 'x' has to be an array of float32, not float16"):
            call(1.0, x.astype(jnp.float16), x, 3)
    assert axpy(1.0, x, x, 3).tolist() == [2] * 3  # life goes on


def test_overloads_that_differ_in_dtypes_and_outputs_are_checked():
    kinds = tarsia.load_inline("""
    #include <tarsia/op.h>
    void copy(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }
    void copy(const int* x, int* y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }
    void any(const void* x, tarsia::Tensor y, long n) { y.data<float>()[0] = 3; }
    """)
    copy = tarsia.jax.function(kinds.copy, outputs=lambda x, n: jax.ShapeDtypeStruct(x.shape, x.dtype))
    for dtype in (jnp.float32, jnp.int32):
        assert copy(jnp.ones(2, dtype), 2).tolist() == [1, 1]
    with pytest.raises(TypeError, match="argument 'x' has to be an array of float32 or int32, not float16"):
        copy(jnp.ones(2, jnp.float16), 2)
    wrong = tarsia.jax.function(kinds.copy, outputs=lambda x, n: jax.ShapeDtypeStruct(x.shape, jnp.float16))
    with pytest.raises(TypeError, match="output 'y' has to be an array of float32 or int32, not float16"):
        wrong(jnp.ones(2), 2)
    anything = tarsia.jax.function(kinds.any, outputs=lambda x, n: jax.ShapeDtypeStruct((1,), jnp.float32))
    assert anything(jnp.ones(2, jnp.float16), 2).tolist() == [3]


def test_misuse_is_told(lib):
    axpy, leaky = tarsia.jax.function(lib.axpy), tarsia.jax.function(tarsia.op("j_leaky"))
    x = jnp.ones(3)
    with pytest.raises(TypeError, match="axpy: argument 'a' is traced, .* static_argnums"):
        jax.jit(lambda a: axpy(a, x, x, 3))(1.0)
    with pytest.raises(TypeError, match="axpy: argument 'x' has to be an array of JAX or NumPy, not str"):
        axpy(1.0, "x", x, 3)
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        axpy(1.0, x)
    with pytest.raises(TypeError, match="j_leaky: attribute 'slope' is traced"):
        jax.jit(lambda s: leaky(x, slope=s))(1.0)
    with pytest.raises(ValueError, match="slope"):
        leaky(x, slope="much")
    deleted = jnp.ones(3)
    deleted.delete()
    with pytest.raises(ValueError, match="j_leaky: input 0 is an array that was deleted or donated"):
        leaky(deleted)
    from jax.experimental import sparse

    with pytest.raises(tarsia.Unsupported, match="j_leaky: input 0 is a sparse array"):
        leaky(sparse.BCOO.fromdense(x))
    for what, options, message in [
        (lib.scaled, {}, "scaled returns tensors: outputs= has to tell"),
        (lib.nothing, {}, "nothing gives nothing"),
        (lib.over, {}, "over has overloads"),
        (3, {}, "takes a tarsia.Op or a tarsia.Function, not int"),
        (tarsia.op("j_leaky"), {"outputs": like}, "outputs is for functions"),
        (lib.axpy, {"gradients": "x"}, "there is no backward"),
        (lib.spoil, {"outputs": like}, "list of tensors"),
    ]:
        with pytest.raises((TypeError, tarsia.Unsupported), match=message):
            tarsia.jax.function(what, **options)
    with pytest.raises(tarsia.Unsupported, match="number gives a number"):
        tarsia.jax.function(lib.number)
    with pytest.raises(ValueError, match="updates names x; axpy writes to y"):
        tarsia.jax.function(lib.axpy, updates="x", outputs=like)
    with pytest.raises(TypeError, match="outputs= gives jax.ShapeDtypeStruct, not int"):
        tarsia.jax.function(lib.relu, outputs=lambda x, n: 3)(x, 3)
    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:  # newer ones take what is said explicitly
        with pytest.raises(TypeError, match="float64, which JAX has only with"):
            tarsia.jax.function(lib.relu, outputs=lambda x, n: np.zeros(3))(x, 3)


def test_threads(lib):
    axpy = tarsia.jax.function(lib.axpy)

    def work(seed):
        compiled = jax.jit(lambda x, y: axpy(float(seed), x, y, 1000))
        for _ in range(30):
            y = compiled(jnp.ones(1000), jnp.zeros(1000))
            assert float(y[999]) == seed

    at_once(work, range(1, 7))


# ---- arrays passed to functions as they are ----


DIRECT = "float first(const float* x) { return x[0]; } void fill(float* x, long n) { for (long i = 0; i < n; i++) x[i] = 7; }"


def test_arrays_are_read_where_they_lie_and_never_written_to():
    lib = tarsia.load_inline(DIRECT)
    x = jnp.ones(3)
    assert lib.first(x) == 1
    with pytest.raises(ValueError, match="must be writable.*read-only"):
        lib.fill(x, 3)
    assert x.tolist() == [1] * 3
    y = tarsia.ops.j_leaky(-x)
    assert isinstance(y, jax.Array) and y.tolist() == [-0.25] * 3
    with pytest.raises(ValueError, match="read-only"):
        tarsia.op("j_running")(x, x)
    x.delete()
    with pytest.raises(ValueError, match="'x' .* is an array of JAX that was deleted"):
        lib.first(x)
    with pytest.raises(ValueError, match="input 0 'x' is an array of JAX that was deleted"):
        tarsia.ops.j_leaky(x)


def test_traced_arrays_are_told_where_to_go():
    lib = tarsia.load_inline(DIRECT)
    with pytest.raises(TypeError, match="tarsia.jax.function"):
        jax.jit(lambda x: lib.first(x))(jnp.ones(3))
    with pytest.raises(TypeError, match="tarsia.jax.function"):
        jax.jit(lambda x: tarsia.ops.j_leaky(x))(jnp.ones(3))


def test_tarsia_imports_no_jax_and_leaves_nothing_behind():
    program = ("import sys, tarsia; assert 'jax' not in sys.modules\n"
               "import tarsia.jax, jax.numpy as jnp\n"
               "lib = tarsia.load_inline('void f(float* x) { *x += 1; }')\n"
               "print(float(tarsia.jax.function(lib.f)(jnp.float32(2))))")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout == "3.0\n" and "leaked" not in done.stderr, done.stderr

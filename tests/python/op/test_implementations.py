"""Several implementations of an op: which one runs, what it may share, and who may add one."""

import re
import warnings

import numpy as np
import pytest

import tarsia
from tarsia.testing import check

# A convolution of one dimension, y[i] = Σ w[k] x[i + k - 1], in two implementations. The plain one reads x while it writes y, so they may
# not share memory. The other is like cuDNN's: it works in a buffer of its own, and may write y, and dx, where x or dy was.
CONVOLUTION = r"""
#include <tarsia/op.h>
#include <cstring>

static void convolve(const float* x, const float* w, float* y, int64_t n, int step) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 0;
    for (int k = 0; k < 3; ++k) {
      const int64_t at = i + step * (k - 1);
      if (at >= 0 && at < n) y[i] += w[k] * x[at];
    }
  }
}
static const float* buffered(tarsia::Context& c, const tarsia::Tensor& x) {
  float* copy = c.scratch<float>(x.numel());
  std::memcpy(copy, x.data<const float>(), sizeof(float) * x.numel());
  return copy;
}
static int64_t workspace(const tarsia::BindInfo& i) { return i.input("x").shape().numel() * int64_t(sizeof(float)); }
static bool is_long(const tarsia::BindInfo& i) { return i.input("x").size(0) >= 4; }

long long address = 0;  // of what was written last
long long written_to() { return address; }

template <bool buffer>
void forward(tarsia::Context& c) {
  const tarsia::Tensor x = c.input("x"), y = c.output("y");
  address = (long long)y.data<float>();
  convolve(buffer ? buffered(c, x) : x.data<const float>(), c.input("w").data<const float>(), y.data<float>(), x.numel(), 1);
}
template <bool buffer>
void backward(tarsia::Context& c) {
  const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
  address = (long long)dx.data<float>();
  convolve(buffer ? buffered(c, dy) : dy.data<const float>(), c.forward_input(1).data<const float>(), dx.data<float>(), dy.numel(), -1);
}

TARSIA_OP(impl_conv)
    .input("x").input("w").no_gradient().output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); })
    .forward("cpu", forward<false>).named("plain")
    .backward("cpu", backward<false>).named("plain")
    .forward("cpu", forward<true>).named("cudnn").when(is_long).priority(1).forward_inplace(0, 0).workspace(workspace)
    .backward("cpu", backward<true>).named("cudnn").when(is_long).priority(1).backward_inplace(0, 0).backward_inplace(1, 0).workspace(workspace);
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(CONVOLUTION)


W = np.array([1, 2, 3], np.float32)


def convolved(x, step=1):
    padded = np.pad(x, 1)
    return sum((W[::step][k] * padded[k:k + len(x)] for k in range(3)), np.zeros_like(x))


def address(x):
    return x.__array_interface__["data"][0]


def test_pairs_follow_the_implementation(lib):
    short, long = (tarsia.op("impl_conv").bind(np.ones(n, np.float32), W) for n in (3, 4))
    assert (short.implementation, short.backward_implementation, short.inplace, short.backward_inplace) == ("plain", "plain", [], [])
    assert (short.workspace, short.conversions) == (0, [])
    assert (long.implementation, long.backward_implementation) == ("cudnn", "cudnn")
    assert (long.inplace, long.backward_inplace) == ([(0, 0)], [(0, 0), (1, 0)])
    assert (long.workspace, long.backward_workspace) == (16, 16)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("request_", [None, "inplace"])
def test_forward_in_place_is_right_and_shares_only_by_a_pair(lib, n, request_):
    x = np.arange(1, n + 1, dtype=np.float32)
    bound, wanted = tarsia.op("impl_conv").bind(x, W), convolved(x)
    assert bound(x, W, out=x, req=request_) is x and np.array_equal(x, wanted)
    assert (lib.written_to() == address(x)) == (n == 4)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("into", ["x", "dy"])
def test_backward_in_place_is_right_and_shares_only_by_a_pair(lib, n, into):
    x, dy = np.arange(1, n + 1, dtype=np.float32), np.arange(2, n + 2, dtype=np.float32)
    bound, wanted = tarsia.op("impl_conv").bind(x, W), convolved(dy, -1)
    dx = {"x": x, "dy": dy}[into]
    bound.backward([dy], [x, W], out=(dx, None), req=("inplace", "null"))
    assert np.array_equal(dx, wanted)
    assert (lib.written_to() == address(dx)) == (n == 4)


def test_an_output_may_overlap_a_part_of_an_input(lib):
    memory = np.arange(5, dtype=np.float32)
    wanted = convolved(memory[:4])
    tarsia.op("impl_conv").bind(memory[:4], W)(memory[:4], W, out=memory[1:])
    assert np.array_equal(memory[1:], wanted)


def test_explain_says_why_each_other_was_not_taken(lib):
    text = tarsia.op("impl_conv").explain(np.ones(3, np.float32), W)
    assert text.splitlines() == [
        "op 'impl_conv' on the CPU, input 'x' float32 (3,), input 'w' float32 (3,)",
        "forward: 'plain'", "  not 'cudnn': its predicate says no", "backward: 'plain'", "  not 'cudnn': its predicate says no"]


def test_the_tests_of_ops_know_pairs(lib):
    assert check("impl_conv", shapes=[(4,), (3,)], dtypes=["float32"] * 2).passed
    tarsia.load_inline(r"""
#include <tarsia/op.h>
static void twice(tarsia::Context& c) { for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<double>()[i] = 2 * c.input(0).data<const double>()[i]; }
static void backward(tarsia::Context& c) {  // reads backwards what it writes forwards
  const int64_t n = c.out_grad(0).numel();
  double* dx = c.in_grad(0).data<double>();
  for (int64_t i = 0; i < n; ++i) dx[i] = 0;
  for (int64_t i = 0; i < n; ++i) dx[i] = 2 * c.out_grad(0).data<const double>()[i];
}
TARSIA_OP(impl_wrong_pair).forward("cpu", twice).backward("cpu", backward).backward_inplace(0, 0);
""")
    failed = check("impl_wrong_pair", shapes=[(4,)], dtypes=["float64"]).failed
    assert [one.name for one in failed] == ["cpu float64: backward honours the request inplace"]


# ---- inference chooses ----


@tarsia.define_op
class impl_chosen:
    how: str = ""
    factor: float = 2.0

    def infer(self, x, y, *, info):
        y.shape, y.dtype = x.shape, x.dtype
        assert info.device == "cpu"
        if self.how == "amend":
            info.set_attribute("factor", "5")
            assert self.factor == 5.0
        elif self.how == "bad":
            info.set_attribute("factor", "much")
        elif self.how:
            info.choose(self.how)

    @tarsia.implementation("forward", priority=3)
    def forward(self, x, y):
        y[...] = self.factor * x

    @tarsia.implementation("forward", name="other", when=lambda self, x, y: False)
    def other(self, x, y):
        y[...] = 100 + x

    def backward(self, dy, x, y, dx):
        dx[...] = 1

    @tarsia.implementation("backward", name="other", priority=-1)
    def other_backward(self, dy, x, y, dx):
        dx[...] = 2


def test_infer_in_python_chooses_and_amends():
    x = np.ones(2)
    op = tarsia.op("impl_chosen")
    assert op(x).tolist() == [2, 2] and op(x, how="other").tolist() == [101, 101] and op(x, how="amend").tolist() == [5, 5]
    bound = op.bind(x, how="other")
    assert (bound.implementation, bound.backward_implementation) == ("other", "other")
    assert bound.backward(x, x, x)[0].tolist() == [2, 2]
    assert op.bind(x).backward(x, x, x)[0].tolist() == [1, 1]
    with pytest.raises(ValueError, match="op 'impl_chosen', inference: .*no forward of the name 'third' to choose; there are 'cpu #1'"):
        op(x, how="third")
    with pytest.raises(ValueError, match="op 'impl_chosen', inference: .*set_attribute: attribute 'factor' has to be a number, not 'much'"):
        op(x, how="bad")


def test_infer_of_functions_chooses_and_amends_too():
    kept = []

    def infer(x, y, *, k, info):
        y.shape, y.dtype = x.shape, x.dtype
        info.set_attribute("k", k + 1)
        kept.append(info)

    @tarsia.define_op(infer=infer)
    def impl_function(x, y, *, k: int = 1):
        y[...] = k

    assert impl_function(np.zeros(1)).tolist() == [2] and impl_function(np.zeros(1), k=4).tolist() == [5]
    with pytest.raises(ValueError, match="only infer, while it runs, may choose or change attributes"):
        kept[0].choose("x")


def test_pairs_and_workspaces_of_python_ops():
    @tarsia.define_op
    class impl_python:
        backward_inplace = "dy -> dx"

        def forward(self, x, b, y):
            y[...] = x + b

        def backward(self, dy, x, b, y, dx, db):
            dx[...] = dy
            db[...] = dy

        @tarsia.implementation("forward", name="in place", when=lambda self, x, b, y: x.shape == (4,), priority=1, inplace="x -> y",
                               workspace=lambda self, x, b, y: 10 * x.shape[0])
        def fast(self, x, b, y, *, requests):
            impl_python_seen.append(requests[0])
            if requests[0] == "inplace":
                y += b
            else:
                y[...] = x + b

        @tarsia.implementation("backward", when=lambda self, x, b, y: x.shape == (4,), priority=1, inplace=[(0, 1), "g -> gx"])
        def fast_backward(self, g, x, b, y, gx, gb):
            gx[...] = gb[...] = g

    impl_python_seen = []
    op = tarsia.op("impl_python")
    assert (op.bind(np.ones(3), np.ones(3)).inplace, op.bind(np.ones(3), np.ones(3)).backward_inplace) == ([], [(0, 0)])
    x, b = np.ones(4), np.ones(4)
    bound = op.bind(x, b)
    assert (bound.implementation, bound.inplace, bound.backward_inplace, bound.workspace) == ("in place", [(0, 0)], [(0, 1), (0, 0)], 40)
    assert bound(x, b, out=x, req="inplace").tolist() == [2] * 4 and impl_python_seen == ["inplace"]
    assert bound(x, b, out=b, req="inplace").tolist() == [3] * 4 and impl_python_seen == ["inplace", "write"]


def f(x, y):
    y[...] = x


@pytest.mark.parametrize(("make", "message"), [
    (lambda: tarsia.define_op(f, name="g", inplace="x <- y"), "inplace is pairs"),
    (lambda: tarsia.define_op(f, name="g", forward_inplace="z -> y"), "op 'g': inplace of forward is pairs of an input and an output"),
    (lambda: tarsia.define_op(f, name="g", forward_inplace=[(0, 0, 0)]), "inplace of forward is pairs"),
    (lambda: tarsia.implementation("forward", workspace=3), "workspace is a function"),
    (lambda: tarsia.add_implementation("impl_chosen"), "takes forward=, backward= or both"),
    (lambda: tarsia.add_implementation("impl_chosen", forward=3), "forward is a function, not 3"),
    (lambda: tarsia.add_implementation(3, forward=f), "takes an op or its name, not 3"),
    (lambda: tarsia.add_implementation("impl_chosen", forward=lambda x, y, z: None), "forward of op 'impl_chosen' takes 2 tensors, not 3"),
    (lambda: tarsia.add_implementation("impl_chosen", forward=lambda x, y, *, k: None), "parameter 'k' that is no attribute of op"),
    (lambda: tarsia.add_implementation("impl_chosen", forward=f, devices="tpu"), "devices are 'cpu' and 'gpu'"),
    (lambda: tarsia.add_implementation("impl_chosen", forward=f, forward_inplace="a -> b"), "forward_inplace is pairs"),
])
def test_mistakes_are_clear_errors(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


def test_pairs_that_an_implementation_does_not_have_are_refused():
    with pytest.raises(tarsia.LoadError, match=re.escape("has .backward_inplace(3, 0), and its backward takes 3 tensors and writes 1")):
        tarsia.define_op(lambda x, y: None, name="impl_far", backward=lambda dy, x, y, dx: None, backward_inplace=[(3, 0)])
    for text, said in ((".forward_inplace(0, 0)", "has .forward_inplace(…) before any .forward(…) or .backward(…)"),
                       ('.forward("cpu", f).backward_inplace(0, 0)', "has .backward_inplace(…) after a .forward(…)"),
                       ('.forward("cpu", f).backward("cpu", f).forward_inplace(0, 0)', "has .forward_inplace(…) after a .backward(…)"),
                       ('.workspace([](const tarsia::BindInfo&) { return 1; })', "has .workspace(…) before any"),
                       ('.forward("cpu", f).forward_inplace(1, 0)', "has .forward_inplace(1, 0), and its forward takes 1 tensors and writes 1")):
        with pytest.raises(tarsia.LoadError, match=re.escape(said)):
            tarsia.load_inline(f"#include <tarsia/op.h>\nstatic void f(tarsia::Context&) {{}}\nTARSIA_OP(impl_bad){text};")


# ---- implementations that are added ----


def test_an_implementation_is_added_in_one_line_from_another_library(lib):
    x = np.ones(3, np.float32)
    before = tarsia.op("impl_conv").bind(x, W)
    added = tarsia.load_inline(r"""
#include <tarsia/op.h>
static void f(tarsia::Context& c) { for (int64_t i = 0; i < c.input("x").numel(); ++i) c.output("y").data<float>()[i] = 7; }
TARSIA_IMPLEMENTATION(impl_conv).forward("cpu", f).named("fast").priority(10);
""")
    bound = tarsia.op("impl_conv").bind(x, W)
    assert bound.implementation == "fast" and bound(x, W).tolist() == [7] * 3 and tarsia.ops.impl_conv(x, W).tolist() == [7] * 3
    assert before.implementation == "plain" and before(x, W).tolist() == convolved(x).tolist()
    assert "not 'plain': its priority is 0, and there is one of 10" in tarsia.op("impl_conv").explain(x, W)
    added.unload()
    assert tarsia.ops.impl_conv(x, W).tolist() == convolved(x).tolist() and bound(x, W).tolist() == [7] * 3
    with pytest.raises(tarsia.LoadError, match="TARSIA_IMPLEMENTATION of op 'impl_nowhere' at .*there is no op 'impl_nowhere'"):
        tarsia.load_inline("#include <tarsia/op.h>\nTARSIA_IMPLEMENTATION(impl_nowhere).forward(\"cpu\", [](tarsia::Context&) {});")


def test_python_adds_implementations_to_any_op(lib):
    x, op = np.ones(5, np.float32), tarsia.op("impl_conv")

    def backward(g, x, w, y, dx, dw):
        dx[...] = 3

    added = tarsia.add_implementation("impl_conv", forward=lambda x, w, y: y.fill(9), backward=backward, devices="cpu", name="python",
                                      priority=10, when=lambda x, w, y: x.shape[0] == 5, backward_inplace="g -> dx",
                                      workspace=lambda x, w, y: 11)
    bound = op.bind(x, W)
    assert (bound.implementation, bound.backward_implementation, bound.backward_inplace, bound.workspace) == ("python", "python", [(0, 0)], 11)
    assert op(x, W).tolist() == [9] * 5 and bound.backward([x], [x, W])[0].tolist() == [3] * 5
    assert op(x[:4], W).tolist() == convolved(x[:4]).tolist()
    assert repr(added) == "<tarsia.AddedImplementation python of impl_conv>"
    added.remove()
    added.remove()
    assert op(x, W).tolist() == convolved(x).tolist()
    with tarsia.add_implementation(tarsia.op("impl_chosen"), forward=lambda x, y, *, factor: y.fill(factor), priority=9):
        assert tarsia.op("impl_chosen")(x, factor=4).tolist() == [4] * 5
    assert tarsia.op("impl_chosen")(x, factor=4).tolist() == [4] * 5  # 4 * 1
    with pytest.raises(tarsia.NotFound, match="there is no op 'impl_nowhere'"):
        tarsia.add_implementation("impl_nowhere", forward=f)


def test_added_ones_stay_when_the_op_is_loaded_anew_unless_its_signature_changes(lib):
    source = '#include <tarsia/op.h>\nstatic void f(tarsia::Context& c) {{ c.output(0).data<float>()[0] = {}; }}\nTARSIA_OP(impl_anew).forward("cpu", f){};'
    tarsia.load_inline(source.format(1, ""))
    x = np.zeros(1, np.float32)
    with tarsia.add_implementation("impl_anew", forward=lambda x, y: y.fill(50), name="added", priority=1):
        tarsia.load_inline(source.format(2, ""))
        assert tarsia.ops.impl_anew(x).tolist() == [50]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tarsia.load_inline(source.format(3, '.attribute("k", 1)'))
        assert any(str(one.message).startswith("op 'impl_anew' loses the implementation 'added' that library 'impl_anew' added at ")
                   for one in told if one.category is tarsia.CompileWarning)
        assert tarsia.ops.impl_anew(x).tolist() == [3]


# ---- storage ----


def test_sparse_inputs_are_converted_said_once_and_counted():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    x = sparse.csr_matrix(dense)

    @tarsia.define_op
    class impl_dense:
        """Says nothing of storage."""

        def forward(self, x, y):
            assert isinstance(x, np.ndarray)
            y[...] = 2 * x

        def backward(self, dy, x, y, dx):
            dx[...] = dy * (x != 0)

    before = tarsia.stats()["conversions"]["tensors"]
    with pytest.warns(tarsia.StorageFallbackWarning, match="^op 'impl_dense', forward: no implementation takes these storage types, "
                                                           "so every call converts input 'x': csr -> dense$"):
        bound = impl_dense.bind(x)
    assert bound.conversions == ["input 'x': csr -> dense"]
    assert bound.backward_conversions == ["input 'x': csr -> dense", "gradient of input 'x': dense -> csr"]
    y = bound(x)
    assert np.array_equal(y, 2 * dense)
    assert tarsia.stats()["conversions"]["tensors"] == before + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(impl_dense(x), 2 * dense)  # once
        with pytest.raises(tarsia.StorageFallbackWarning, match="op 'impl_dense', backward: "):
            bound.backward(y, x, y)
    with pytest.warns(tarsia.StorageFallbackWarning):
        dx = bound.backward(y, x, y)[0]
    assert isinstance(dx, sparse.csr_matrix) and np.array_equal(dx.toarray(), 2 * dense)
    total = sparse.csr_matrix(np.ones((2, 3), np.float32))
    bound.backward(y, x, y, out=total, req="add")
    assert np.array_equal(total.toarray(), 1 + 2 * dense)
    assert "forward: 'cpu #1', with its sparse tensors made dense\n  input 'x': csr -> dense\n" in impl_dense.explain(x).replace("  not 'gpu #1': it is for gpu\n", "")


def test_outputs_that_infer_says_are_sparse_are_made_so():
    sparse = pytest.importorskip("scipy.sparse")

    @tarsia.define_op
    class impl_halves:
        def infer_storage(self, x):
            return x

        def forward(self, x, y):
            y[...] = x / 2

        @tarsia.implementation("forward", sparse=True, when=lambda self, x, y: x.shape == (1, 1))
        def forward_sparse(self, x, y):
            y[...] = x * 100

    x = sparse.csr_matrix(np.array([[0, 4.0], [2, 0]]))
    with pytest.warns(tarsia.StorageFallbackWarning, match="input 'x': csr -> dense, output 'y': dense -> csr"):
        y = impl_halves(x)
    assert isinstance(y, sparse.csr_matrix) and y.toarray().tolist() == [[0, 2], [1, 0]] and y.nnz == 2
    one = sparse.csr_matrix(np.array([[4.0]]))
    assert impl_halves.bind(one).conversions == [] and impl_halves(one).toarray().tolist() == [[400]]
    rows = tarsia.RowSparse(np.array([[2.0, 4.0]]), np.array([1]), (3, 2))
    with pytest.warns(tarsia.StorageFallbackWarning, match="row_sparse -> dense"):
        z = impl_halves(rows)
    assert isinstance(z, tarsia.RowSparse) and z.todense().tolist() == [[0, 0], [1, 2], [0, 0]] and z.indices.tolist() == [1]
    shapes, _, storages = impl_halves.infer([(2, 2)], ["float64"], ["csr"])
    assert shapes == [(2, 2), (2, 2)] and storages == ["csr", "csr"]


def test_a_state_and_conversions_go_together():
    sparse = pytest.importorskip("scipy.sparse")

    @tarsia.define_op(stateful=True)
    class impl_counts:
        def __init__(self):
            self.n = 0

        def forward(self, x, y):
            self.n += 1
            y[...] = self.n

        def backward(self, dy, x, y, dx):
            dx[...] = self.n

    x = sparse.csr_matrix(np.eye(2))
    with pytest.warns(tarsia.StorageFallbackWarning):
        bound = tarsia.op("impl_counts").bind(x)
    assert bound(x).max() == 1 and bound(x).max() == 2
    with pytest.warns(tarsia.StorageFallbackWarning):
        assert bound.backward(bound(x), x)[0].toarray().max() == 3

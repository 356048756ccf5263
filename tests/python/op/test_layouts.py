"""Layouts: implementations that take tensors otherwise than row-major, alone and from node to node of a graph."""

import itertools
import re

import numpy as np
import pytest

import tarsia
import tarsia.testing

CHANNELS_LAST = (0, 2, 3, 1)
# y[n, c, h, w] = x[n, c, h, w] * s[c], which one implementation takes with the channels innermost. It notes where and how x and y lie.
SOURCE = r"""
#include <tarsia/op.h>

static long long x_at, y_at, x_stride, y_stride, runs;
long long at_x() { return x_at; }
long long at_y() { return y_at; }
long long stride_x() { return x_stride; }
long long stride_y() { return y_stride; }
long long n_runs() { return runs; }

static void note(const tarsia::Tensor& x, const tarsia::Tensor& y) {
  x_at = (long long)x.strided_data<const float>(), y_at = (long long)y.strided_data<const float>();
  x_stride = x.ndim() > 1 ? x.stride(1) : 0, y_stride = y.ndim() > 1 ? y.stride(1) : 0;
  ++runs;
}
static void scale(const tarsia::Tensor& x, const tarsia::Tensor& s, const tarsia::Tensor& y) {
  const long long n = x.size(0), c = x.size(1), h = x.ndim() > 2 ? x.size(2) : 1, w = x.ndim() > 3 ? x.size(3) : 1;
  const float *from = x.strided_data<const float>(), *by = s.data<const float>();
  float* to = y.strided_data<float>();
  const auto step = [](const tarsia::Tensor& t, int i) { return i < t.ndim() ? t.stride(i) : 0; };
  for (long long i = 0; i < n; ++i)
    for (long long j = 0; j < c; ++j)
      for (long long k = 0; k < h; ++k)
        for (long long l = 0; l < w; ++l)
          to[i * y.stride(0) + j * y.stride(1) + k * step(y, 2) + l * step(y, 3)] =
              from[i * x.stride(0) + j * x.stride(1) + k * step(x, 2) + l * step(x, 3)] * by[j];
}
static void forward(tarsia::Context& c) {
  note(c.input("x"), c.output(0));
  scale(c.input("x"), c.input("s"), c.output(0));
}
static void backward(tarsia::Context& c) {
  note(c.out_grad(0), c.in_grad(0));
  scale(c.out_grad(0), c.forward_input(1), c.in_grad(0));
}
static void infer(tarsia::BindInfo& i) { i.output(0) = i.input(0); }

TARSIA_OP(lay_scale).input("x").input("s").no_gradient().output("y").infer(infer)
    .forward("cpu", forward).named("plain").backward("cpu", backward).named("plain");
TARSIA_OP(lay_scale_last).input("x").input("s").no_gradient().output("y").infer(infer)
    .forward("cpu", forward).named("last").layout("x", {0, 2, 3, 1}).layout("y", {0, 2, 3, 1}).forward_inplace(0, 0)
    .backward("cpu", backward).named("last").layout("dy", {0, 2, 3, 1}).layout("dx", {0, 2, 3, 1});
TARSIA_OP(lay_half).input("x").output("y")
    .forward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor x = c.input(0), y = c.output(0);
      for (long long i = 0; i < x.numel(); ++i) y.data<float>()[i] = x.data<const float>()[i] / 2;
    }).any_layout().forward_inplace(0, 0)
    .backward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor dy = c.out_grad(0), dx = c.in_grad(0);
      for (long long i = 0; i < dy.numel(); ++i) dx.data<float>()[i] = dy.data<const float>()[i] / 2;
    }).any_layout();
TARSIA_OP(lay_chosen).input("x").input("s").output("y").infer(infer)
    .forward("cpu", forward).named("plain")
    .forward("cpu", forward).named("last").layout("x", {0, 2, 3, 1}).priority(1)
    .when([](const tarsia::BindInfo& i) { return i.input("x").size(1) >= 8; });
"""
F = np.float32
X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(F)
S = np.array([2, 3, 5], F)


@pytest.fixture(scope="module")
def seen():
    return tarsia.load_inline(SOURCE, functions=["at_x", "at_y", "stride_x", "stride_y", "n_runs"])


def channels_last(x):
    """The same tensor with its channels innermost."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def wanted(x=X, s=S):
    return x * s.reshape(1, -1, *[1] * (x.ndim - 2))


# ---- calls

def test_a_row_major_tensor_is_copied_into_the_layout_and_the_result_back(seen):
    y = tarsia.op("lay_scale_last")(X, S)
    assert np.array_equal(y, wanted()) and y.flags.c_contiguous
    assert seen.stride_x() == seen.stride_y() == 1 and seen.at_x() != X.ctypes.data and seen.at_y() != y.ctypes.data


def test_a_tensor_in_the_layout_is_taken_where_it_lies(seen):
    x, out = channels_last(X), channels_last(np.zeros_like(X))
    tarsia.op("lay_scale_last")(x, S, out=out)
    assert np.array_equal(out, wanted()) and (seen.at_x(), seen.at_y()) == (x.ctypes.data, out.ctypes.data)


def test_pytorchs_channels_last_is_taken_where_it_lies(seen):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).to(memory_format=torch.channels_last)
    y = tarsia.op("lay_scale_last")(x, torch.from_numpy(S))
    assert seen.at_x() == x.data_ptr() and np.array_equal(y.numpy(), wanted())


def test_another_layout_than_those_two_is_refused(seen):
    with pytest.raises(ValueError, match="input 'x' is not contiguous"):
        tarsia.op("lay_scale_last")(X.transpose(0, 1, 3, 2), S)
    with pytest.raises(ValueError, match="input 'x' is not contiguous"):
        tarsia.op("lay_scale")(channels_last(X), S)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_tensors_with_another_number_of_dimensions_are_row_major(seen, shape):
    x = np.arange(np.prod(shape), dtype=F).reshape(shape)
    bound = tarsia.op("lay_scale_last").bind(x, S)
    assert np.array_equal(bound(x, S), wanted(x)) and seen.at_x() == x.ctypes.data and bound.layouts == []


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 3, 0, 4), (0, 3, 2, 2)])
def test_where_the_layouts_are_one_nothing_is_copied(seen, shape):
    x = np.ones(shape, F)
    bound = tarsia.op("lay_scale_last").bind(x, S)
    assert bound.layouts == [] and np.array_equal(bound(x, S), wanted(x))


def test_a_bound_op_tells_its_layouts_and_explain_too(seen):
    bound = tarsia.op("lay_scale_last").bind(X, S)
    assert bound.layouts == ["input 'x': axes (0, 2, 3, 1)", "output 'y': axes (0, 2, 3, 1)"]
    assert bound.backward_layouts == ["gradient of output 'y': axes (0, 2, 3, 1)", "gradient of input 'x': axes (0, 2, 3, 1)"]
    assert bound.conversions == []
    assert "takes input 'x': axes (0, 2, 3, 1)" in tarsia.op("lay_scale_last").explain(X, S)


@pytest.mark.parametrize("x", [X, channels_last(X)], ids=["row-major", "in the layout"])
@pytest.mark.parametrize("out", [X, channels_last(X)], ids=["row-major", "in the layout"])
def test_every_request_is_served(seen, x, out):
    bound = tarsia.op("lay_scale_last").bind(X, S)
    added = out.copy(order="K")
    bound(x, S, out=added, req="add")
    assert np.array_equal(added, X + wanted())
    untouched = out.copy(order="K")
    bound(x, S, out=untouched, req="null")
    assert np.array_equal(untouched, X)


@pytest.mark.parametrize("is_last", [False, True])
def test_in_place_where_input_and_output_lie_alike(seen, is_last):
    x = channels_last(X) if is_last else X.copy()
    tarsia.op("lay_scale_last")(x, S, out=x, req="inplace")
    assert np.array_equal(x, wanted()) and (seen.at_y() == x.ctypes.data) is is_last


def test_backward_has_layouts_of_its_own(seen):
    bound = tarsia.op("lay_scale_last").bind(X, S)
    dy = X + 1
    dx, ds = bound.backward(dy, [X, S], [wanted()])
    assert np.array_equal(dx, wanted(dy)) and ds is None and seen.stride_x() == seen.stride_y() == 1


def test_the_choice_brings_its_layout(seen):
    few, many = np.ones((1, 3, 2, 2), F), np.ones((1, 8, 2, 2), F)
    assert tarsia.op("lay_chosen").bind(few, S).layouts == []
    bound = tarsia.op("lay_chosen").bind(many, np.ones(8, F))
    assert bound.implementation == "last" and bound.layouts == ["input 'x': axes (0, 2, 3, 1)"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"])
def test_elements_keep_their_places_in_every_order_of_axes(dtype):
    rng = np.random.default_rng(1)
    shapes = {3: (3, 70, 41), 4: (2, 5, 33, 3), 5: (2, 3, 1, 4, 5)}
    for n, shape in shapes.items():
        x = (rng.standard_normal(shape) * 50).astype(dtype)
        for axes in list(itertools.permutations(range(n)))[::1 if n < 5 else 17]:
            strides = []

            def forward(x, y):
                strides.append(x.strides)
                y[...] = x

            op = tarsia.define_op(name="lay_order", implementations=[])(tarsia.implementation("forward", layout={"x": axes})(forward))
            assert np.array_equal(op(x), x), axes
            assert strides == [np.empty([shape[a] for a in axes], dtype).transpose(np.argsort(axes)).strides] or 1 in shape


# ---- graphs

def graph(*names, x=X, s=S):
    g = tarsia.Graph()
    value, scales = g.input("x"), g.input("s")
    for number, name in enumerate(names):
        value = g.add(name, value, *([scales] if "scale" in name else []), name=f"n{number}")
    g.output(value)
    return g, g.bind(x=(x.shape, "float32", "cpu"), s=(s.shape, "float32", "cpu"))


def test_a_value_stays_in_its_layout_from_node_to_node(seen):
    _, bound = graph("lay_scale_last", "lay_scale_last", "lay_scale_last")
    assert np.array_equal(bound(x=X, s=S), wanted() * S[:, None, None] * S[:, None, None])
    assert bound.plan.conversions == ["n0: 'x': row-major -> axes (0, 2, 3, 1)", "n2: 'n2': axes (0, 2, 3, 1) -> row-major"]


def test_what_treats_elements_alike_keeps_the_layout(seen):
    _, bound = graph("lay_scale_last", "lay_half", "lay_scale_last")
    assert np.array_equal(bound(x=X, s=S), wanted() * S[:, None, None] / 2)
    assert len(bound.plan.conversions) == 2
    _, plain = graph("lay_scale", "lay_half", "lay_scale")
    assert plain.plan.conversions == [] and np.array_equal(plain(x=X, s=S), bound(x=X, s=S))


def test_what_reads_row_major_gets_one_copy_for_all(seen):
    g = tarsia.Graph()
    x, s = g.input("x"), g.input("s")
    h = g.lay_scale_last(x, s, name="h")
    a, b = g.lay_scale(h, s, name="a"), g.lay_scale(h, s, name="b")
    g.output(a)
    g.output(b)
    bound = g.bind(x=(X.shape, "float32"), s=(S.shape, "float32"))
    assert bound.plan.conversions == ["h: 'x': row-major -> axes (0, 2, 3, 1)", "a: 'h': axes (0, 2, 3, 1) -> row-major"] or \
        bound.plan.conversions == ["h: 'x': row-major -> axes (0, 2, 3, 1)", "b: 'h': axes (0, 2, 3, 1) -> row-major"]
    for y in bound(x=X, s=S):
        assert np.array_equal(y, wanted() * S[:, None, None])


def test_a_constant_is_brought_into_the_layout_once(seen):
    g = tarsia.Graph()
    s = g.input("s")
    g.output(g.lay_scale_last(g.constant(X), s))
    bound = g.bind(s=(S.shape, "float32"))
    assert [one for one in bound.plan.conversions if "-> axes" in one] == []
    assert np.array_equal(bound(s=S), wanted()) and np.array_equal(bound(s=2 * S), 2 * wanted())


def test_values_in_layouts_share_memory_by_the_pairs(seen):
    _, bound = graph("lay_scale_last", "lay_half", "lay_scale_last")
    assert ("n0", "n1") in bound.plan.shared and ("n1", "n2") in bound.plan.shared


def test_a_graph_of_layouts_has_gradients(seen):
    for names in [("lay_scale", "lay_half", "lay_scale"), ("lay_scale_last", "lay_half", "lay_scale_last")]:
        g = tarsia.Graph()
        x, s = g.input("x"), g.input("s")
        h = g.add(names[0], x, s)
        y = g.add(names[2], g.add(names[1], h), s)
        z = g.add(names[2], h, s)
        loss = tarsia.ops.sum(y + z)
        (dx,) = g.gradient(loss, wrt=[x])
        g.output(dx)
        bound = g.bind(x=(X.shape, "float32"), s=(S.shape, "float32"))
        assert np.allclose(bound(x=X, s=S), np.broadcast_to((S * S * 1.5)[:, None, None], X.shape))


def test_the_run_is_the_same_as_node_by_node(seen):
    rng = np.random.default_rng(2)
    for _ in range(30):
        names = rng.choice(["lay_scale", "lay_scale_last", "lay_half"], 6)
        _, bound = graph(*names)
        y = X
        for name in names:
            y = tarsia.op(name)(y, *([S] if "scale" in name else []))
        assert np.array_equal(bound(x=X, s=S), y), names


# ---- ops in Python

def test_a_function_in_python_gets_strides():
    seen = []

    @tarsia.define_op
    class lay_python:
        @tarsia.implementation("forward", layout={"x": CHANNELS_LAST, "y": CHANNELS_LAST})
        def forward(self, x, y):
            seen.append((x.strides, y.strides))
            y[...] = x + 1

        @tarsia.implementation("backward", layout={"gy": CHANNELS_LAST})
        def backward(self, gy, x, y, gx):
            seen.append((gy.strides, gx.strides))
            gx[...] = gy

    bound = lay_python.bind(X)
    assert np.array_equal(bound(X), X + 1) and seen[-1] == (channels_last(X).strides,) * 2
    assert np.array_equal(bound.backward(X, X, X)[0], X) and seen[-1] == (channels_last(X).strides, X.strides)


def test_an_added_implementation_has_a_layout(seen):
    strides = []

    def forward(x, s, y):
        strides.append(x.strides)
        y[...] = wanted(x, s)

    with tarsia.add_implementation("lay_scale", forward=forward, devices="cpu", name="added", priority=5, forward_layout={"x": CHANNELS_LAST}):
        assert np.array_equal(tarsia.op("lay_scale")(X, S), wanted())
    assert strides == [channels_last(X).strides]


@pytest.mark.parametrize(("layout", "text"), [
    ({"z": (0, 1)}, "names 'z', which is no tensor of the function; there are x, y"),
    ({"x": (0, 0)}, "the axes of 'x' are each of 0 to 1 once, not (0, 0)"),
    ({"x": ()}, "the axes of 'x' are each of 0 to 0 once, not ()"),
    ({"x": "ab"}, "the axes of 'x' are numbers, such as (0, 2, 3, 1)"),
    ([("x", (0, 1))], 'is a dict, such as {"x": (0, 2, 3, 1)}'),
])
def test_a_wrong_layout_in_python_is_refused(layout, text):
    with pytest.raises(tarsia.Error, match=re.escape(text)):
        @tarsia.define_op
        class lay_wrong:
            @tarsia.implementation("forward", layout=layout)
            def forward(self, x, y):
                pass


# ---- declarations

@pytest.mark.parametrize(("declaration", "text"), [
    ('.forward("cpu", f).layout("z", {0, 1})', 'has .layout("z", …), and its forward has x, y'),
    ('.forward("cpu", f).backward("cpu", f).layout("gx", {0, 1})', 'has .layout("gx", …), and its backward has dy, x, y, dx: the gradient of a tensor has its name behind a d'),
    ('.forward("cpu", f).layout("x", {0, 2})', 'has .layout("x", …) with other axes than each of 0 to 1 once'),
    ('.forward("cpu", f).layout("x", {1, 1})', 'has .layout("x", …) with other axes than each of 0 to 1 once'),
    ('.forward("cpu", f).layout("x", {0, -1})', 'has .layout("x", …) with other axes than each of 0 to 1 once'),
    ('.forward("cpu", f).layout("x", {})', 'has .layout("x", …) of 0 axes'),
    ('.forward("cpu", f).layout("x", {0, 1}).layout("x", {1, 0})', 'has .layout("x", …) twice for 2 axes'),
    ('.forward("cpu", f).layout("x", {1, 0}).any_layout()', "has .any_layout() and .layout(…) for one implementation"),
    ('.layout("x", {0, 1})', "has .layout(…) before any .forward(…) or .backward(…)"),
    ('.any_layout()', "has .any_layout(…) before any .forward(…) or .backward(…)"),
])
def test_a_wrong_declaration_is_refused(declaration, text):
    with pytest.raises(tarsia.Error, match=re.escape(text)):
        tarsia.load_inline("#include <tarsia/op.h>\nstatic void f(tarsia::Context&) {}\nTARSIA_OP(lay_fault)" + declaration + ";")


def test_an_input_that_the_op_changes_has_no_layout():
    with pytest.raises(tarsia.Error, match=re.escape('has .layout("s", …) for an input that the op changes where it lies: leave the layout out')):
        tarsia.load_inline('#include <tarsia/op.h>\nstatic void f(tarsia::Context&) {}\nTARSIA_OP(lay_state).input("x").mutable_input("s")'
                           '.output("y").forward("cpu", f).layout("s", {0, 2, 3, 1});')


# ---- what shares memory, and what changes

# y[i, j] = x[i, j] + 1, whatever the strides. What the names say lies column-major. lay_collect adds x to s, and gives s.
COLUMNS = r"""
#include <tarsia/op.h>
static void add_one(const tarsia::Tensor& x, const tarsia::Tensor& y) {
  for (int i = 0; i < x.size(0); ++i)
    for (int j = 0; j < x.size(1); ++j) y.at<float>(i, j) = x.at<const float>(i, j) + 1;
}
static void run(tarsia::Context& c) { add_one(c.input(0), c.output(0)); }
static void back(tarsia::Context& c) { add_one(c.out_grad(0), c.in_grad(0)); }
static void infer(tarsia::BindInfo& i) { i.output(0) = i.input(0); }
static void same(tarsia::BindInfo& i) { tarsia::unify_shape(i.input(0), i.output(0)); tarsia::unify_dtype(i.input(0), i.output(0)); }
TARSIA_OP(col_both).input("x").output("y").infer(same).forward("cpu", run).layout("x", {1, 0}).layout("y", {1, 0});
TARSIA_OP(col_y).input("x").output("y").infer(infer).forward("cpu", run).layout("y", {1, 0});
TARSIA_OP(col_x_shares).input("x").output("y").infer(infer).inplace(0, 0).forward("cpu", run).layout("x", {1, 0});
TARSIA_OP(col_dx_shares).input("x").output("y").infer(infer).backward_needs({"dy"}).forward("cpu", run)
    .backward("cpu", back).backward_inplace(0, 0).layout("dx", {1, 0});
TARSIA_OP(col_plain).input("x").output("y").infer(infer).forward("cpu", run);
static void collect(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), s = c.input(1), y = c.output(0);
  for (long i = 0; i < x.numel(); ++i) y.data<float>()[i] = s.data<float>()[i] += x.data<const float>()[i];
}
TARSIA_OP(col_collect).input("x").mutable_input("s").output("y").infer(infer).forward("cpu", collect);
TARSIA_OP(col_collect_any).input("x").mutable_input("s").output("y").infer(infer).forward("cpu", collect).any_layout();
TARSIA_OP(col_writes_to_x).input("x").output("y").infer(infer).forward("cpu", [](tarsia::Context& c) {
  add_one(c.input(0), c.output(0));
  c.input(0).at<float>(0, 1) = 7;
}).layout("x", {1, 0});
TARSIA_OP(col_counts).input("x").output("y").infer(infer).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] + i;
}).any_layout();
"""
SMALL = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def columns():
    return tarsia.load_inline(COLUMNS)


def test_a_pair_of_different_layouts_shares_nothing(columns):
    g = tarsia.Graph()
    g.output(g.col_y(g.col_x_shares(g.col_y(g.input("x")))))
    bound = g.bind(x=SMALL)
    assert bound.plan.shared == [] and np.array_equal(bound(x=SMALL), SMALL + 3)
    for req in ("write", "inplace"):
        memory = np.arange(6, dtype=np.float32)
        x, out = memory.reshape(3, 2).T, memory.reshape(2, 3)
        wanted = x + 1
        tarsia.op("col_x_shares")(x, out=out, req=req)
        assert np.array_equal(out, wanted), req
    assert tarsia.op("col_x_shares").bind(SMALL).inplace == []
    g = tarsia.Graph()
    x = g.input("x")
    y = g.col_dx_shares(g.col_dx_shares(x))
    g.output(g.gradient(tarsia.ops.sum(y * g.constant(SMALL)), wrt=x))
    bound = g.bind(x=SMALL)
    assert np.array_equal(bound(x=SMALL), SMALL + 2)
    tarsia.testing.assert_op("col_x_shares", shapes=[(2, 3)], dtypes=["float32"])


@pytest.mark.parametrize("kind", ["state", "input"])
def test_what_an_op_changes_is_changed_where_it_lies(columns, kind):
    state = np.zeros((2, 3), np.float32)
    g = tarsia.Graph()
    x = g.input("x")
    s = g.state(state, "s") if kind == "state" else g.input("s")
    g.output(g.col_collect_any(g.col_both(x), s))
    given = {} if kind == "state" else {"s": state}
    assert np.array_equal(g.bind(x=SMALL, **given)(x=SMALL, **given), SMALL + 1)
    assert np.array_equal(state, SMALL + 1)


@pytest.mark.parametrize("kind", ["state", "input"])
@pytest.mark.parametrize("read", ["col_plain", "col_both", "add"])
def test_what_is_read_after_a_change_is_the_new_value(columns, kind, read):
    one, state = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    g = tarsia.Graph()
    x = g.input("x")
    s = g.state(state, "s") if kind == "state" else g.input("s")
    h = g.col_both(x)

    def reading():
        return h + s if read == "add" else g.add(read, s)

    before = reading()
    y = g.col_collect(x, s)
    for value in (before, y, reading()):
        g.output(value)
    given = {} if kind == "state" else {"s": state}
    first, collected, second = g.bind(x=one, **given)(x=one, **given)
    assert collected[0, 0] == 1 and second[0, 0] - first[0, 0] == 1


@pytest.mark.parametrize("dtype", ["float4_e2m1fn", "float6_e2m3fn"])
def test_elements_of_less_than_a_byte_are_copied(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(12).astype(np.uint8).reshape(3, 4).view(getattr(ml_dtypes, dtype))
    for layout in ({"x": (1, 0)}, {"y": (1, 0)}):
        def forward(x, y):
            y.view(np.uint8)[...] = x.view(np.uint8)

        op = tarsia.define_op(name="col_small", implementations=[])(tarsia.implementation("forward", layout=layout)(forward))
        y = op(x)
        assert np.array_equal(y.view(np.uint8), x.view(np.uint8)), layout


def test_sparse_values_go_into_layouts(columns):
    sparse = pytest.importorskip("scipy.sparse")
    given = sparse.csr_matrix(SMALL)
    g = tarsia.Graph()
    g.output(g.col_both(g.input("x", storage="csr")))
    assert np.array_equal(g.bind(x=((2, 3), "float32", "cpu", "csr"))(x=given), SMALL + 1)
    g = tarsia.Graph()
    g.output(g.col_both(g.input("x")) + g.input("c", storage="csr"))
    assert np.array_equal(g.bind(x=SMALL, c=((2, 3), "float32", "cpu", "csr"))(x=SMALL, c=given), 2 * SMALL + 1)


# ---- checks

def test_checks_run_in_the_layout(columns):
    failed = tarsia.testing.check("col_writes_to_x", shapes=[(2, 3)], dtypes=["float32"]).failed
    assert any("input 'x' is written to, and is not declared mutable" in one.message for one in failed)
    for name in ("col_both", "col_y"):
        tarsia.testing.assert_op(name, shapes=[(2, 3)], dtypes=["float32"])


def test_checks_find_that_places_matter(columns):
    failed = tarsia.testing.check("col_counts", shapes=[(2, 3)], dtypes=["float32"]).failed
    assert [one.name for one in failed] == ["cpu float32: forward does the same in any layout"]
    report = tarsia.testing.check("multiply", shapes=[(2, 3), (2, 3)], dtypes="float32")
    names = [one.name for one in report.checks if one.status == "passed"]
    assert "cpu float32: forward does the same in any layout" in names and "cpu float32: backward does the same in any layout" in names


# ---- any strides

def test_an_implementation_that_follows_strides_takes_any():
    lib = tarsia.load_inline("""
#include <tarsia/op.h>
TARSIA_OP(lay_follows).input("x").mutable_input("calls").output("y").infer([](tarsia::BindInfo& info) {
  info.output(0).set_shape(info.input(0).shape());
  info.output(0).set_dtype(info.input(0).dtype());
}).forward("cpu", [](tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0);
  double* y = c.output(0).data<double>();
  for (int64_t i = 0, k = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y[k++] = 2 * x.at<const double>(i, j);
  c.input(1).data<double>()[0] += 1;
}).any_strides();
""")
    try:
        x, calls = np.arange(12.0).reshape(3, 4), np.zeros(1)
        for view in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (5, 4))):
            np.testing.assert_array_equal(tarsia.ops.lay_follows(view, calls), 2 * view)
        assert calls[0] == 4
        with pytest.raises(ValueError, match="input 'calls' is not contiguous"):
            tarsia.ops.lay_follows(x, np.zeros(4)[::2])
    finally:
        lib.unload()

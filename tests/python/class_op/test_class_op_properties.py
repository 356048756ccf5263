"""What a property of a class operator says of its op: parameters, tensors, shapes, types, resources, requests."""

import pathlib

import numpy as np
import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


def texts(*names):
    return {name: (SRC / name).read_text() for name in names}


@pytest.fixture(scope="module", autouse=True)
def libraries():
    loaded = [
        tarsia.load_inline(texts("shrink.cc"), headers=texts("shrink-inl.h")),
        tarsia.load_inline(texts("center.cc")),
        tarsia.load_inline(texts("gate.cc")),
    ]
    yield loaded
    for lib in loaded:
        lib.unload()


def soft(x, bound):
    return np.sign(x) * np.maximum(np.abs(x) - bound, 0)


X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-12), ("float16", 2e-3)])
def test_forward_and_backward_in_every_type(dtype, tolerance):
    x, dy = X.astype(dtype), (X + 3).astype(dtype)
    bound = tarsia.op("Shrink").bind(x, bound=0.75, scale=2.0)
    y = bound(x)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, soft(x, 0.75) * 2, atol=tolerance * 4)
    dx = bound.backward(dy, x, y)
    np.testing.assert_allclose(np.asarray(dx).reshape(x.shape), (np.abs(x) > 0.75) * dy * 2, atol=tolerance * 16)


def test_requests():
    bound = tarsia.op("Shrink").bind(X, bound=1)
    out = np.ones_like(X)
    bound(X, out=out, req="add")
    np.testing.assert_allclose(out, soft(X, 1) + 1, atol=1e-6)
    x = X.copy()
    bound(x, out=x, req="inplace")
    np.testing.assert_allclose(x, soft(X, 1), atol=1e-6)
    dx = np.ones_like(X)
    bound.backward(X, X, bound(X), out=dx, req="add")
    np.testing.assert_allclose(dx, (np.abs(X) > 1) * X + 1, atol=1e-6)


def test_parameters_of_every_kind():
    np.testing.assert_allclose(tarsia.ops.Shrink(X, kind="hard", bound=1), X * (np.abs(X) > 1))
    np.testing.assert_allclose(tarsia.ops.Shrink(X, negate=True, bound=0), -X)
    np.testing.assert_allclose(tarsia.ops.Shrink(X, axes=(1, 2), limit=3, pair="1:2.5", note="a b", bound="0"), X)
    np.testing.assert_allclose(tarsia.ops.shrunken(X, bound=0), X)  # an alias


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"unknown": 1}, "Shrink.*unknown"),
        ({"bound": 11}, "Shrink.*bound"),
        ({"kind": "medium"}, "Shrink.*kind.*medium"),
        ({"times": 0}, "Shrink.*times"),
        ({"pair": "1,2"}, "Shrink.*pair.*1,2"),
        ({"scale": "much"}, "Shrink.*scale.*much"),
    ],
)
def test_a_wrong_parameter_names_op_and_field(attributes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        tarsia.ops.Shrink(X, **attributes)


def test_auxiliary_states_hidden_outputs_and_scratch():
    x, seen = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2, np.zeros(1, np.float32)
    bound = tarsia.op("Center").bind(x, seen)
    y = bound(x, seen)
    np.testing.assert_allclose(y, x - x.mean(0), atol=1e-5)
    assert seen[0] == 1
    dy = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
    dx = bound.backward(dy, [x, seen], y)  # the hidden mean is that of the forward that made y
    np.testing.assert_allclose(dx[0], dy - dy.mean(0), atol=1e-5)
    assert dx[1] is None


def test_a_backward_without_its_forward_names_the_output():
    x, seen = np.ones((4, 3), np.float32), np.zeros(1, np.float32)
    bound = tarsia.op("Center").bind(x, seen)
    with pytest.raises(tarsia.OpError, match="Center.*output 'mean'.*pass all outputs"):
        bound.backward(x, [x, seen], x.copy())


def test_forwards_of_one_bound_op_are_kept_apart():
    first, second = np.random.rand(2, 4, 3).astype(np.float32)
    seen = np.zeros(1, np.float32)
    bound = tarsia.op("Center").bind(first, seen)
    outputs = [bound(first, seen), bound(second, seen)]
    for x, y in zip((first, second), outputs):
        np.testing.assert_allclose(bound.backward(y, [x, seen], y)[0], y - y.mean(0), atol=1e-5)


def test_a_hidden_output_is_found_by_input_and_output():
    other, x, dy = np.random.default_rng(1).standard_normal((3, 4, 3)).astype(np.float32)
    bound, out = tarsia.op("Gate").bind(x), np.empty_like(x)
    bound(other, out=out)
    y = bound(x)
    np.testing.assert_array_equal(bound.backward(dy, x, y)[0], dy * (x > 0.5))
    out[:] = y  # what its memory held is the output of another forward
    with pytest.raises(tarsia.OpError, match="Gate.*output 'mask'.*last 64 forwards.*pass all outputs"):
        bound.backward(dy, x, out)
    with pytest.raises(tarsia.OpError, match="Gate.*output 'mask'"):
        bound.backward(dy, x.copy(), y)
    np.testing.assert_array_equal(bound.backward(dy, x, [out, np.ones_like(x)])[0], dy)


def test_a_forward_that_does_not_train_leaves_nothing_to_backward():
    bound = tarsia.op("Gate").bind(X, is_train=False)
    with pytest.raises(tarsia.OpError, match="Gate.*output 'mask'.*that train"):
        bound.backward(X, X, bound(X))


def test_lists_of_floats():
    np.testing.assert_array_equal(tarsia.ops.Gate(X, bounds=(0.25, 1.5)), X * (X > 1.5))
    np.testing.assert_array_equal(tarsia.ops.Gate(X, bounds=[1]), X * (X > 1))
    np.testing.assert_array_equal(tarsia.ops.Gate(X, bounds=()), X)
    np.testing.assert_array_equal(tarsia.ops.Gate(X), X * (X > 0.5))
    with pytest.raises((ValueError, TypeError), match="Gate.*bounds"):
        tarsia.ops.Gate(X, bounds=("much",))


@pytest.mark.parametrize("attributes", [{"times": -1}, {"repeats": (1, -1)}, {"most": -1}])
def test_unsigned_fields_take_no_negative_numbers(attributes):
    with pytest.raises((ValueError, TypeError), match=f"Gate.*{next(iter(attributes))}"):
        tarsia.ops.Gate(X, **attributes)


def test_unsigned_fields_of_64_bits_take_all_their_values():
    x = np.ones((1, 2), np.float32)
    for times in (2**63, 2**64 - 1, "18446744073709551615"):
        np.testing.assert_array_equal(tarsia.ops.Gate(x, times=times), x * np.float32(int(times)))
    assert "uint64" in str(pytest.raises(tarsia.ArgumentValueError, tarsia.ops.Gate, x, times=2**64).value)


def test_what_backward_does_not_declare_is_not_kept():
    bound = tarsia.op("Shrink").bind(X)
    assert bound.backward_needs == (True, True, False)
    np.testing.assert_array_equal(bound.backward(X, X, None)[0], (np.abs(X) > 0.5) * X)
    # A hidden output is found by the input and the output.
    assert tarsia.op("Gate").bind(X).backward_needs == (True, False, True, True, True)
    x, bias, seen = np.ones((4, 3), np.float32), np.ones(3, np.float32), np.zeros(1, np.float32)
    bound = tarsia.op("Center").bind(x, bias, seen, with_bias=True)
    assert bound.backward_needs == (True, False, True, False, True, True, True)


def test_is_train_is_an_attribute():
    x, seen = np.ones((4, 3), np.float32), np.zeros(1, np.float32)
    tarsia.ops.Center(x, seen, is_train=False)
    assert seen[0] == 0


def test_parameters_decide_how_many_inputs_there_are():
    x, bias, seen = np.ones((4, 3), np.float32), np.arange(3, dtype=np.float32), np.zeros(1, np.float32)
    bound = tarsia.op("Center").bind(x, bias, seen, with_bias=True)
    y = bound(x, bias, seen)
    np.testing.assert_allclose(y, x - x.mean(0) + bias)
    dx, dbias, _ = bound.backward(x, [x, bias, seen], y)
    np.testing.assert_allclose(dx, np.zeros_like(x), atol=1e-6)
    np.testing.assert_allclose(dbias, x.sum(0))
    with pytest.raises(TypeError, match="Center.*3 inputs"):
        tarsia.ops.Center(x, seen, with_bias=True)


def test_random_numbers_follow_the_seed():
    x, seen = np.zeros((4, 300), np.float32), np.zeros(1, np.float32)
    tarsia.seed(7)
    first, second = tarsia.ops.Center(x, seen, noisy=True), tarsia.ops.Center(x, seen, noisy=True)
    tarsia.seed(7)
    np.testing.assert_array_equal(tarsia.ops.Center(x, seen, noisy=True), first)
    assert (first != second).any()
    assert abs(first.std() / 0.001 - 1) < 0.1 and abs(first.mean()) < 0.0002


def test_inference_fills_in_what_is_unknown():
    shapes, dtypes = tarsia.op("Center").infer([(4, 3), None, None], ["float32"] * 3, with_bias=True)
    assert shapes == [(4, 3), (3,), (1,), (4, 3), (3,)]
    assert set(dtypes) == {"float32"}


def test_wrong_shapes_and_types_name_the_op():
    with pytest.raises(ValueError, match=r"(?s)Center.*takes a matrix"):
        tarsia.ops.Center(np.ones(3, np.float32), np.zeros(1, np.float32))
    with pytest.raises(ValueError, match=r"(?s)Center.*Shape inconsistent, Provided=\(2,\).*\(3,\)"):
        tarsia.ops.Center(np.ones((4, 3), np.float32), np.ones(2, np.float32), np.zeros(1, np.float32), with_bias=True)
    with pytest.raises(ValueError, match=r"(?s)Center.*float64|Center.*double"):
        tarsia.ops.Center(np.ones((4, 3)), np.zeros(1))
    with pytest.raises(ValueError, match=r"InferShape leaves 1 shapes of outputs, and the op has 2"):
        tarsia.ops.Center(np.ones((4, 3), np.float32), np.zeros(1, np.float32), honest=0)


def test_a_source_built_by_gcc_does_the_same(build_class_op):
    lib = build_class_op("shrink.cc")
    try:
        np.testing.assert_allclose(tarsia.ops.Shrink(X, bound=0.75), soft(X, 0.75), atol=1e-6)
    finally:
        lib.unload()


@pytest.fixture(scope="module")
def choosy():
    """Gate with parameters that decide which outputs there are, and which of them callers get."""
    text = texts("gate.cc")["gate.cc"].replace("Gate", "ChoosyGate")
    for old, new in [
        ("  uint64_t times;\n", "  uint64_t times;\n  bool show, plain;\n"),
        ("    DMLC_DECLARE_FIELD(times)", "    DMLC_DECLARE_FIELD(show).set_default(false);\n    DMLC_DECLARE_FIELD(plain).set_default(false);\n"
                                         "    DMLC_DECLARE_FIELD(times)"),
        ('override { return {"output", "mask"}; }',
         'override {\n    if (param_.plain) return {"output"};\n    return {"output", "mask"};\n  }'),
        ("NumVisibleOutputs() const override { return 1; }", "NumVisibleOutputs() const override { return 1 + (param_.show && !param_.plain); }"),
        ("out_shape->assign(2,", "out_shape->assign(param_.plain ? 1 : 2,"),
        ("    return {out_grad[0], out_data[1]};", "    if (param_.plain) return {out_grad[0]};\n    return {out_grad[0], out_data[1]};"),
        ("    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();\n    mask = 1.0f;",
         "    if (param_.plain) {\n      Assign(out, req[0], data * static_cast<real_t>(param_.times));\n      return;\n    }\n"
         "    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();\n    mask = 1.0f;"),
        ("    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();\n    Assign(gdata",
         "    if (param_.plain) {\n      Assign(gdata, req[0], grad * static_cast<real_t>(param_.times));\n      return;\n    }\n"
         "    Tensor<cpu, 2> mask = out_data[1].FlatTo2D<cpu, real_t>();\n    Assign(gdata"),
    ]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    lib = tarsia.load_inline({"choosy.cc": text})
    yield tarsia.op("ChoosyGate")
    lib.unload()


@pytest.mark.parametrize(("attributes", "visible"), [({}, 1), ({"show": True}, 2), ({"plain": True}, 1), ({"show": True, "plain": True}, 1)])
def test_parameters_decide_which_outputs_callers_get(choosy, attributes, visible):
    x, dy = X.reshape(6, 4).copy(), (X + 3).reshape(6, 4)
    mask = np.ones_like(x) if attributes.get("plain") else (x > 0.5).astype(np.float32)
    bound = choosy.bind(x, times=3, **attributes)
    results = bound(x)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == visible
    np.testing.assert_allclose(results[0], x * mask * 3)
    if visible == 2:
        np.testing.assert_array_equal(results[1], mask)
    gradients = [dy, np.zeros_like(x)][:visible]
    np.testing.assert_allclose(np.asarray(bound.backward(gradients, [x], list(results))).reshape(x.shape), dy * mask * 3)

    g = tarsia.Graph()
    value = g.input("x")
    made = g.add(choosy, value, times=3, **attributes)
    made = made if isinstance(made, tuple) else (made,)
    assert len(made) == visible
    g.output(made[0])
    g.output(g.gradient(made[0], value))
    y, dx = g(x)
    np.testing.assert_allclose(y, x * mask * 3)
    np.testing.assert_allclose(dx, mask * 3)


@pytest.mark.parametrize("attributes", [{}, {"show": True}, {"plain": True}])
def test_such_ops_pass_their_checks(choosy, attributes):
    from tarsia.testing import check

    check("ChoosyGate", shapes=[(3, 4)], attributes={**attributes, "bounds": (0.1,)})


@pytest.mark.parametrize(("attributes", "visible"), [({}, 1), ({"show": True}, 2), ({"plain": True}, 1)])
def test_such_ops_in_pytorch_have_the_outputs_of_their_fixed_attributes(choosy, attributes, visible):
    torch = pytest.importorskip("torch")
    name = "choosy_" + "_".join(attributes)
    fixed = {"show": False, "plain": False, **attributes}
    op = tarsia.torch.register(choosy, name=name, attributes=fixed)
    try:
        assert str(op.default._schema).endswith("-> Tensor" if visible == 1 else "-> (Tensor, Tensor)")
        x = torch.tensor(X.reshape(6, 4), requires_grad=True)
        y = op(x, times=2)
        y = y if isinstance(y, tuple) else (y,)
        mask = torch.ones_like(x) if attributes.get("plain") else (x > 0.5).float()
        torch.testing.assert_close(y[0], x * mask * 2)
        y[0].sum().backward()
        torch.testing.assert_close(x.grad, mask * 2)
    finally:
        tarsia.torch.unregister(f"tarsia::{name}")


@pytest.mark.parametrize(("attributes", "visible"), [({}, 1), ({"show": True}, 2), ({"plain": True}, 1)])
def test_such_ops_in_jax_have_the_outputs_of_their_attributes(choosy, attributes, visible):
    jax = pytest.importorskip("jax")
    import tarsia.jax

    op, x = tarsia.jax.function(choosy), X.reshape(6, 4)
    mask = np.ones_like(x) if attributes.get("plain") else (x > 0.5).astype(np.float32)
    results = op(x, times=3, **attributes)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == visible
    np.testing.assert_allclose(results[0], x * mask * 3)
    if visible == 2:
        np.testing.assert_array_equal(results[1], mask)
    dx = jax.grad(lambda x: (lambda y: y[0] if isinstance(y, tuple) else y)(op(x, times=3, **attributes)).sum())(x)
    np.testing.assert_allclose(dx, mask * 3)

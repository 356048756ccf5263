"""Inputs of class operators that parameters bring have names, and auxiliary states stay states."""

import pathlib

import numpy as np
import pytest

import tarsia
from tarsia.testing import assert_op, check

SRC = pathlib.Path(__file__).parent / "src"
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)
GAMMA = np.array([0.1, 0.2, 0.3], np.float32)
LEARNT = np.where(X > 0, X, X * GAMMA)


@pytest.fixture(scope="module", autouse=True)
def libraries():
    loaded = [tarsia.load_inline({name: (SRC / name).read_text()}) for name in ("rectify.cc", "center.cc")]
    yield loaded
    for lib in loaded:
        lib.unload()


def test_an_input_that_a_parameter_brings_is_given_by_name():
    np.testing.assert_allclose(tarsia.ops.Rectify(X, gamma=GAMMA, act_type="prelu"), LEARNT)
    np.testing.assert_allclose(tarsia.ops.Rectify(gamma=GAMMA, act_type="prelu", data=X), LEARNT)
    bound = tarsia.op("Rectify").bind(X, gamma=GAMMA, act_type="prelu")
    np.testing.assert_allclose(bound(gamma=GAMMA, data=X), LEARNT)
    assert "input 'gamma' float32" in tarsia.op("Rectify").explain(X, gamma=GAMMA, act_type="prelu")
    bias, seen = np.arange(3, dtype=np.float32), np.zeros(1, np.float32)
    y = tarsia.ops.Center(X, seen=seen, bias=bias, with_bias=True)
    np.testing.assert_allclose(y, X - X.mean(0) + bias, atol=1e-6)
    assert seen[0] == 1


def test_an_input_that_the_parameters_do_not_bring_is_no_keyword():
    with pytest.raises(TypeError, match="'Rectify' has no attribute 'gamma'"):
        tarsia.ops.Rectify(X, gamma=GAMMA)
    with pytest.raises(TypeError, match="Rectify: input 'gamma' is given twice"):
        tarsia.ops.Rectify(X, GAMMA, gamma=GAMMA, act_type="prelu")


def test_errors_name_it():
    with pytest.raises(TypeError, match=r"'Rectify' takes 2 inputs \('data', 'gamma'\), not 1"):
        tarsia.ops.Rectify(X, act_type="prelu")
    with pytest.raises(ValueError, match="input 'gamma' is not contiguous"):
        tarsia.ops.Rectify(X, np.zeros(6, np.float32)[::2], act_type="prelu")
    bound = tarsia.op("Rectify").bind(X, GAMMA, act_type="prelu")
    with pytest.raises(ValueError, match="input 'gamma'"):
        bound(X, np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="input 'gamma' is not contiguous"):
        bound(X, np.zeros(6, np.float32)[::2])
    seen = np.zeros(1, np.float32)
    seen.flags.writeable = False
    with pytest.raises(ValueError, match="Center: input 2 'seen'.*read-only"):
        tarsia.ops.Center(X, GAMMA, seen, with_bias=True)


def test_a_graph_takes_it_by_name():
    g = tarsia.Graph()
    x, gamma = g.input("x"), g.input("gamma")
    y = g.add("Rectify", x, gamma=gamma, act_type="prelu")
    g.output(y)
    g.output(g.gradient(y, gamma))
    made, gradient = g(X, GAMMA)
    np.testing.assert_allclose(made, LEARNT)
    np.testing.assert_allclose(gradient, np.where(X > 0, 0, X).sum(0), atol=1e-6)
    g = tarsia.Graph()
    state = g.state(np.zeros(1, np.float32))
    x, bias = g.input("x"), g.input("bias")
    y = g.add("Center", x, bias=bias, seen=state, with_bias=True)
    g.output(y)
    g.output(g.gradient(y, bias))
    np.testing.assert_allclose(g(X, GAMMA)[1], np.full(3, 4))


def test_checks_pass():
    assert_op("Rectify", shapes=[(4, 3), (3,)], attributes={"act_type": "prelu"})


@pytest.fixture(scope="module")
def fixing():
    """Rectify that writes the slope into its argument, as a batch norm that fixes its gamma does."""
    text = (SRC / "rectify.cc").read_text().replace("Rectify", "FixingRectify")
    old = "    Tensor<cpu, 2> x = in_data[rectify::kData].get<cpu, 2, real_t>(), y = out_data[0].get<cpu, 2, real_t>();\n"
    assert text.count(old) == 1
    lib = tarsia.load_inline({"fixing.cc": text.replace(
        old, old + "    if (param_.act_type == rectify::kLearnt) in_data[rectify::kGamma].get<cpu, 1, real_t>() = param_.slope;\n")})
    yield {"shapes": [(4, 3), (3,)], "attributes": {"act_type": "prelu", "slope": 0.5}, "gradient": False}
    lib.unload()


def test_an_op_that_writes_to_an_argument_passes_if_that_is_said(fixing):
    gamma = GAMMA.copy()
    tarsia.ops.FixingRectify(X, gamma, **fixing["attributes"])
    assert (gamma == 0.5).all()
    report = check("FixingRectify", **fixing)
    assert [one.message for one in report.failed if "stays within" in one.name][0] == (
        "input 'gamma' is written to, and is not declared mutable. If the op has to write to it, pass its name in writes "
        "(tarsia check --writes)")
    for writes in (["gamma"], "gamma", [1]):
        assert_op("FixingRectify", **fixing, writes=writes)
    # Backward gets what forward has left: dx is that of the slope, and not that of the gamma before.
    report = check("FixingRectify", **{**fixing, "gradient": True}, writes=["gamma"])
    (fault,) = report.failed
    assert "the gradient of input 'gamma', element 0" in fault.message  # the op writes one that is not 0
    with pytest.raises(AssertionError, match=r"writes names 'gama', and the op has input 'data', input 'gamma'"):
        assert_op("FixingRectify", **fixing, writes=["gama"])
    with pytest.raises(TypeError, match="writes must be a list such as"):
        check("FixingRectify", **fixing, writes=3)


def test_what_is_left_in_an_argument_is_compared():
    text = (SRC / "rectify.cc").read_text().replace("Rectify", "CountingRectify")
    old = "    Tensor<cpu, 2> x = in_data[rectify::kData].get<cpu, 2, real_t>(), y = out_data[0].get<cpu, 2, real_t>();\n"
    lib = tarsia.load_inline({"counting.cc": text.replace(
        old, old + "    static float calls = 0;\n    in_data[rectify::kData].get<cpu, 2, real_t>() = 1.0f + calls++;\n"
                   "    y = 0.0f;\n    return;\n")})
    try:
        report = check("CountingRectify", shapes=[(4, 3)], gradient=False, writes=["data"])
        assert any("input 'data' after the run: element 0" in one.message for one in report.failed), str(report)
    finally:
        lib.unload()


def test_jax_takes_it_by_name():
    jax = pytest.importorskip("jax")
    import tarsia.jax

    rectify = tarsia.jax.function(tarsia.op("Rectify"))
    np.testing.assert_allclose(rectify(X, gamma=GAMMA, act_type="prelu"), LEARNT)
    gradient = jax.grad(lambda gamma: rectify(X, gamma=gamma, act_type="prelu").sum())(GAMMA)
    np.testing.assert_allclose(gradient, np.where(X > 0, 0, X).sum(0), atol=1e-6)
    center = tarsia.jax.function(tarsia.op("Center"))
    dx, dbias = jax.grad(lambda x, bias: (center(x, bias=bias, seen=np.zeros(1, np.float32), with_bias=True)[0] * X).sum(),
                         argnums=(0, 1))(X, GAMMA)
    np.testing.assert_allclose(dx, X - X.mean(0), atol=1e-5)
    np.testing.assert_allclose(dbias, X.sum(0), atol=1e-5)

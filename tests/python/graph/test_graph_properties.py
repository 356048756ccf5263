"""Random graphs: running a plan is the same as calling the ops one by one, bit for bit."""

import numpy as np
import pytest
from graph_models import check_plan, random_model

import tarsia

GRAPHS = range(200)
GROUPS = [GRAPHS[i : i + 25] for i in range(0, len(GRAPHS), 25)]


def in_groups(test):
    return pytest.mark.parametrize("seeds", GROUPS, ids=[f"{seeds[0]}-{seeds[-1]}" for seeds in GROUPS])(test)


def bits(results):
    results = results if isinstance(results, tuple) else (results,)
    return [(array.shape, str(array.dtype), array.tobytes()) for array in results]


def test_the_random_graphs_have_what_they_are_meant_to_have():
    shared = within = copies = empty = unused = 0
    for seed in GRAPHS:
        model = random_model(seed)
        plan = model.bind().plan
        shared += len(plan.shared)
        within += sum(value["where"].startswith("within") for value in plan.values)
        copies += sum(step["kind"] == "copy" for step in plan.steps)
        empty += any(0 in model.shapes[number] for number in model.outputs)
        unused += len(plan.steps) < len(model.nodes)
    assert shared > 200 and within > 100 and copies > 30 and empty > 5 and unused > 50


@in_groups
def test_a_planned_run_equals_the_ops_one_by_one_bit_for_bit(seeds):
    for seed in seeds:
        model = random_model(seed)
        bound = model.bind()
        first, second = model.draw(seed), model.draw(seed + 1000)
        kept = bound(**first)
        before = bits(kept)
        assert before == bits(tuple(model.eager(first))), f"graph {seed}"
        assert bits(bound(**second)) == bits(tuple(model.eager(second))), f"graph {seed}, other inputs"
        assert bits(bound(**first)) == before, f"graph {seed}, once more"
        assert bits(kept) == before, f"graph {seed}: a later call has changed earlier results"
        assert bits(model.graph(**first)) == before, f"graph {seed}, bound to arrays"


@in_groups
def test_inputs_parameters_and_constants_are_as_before(seeds):
    for seed in seeds:
        model = random_model(seed)
        arrays = model.draw(seed)
        before = bits((*arrays.values(), *model.arrays.values()))
        model.bind()(**arrays)
        assert bits((*arrays.values(), *model.arrays.values())) == before, f"graph {seed}"


@in_groups
def test_no_plan_overwrites_what_is_needed(seeds):
    for seed in seeds:
        model = random_model(seed)
        try:
            check_plan(model.bind().plan, len(model.outputs))
        except AssertionError as error:
            raise AssertionError(f"graph {seed}: {error}") from error


@in_groups
def test_results_may_be_written_over_the_inputs(seeds):
    for seed in seeds:
        model = random_model(seed)
        arrays = model.draw(seed)
        expected = bits(tuple(model.eager(arrays)))
        bound = model.bind()
        # Each result goes to an input of its shape that has none yet, or to memory of its own.
        free, out = list(arrays.values()), []
        for shape, dtype in bound.outputs:
            fit = next((i for i, array in enumerate(free) if array.shape == shape), None)
            out.append(np.full(shape, 7, dtype) if fit is None else free.pop(fit))
        bound(**arrays, out=out[0] if len(out) == 1 else tuple(out))
        assert bits(tuple(out)) == expected, f"graph {seed}"


@in_groups
def test_results_may_be_added(seeds):
    for seed in seeds:
        model = random_model(seed)
        arrays = model.draw(seed)
        expected = model.eager(arrays)
        bound = model.bind()
        out = [np.full(shape, 3, dtype) for shape, dtype in bound.outputs]
        bound(**arrays, out=out[0] if len(out) == 1 else tuple(out), req="add")
        assert bits(tuple(out)) == bits(tuple(array + array.dtype.type(3) for array in expected)), f"graph {seed}"


@in_groups
def test_a_graph_that_went_through_json_gives_the_same(seeds):
    for seed in seeds:
        model = random_model(seed)
        arrays = model.draw(seed)
        text = model.graph.to_json()
        read = tarsia.Graph.from_json(text)
        assert read.to_json() == text, f"graph {seed}"
        assert bits(read(**arrays)) == bits(model.bind()(**arrays)), f"graph {seed}"


@in_groups
def test_a_graph_as_an_op_gives_the_same(seeds):
    for seed in seeds:
        model = random_model(seed)
        arrays = model.draw(seed)
        op = model.graph.register("gr_random_graph")
        expected = bits(tuple(model.eager(arrays)))
        assert bits(op(*arrays.values())) == expected, f"graph {seed}"
        outer = tarsia.Graph()
        results = outer.gr_random_graph(*[outer.input(name) for name in arrays])
        for value in results if isinstance(results, tuple) else (results,):
            outer.output(value)
        assert bits(outer(**arrays)) == expected, f"graph {seed}, within a graph"


# ---- gradients

def directional(model, arrays, value, direction, loss):
    """The derivative of the sum of `loss` along a direction of a value, by differences."""
    step = 1e-6
    (at,) = model.eager(arrays, [value])
    sides = [model.eager(arrays, [loss], {value: np.asarray(at + sign * step * direction)})[0].sum() for sign in (1, -1)]
    return (sides[0] - sides[1]) / (2 * step)


@in_groups
def test_gradients_are_those_of_finite_differences(seeds):
    for seed in seeds:
        model = random_model(seed, smooth=True, most_nodes=12)
        arrays = model.draw(seed)
        choose = np.random.default_rng(seed)
        loss = model.outputs[0]
        # Inputs, parameters and intermediate values; some of them the loss does not depend on.
        wrt = [int(v) for v in choose.choice(len(model.values), size=min(4, len(model.values)), replace=False)]
        gradients = model.graph.gradient(model.values[loss], wrt=[model.values[v] for v in wrt])
        for gradient in gradients:
            model.graph.output(gradient)
        bound = model.bind()
        check_plan(bound.plan, len(model.outputs) + len(wrt))
        results = bound(**arrays)
        results = results if isinstance(results, tuple) else (results,)
        assert bits(results[: len(model.outputs)]) == bits(tuple(model.eager(arrays))), f"graph {seed}"
        for value, gradient in zip(wrt, results[len(model.outputs) :]):
            direction = choose.standard_normal(model.shapes[value])
            expected = directional(model, arrays, value, direction, loss)
            got = float((gradient * direction).sum())
            assert gradient.shape == model.shapes[value]
            assert abs(got - expected) <= 1e-5 * max(1, abs(expected), abs(got)), f"graph {seed}, value {value}: {got} and {expected}"


@pytest.mark.parametrize("seeds", [range(40)], ids=["0-39"])
def test_the_backward_of_a_graph_as_an_op_is_its_gradient(seeds):
    for seed in seeds:
        model = random_model(seed, smooth=True, most_nodes=12)
        if not model.reach():
            continue
        arrays = model.draw(seed)
        op = model.graph.register("gr_random_differentiable", differentiable=True)
        results = op(*arrays.values())
        results = results if isinstance(results, tuple) else (results,)
        assert bits(results) == bits(tuple(model.eager(arrays))), f"graph {seed}"
        out_grads = [np.random.default_rng(seed + i).standard_normal(r.shape) for i, r in enumerate(results)]
        # The same as the gradient of the sum of the outputs, with these weights.
        seeds_of = [model.graph.input(f"seed_{i}") for i in range(len(results))]
        totals = {}
        for output, weight in zip(model.outputs, seeds_of):
            for i, gradient in enumerate(model.graph.gradient(model.values[output], wrt=[model.values[v] for v in model.inputs.values()], seed=weight)):
                totals[i] = gradient if i not in totals else model.graph.gr_add(totals[i], gradient)
        check = tarsia.Graph.from_json(model.graph.to_json())
        for i in range(len(arrays)):
            check.output(check.value(totals[i].name), name=f"total_{i}")
        expected = check(**arrays, **{f"seed_{i}": g for i, g in enumerate(out_grads)})[len(results) :]
        bound = op.bind(*arrays.values())
        for got in (op.backward(out_grads, list(arrays.values())), bound.backward(out_grads, list(arrays.values()))):
            for i, (one, other) in enumerate(zip(got, expected)):
                if one is None:
                    assert not np.any(other), f"graph {seed}, input {i}"
                else:
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=f"graph {seed}, input {i}")

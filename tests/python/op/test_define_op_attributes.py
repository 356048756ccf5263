"""What attributes and ports of ops written in Python declare: choices, ranges, descriptions, and attributes of any name."""

from typing import Annotated, Any, Literal

import numpy as np
import pytest

import tarsia


@tarsia.define_op
class pya_declared:
    """Does as it is told."""

    mode: Annotated[Literal["zero", "copy"], "what becomes of it"] = "copy"
    rate: Annotated[float, tarsia.Range(0, 1)] = 0.5
    sizes: Annotated[tuple[int, ...], tarsia.Range(at_least=1), "how large"] = (1,)
    kind: Literal["a", "b"] | None = None

    def forward(self, x: Annotated[Any, "the data"], y: Annotated[Any, "what is made of it"]):
        y[...] = 0 if self.mode == "zero" else x * self.rate
        assert self.kind in (None, "a", "b") and type(self.mode) is str


def test_choices_and_ranges():
    x = np.ones(2)
    assert pya_declared(x).tolist() == [0.5, 0.5] and pya_declared(x, mode="zero", kind="b", rate=1).tolist() == [0, 0]
    for attributes, message in (({"mode": "none"}, "attribute 'mode' has to be one of 'zero', 'copy', not 'none'"),
                                ({"kind": "c"}, "attribute 'kind' has to be one of 'a', 'b', not 'c'"),
                                ({"rate": 2}, "attribute 'rate' has to be from 0 to 1, not 2"),
                                ({"sizes": (3, 0)}, "attribute 'sizes' has to be at least 1, not 0")):
        with pytest.raises(ValueError, match=f"op 'pya_declared': {message}"):
            pya_declared(x, **attributes)


def test_descriptions_are_told():
    text = pya_declared.__doc__
    assert text.startswith("pya_declared(x, *, mode='copy', rate=0.5, sizes=[1], kind=None) -> (y)\n\nDoes as it is told.")
    assert "mode: what becomes of it" in text and "sizes: how large" in text


def test_defaults_are_typed_for_pytorch_as_well():
    torch = pytest.importorskip("torch")
    from tarsia.torch import register, unregister

    operator = register(pya_declared)
    assert str(operator.default._schema) == ('tarsia::pya_declared(Tensor x, *, str mode="copy", float rate=0.5, SymInt[] sizes=[1], '
                                             'str? kind=None) -> Tensor')
    assert operator(torch.ones(1, dtype=torch.float64)).tolist() == [0.5]
    unregister("pya_declared")


def test_functions_declare_theirs_alike():
    @tarsia.define_op
    def pya_function(x: Annotated[Any, "the data"], y, *, least: Annotated[int, tarsia.Range(at_most=3)] = 1):
        y[...] = least

    assert pya_function(np.ones(1), least=3).tolist() == [3]
    with pytest.raises(ValueError, match="attribute 'least' has to be at most 3, not 4"):
        pya_function(np.ones(1), least=4)


def test_bounds_of_other_libraries_are_understood():
    class Interval:  # as annotated_types has it
        ge, gt, le, lt = 1, None, 5, None

    @tarsia.define_op
    def pya_interval(x, y, *, n: Annotated[int, Interval()] = 2):
        y[...] = n

    with pytest.raises(ValueError, match="attribute 'n' has to be from 1 to 5, not 6"):
        pya_interval(np.ones(1), n=6)


def test_attributes_of_any_name():
    seen = []

    @tarsia.define_op
    class pya_any:
        known: int = 1

        def __init__(self, **others):
            self.others = others

        def forward(self, x, y):
            seen.append((self.known, self.others))
            y[...] = x

    pya_any(np.ones(1), known=3, colour="red", size=4)
    assert seen == [(3, {"colour": "red", "size": "4"})]

    @tarsia.define_op
    def pya_any_function(x, y, *, known: int = 1, **others):
        seen.append((known, others))
        y[...] = x

    pya_any_function(np.ones(1), size=(1, 2))
    pya_any_function(np.ones(1))
    assert seen[1:] == [(1, {"size": "(1, 2)"}), (1, {})]


def unreadable(x: "Nothing", y):  # noqa: F821
    y[...] = x


def test_annotations_of_tensors_that_cannot_be_read_do_no_harm():
    assert tarsia.define_op(name="pya_unreadable")(unreadable)(np.ones(1)).tolist() == [1]


def wrong(**annotation):
    return type("f", (), {"__annotations__": annotation, "forward": lambda self, x, y: None})


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: tarsia.define_op(wrong(a=Literal["a", 3])), TypeError, "attribute 'a' has to be declared as"),
    (lambda: tarsia.define_op(type("f", (), {"__annotations__": {"a": int}, "a": "x", "forward": lambda self, x, y: None})), TypeError,
     "op 'f': attribute 'a' has the default 'x', which is no int"),
    (lambda: tarsia.define_op(type("f", (), {"__annotations__": {"a": int}, "a": 1 << 63, "forward": lambda self, x, y: None})), TypeError,
     "attribute 'a' has the default 9223372036854775808, which is no int"),
    (lambda: tarsia.define_op(wrong(a=Annotated[str, tarsia.Range(0)])), TypeError, "attribute 'a' is no number, and has no range"),
    (lambda: tarsia.define_op(wrong(a=Annotated[float, type("Gt", (), {"gt": 1})()])), TypeError, "attribute 'a': bounds include themselves"),
    (lambda: tarsia.define_op(type("f", (), {"__annotations__": {"a": Annotated[int, tarsia.Range(0, 1)]}, "a": 7,
                                             "forward": lambda self, x, y: None})), tarsia.Error, "attribute 'a' has to be from 0 to 1, not 7"),
    (lambda: tarsia.define_op(type("f", (), {"__annotations__": {"a": Literal["b"]}, "a": "c", "forward": lambda self, x, y: None})),
     tarsia.Error, "attribute 'a' has to be one of 'b', not 'c'"),
])
def test_bad_declarations_are_told_at_once(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_annotations_of_attributes_that_cannot_be_read_are_told():
    def f(x, y, *, a: "Nothing"):  # noqa: F821
        y[...] = x

    for author in (f, type("f", (), {"__annotations__": {"a": "Nothing"}, "forward": lambda self, x, y: None})):
        with pytest.raises(TypeError, match="op 'f': an annotation cannot be read: name 'Nothing' is not defined"):
            tarsia.define_op(author)

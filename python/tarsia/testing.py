"""Tests of ops without any framework.

    tarsia.testing.check("relu")                      # a Report
    tarsia.testing.assert_op("gemm", shapes=[(3, 4), (4, 5)])
"""

from dataclasses import dataclass

from . import _tarsia
from ._errors import ArgumentTypeError, ArgumentValueError, explains_misuse, make, methods_explain_misuse

__all__ = ["Check", "Report", "assert_op", "check"]

_STORAGES = {"dense": 0, "row_sparse": 1, "csr": 2}


@methods_explain_misuse(made="tarsia.testing.check gives them", module="tarsia.testing")
@dataclass(frozen=True)
class Check:
    """One check: `status` is "passed", "failed" or "skipped"."""

    name: str
    status: str
    message: str

    def __str__(self):
        word = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}[self.status]
        return f"{word} {self.name}" + (f": {self.message}" if self.message else "")


@methods_explain_misuse(made="tarsia.testing.check gives one", module="tarsia.testing")
@dataclass(frozen=True)
class Report:
    """The results of testing an op. True if nothing failed."""

    op: str
    checks: tuple

    @property
    def failed(self):
        return tuple(check for check in self.checks if check.status == "failed")

    @property
    def passed(self):
        return not self.failed and any(check.status == "passed" for check in self.checks)

    def __bool__(self):
        return self.passed

    def __str__(self):
        head = f"op '{self.op}' {'passes' if self.passed else 'fails'}"
        return "\n  ".join([head, *map(str, self.checks)])


_TAKES = "pass the op, and shapes, dtypes, storages, attributes, gradient, seed, writes or constants by their names: check('gemm', shapes=[(3, 4), (4, 5)])"


def _list_of(values, name, like):
    """The items of what has to be a list."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{name} must be a list such as {like}, got {type(values).__name__} {values!r}")
    return list(values)


def _names(values, name, like):
    """The names of inputs: one, or a list of them."""
    return [str(one) for one in ([values] if isinstance(values, str) else _list_of(values, name, like))]


@explains_misuse(_TAKES)
def check(op, *, shapes=None, dtypes=None, storages=None, attributes=None, gradient=True, seed=0, writes=(), constants=()):
    """Tests a registered op on generated inputs. If it runs on the CPU and on GPUs, compares the two.

    It checks inference; forward and backward in every dtype that the op takes; the gradient against finite differences; write
    requests; whether elements stay unwritten, whether anything outside of the outputs is written, and whether results are the same
    every time, up to the rounding of sums that are added in another order. A hidden output may stay unwritten if no backward reads
    it. It seeds the random states anew.

    shapes: of the inputs; by default it tries common ones.
    dtypes: one name, or one for each shape.
    storages: "dense", "csr" or "row_sparse" for each shape.
    attributes: a dict.
    gradient: False if the gradient is not meant to be the derivative, as in a straight-through op.
    writes: names of inputs that the op writes to without declaring it, as a batch norm that fixes its gamma does. Each run gets them
        anew, and what a run leaves in them is compared as outputs are. An input without a name is given by its number, from 0.
    constants: names of inputs whose gradient nobody asks for, such as the labels of a loss, which its backward does not write.
    """
    shapes = [tuple(_list_of(shape, "each of shapes", "(3, 4)")) for shape in _list_of(() if shapes is None else shapes, "shapes", "[(3, 4)]")]
    for extent in (extent for shape in shapes for extent in shape):
        if not hasattr(extent, "__index__") or extent < 0:
            raise ArgumentTypeError(f"shapes hold extents, ints from 0 on, got {type(extent).__name__} {extent!r}")
    if attributes is not None and not isinstance(attributes, dict):
        raise ArgumentTypeError(f"attributes must be a dict of name to value, got {type(attributes).__name__} {attributes!r}")
    if not isinstance(op, str) and not isinstance(getattr(op, "name", None), str):
        raise ArgumentTypeError(f"op must be an op or its name, got {type(op).__name__} {op!r}")
    if not hasattr(seed, "__index__"):
        raise ArgumentTypeError(f"seed must be an int, got {type(seed).__name__} {seed!r}")
    if isinstance(dtypes, str) or dtypes is None:
        dtypes = [dtypes or ""] * len(shapes)
    dtypes = _list_of(dtypes, "dtypes", "['float32']")
    storages = _list_of(storages, "storages", "['dense']") if storages else ["dense"] * len(shapes)
    for storage in storages:
        if storage not in _STORAGES:
            raise ArgumentValueError(f"storages are {', '.join(map(repr, _STORAGES))}, not {storage!r}")
    if len(dtypes) != len(shapes) or len(storages) != len(shapes):
        raise ArgumentValueError(f"{len(shapes)} shapes need as many dtypes and storages, not {len(dtypes)} and {len(storages)}")
    writes = _names(writes, "writes", "['gamma']")
    constants = _names(constants, "constants", "['label']")
    names = [str(name) for name in attributes or {}]
    texts = [str(value) for value in (attributes or {}).values()]
    name = op if isinstance(op, str) else op.name
    found = _tarsia.check_op(name, shapes, [str(dtype) for dtype in dtypes], [_STORAGES[s] for s in storages], names,
                             texts, gradient, seed, writes, constants)
    return make(Report, name, tuple(make(Check, *one) for one in found))


@explains_misuse(_TAKES)
def assert_op(op, **arguments):
    """Calls `check`, and raises an AssertionError with the report unless everything passed."""
    report = check(op, **arguments)
    assert report, str(report)
    return report

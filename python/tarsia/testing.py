"""Tests of ops without any framework.

    tarsia.testing.check("relu")                      # a Report
    tarsia.testing.assert_op("gemm", shapes=[(3, 4), (4, 5)])
"""

from dataclasses import dataclass

from . import _tarsia
from ._errors import ArgumentValueError

__all__ = ["Check", "Report", "assert_op", "check"]

_STORAGES = {"dense": 0, "row_sparse": 1, "csr": 2}


@dataclass(frozen=True)
class Check:
    """One check: `status` is "passed", "failed" or "skipped"."""

    name: str
    status: str
    message: str

    def __str__(self):
        word = {"passed": "ok     ", "failed": "FAILED ", "skipped": "skipped"}[self.status]
        return f"{word} {self.name}" + (f": {self.message}" if self.message else "")


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


def check(op, *, shapes=None, dtypes=None, storages=None, attributes=None, gradient=True, seed=0):
    """Tests a registered op on generated inputs. If it runs on the CPU and on GPUs, compares the two.

    It checks inference; forward and backward in every dtype that the op takes; the gradient against finite differences; write
    requests; whether elements stay unwritten, whether anything outside of the outputs is written, and whether results are the same
    every time. It seeds the random states anew.

    shapes: of the inputs; by default it tries common ones.
    dtypes: one name, or one for each shape.
    storages: "dense", "csr" or "row_sparse" for each shape.
    attributes: a dict.
    gradient: False if the gradient is not meant to be the derivative, as in a straight-through op.
    """
    shapes = [tuple(shape) for shape in shapes or ()]
    if isinstance(dtypes, str) or dtypes is None:
        dtypes = [dtypes or ""] * len(shapes)
    storages = storages or ["dense"] * len(shapes)
    if len(dtypes) != len(shapes) or len(storages) != len(shapes):
        raise ArgumentValueError(f"{len(shapes)} shapes need as many dtypes and storages, not {len(dtypes)} and {len(storages)}")
    names = [str(name) for name in attributes or {}]
    texts = [str(value) for value in (attributes or {}).values()]
    name = op if isinstance(op, str) else op.name
    found = _tarsia.check_op(name, shapes, [str(dtype) for dtype in dtypes], [_STORAGES[s] for s in storages], names,
                             texts, gradient, seed)
    return Report(name, tuple(Check(*one) for one in found))


def assert_op(op, **arguments):
    """Calls `check`, and raises an AssertionError with the report unless everything passed."""
    report = check(op, **arguments)
    assert report, str(report)
    return report

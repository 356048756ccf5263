"""Expressions of mshadow on a GPU whose shapes do not go together: the tests of the CPU, with the same source as CUDA."""

import pytest
from gpu_support import OnGpu, inline, suite

pytest.importorskip("torch")
on_cpu = suite("class_op", "test_class_op_limits")
globals().update({name: value for name, value in vars(on_cpu).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def library():
    return OnGpu(inline({"limits.cu": on_cpu.SOURCE}))

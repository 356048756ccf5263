"""What mshadow does on a GPU where another tensor tells the place: the tests of the CPU, with the same source as CUDA."""

import pytest
from gpu_support import OnGpu, inline, suite

pytest.importorskip("torch")
on_cpu = suite("class_op", "test_class_op_index")
globals().update({name: value for name, value in vars(on_cpu).items() if name.startswith("test_") or name == "place"})


@pytest.fixture(scope="module")
def library():
    return OnGpu(inline({"index.cu": on_cpu.SOURCE}))

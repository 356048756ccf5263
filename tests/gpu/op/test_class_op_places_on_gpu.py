"""Expressions of mshadow on a GPU whose elements go to places that are told: the tests of the CPU, with the same header."""

import numpy as np
import pytest
from gpu_support import OnGpu, inline, suite

torch = pytest.importorskip("torch")
on_cpu = suite("class_op", "test_class_op_places")
globals().update({name: getattr(on_cpu, name) for name in (
    "test_a_result", "test_windows_with_steps_and_gaps", "test_shapes_that_do_not_go_together")})


def texts(*names):
    return {name: (on_cpu.SRC / name).read_text() for name in names}


@pytest.fixture(scope="module")
def compiled():
    return inline(texts("places.cu"), headers=texts("places.h"))


@pytest.fixture(scope="module")
def library(compiled):
    return OnGpu(compiled, compute_float="compute_gpu", compute_double="compute_gpu_double")


@pytest.mark.parametrize(("name", "dtype"), [("own", np.float32), ("own_half", np.float16)])
def test_a_kernel_that_takes_tensors(compiled, name, dtype):
    a, _, _, v = on_cpu.inputs(dtype)
    expected = a.astype(np.float64)
    expected[:, 0, 0] += v[0]
    expected[0, 0, 0, 0] += expected[:, 0, 0].sum()  # the kernel adds what it has written, its first element too
    images, vector = torch.tensor(a, device="cuda"), torch.tensor(v, device="cuda")
    getattr(compiled, name)(images, vector)
    np.testing.assert_allclose(images.cpu().numpy(), expected, rtol=1e-2 if dtype is np.float16 else 1e-5, atol=1e-2 if dtype is np.float16 else 1e-5)

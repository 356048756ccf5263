"""Tensors out: made by the caller's framework, returned as the same object, freed."""

import gc
import weakref

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")


def test_results_are_made_by_the_caller_s_framework(lib):
    x = lib.doubled(np.arange(3, dtype=np.float32))
    assert type(x) is np.ndarray and x.tolist() == [0, 2, 4]
    assert x.flags.writeable and x.flags.c_contiguous and x.flags.aligned
    t = lib.doubled(torch.arange(3, dtype=torch.float32))
    assert type(t) is torch.Tensor and t.tolist() == [0, 2, 4]
    t += 1
    p = lib.doubled(torch.nn.Parameter(torch.ones(2)))
    assert type(p) is torch.Tensor and not p.requires_grad


def test_results_without_tensors_are_numpy_arrays(lib):
    x = lib.ones(3)
    assert type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (3, 2) and x.sum() == 6
    assert lib.ones(0).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                   "float16", "float32", "float64", "complex64", "complex128"])
def test_arrays_of_every_dtype_come_out(lib, dtype):
    kind = np.dtype(dtype).kind
    code = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}[kind]
    x = lib.made(code, np.dtype(dtype).itemsize * 8)
    assert x.dtype == np.dtype(dtype) and x.tolist() == [0] * 3


def test_what_numpy_cannot_hold_is_a_tarsia_tensor(lib):
    x = lib.made(14, 8)  # float8_e8m0fnu
    if type(x) is np.ndarray:
        assert x.dtype.name == "float8_e8m0fnu"  # ml_dtypes is there
        return
    assert type(x) is tarsia.Tensor and x.dtype == "float8_e8m0fnu" and x.shape == (3,)


def test_a_returned_argument_is_the_same_object(lib):
    for x in (np.zeros(3, np.float32), torch.zeros(3), torch.nn.Parameter(torch.zeros(2)) * 1, bytearray(4)):
        assert lib.identity(x) is x
        assert lib.maybe(x) is x
    a, b = np.zeros(2, np.float32), np.zeros(2, np.float32)
    assert lib.pick([a, b], 1) is b
    y, same, n = lib.both(a)
    assert same is a and n == 7 and type(y) is np.ndarray


def test_one_tensor_returned_several_times_shares_its_memory(lib):
    for x in (np.ones(3, np.float32), torch.ones(3)):
        a, b, c = lib.copies(x, 3)
        assert type(a) is type(x)
        a[0] = 9
        assert b[0] == 9 and c[0] == 9
        del a, b
        gc.collect()
        assert c[0] == 9 and c[1] == 2


def test_results_of_other_exporters_go_back_through_their_package(lib):
    class Exporter:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __array_namespace__(self):
            class Namespace:
                @staticmethod
                def from_dlpack(x):
                    return Exporter(torch.from_dlpack(x))

            return Namespace

    y = lib.doubled(Exporter(torch.ones(3)))
    assert type(y) is Exporter and y.tensor.tolist() == [2] * 3


class TestTensor:
    """tarsia.Tensor: what a tensor from nowhere is where NumPy does not serve."""

    @pytest.fixture
    def tensor(self, lib):
        class Exporter:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **options):
                return torch.arange(6, dtype=torch.float32).reshape(2, 3).__dlpack__(**options)

        tensor = lib.doubled(Exporter())
        assert type(tensor) is tarsia.Tensor
        return tensor

    def test_tells_of_itself(self, tensor):
        assert tensor.shape == (2, 3) and tensor.strides == (3, 1) and tensor.ndim == 2
        assert tensor.dtype == "float32" and tensor.device == "cpu"
        assert tensor.size == 6 and tensor.nbytes == 24 and len(tensor) == 2
        assert repr(tensor) == "<tarsia.Tensor (2, 3) float32 on cpu>"
        assert not hasattr(tensor, "__cuda_array_interface__")
        with pytest.raises(TypeError):
            tarsia.Tensor()

    def test_goes_into_every_framework_without_copying(self, tensor):
        expected = [[0, 2, 4], [6, 8, 10]]
        for x in (np.asarray(tensor), tensor.numpy(), np.from_dlpack(tensor)):
            assert x.tolist() == expected and x.ctypes.data == tensor.data_ptr()
        t = torch.from_dlpack(tensor)
        assert t.tolist() == expected and t.data_ptr() == tensor.data_ptr()
        assert np.asarray(tensor, dtype=np.int32).tolist() == expected
        address = tensor.data_ptr()
        del tensor
        gc.collect()
        assert t.tolist() == expected and t.data_ptr() == address

    def test_goes_into_calls(self, lib, tensor):
        assert lib.address_f32(tensor) == tensor.data_ptr()
        assert lib.identity(tensor) is tensor
        again = lib.doubled(tensor)
        assert type(again) is tarsia.Tensor and again.numpy()[1, 2] == 20

    def test_dlpack_capsules_that_nobody_takes_are_freed(self, tensor):
        for version in (None, (1, 0), (0, 8)):
            capsule = tensor.__dlpack__(max_version=version)
            assert ("dltensor_versioned" if version == (1, 0) else "dltensor") in repr(capsule)
            del capsule
        assert tensor.__dlpack_device__() == (1, 0)
        with pytest.raises(BufferError):
            tensor.__dlpack__(dl_device=(2, 0))
        with pytest.raises(BufferError):
            tensor.__dlpack__(copy=True)
        with pytest.raises(TypeError):
            tensor.__dlpack__(1)


def test_results_outlive_the_library(build_library):
    lib = tarsia.load(build_library(
        "#include <tarsia/op.h>\n"
        "tarsia::Tensor make() { auto y = tarsia::empty({4}, tarsia::float32, tarsia::cpu_device());\n"
        "  for (int i = 0; i < 4; ++i) y.data<float>()[i] = float(i); return y; }\nTARSIA_EXPORT(make)"))
    x = lib.make()
    lib.unload()
    del lib
    gc.collect()
    assert x.tolist() == [0, 1, 2, 3]
    base = weakref.ref(x)
    del x
    assert base() is None


def test_tensors_that_end_with_the_call_are_no_results(load_text):
    made = load_text("""#include <tarsia/op.h>
        #include <vector>
        tarsia::Tensor scratch(const tarsia::Tensor& x) { return tarsia::scratch_tensor(x.shape(), x.dtype(), x.device()); }
        std::vector<tarsia::Tensor> several(const tarsia::Tensor& x) { return {x, tarsia::empty_like(x), scratch(x)}; }
        TARSIA_EXPORT(scratch)
        TARSIA_EXPORT(several)""")
    for x in (np.ones(3, np.float32), torch.ones(3)):
        for name in ("scratch", "several"):
            with pytest.raises(tarsia.OpError, match=rf"^{name}\(\): the result is a tensor that ends with the call, .*tarsia::empty"):
                made[name](x)


def test_tensors_made_before_an_exception_are_freed(lib):
    for x in (np.ones(1 << 20, np.float32), torch.ones(1 << 20)):
        for _ in range(50):
            with pytest.raises(RuntimeError, match="after making a tensor"):
                lib.fails_after(x)

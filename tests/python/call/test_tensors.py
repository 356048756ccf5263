"""Tensors in: NumPy, PyTorch, buffers, DLPack in all its forms; checks of dtype, layout, place."""

import array
import ctypes

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
CTYPES = {"bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
          "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "float32": "float",
          "float64": "double"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_pointers_take_their_dtype_without_copying(lib, dtype):
    address = lib[f"address_of<{CTYPES[dtype]}>"]
    x = np.zeros((2, 3), dtype)
    t = torch.zeros(2, 3, dtype=getattr(torch, dtype))
    assert address(x) == x.ctypes.data
    assert address(t) == t.data_ptr()
    assert lib.address_any(x) == x.ctypes.data
    for other in DTYPES:
        if other != dtype:
            with pytest.raises(tarsia.ArgumentTypeError, match=f"must be an? {dtype} tensor, got .* of {other}"):
                address(np.zeros(3, other))
            with pytest.raises(tarsia.ArgumentTypeError, match=f"must be an? {dtype} tensor, got .* of {other}"):
                address(torch.zeros(3, dtype=getattr(torch, other)))


def test_views_point_at_their_first_element(lib):
    x = np.zeros(10, np.float32)
    assert lib.address_f32(x[3:]) == x.ctypes.data + 12
    t = torch.zeros(10)
    assert lib.address_f32(t[3:]) == t.data_ptr() + 12
    assert lib.address_f32(np.array(1, np.float32)) != 0


def test_functions_write_into_the_caller_s_memory(lib):
    x = np.ones(4, np.float32)
    lib.scale(x, 4, 2.5)
    assert x.tolist() == [2.5] * 4
    t = torch.ones(4)
    lib.scale(t, 4, 2.5)
    assert t.tolist() == [2.5] * 4


def test_parameters_and_gradients_and_subclasses_are_tensors(lib):
    class Mine(torch.Tensor):
        pass

    p = torch.nn.Parameter(torch.zeros(3))
    assert lib.address_f32(p) == p.data_ptr()
    assert lib.address_f32(torch.zeros(3, requires_grad=True)) != 0
    assert lib.address_f32(torch.zeros(3).as_subclass(Mine)) != 0
    m = np.ones(3, np.float32).view(type("Sub", (np.ndarray,), {}))
    assert lib.address_f32(m) == m.ctypes.data


@pytest.mark.parametrize("make", [
    lambda: np.zeros((4, 4), np.float32)[:, ::2],
    lambda: np.zeros((4, 4), np.float32).T,
    lambda: np.zeros(8, np.float32)[::-1],
    lambda: torch.zeros(4, 4).t(),
    lambda: torch.zeros(8)[::2],
    lambda: torch.zeros(1).expand(4),
])
def test_pointers_want_contiguous_memory(lib, make):
    x = make()
    with pytest.raises(tarsia.ArgumentValueError, match="must be contiguous, got .* strides"):
        lib.address_f32(x)
    assert "contiguous" not in lib.describe(x)


def test_strides_of_single_and_empty_dimensions_do_not_matter(lib):
    for t in (torch.zeros(4, 1).t(), torch.zeros(0, 3).t()):
        assert lib.address_f32(t) == t.data_ptr()
    for x in (np.zeros((1, 8), np.float32)[:, ::1].T, np.zeros((0, 3), np.float32)[::2]):
        assert lib.address_f32(x) == x.ctypes.data


def test_advice_fits_the_framework(lib):
    with pytest.raises(ValueError, match=r"pass x\.contiguous\(\)"):
        lib.anywhere(torch.zeros(4, 4).t(), torch.zeros(4))
    with pytest.raises(ValueError, match=r"pass numpy\.ascontiguousarray\(x\)"):
        lib.anywhere(np.zeros((4, 4), np.float32).T, np.zeros(4, np.float32))
    with pytest.raises(TypeError, match=r"pass x\.to\(torch\.float32\)"):
        lib.anywhere(torch.zeros(4, dtype=torch.float64), torch.zeros(4))
    with pytest.raises(TypeError, match=r"pass x\.astype\(numpy\.float32\)"):
        lib.anywhere(np.zeros(4), np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="writes to it, so make it with dtype=float32"):
        lib.anywhere(np.zeros(4, np.float32), np.zeros(4))


def test_read_only_memory_is_respected(lib):
    x = np.ones(3, np.float32)
    x.flags.writeable = False
    assert lib.address_f32(x) == x.ctypes.data
    with pytest.raises(tarsia.ArgumentValueError, match="must be writable"):
        lib.scale(x, 3, 2.0)
    with pytest.raises(tarsia.ArgumentValueError, match="must be writable"):
        lib.fill(x, 2.0)
    assert lib.doubled(x).tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]


def test_unaligned_memory_is_refused(lib):
    x = np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32)
    with pytest.raises(tarsia.ArgumentValueError, match="must be aligned"):
        lib.address_f32(x)


@pytest.mark.parametrize("make", [
    lambda: np.array(["a"]), lambda: np.array([None]),
    lambda: np.zeros(3, [("a", "f4")]), lambda: np.zeros(3, "M8[s]"), lambda: np.zeros(3, np.longdouble)])
def test_elements_that_cpp_cannot_read_are_refused(lib, make):
    with pytest.raises(tarsia.ArgumentTypeError, match="cannot read"):
        lib.address_any(make())


def test_tensors_of_odd_kinds_are_refused(lib):
    with pytest.raises(ValueError, match="memory cannot be read: Cannot pack tensors on meta"):
        lib.address_f32(torch.zeros(3, device="meta"))
    for tensor, remedy in (
            (torch.zeros(3).to_sparse(), r"its layout is torch.sparse_coo; pass x.to_dense\(\)"),
            (torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8), r"it is quantized; pass x.int_repr\(\)")):
        with pytest.raises(ValueError, match=f"memory cannot be read: {remedy}"):
            lib.address_f32(tensor)
    with pytest.raises(ValueError, match="resolve_conj"):
        lib.address_any(torch.zeros(3, dtype=torch.complex64).conj())
    with pytest.raises(ValueError, match="resolve_conj"):
        lib.describe(torch.zeros(3, dtype=torch.complex64).conj().imag)
    assert lib.describe(torch.zeros(3, dtype=torch.complex64)).startswith("complex64")


@pytest.mark.parametrize("make", [
    lambda: torch.tensor([1 + 2j]).conj().imag, lambda: torch.tensor(1 + 2j, dtype=torch.complex128).conj().imag,
    lambda: torch.ones(2, 1, 4, dtype=torch.complex64).conj().imag[:1, :, 3]])
def test_single_numbers_may_be_negated_lazily(make):
    lib = tarsia.load_inline("""
    #include <tarsia/op.h>
    double f(const float* x) { return *x; }
    double d(const double* x) { return *x; }
    double g(const tarsia::Tensor& x) { return x.dtype().bits == 64 ? *x.data<const double>() : *x.data<const float>(); }
    static void copy(tarsia::Context& c) {
      TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), { *c.output(0).data<T>() = *c.input(0).data<const T>(); });
    }
    TARSIA_OP(t_first).input("x").output("y").forward("cpu", copy);
    """)
    x = make()
    assert x.is_neg() and x.numel() == 1
    same = tarsia.elementwise("T x", "T y", "y = x")
    for call in (lib.f if x.dtype == torch.float32 else lib.d, lib.g, tarsia.ops.t_first, same):
        with pytest.raises(ValueError, match="resolve_(conj|neg)"):
            call(x)
        assert call(x.resolve_neg()) == x.item()
        plain = torch.arange(4, dtype=x.dtype)
        assert call(plain[1:2]) == 1 and call(plain[3]) == 3
    lib.unload()


@pytest.mark.filterwarnings("ignore:Accessing the data pointer")
def test_fake_tensors_are_refused(lib):
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(ValueError, match="memory"):
        lib.address_f32(fake)


@pytest.mark.parametrize("bad", [1, 1.5, "x", None, [1.0], (np.zeros(2, np.float32),), object(), np.float32(1)])
def test_other_things_are_no_tensors(lib, bad):
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a float32 tensor"):
        lib.address_f32(bad)
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a tensor"):
        lib.describe(bad)


def test_small_floats(lib):
    assert lib.describe(torch.zeros(2, dtype=torch.bfloat16)) == "bfloat16 (2,) (1,) contiguous"
    assert lib.describe(torch.zeros(2, dtype=torch.float16)) == "float16 (2,) (1,) contiguous"
    assert lib.describe(np.zeros(2, np.float16)) == "float16 (2,) (1,) contiguous"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert lib.describe(np.zeros(2, ml_dtypes.bfloat16)) == "bfloat16 (2,) (1,) contiguous"


def test_descriptions_of_views(lib):
    assert lib.describe(np.zeros((2, 3), np.float32)) == "float32 (2,3,) (3,1,) contiguous"
    assert lib.describe(np.zeros((2, 3), np.float32).T) == "float32 (3,2,) (1,3,)"
    assert lib.describe(np.zeros(6, np.int16)[::-2]) == "int16 (3,) (-2,)"
    assert lib.describe(torch.zeros(2, 3).t()) == "float32 (3,2,) (1,3,)"
    assert lib.describe(np.array(1.0)) == "float64 () () contiguous"
    assert lib.describe(np.broadcast_to(np.zeros(3, np.float32), (2, 3))) == "float32 (2,3,) (0,1,)"
    record = np.zeros(3, [("a", "f4"), ("b", "i2")])["a"]
    with pytest.raises(ValueError, match="no multiple of its element size"):
        lib.describe(record)


def test_buffers(lib):
    x = array.array("f", [1, 2, 3])
    assert lib.address_f32(x) == x.buffer_info()[0]
    lib.scale(x, 3, 2.0)
    assert x.tolist() == [2, 4, 6]
    data = bytearray(4)
    assert lib["address_of<uint8_t>"](data) != 0
    assert lib["address_of<uint8_t>"](b"abc") != 0
    with pytest.raises(ValueError, match="read-only"):
        lib.address_any_out(b"abc")
    view = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
    assert lib.describe(view) == "int32 (2,3,) (3,1,) contiguous"
    assert lib.describe(memoryview(array.array("d", range(6)))[::2]) == "float64 (3,) (2,)"
    x.append(4)  # the buffer was given back


class Interface:
    """An object of NumPy's array interface alone."""

    def __init__(self, array, **changes):
        self.array = array
        self.interface = {**array.__array_interface__, **changes}

    @property
    def __array_interface__(self):
        return self.interface


def test_an_object_may_have_an_array_interface_of_its_own(lib):
    class Holder:
        pass

    holder, x = Holder(), np.arange(4, dtype=np.float32)
    with pytest.raises(TypeError, match="must be a float32 tensor"):
        lib.address_f32(holder)
    holder.__array_interface__ = x.__array_interface__
    assert lib.address_f32(holder) == x.ctypes.data
    assert tarsia.elementwise("T x", "T y", "y = 2 * x")(holder).tolist() == [0, 2, 4, 6]
    cuda = Holder()
    cuda.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (x.ctypes.data, False), "version": 3}
    with pytest.raises(tarsia.Error, match="GPU|cuda|CUDA"):
        lib.address_f32(cuda)


def test_the_array_interface(lib):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert lib.address_f32(Interface(x)) == x.ctypes.data
    assert lib.describe(Interface(x.T)) == "float32 (3,2,) (1,3,)"
    lib.scale(Interface(x), 6, 2.0)
    assert x.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert type(lib.doubled(Interface(x))) is np.ndarray
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="must be writable"):
        lib.scale(Interface(frozen), 6, 2.0)
    text = Interface(np.zeros(3, np.uint8), data=b"xabc", offset=1, strides=None)
    assert lib.describe(text) == "uint8 (3,) (1,) contiguous"
    with pytest.raises(ValueError, match="read-only"):
        lib.address_any_out(text)
    with pytest.raises(ValueError, match="its __array_interface__ is malformed"):
        lib.describe(Interface(x, shape=[2, 3]))
    with pytest.raises(ValueError, match="its array interface is malformed"):
        lib.describe(Interface(x, strides=(4,)))
    with pytest.raises(TypeError, match="cannot read"):
        lib.describe(Interface(x, typestr=">f4"))
    with pytest.raises(TypeError, match="mask"):
        lib.describe(Interface(x, mask=np.zeros(6, bool)))


def test_ctypes_arrays_are_buffers(lib):
    x = (ctypes.c_float * 3)(1, 2, 3)
    assert lib.address_f32(x) == ctypes.addressof(x)
    lib.scale(x, 3, 2.0)
    assert list(x) == [2, 4, 6]
    assert lib.describe(x) == "float32 (3,) (1,) contiguous"
    assert lib.describe(((ctypes.c_int64 * 3) * 2)()) == "int64 (2,3,) (3,1,) contiguous"
    assert lib.describe((ctypes.c_double * 0)()) == "float64 (0,) (1,) contiguous"
    assert lib.describe(ctypes.c_int16(1)) == "int16 () () contiguous"
    text = ctypes.create_string_buffer(b"abc")
    assert lib["address_of<uint8_t>"](text) == ctypes.addressof(text)
    with pytest.raises(TypeError, match=r"must be a float32 tensor, got .* of float64, shape \(2,\)"):
        lib.address_f32((ctypes.c_double * 2)())
    with pytest.raises(TypeError, match="cannot read"):
        lib.describe((ctypes.c_float.__ctype_be__ * 2)())
    with pytest.raises(TypeError, match="cannot read"):
        lib.describe((type("S", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int)]}) * 2)())


def test_masked_arrays_are_refused(lib):
    x = np.ma.array(np.ones(3, np.float32), mask=[0, 1, 0])
    for call in (lib.address_f32, lib.describe, lambda x: lib.scale(x, 3, 2.0)):
        with pytest.raises(tarsia.ArgumentTypeError, match=r"whose mask C\+\+ code does not see; pass x.filled\(value\), or x.data"):
            call(x)
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a list or tuple"):
        lib.sum_of(x)
    assert lib.address_f32(x.data) == x.data.ctypes.data and lib.describe(x.filled(2)).startswith("float32 (3,)")


def test_the_other_byte_order_is_named(lib):
    for call in (lib.address_f32, lib.address_any, lib.describe):
        with pytest.raises(tarsia.ArgumentTypeError, match=r"of big-endian elements .*; pass x.astype\(x.dtype.newbyteorder"):
            call(np.ones(3, ">f4"))
    x = np.arange(3, dtype=">f4")
    assert lib.address_f32(x.astype(x.dtype.newbyteorder("="))) != 0


class Exporter:
    """Speaks DLPack through a PyTorch tensor, as it was before version 1.0 or after."""

    def __init__(self, tensor, modern=True):
        self.tensor = tensor
        self.modern = modern
        self.versions = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.modern and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.versions.append(options.get("max_version"))
        assert "stream" not in options  # on the CPU
        return self.tensor.__dlpack__(**options)


@pytest.mark.parametrize("modern", [True, False])
def test_dlpack_of_any_version(lib, modern):
    t = torch.ones(4)
    x = Exporter(t, modern)
    assert lib.address_f32(x) == t.data_ptr()
    lib.scale(x, 4, 3.0)
    assert t.tolist() == [3] * 4
    assert x.versions == [(1, 0) if modern else None] * 2


def test_read_only_dlpack_is_respected(lib):
    x = np.ones(3, np.float32)
    x.flags.writeable = False

    class ReadOnly:
        __dlpack_device__ = x.__dlpack_device__

        def __dlpack__(self, **options):
            return x.__dlpack__(**options)

    assert lib.address_f32(ReadOnly()) == x.ctypes.data
    with pytest.raises(ValueError, match="must be writable"):
        lib.scale(ReadOnly(), 3, 2.0)


def test_an_exporter_s_error_is_the_cause(lib):
    class Deleted:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            raise BufferError("the array was deleted")

    with pytest.raises(ValueError, match="cannot be read: the array was deleted") as caught:
        lib.address_f32(Deleted())
    assert isinstance(caught.value.__cause__, BufferError)


def test_lists_of_tensors(lib):
    a = np.ones(3, np.float32)
    assert lib.total([a, a + 1], 3) == 9 and lib.total([torch.ones(3), torch.zeros(3)], 3) == 3
    assert lib.total((), 3) == 0
    assert lib.total([a] * 300, 3) == 900
    with pytest.raises(TypeError, match=r"item 1 must be a float32 tensor, got numpy.ndarray of float64"):
        lib.total([a, np.ones(3)], 3)
    with pytest.raises(ValueError, match=r"item 0 must be contiguous"):
        lib.total([np.ones(6, np.float32)[::2]], 3)
    for bad in (np.ones((2, 3), np.float32), torch.ones(2, 3), 1, "ab"):
        with pytest.raises(TypeError, match="must be a list or tuple"):
            lib.total(bad, 3)


def test_a_list_may_change_during_the_call_s_conversion(lib):
    class Trap:
        def __init__(self, items):
            self.items = items

        def __dlpack_device__(self):
            self.items.clear()
            return (1, 0)

        def __dlpack__(self, **options):
            return torch.ones(3).__dlpack__(**options)

    items = []
    items += [Trap(items), np.ones(3, np.float32)]
    assert lib.total(items, 3) == 6


def test_absent_tensors(lib):
    assert lib.is_absent(None) is True
    assert lib.is_absent(np.zeros(1, np.float32)) is False
    assert lib.maybe(None) is None
    with pytest.raises(TypeError, match="float32 tensor or None"):
        lib.is_absent("x")


def test_cuda_functions_refuse_cpu_tensors_and_say_why(lib):
    for x in (np.zeros(3, np.float32), torch.zeros(3)):
        with pytest.raises(tarsia.ArgumentValueError, match="must be on a GPU, since the function takes a stream"):
            lib.takes_stream(x, 3)
        with pytest.raises(tarsia.ArgumentValueError, match="must be on a GPU"):
            lib.takes_stream(x, 3, 5)
        with pytest.raises(tarsia.ArgumentValueError, match=r"'y' \(2 of 2\) must be on a GPU"):
            lib.declared_places(x, x)


def test_pointers_of_sources_with_cuda_may_be_anywhere(lib):
    x, t = np.zeros(6, np.float32), torch.zeros(6)
    assert lib.anywhere(x, x[2:]) == -8 and lib.anywhere(t[3:], t) == 12


def test_the_tensors_of_one_call_are_of_one_framework(lib):
    x, t = np.zeros(3, np.float32), torch.zeros(3)
    with pytest.raises(tarsia.ArgumentTypeError, match=(
            r"'y' \(2 of 2\) is a torch.Tensor, and the tensors before it are of numpy: the tensors of one call belong to "
            r"one framework; pass numpy.from_dlpack\(y\) \('x' is the first\)")):
        lib.anywhere(x, t)
    with pytest.raises(tarsia.ArgumentTypeError, match=r"'y' .* is a numpy.ndarray, .* of torch.*pass torch.from_dlpack\(y\)"):
        lib.anywhere(t, x)
    with pytest.raises(tarsia.ArgumentTypeError, match=r"item 1 is a torch.Tensor, and the tensors before it are of numpy"):
        lib.total([x, t], 3)
    # What belongs to no framework goes with all.
    buffer = array.array("f", [1, 2, 3])
    for one in (x, t):
        lib.anywhere(one, buffer)
        lib.anywhere(buffer, one)
        lib.anywhere(Exporter(t), one)
    with pytest.raises(tarsia.ArgumentTypeError, match="'y' .* of numpy"):
        lib.anywhere(x, t.requires_grad_())


@pytest.fixture(scope="module")
def read_only_readers():
    return tarsia.load_inline("""#include <tarsia/op.h>
#include <optional>
#include <vector>
void w(const tarsia::Tensor& x) { x.data<float>()[0] = 99; }
void w_copy(const tarsia::Tensor& x) { tarsia::Tensor y = x; y.at<float>(0) = 99; }
void w_strided(const tarsia::StridedTensor& x) { x.strided_data<float>()[0] = 99; }
void w_at(const tarsia::StridedTensor& x) { x.at<float>(0) = 99; }
void w_optional(const std::optional<tarsia::Tensor>& x) { x->data<float>()[0] = 99; }
void w_list(const std::vector<tarsia::Tensor>& x) { x[0].data<float>()[0] = 99; }
void w_assigned(const tarsia::Tensor& x) { tarsia::Tensor y; y = x; y.data<float>()[0] = 99; }
float r(const tarsia::Tensor& x) { return x.data<const float>()[0] + x.at<const float>(0) + x.strided_data<const float>()[0]; }
bool is_read_only(const tarsia::Tensor& x) { return x.is_read_only(); }
""")


@pytest.mark.parametrize("name", ["w", "w_copy", "w_strided", "w_at", "w_optional", "w_list", "w_assigned"])
def test_read_only_memory_is_not_written_to_through_a_const_tensor(read_only_readers, name):
    """An array of NumPy's that is not writeable, and one of JAX: data<T>() for a T that is not const refuses them."""
    f = getattr(read_only_readers, name)
    arrays = [np.zeros(3, np.float32)]
    arrays[0].flags.writeable = False
    try:
        import jax.numpy

        arrays.append(jax.numpy.zeros(3))
    except ImportError:
        pass
    for x in arrays:
        with pytest.raises(TypeError, match="memory is read only: to read, ask for data<const T>"):
            f([x] if name == "w_list" else x)
        assert float(x[0]) == 0 and read_only_readers.r(x) == 0 and read_only_readers.is_read_only(x)
    x = np.zeros(3, np.float32)
    f([x] if name == "w_list" else x)
    assert x[0] == 99 and not read_only_readers.is_read_only(x)

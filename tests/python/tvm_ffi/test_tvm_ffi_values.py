"""Functions that take and return tvm-ffi's own types: tensors and views, optionals, strings, arrays."""

import gc
import importlib.util

import c_face
import numpy as np
import pytest

import tarsia

if not importlib.util.find_spec("tvm_ffi"):
    pytest.skip("needs apache-tvm-ffi", allow_module_level=True)

SOURCE = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <tuple>
#include <vector>

namespace ffi = tvm::ffi;

void check(ffi::TensorView x) {
  TVM_FFI_CHECK_EQ(x.ndim(), 1, ValueError) << "x is no vector";
  TVM_FFI_CHECK(x.dtype() == (DLDataType{kDLFloat, 32, 1}), TypeError) << "x is no float32";
}
void add_one(ffi::TensorView x, ffi::TensorView y) {
  check(x);
  for (int64_t i = 0; i < x.size(0); ++i)
    static_cast<float*>(y.data_ptr())[i * y.stride(0)] = static_cast<float*>(x.data_ptr())[i * x.stride(0)] + 1;
}
std::vector<int64_t> facts(const ffi::TensorView& x) {
  std::vector<int64_t> all = {x.ndim(), x.dtype().code, x.dtype().bits, x.device().device_type};
  for (int i = 0; i < x.ndim(); ++i) all.push_back(x.size(i)), all.push_back(x.stride(i));
  return all;
}
double first(const ffi::TensorView& x) { return *static_cast<double*>(x.data_ptr()); }

ffi::Tensor same(ffi::Tensor x) { return x; }
ffi::Tensor made(const ffi::Tensor& like, int64_t n) {
  ffi::Tensor y = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {n}, like.dtype(), like.device());
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(y.data_ptr())[i] = static_cast<float>(i);
  return y;
}
struct Heap {
  void AllocData(DLTensor* t) { t->data = new float[ffi::GetDataSize(*t) / 4]{}; }
  void FreeData(DLTensor* t) { delete[] static_cast<float*>(t->data); }
};
ffi::Tensor zeros(int64_t n) { return ffi::Tensor::FromNDAlloc(Heap(), {n}, {kDLFloat, 32, 1}, {kDLCPU, 0}); }
ffi::Tensor nothing() { return ffi::Tensor(); }

static ffi::Tensor kept;
void keep(ffi::Tensor x) { kept = x; }
ffi::Tensor take() { return std::move(kept); }

int64_t count(ffi::Optional<ffi::TensorView> x) { return x ? x.value().numel() : -1; }
ffi::Optional<ffi::Tensor> maybe(ffi::Optional<ffi::Tensor> x) { return x; }
ffi::Optional<int64_t> twice(ffi::Optional<int64_t> x) { return x ? ffi::Optional<int64_t>(2 * *x) : std::nullopt; }
double half(const ffi::Optional<double>& x) { return x.value_or(3) / 2; }
bool flip(ffi::Optional<bool> x) { return !x.value_or(false); }
ffi::String greet(ffi::Optional<ffi::String> name, ffi::String sign = "!") {
  return ffi::String("hello ") + name.value_or("you") + sign;
}
ffi::Array<ffi::Tensor> reversed(ffi::Array<ffi::Tensor> list) { return {list.rbegin(), list.rend()}; }
int64_t total(std::vector<ffi::TensorView> list) {
  int64_t n = 0;
  for (ffi::TensorView x : list) n += x.numel() + (x.ndim() ? x.stride(0) : 0);
  return n;
}
ffi::Array<int64_t> doubled(const ffi::Array<int64_t>& list) {
  return list.Map([](int64_t x) { return 2 * x; });
}
std::tuple<ffi::Tensor, int64_t> with_size(ffi::Tensor x) { return {x, x.numel()}; }
void fail(ffi::String kind) {
  if (kind == "index") TVM_FFI_THROW(IndexError) << "no such row";
  if (kind == "type") TVM_FFI_THROW(TypeError) << "no such type";
  if (kind == "own") TVM_FFI_THROW(OwnError) << "an error of its own";
  TVM_FFI_ICHECK(false) << "never";
}
float plain(float x) {
  if (x < 0) TVM_FFI_THROW(ValueError) << "x is below 0";
  return x;
}
ffi::TensorView view(ffi::TensorView x) { return x; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one);
"""


@pytest.fixture(scope="module", name="lib")
def library():
    return tarsia.load_inline(SOURCE, opt=0, **tarsia.tvm_ffi.options())


def test_views_take_tensors_of_every_framework(lib):
    for make in (lambda x: x, memoryview, tarsia_tensor):
        y = np.zeros(3, np.float32)
        lib.add_one(make(np.arange(3, dtype=np.float32)), y)
        assert y.tolist() == [1, 2, 3]
    torch = pytest.importorskip("torch")
    x, y = torch.arange(6.0)[::2], torch.zeros(3)
    lib.add_one(x, y=y)
    assert y.tolist() == [1, 3, 5]


def tarsia_tensor(array):
    return tarsia.load_inline("#include <tarsia/op.h>\ntarsia::Tensor copy(const tarsia::Tensor& x) {\n"
                              "  tarsia::Tensor y = tarsia::empty_like(x);\n"
                              "  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = x.data<float>()[i];\n  return y;\n}").copy(array)


def test_a_view_says_what_the_tensor_is(lib):
    assert lib.facts(np.ones((2, 3, 4), np.int16)) == [3, 0, 16, 1, 2, 12, 3, 4, 4, 1]
    assert lib.facts(np.ones((2, 3)).T) == [2, 2, 64, 1, 3, 1, 2, 3]
    assert lib.facts(np.array(1, np.float32)) == [0, 2, 32, 1]
    assert lib.first(np.arange(8.0)[3:]) == 3


def test_results_come_as_the_callers_framework_has_them(lib):
    x = np.arange(4, dtype=np.float32)
    y = lib.same(x)
    y[0] = 7
    assert type(y) is np.ndarray and x[0] == 7
    assert type(lib.made(x, 3)) is np.ndarray and lib.made(x, 3).tolist() == [0, 1, 2]
    assert lib.zeros(2).tolist() == [0, 0] and lib.nothing() is None
    tensor, size = lib.with_size(x)
    assert tensor.tolist() == x.tolist() and size == 4
    assert lib.same(np.ones((2, 3)).T).shape == (3, 2)
    torch = pytest.importorskip("torch")
    x = torch.arange(4.0)
    assert lib.same(x).data_ptr() == x.data_ptr()
    assert isinstance(lib.made(x, 3), torch.Tensor) and lib.made(x, 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", [np.copy, bytearray, "torch"])
def test_a_function_may_keep_what_it_takes(lib, make):
    if make == "torch":
        make = pytest.importorskip("torch").tensor
    lib.keep(make(np.arange(6, dtype=np.uint8)))
    gc.collect()
    assert list(np.asarray(lib.take())) == [0, 1, 2, 3, 4, 5]
    buffer = bytearray(4)
    lib.keep(buffer)
    with pytest.raises(BufferError):
        buffer.extend(b"more")
    lib.take()
    buffer.extend(b"more")


def test_results_outlive_their_library():
    lib = tarsia.load_inline(SOURCE + "// another\n", opt=0, **tarsia.tvm_ffi.options())
    y = lib.zeros(1000)
    lib.unload()
    del lib
    gc.collect()
    y += 1
    assert y.sum() == 1000
    del y
    gc.collect()


def test_optionals_strings_and_arrays(lib):
    x = np.ones(4, np.float32)
    assert lib.count(x) == 4 and lib.count(None) == -1
    assert lib.maybe(x).tolist() == x.tolist() and lib.maybe(None) is None
    assert lib.twice(4) == 8 and lib.twice(None) is None
    assert lib.half(5) == 2.5 and lib.half(None) == 1.5
    assert lib.flip(True) is False and lib.flip(None) is True
    assert lib.greet("Ada") == "hello Ada!" and lib.greet(None, "?") == "hello you?"
    assert [one.tolist() for one in lib.reversed([x, 2 * x[:1]])] == [[2], x.tolist()]
    assert lib.total([x, np.ones((2, 3))]) == 4 + 1 + 6 + 3
    assert lib.doubled([1, 2]) == [2, 4]


def test_mistakes_are_explained_as_those_of_other_arguments(lib):
    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match=r"add_one: argument 'y' \(2 of 2\) must be a tensor .*, got None"):
        lib.add_one(x, None)
    with pytest.raises(TypeError, match=r"argument 'x' \(1 of 2\) must be a tensor .*, got int"):
        lib.add_one(1, x)
    with pytest.raises(TypeError, match="must be an int or None, got str"):
        lib.twice("1")
    x.flags.writeable = False
    with pytest.raises(ValueError, match="must be writable"):
        lib.add_one(x, x)
    assert lib.facts(x)[0] == 1  # by reference to const
    with pytest.raises(AttributeError, match="'ffi::TensorView' owns nothing; return a tvm::ffi::Tensor"):
        lib.view


def test_errors_of_tvm_ffi_are_those_of_python(lib):
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match=r"^Check failed: x.ndim\(\) == 1 \(2 vs. 1\) : x is no vector$"):
        lib.add_one(np.ones((2, 2), np.float32), x)
    with pytest.raises(TypeError, match="x is no float32$"):
        lib.add_one(np.ones(3), x)
    for kind, error in {"index": IndexError, "type": TypeError, "own": RuntimeError, "": RuntimeError}.items():
        with pytest.raises(error) as raised:
            lib.fail(kind)
        assert isinstance(raised.value, tarsia.Error) and "\n" not in str(raised.value)
    assert lib.plain(2) == 2
    with pytest.raises(ValueError, match="^x is below 0$"):
        lib.plain(-1)


def test_c_passes_views_and_takes_results(lib, tmp_path):
    lib.export(tmp_path / "values.so")
    other = c_face.Library(tmp_path / "values.so")
    x, y = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    other.call("add_one", x, y)
    assert y.tolist() == [1, 2, 3]
    assert other.call("count", x) == 3 and other.call("count", None) == -1 and other.call("twice", 4) == 8
    with pytest.raises(c_face.CallFailed, match="'x' .* must be a tensor"):
        other.call("count", 3)
    with pytest.raises(c_face.CallFailed, match="x is no float32"):
        other.call("add_one", np.ones(3), y)
    with pytest.raises(c_face.CallFailed, match="only Python can pass it such a tensor; let it take a view"):
        other.call("keep", x)
    other.close()


def test_exported_typed_functions_are_tvm_ffis_own(lib, tmp_path):
    assert "__tvm_ffi_add_one" in lib.symbols
    tvm_ffi = pytest.importorskip("tvm_ffi")
    lib.export(tmp_path / "add_one.so")
    x, y = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    tvm_ffi.load_module(str(tmp_path / "add_one.so")).add_one(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))
    assert y.tolist() == [1, 2, 3]


def test_types_of_tvm_ffi_need_the_header_of_its_tensor():
    source = "#include <tvm/ffi/string.h>\ntvm::ffi::String f(tvm::ffi::String x) { return x; }\nint one() { return 1; }\n"
    lib = tarsia.load_inline(source, opt=0, **tarsia.tvm_ffi.options())
    with pytest.raises(AttributeError, match="is taken where the source includes <tvm/ffi/container/tensor.h>"):
        lib.f

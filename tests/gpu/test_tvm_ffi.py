"""Functions of tvm-ffi's types on a GPU: views of tensors there, the current stream, and tensors that functions make."""

import importlib.util

import pytest

import tarsia

torch = pytest.importorskip("torch")
if not importlib.util.find_spec("tvm_ffi"):
    pytest.skip("needs apache-tvm-ffi", allow_module_level=True)

SOURCE = r"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

__global__ void add_one_kernel(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
int64_t stream_of(ffi::TensorView x) {
  return reinterpret_cast<int64_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
}
void add_one(ffi::TensorView x, ffi::TensorView y) {
  TVM_FFI_CHECK_EQ(x.device().device_type, kDLCUDA, ValueError) << "x is not on a GPU";
  const auto stream = reinterpret_cast<cudaStream_t>(stream_of(x));
  const int64_t n = x.numel();
  add_one_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()),
                                                      static_cast<float*>(y.data_ptr()), n);
}
ffi::Tensor one_more(ffi::Tensor x) {
  ffi::Tensor y = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
  add_one(x, y);
  return y;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one);
"""


@pytest.fixture(scope="module", name="lib")
def library():
    return tarsia.load_inline(SOURCE, opt=1, **tarsia.tvm_ffi.options())


def test_views_and_results_are_on_the_gpu_and_the_current_stream(lib):
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="x is not on a GPU"):
            lib.add_one(torch.ones(3), torch.ones(3))
        pytest.skip("compiled and loaded; running it needs a GPU")
    x = torch.arange(1000.0, device="cuda")
    y = torch.empty_like(x)
    lib.add_one(x, y)
    assert torch.equal(y, x + 1)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert lib.stream_of(x) == stream.cuda_stream != 0
        z = lib.one_more(x)
    stream.synchronize()
    assert type(z) is torch.Tensor and z.is_cuda and torch.equal(z, x + 1)
    assert lib.stream_of(x) == torch.cuda.current_stream().cuda_stream

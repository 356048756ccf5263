"""Device code for several architectures, and PTX."""

import pytest
from gpu_support import inline

torch = pytest.importorskip("torch")

SOURCE = r"""
__global__ void kernel(int* y) {
#ifdef __CUDA_ARCH__
  *y = __CUDA_ARCH__;
#endif
}
int run(int* y, cudaStream_t s) { kernel<<<1, 1, 0, s>>>(y); return int(cudaGetLastError()); }
int ptx_version() { cudaFuncAttributes a; return cudaFuncGetAttributes(&a, kernel) ? -1 : a.ptxVersion; }
int binary_version() { cudaFuncAttributes a; return cudaFuncGetAttributes(&a, kernel) ? -1 : a.binaryVersion; }
"""


def capability():
    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor


def result(lib):
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    assert lib.run(y) == 0
    return y.item()


def older():
    """An architecture whose machine code this GPU does not run, but whose PTX it does."""
    return 80 if capability() >= 90 else 75


def test_the_default_is_that_of_the_gpu():
    lib = inline(SOURCE)
    assert list(lib.cubins) == [f"sm_{capability()}"]
    assert result(lib) == 10 * capability() and lib.binary_version() == capability()


def test_several_at_once():
    lib = inline(SOURCE, arch=["sm_75", "sm_80", "sm_90", "sm_100"])
    assert set(lib.cubins) == {"sm_75", "sm_80", "sm_90", "sm_100"}
    assert all(cubin[:4] == b"\x7fELF" for cubin in lib.cubins.values())
    expected = max(arch for arch in (75, 80, 90, 100) if arch <= capability() and arch // 10 == capability() // 10)
    assert result(lib) == 10 * expected and lib.binary_version() == expected


def test_ptx_runs_on_a_newer_gpu():
    inline(SOURCE)
    lib = inline(SOURCE, arch=f"sm_{older()}", ptx=True)
    assert set(lib.cubins) == {f"sm_{older()}", f"compute_{older()}"}
    assert b".target sm_" in lib.cubins[f"compute_{older()}"]
    assert result(lib) == 10 * older()
    assert lib.ptx_version() == older() and lib.binary_version() == capability()


def test_ptx_beside_machine_code_is_not_used():
    lib = inline(SOURCE, arch=["sm_80", "sm_90"], ptx=True)
    assert set(lib.cubins) == {"sm_80", "sm_90", "compute_90"}
    if capability() == 90:
        assert result(lib) == 900


def test_code_for_other_gpus_alone_is_an_error_of_cuda():
    inline(SOURCE)
    lib = inline(SOURCE, arch=f"sm_{older()}")
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    assert lib.run(y) == 209  # cudaErrorNoKernelImageForDevice
    assert y.item() == 0
    assert result(inline(SOURCE)) == 10 * capability()


def test_code_of_one_architecture_alone():
    lib = inline(r"""
    __global__ void kernel(int* y) {
    #if defined(__CUDA_ARCH_FEAT_SM90_ALL)
      *y = 90;
    #else
      *y = 1;
    #endif
    }
    void run(int* y, cudaStream_t s) { kernel<<<1, 1, 0, s>>>(y); }
    """, arch="sm_90a")
    if capability() != 90:
        pytest.skip("needs a GPU of compute capability 9.0")
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    lib.run(y)
    assert y.item() == 90 and list(lib.cubins) == ["sm_90a"]


def test_several_files_for_several_architectures():
    kernel = "static __global__ void kernel(int* y) { atomicAdd(y, ADD); }\n"
    lib = inline({
        "a.cu": "#define ADD 1\n" + kernel + "void b(int*, cudaStream_t);\nvoid a(int* y, cudaStream_t s) { kernel<<<1, 1, 0, s>>>(y); b(y, s); }\n",
        "b.cu": "#define ADD 10\n" + kernel + "void b(int* y, cudaStream_t s) { kernel<<<1, 1, 0, s>>>(y); }\n",
    }, arch=["sm_80", "sm_90"])
    assert set(lib.cubins) == {(file, arch) for file in ("a.cu", "b.cu") for arch in ("sm_80", "sm_90")}
    if capability() // 10 not in (8, 9):
        pytest.skip("needs a GPU of compute capability 8 or 9")
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    lib.a(y)
    assert y.item() == 11

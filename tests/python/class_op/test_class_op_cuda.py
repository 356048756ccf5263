"""Class operators in CUDA sources compile: NVRTC gets the kernels of their expressions."""

import pathlib

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


def test_three_files_make_an_op_for_both_devices():
    lib = tarsia.load_inline(
        {name: (SRC / name).read_text() for name in ("shrink.cc", "shrink.cu")},
        headers={"shrink-inl.h": (SRC / "shrink-inl.h").read_text()},
    )
    assert lib.device_compilers == {"shrink.cu": "nvrtc"}
    assert any("soft" in kernel for kernel in lib.kernels) and any("outside" in kernel for kernel in lib.kernels)
    lib.unload()


def test_kernels_that_virtual_functions_launch_are_found():
    lib = tarsia.load_inline("""
        template <class T> __global__ void virtual_kernel(T* x) { *x = T(1); }
        struct Base { virtual ~Base() {} virtual void run(float* x) = 0; };
        template <class T> struct Derived : Base {
          void run(float* x) override { virtual_kernel<T><<<1, 1>>>(x); }
        };
        static Base* make() { return new Derived<float>(); }
        void start(float* x, cudaStream_t) { Base* base = make(); base->run(x); delete base; }
    """)
    assert [one for one in lib.kernels if "virtual_kernel<float>" in one]
    lib.unload()

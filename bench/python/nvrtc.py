"""Bare NVRTC and the bare driver through ctypes: the yardsticks for device code."""

import ctypes

import tarsia


class Nvrtc:
    """The same NVRTC and headers that Tarsia finds on this machine."""

    def __init__(self):
        found = {line["part"]: line["path"] for line in tarsia.doctor()["lines"] if line["found"]}
        if "NVRTC" not in found:
            raise RuntimeError("there is no NVRTC on this machine")
        self.library = ctypes.CDLL(found["NVRTC"])
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        folders = [path for part, path in found.items() if "headers" in part or part.startswith("CCCL")]
        self.include_options = [f"--include-path={folder}" for folder in dict.fromkeys(folders)]

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.nvrtcGetErrorString(code).decode())

    def compile(self, text, arch, *options):
        """The cubin of a text. The benchmarks time one call of this."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.check(self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"bare.cu", 0, None, None))
        options = [option.encode() for option in (f"--gpu-architecture={arch}", "-std=c++20", *options)]
        code = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if code != 0:
            self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.value.decode())
        self.check(self.library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        cubin = ctypes.create_string_buffer(size.value)
        self.check(self.library.nvrtcGetCUBIN(program, cubin))
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return cubin.raw


class Driver:
    """The CUDA driver, in the context that is current on this thread."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.memory = ctypes.c_uint64()
        self.check(self.library.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4096)))

    def check(self, code):
        if code != 0:
            raise RuntimeError(f"the CUDA driver answers {code}")

    def launch(self, cubin, name):
        """Loads a cubin, launches its kernel `name` (float*, int) on one block of 32 threads, and waits for it."""
        module, function, n = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(32)
        self.check(self.library.cuModuleLoadData(ctypes.byref(module), cubin))
        self.check(self.library.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(self.memory), ctypes.addressof(n))
        self.check(self.library.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))
        self.check(self.library.cuCtxSynchronize())

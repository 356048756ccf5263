"""Settings. Those that tell how to compile hold for kernels that are compiled after they are set."""

from .._errors import ArgumentTypeError, explains_misuse

_DEFAULTS = {
    # These have an effect.
    "DEBUG": False,  # debug information, and no optimisation
    "USING_OPTIMIZATION": True,
    "HOST_NUM_THREADS": 0,  # threads of a kernel on the CPU; 0: as many as OpenMP has
    "USING_HIGH_LEVEL_WARNINGS": False,  # -Wall -Wextra
    "USING_OPENMP": True,  # False: kernels on the CPU have one thread
    "USING_CBLAS": False,  # the macro of this name
    "GPU_BACKEND": "cuda",
    # These are kept for programs that set them: Tarsia's compiler and cache need none of them.
    "TARGET": "mobula_op",
    "BUILD_PATH": "./",
    "BUILD_IN_LOCAL_PATH": True,
    "SHOW_BUILDING_COMMAND": False,
    "MAX_BUILDING_WORKER_NUM": 8,
    "USING_ASYNC_EXEC": True,
    "CXX": "g++",
    "NVCC": "nvcc",
    "HIPCC": "hipcc",
    "CUDA_DIR": "/opt/cuda",
    "HIP_DIR": "/opt/rocm/hip",
}


class TempConfig:
    """Settings for a block: ``with mobula.config.TempConfig(HOST_NUM_THREADS=1): …``"""

    @explains_misuse("pass settings by their names: TempConfig(HOST_NUM_THREADS=1)")
    def __init__(self, **settings):
        self._settings, self._before = settings, {}

    def __enter__(self):
        for name in self._settings:
            getattr(config, name)
        self._before = {name: getattr(config, name) for name in self._settings}
        try:
            for name, value in self._settings.items():
                setattr(config, name, value)
        except BaseException:
            self.__exit__()
            raise
        return config

    def __exit__(self, *_):
        for name, value in self._before.items():
            setattr(config, name, value)


class Config:
    """The settings, as attributes."""

    TempConfig = TempConfig

    def __init__(self):
        self.__dict__.update(_DEFAULTS)
        self.__dict__["changes"] = 0  # how often a setting was changed

    def __setattr__(self, name, value):
        if name not in _DEFAULTS:
            raise _unknown(name)
        wanted = type(_DEFAULTS[name])
        if type(value) is not wanted:
            raise ArgumentTypeError(f"mobula.config.{name} is of type {wanted.__name__}, not {type(value).__name__} {value!r}")
        if name == "GPU_BACKEND" and value != "cuda":
            raise ArgumentTypeError(f"mobula.config.GPU_BACKEND is 'cuda', the one backend there is, not {value!r}")
        self.__dict__[name] = value
        self.__dict__["changes"] += 1

    def __getattr__(self, name):
        raise _unknown(name)


def _unknown(name):
    return AttributeError(f"mobula.config has no setting {name!r}; it has {', '.join(_DEFAULTS)}")


config = Config()

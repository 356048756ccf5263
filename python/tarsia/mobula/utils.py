"""Small things that programs use."""

import os

from .._compile_options import to_path
from .._errors import explains_misuse

__all__ = ["ENV_PATH", "get_git_hash", "list_gpus", "makedirs"]

ENV_PATH = os.path.dirname(__file__)


@explains_misuse()
def list_gpus():
    """The numbers of the GPUs, a list."""
    import ctypes

    library = ctypes.CDLL(os.path.join(os.path.dirname(ENV_PATH), "libtarsia.so"))
    return list(range(library.tarsia_device_count()))


@explains_misuse()
def get_git_hash():
    """"custom": the package is no checkout of MobulaOP."""
    return "custom"


@explains_misuse()
def makedirs(name, mode=0o777, exist_ok=False):
    """os.makedirs."""
    os.makedirs(to_path(name, "name"), mode, exist_ok)

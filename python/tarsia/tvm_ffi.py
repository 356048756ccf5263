"""Sources that include tvm-ffi's headers: functions of tvm::ffi::TensorView and tvm::ffi::Tensor.

    lib = tarsia.load_inline(source, **tarsia.tvm_ffi.options())
    lib.add_one(x, y)               # tensors of any framework
"""

from ._errors import Error, explains_misuse

__all__ = ["options"]


@explains_misuse("it takes no arguments")
def options():
    """What a source that includes tvm-ffi's headers needs: a dict of include_dirs, library_dirs and libraries, for
    ``tarsia.load_inline(source, **tarsia.tvm_ffi.options())``. They are those of the installed package apache-tvm-ffi, which
    is not imported.
    """
    import importlib.util
    import os

    remedy = "pip install apache-tvm-ffi"
    spec = importlib.util.find_spec("tvm_ffi")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise Error(f"tarsia.tvm_ffi needs tvm-ffi, which this Python does not have: {remedy}")
    for root in folders:
        include, libraries = os.path.join(root, "include"), os.path.join(root, "lib")
        if os.path.exists(os.path.join(include, "tvm", "ffi", "c_api.h")) and \
                os.path.exists(os.path.join(libraries, "libtvm_ffi.so")):
            return {"include_dirs": [include], "library_dirs": [libraries], "libraries": ["tvm_ffi"]}
    raise Error(f"the tvm_ffi in {folders[0]} lacks include/tvm/ffi/c_api.h or lib/libtvm_ffi.so: {remedy}")

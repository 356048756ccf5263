"""Tarsia compiles C++ and CUDA strings into loaded libraries while a program runs.

    lib = tarsia.load_inline('''
        void relu(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0; }
    ''')
    lib.relu(x, y, x.size)    # NumPy arrays or PyTorch tensors, without copies
"""

from . import _errors  # now: where no file can be opened any more, an error has to say so
from ._library import Library, compile, compile_all, load, load_inline
from ._tarsia import BoundOp, Expression, Function, Kernel, KernelLaunch, Op, Tensor, op
from ._tarsia import version as __version__

# Imported when first asked for: importing tarsia should cost little more than loading its library.
_ERRORS = (
    "ArgumentError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "CompileError",
    "CompileForbidden",
    "CompilerCrashed",
    "CompileTimeout",
    "CompileWarning",
    "CudaError",
    "Diagnostic",
    "Error",
    "Interrupted",
    "InvalidSource",
    "LoadError",
    "MissingFunction",
    "MissingOp",
    "NotFound",
    "OpError",
    "OpIndexError",
    "OpTypeError",
    "OpValueError",
    "OutOfMemory",
    "ResourceLimit",
    "StorageFallbackWarning",
    "UndefinedBehaviour",
    "Unsupported",
)

__all__ = [  # noqa: PLE0604 (it takes the names within _ERRORS for no strings)
    *_ERRORS,
    "AddedImplementation",
    "BoundGraph",
    "BoundOp",
    "CapturedGraph",
    "Cell",
    "Expression",
    "Function",
    "Graph",
    "GraphValue",
    "Kernel",
    "KernelLaunch",
    "KernelTemplate",
    "Library",
    "Op",
    "Plan",
    "Range",
    "RowSparse",
    "Session",
    "SparseOutput",
    "Tensor",
    "__version__",
    "add_implementation",
    "compile",
    "compile_all",
    "define_op",
    "doctor",
    "elementwise",
    "implementation",
    "load",
    "load_inline",
    "no_compile",
    "op",
    "ops",
    "record",
    "reduction",
    "replay",
    "seed",
    "sparse_parts",
    "stats",
]


def __getattr__(name):
    if name in _ERRORS:
        value = getattr(_errors, name)
    elif name in ("RowSparse", "SparseOutput", "sparse_parts"):
        from . import _sparse

        value = getattr(_sparse, name)
    elif name in ("AddedImplementation", "Range", "add_implementation", "define_op", "implementation"):
        from . import _define

        value = getattr(_define, name)
    elif name == "elementwise":
        from ._expressions.elementwise import elementwise as value
    elif name == "reduction":
        from ._expressions.reduction import reduction as value
    elif name in ("Cell", "Session"):
        from . import _session

        value = getattr(_session, name)
    elif name in ("Graph", "BoundGraph", "CapturedGraph", "GraphValue", "Plan"):
        from . import _graph

        value = getattr(_graph, name)
    elif name == "KernelTemplate":
        from ._kernels import KernelTemplate as value
    elif name == "ops":
        from ._ops import ops as value
    elif name in ("compat", "jax", "mobula", "testing", "torch", "tvm_ffi"):  # some of them import NumPy, PyTorch or JAX
        import importlib

        value = importlib.import_module(f"tarsia.{name}")
    else:
        raise AttributeError(f"module 'tarsia' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()).union(__all__))


@_errors.explains_misuse("pass an int from 0 to 2**64 - 1")
def seed(seed):
    """Sets the seed of all random states."""
    from . import _tarsia

    _tarsia.seed(seed)


@_errors.explains_misuse("it takes no arguments")
def doctor():
    """What works on this machine, what is missing, and what to do about it: a dict."""
    import json

    from . import _tarsia

    return json.loads(_tarsia.doctor())


@_errors.explains_misuse("it takes no arguments")
def stats():
    """Counters of the cache, the compiler and conversions of sparse tensors: a dict."""
    import json

    from . import _tarsia

    return json.loads(_tarsia.stats())


@_errors.explains_misuse("it takes no arguments")
def no_compile():
    """A context manager within which this thread compiles nothing: a source or kernel that is not in the cache is a
    CompileForbidden at once, which says why it is not there. They nest; a thread that asks for something in another thread's
    stead brings its own."""
    from ._cache.no_compile import NoCompile

    return NoCompile()


@_errors.explains_misuse("pass the path of the pack to write")
def record(path):
    """Notes every module that this process uses, from all threads, and writes a pack of them when it ends:
    ``with tarsia.record("ops.pack"):``, or ``start()`` and ``stop()`` of what it gives. Recordings may nest; each notes all."""
    from ._cache.packs import Recording

    return Recording(path)


@_errors.explains_misuse("pass the path of a pack, and devices, a list of GPUs")
def replay(path, *, devices=None):
    """Takes the modules of a pack into memory: this process then loads them without a compiler and without the cache's folder.
    A pack is code: where TARSIA_TRUST names keys, one of them has to have signed it. Its device code is loaded onto the GPUs of ``devices``, by
    default all; with [] CUDA is not initialised, so that the process may fork. Returns a dict: modules, known, bytes, signer, gpus."""
    from ._cache.packs import replay

    return replay(path, devices)


def load_ipython_extension(ipython):
    """%load_ext tarsia: the cell magic %%tarsia."""
    from . import _ipython

    _ipython.load(ipython)

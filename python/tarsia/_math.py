"""The ops of <tarsia/math/ops.h>, each compiled and registered when it is first asked for."""

import threading

NAMES = frozenset("""sqrt rsqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh erf erfc sigmoid silu softplus gelu negative abs square relu identity sign floor ceil trunc round isnan isinf isfinite logical_not
add subtract multiply divide power maximum minimum remainder atan2 hypot floor_divide equal not_equal less less_equal greater
greater_equal logical_and logical_or logical_xor where clip fill cast sum mean prod max min any all argmax argmin softmax log_softmax
transpose gather dot batch_dot""".split())

_lock = threading.Lock()
_libraries = {}  # name: the Library that keeps the op


def load(name):
    """Registers the op of that name, unless this was done before. Whether there is such an op."""
    if name not in NAMES:
        return False
    with _lock:
        if name not in _libraries:
            from . import _tarsia
            from ._library import load_inline

            suffix = "cu" if _tarsia.device_count() else "cc"
            text = f"#include <tarsia/math/ops.h>\nTARSIA_MATH_OP({name});\n"
            _libraries[name] = load_inline({f"tarsia_math_{name}.{suffix}": text})
    return True

"""Functions and ops in JAX: calls that XLA makes itself, under jit and grad too.

    import tarsia.jax

    relu = tarsia.jax.function(tarsia.op("relu"))       # differentiable
    y = jax.jit(lambda x: 2 * relu(x))(x)
    axpy = tarsia.jax.function(lib.axpy)                # gives the new y
"""

from ._errors import ArgumentTypeError, explains_misuse
from ._tarsia import Function, Op

try:
    import jax

    _ = jax.ffi.register_ffi_target
except ImportError:
    raise ImportError("tarsia.jax needs JAX: pip install jax, with Python 3.11 or later") from None
except AttributeError:
    raise ImportError(f"tarsia.jax needs jax.ffi, which JAX {jax.__version__} does not have: pip install -U jax") from None

from ._jax import call as jax_call

__all__ = ["function"]


@explains_misuse()
def function(what, backward=None, *, outputs=None, updates=None, gradients=None, mutates=None, vmap="sequential",
             side_effect=False):
    """Makes a function of JAX that calls an op or a C++ function.

    what: an op (``tarsia.op("relu")``), called with arrays, and attributes by name; or a function (``lib.f``).
    backward: the function that gives the gradients of a function; an op has its own. Its parameters are matched by
        name. One that the function also has gets the same argument, or the output of that name. The others get the
        gradients of the outputs, in order, and after these the outputs that the function returns. What backward writes to
        or returns are the gradients.
    outputs: a function of the same parameters that returns the shapes and dtypes of the outputs: jax.ShapeDtypeStruct,
        or arrays. Functions that return tensors need it. With it, what a function writes to (``T*``) is an output and no
        parameter; without it, it is a parameter whose new value is a result.
    updates: with outputs=, the names of what the function writes to and also reads.
    gradients: the names of the parameters whose gradients backward gives, in order; by default all the arrays that
        the function reads.
    mutates: the names of what the functions write to, if the types say too much.
    vmap: what jax.vmap does: the vmap_method of jax.ffi.ffi_call.
    side_effect: keeps calls whose results nobody uses. Ops with state and random ones are always kept.

    Arrays are traced; numbers, strings and lists of them are constants of the compiled program. If XLA still needs the old
    value of what is written to, it copies it. Each combination of shapes, dtypes, device and attributes has a state of its own, if the
    op has state.
    """
    if isinstance(what, Op):
        given = {"backward": backward, "outputs": outputs, "updates": updates, "gradients": gradients,
                 "mutates": mutates}
        for option, value in given.items():
            if value is not None:
                raise ArgumentTypeError(f"{option} is for functions: an op declares it")
        return jax_call.OpCall(what, vmap, side_effect)
    if isinstance(what, Function):
        return jax_call.FunctionCall(what, backward, outputs, updates, gradients, mutates, vmap, side_effect)
    kind = "a kernel: give a function that launches it" if hasattr(what, "launch") else type(what).__name__
    raise ArgumentTypeError(f"tarsia.jax.function takes a tarsia.Op or a tarsia.Function, not {kind}")


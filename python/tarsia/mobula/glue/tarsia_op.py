"""Operators as ops of Tarsia."""

import inspect
import sys

import tarsia

from ..._compile_options import to_names
from ..._errors import ArgumentTypeError, ArgumentValueError
from . import backend
from .common import get_varnames, results, run_backward, run_forward


def define(operator, name, n_inputs, no_gradient, dtypes, devices, parameters):
    """The op of an operator's class with these parameters."""
    op = operator.op
    if n_inputs is not None and not isinstance(n_inputs, int):
        raise ArgumentTypeError(f"{name}: inputs is how many inputs it has, an int, not {n_inputs!r}")
    inputs = get_varnames(op.forward)[:n_inputs]
    n_out = len(get_varnames(op.backward))
    outputs = ["output"] if n_out == 1 else [f"output{k}" for k in range(n_out)]
    without, dtypes = set(to_names(no_gradient, f"{name}: no_gradient")), tuple(to_names(dtypes, f"{name}: dtypes"))
    unknown = without - set(inputs)
    if unknown:
        raise ArgumentValueError(f"{name}: no_gradient names {', '.join(sorted(unknown))}; the inputs are {', '.join(inputs)}")

    def instance_for(tensors):
        """An operator for these tensors, and what its methods see of one."""
        glue = backend.get_args_glue(*(one for one in tensors if one is not None))
        if glue is None:
            raise ArgumentTypeError(f"{name} takes tensors of NumPy, PyTorch or CuPy")
        made = backend.op_gen(glue, op, operator.name).instance(**parameters)
        made._set_functions(tensors)
        return made, glue.view

    def forward(self, *given):
        tensors = _of_framework(given, name)
        made, view = instance_for(tensors)
        run_forward(made, op, view, tensors[: len(inputs)], tensors[len(inputs) :])
        _finish(given, tensors)

    def backward(self, *of_caller):
        tensors = _of_framework(of_caller, name)
        out_grad, rest = tensors[:n_out], tensors[n_out:]
        taken, given, in_grad = rest[: len(inputs)], rest[len(inputs) : len(inputs) + n_out], rest[len(inputs) + n_out :]
        made, view = instance_for(taken)
        made.in_data, made.out_data = [view(one) for one in taken], [view(one) for one in given]
        requests = ["null" if one is None else "write" for one in in_grad]
        run_backward(made, op, view, out_grad, [x * 0 if dx is None else dx for x, dx in zip(taken, in_grad)], requests)
        _finish(of_caller, tensors)

    def infer_shape(self, *shapes):
        made = backend.op_gen(backend.get_var_type_glue(_ndarray()), op, operator.name).instance(**parameters)
        found = results(op, "forward", made.infer_shape([tuple(shape) for shape in shapes])[1], n_out)
        return [tuple(int(extent) for extent in shape) for shape in found]

    def infer_dtype(self, *given):
        if given and given[0] not in dtypes:
            raise ArgumentTypeError(f"{name}: {inputs[0]} holds {' or '.join(dtypes)}, not {given[0]}")
        if not hasattr(op, "infer_type"):
            return [given[0] if given else dtypes[0]] * n_out
        made = backend.op_gen(backend.get_var_type_glue(_ndarray()), op, operator.name).instance(**parameters)
        return [_name_of(one) for one in results(op, "infer_type", made.infer_type([_dtype(one) for one in given])[1], n_out)]

    def signed(function, names):
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        function.__signature__ = inspect.Signature([inspect.Parameter(one, positional) for one in ("self", *names)])
        return function

    gradients = [f"gradient_of_{one}" for one in (*outputs, *inputs)]
    members = {
        "__doc__": op.__doc__,
        "forward": signed(forward, [*inputs, *outputs]),
        "backward": signed(backward, [*gradients[:n_out], *inputs, *outputs, *gradients[n_out:]]),
        "infer_shape": signed(infer_shape, inputs),
        "infer_dtype": signed(infer_dtype, inputs),
    }
    define = tarsia.define_op(name=name, outputs=tuple(outputs), no_gradient=tuple(sorted(without)), devices=devices)
    return define(type(name, (), members))


def _of_framework(tensors, name):
    """Tensors of no framework, as callers from C++ and tests of ops have them on GPUs, as those of PyTorch or CuPy."""
    if not any(isinstance(one, tarsia.Tensor) for one in tensors):
        return tensors
    framework = sys.modules.get("torch") or sys.modules.get("cupy")
    if framework is None:
        raise ArgumentTypeError(f"{name} takes tensors of NumPy, PyTorch or CuPy; import one of these, which then reads a tarsia.Tensor")
    return tuple(framework.from_dlpack(one) if isinstance(one, tarsia.Tensor) else one for one in tensors)


def _finish(given, tensors):
    """The framework's stream is not the caller's, who has to find the results."""
    if given is tensors or not any(getattr(one, "is_cuda", False) or hasattr(one, "__cuda_array_interface__") for one in tensors):
        return
    framework = sys.modules.get("torch") or sys.modules["cupy"]
    stream = framework.cuda.current_stream() if hasattr(framework.cuda, "current_stream") else framework.cuda.get_current_stream()
    stream.synchronize()


def _dtype(name):
    """A dtype as a class sees it: NumPy's, or its name if NumPy has none such."""
    import numpy

    try:
        return numpy.dtype(name)
    except TypeError:
        return name


def _name_of(dtype):
    """The name of a dtype of NumPy, PyTorch or CuPy."""
    import numpy

    try:
        return numpy.dtype(dtype).name
    except TypeError:
        return str(dtype).removeprefix("torch.")


def _ndarray():
    import numpy

    return numpy.ndarray

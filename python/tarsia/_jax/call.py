"""The functions that tarsia.jax.function gives.

Each combination of shapes, dtypes and constants is a program of its own: a callee that XLA's handler finds by its
number, jax.ffi.ffi_call of it, and around that jax.custom_vjp where there is a gradient. JAX's own jit does the rest:
eager arrays go the same way as traced ones.
"""

import inspect
import operator

import jax
import numpy as np

from .. import _tarsia
from .._compile_options import to_names
from .._errors import ArgumentTypeError, ArgumentValueError, Unsupported
from .programs import Programs, identity, layout
from .._pair import Pair
from .._schema import (LIST, OBJECT, OP_RANDOM, POINTER, PORT_HIDDEN, PORT_MUTABLE, PORT_NO_GRADIENT, STREAM, TENSOR, TUPLE,
                      flags_at, inputs_by_name, needs_of, of_function, ports_of)

_TARGET = "tarsia_call"
for _platform, _handler in zip(("cpu", "CUDA"), _tarsia.jax_handlers()):
    jax.ffi.register_ffi_target(_TARGET, _handler, platform=_platform)


def _call(callee, results, *, aliases=None, vmap="sequential", side_effect=False):
    """A function of arrays that calls a callee; gives a list of arrays."""
    call = jax.ffi.ffi_call(_TARGET, [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in results], vmap_method=vmap,
                            input_output_aliases=aliases or None, has_side_effect=side_effect)
    number = np.int64(callee.number)

    def run(*arrays):
        return list(call(*arrays, callee=number))

    run.callee = callee  # type: ignore[attr-defined]  # it lives as long as what calls it
    return run


def _array(value, what):
    """An array of JAX, or what it makes one of."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        if getattr(value, "is_deleted", None) and not isinstance(value, jax.core.Tracer) and value.is_deleted():
            raise ArgumentValueError(f"{what} is an array that was deleted or donated")
        return value
    if type(value).__module__.startswith("jax.experimental.sparse"):
        raise Unsupported(f"{what} is a sparse array, which XLA's calls do not take: pass {type(value).__name__}.todense()")
    if isinstance(value, (bool, int, float, complex, list, tuple)) and not isinstance(value, str):
        try:
            return jax.numpy.asarray(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{what} has to be an array of JAX or NumPy, or numbers, not {value!r}") from error
    raise ArgumentTypeError(f"{what} has to be an array of JAX or NumPy, not {type(value).__name__}")


def _constant(value, what):
    """A number, string, None or list of these that is known when the program is traced."""
    if isinstance(value, jax.core.Tracer):
        raise ArgumentTypeError(f"{what} is traced, and has to be known when the program is compiled: pass a Python number, or "
                                f"name it in static_argnums of jax.jit")
    if isinstance(value, (list, tuple)):
        return tuple(_constant(one, what) for one in value)
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        if value.ndim != 0:
            raise ArgumentTypeError(f"{what} has to be a number, not an array of shape {value.shape}")
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # the last is PyTorch's
        pass
    raise ArgumentTypeError(f"{what} has to be a number, a string or a list of these, not {type(value).__name__}")


def _dtype(name, op):
    """JAX's dtype; an error where it has that with 64 bits alone."""
    dtype = jax.numpy.dtype(name)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise ArgumentTypeError(f"{op} gives {name}, which JAX has only with jax.config.update('jax_enable_x64', True)")
    return dtype


def _meta(array):
    return tuple(array.shape), str(array.dtype)


def _zero_gradient(array):
    """What custom_vjp wants for an integer."""
    if jax.numpy.issubdtype(array.dtype, jax.numpy.inexact):
        return jax.numpy.zeros(array.shape, array.dtype)
    return np.zeros(array.shape, jax.dtypes.float0)


def _with_gradient(forward, backward):
    """forward: arrays to (results, what backward needs). backward: that and the gradients of the results, to those of
    the arrays."""
    @jax.custom_vjp
    def run(*arrays):
        return forward(*arrays)[0]

    run.defvjp(forward, backward)
    return run


class OpCall:
    """An op as a function of JAX: of arrays, None for those that are not there, and attributes by name."""

    def __init__(self, op, vmap, side_effect):
        self._op, self._vmap, self._side_effect = op, vmap, side_effect
        self._generation = None
        self._start()
        self.__name__, self.__doc__ = op.name, op.__doc__

    def _start(self):
        self._programs = Programs()
        # What compiled programs know by a number alone, so that it has to stay as long as this: what calls the op with
        # some attributes, and on which places of which arrays. Programs for other shapes share them.
        self._targets, self._callees = {}, {}

    def __repr__(self):
        return f"<tarsia.jax.function of {self._op!r}>"

    def __call__(self, *inputs, **attributes):
        name = self._op.name
        inputs, attributes = inputs_by_name(self._op, self._op._description, inputs, attributes) if attributes else (inputs, {})
        inputs = [one if one is None else _array(one, f"{name}: input {i}") for i, one in enumerate(inputs)]
        attributes = {key: _constant(value, f"{name}: attribute {key!r}") for key, value in attributes.items()}
        generation = _tarsia.op_generation()
        if generation != self._generation:  # another library may have taken the name over
            description = self._op._description
            if not description["state"] and not all(target.is_of(self._op) for target in list(self._targets.values())):
                self._start()
            self._generation, self._description = generation, description
        metas = tuple(one if one is None else _meta(one) for one in inputs)
        constants = tuple(sorted((name, identity(value)) for name, value in attributes.items()))
        program = self._programs.find((metas, constants), lambda: self._make(metas, attributes, constants))
        results = program(*[one for one in inputs if one is not None])
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _pass(self, target, backward, first_input, n_inputs, arguments, results):
        """The callee of a pass."""
        key = target, backward, first_input, n_inputs, tuple(arguments), tuple(results)
        found = self._callees.get(key)
        if found is None:
            made = _tarsia.jax_pass(target, backward, first_input, n_inputs, arguments, results)
            found = self._callees.setdefault(key, made)
        return found

    def _make(self, metas, attributes, constants):
        op, description = self._op, self._description
        shapes, dtypes = op.infer([False if one is None else one[0] for one in metas],
                                  [None if one is None else one[1] for one in metas], **attributes)
        ports, out_ports = ports_of(op, description, attributes), description["outputs"]
        n_inputs = len(metas) if description["arity"] else len(shapes) - len(out_ports)
        metas = [*metas, *[None] * (n_inputs - len(metas))]
        outputs = []
        for i, (shape, dtype) in enumerate(zip(shapes[n_inputs:], dtypes[n_inputs:])):
            if shape is None or None in shape or dtype is None:
                raise Unsupported(f"{op.name} does not tell the shape or dtype of output {i} before it runs")
            outputs.append(jax.ShapeDtypeStruct(shape, _dtype(dtype, op.name)))
        n = len(outputs)
        n_visible = op._count(**attributes)[1] if description["tells_visible"] else n
        hidden = [i >= n_visible if description["tells_visible"] else i < len(out_ports) and bool(out_ports[i][1] & PORT_HIDDEN)
                  for i in range(n)]
        flags = [flags_at(ports, i) for i in range(n_inputs)]
        given = [i for i, one in enumerate(metas) if one is not None]
        target = self._targets.get(constants) or self._targets.setdefault(constants, _tarsia.JaxOp(op, attributes))
        options = {"vmap": self._vmap, "side_effect": self._side_effect or description["state"] or bool(
            description["flags"] & OP_RANDOM)}

        # Inputs that are written to have results of their own, after the outputs.
        arguments, results, aliases = [("value", None)] * n_inputs, list(outputs), {}
        for k, i in enumerate(given):
            arguments[i] = ("input", k)
            if flags[i] & PORT_MUTABLE:
                arguments[i] = ("result", len(results))
                aliases[k] = len(results)
                results.append(jax.ShapeDtypeStruct(metas[i][0], _dtype(metas[i][1], op.name)))
        callee = self._pass(target, False, 0, n_inputs, arguments, list(range(n)))
        run = _call(callee, results, aliases=aliases, **options)
        visible = [i for i in range(len(results)) if i >= n or not hidden[i]]

        def plain(*arrays):
            made = run(*arrays)
            return [made[i] for i in visible]

        if not any(step for _, step, _ in description["implementations"]):
            return jax.jit(plain)
        differentiable = [k for k, i in enumerate(given) if not flags[i] & (PORT_MUTABLE | PORT_NO_GRADIENT)
                          and jax.numpy.issubdtype(_dtype(metas[i][1], op.name), jax.numpy.inexact)]

        # Backward takes the gradients of the outputs, the inputs and the outputs, as far as it needs them.
        needs = needs_of(description, n_inputs, n)
        read, kept_inputs, kept_outputs = [("value", None)] * (2 * n + n_inputs), [], []
        read_gradients = [i for i in range(n) if needs[i]]
        for number, i in enumerate(read_gradients):
            read[i] = ("input", number)
        for k, i in enumerate(given):
            read[n + i] = ("like", metas[i])
            if needs[n + i]:
                read[n + i] = ("input", len(read_gradients) + len(kept_inputs))
                kept_inputs.append(k)
        for i in range(n):
            if needs[n + n_inputs + i]:
                read[n + n_inputs + i] = ("input", len(read_gradients) + len(kept_inputs) + len(kept_outputs))
                kept_outputs.append(i)
        wanted = [-1] * n_inputs
        for r, k in enumerate(differentiable):
            wanted[given[k]] = r
        callee = self._pass(target, True, n, n_inputs, read, wanted)
        gradients = _call(callee, [jax.ShapeDtypeStruct(metas[given[k]][0], _dtype(metas[given[k]][1], op.name))
                                   for k in differentiable], vmap=self._vmap)

        def forward(*arrays):
            made = run(*arrays)
            return [made[i] for i in visible], ([arrays[k] for k in kept_inputs], [made[i] for i in kept_outputs])

        structs = [jax.ShapeDtypeStruct(metas[i][0], metas[i][1]) for i in given]

        def backward(kept, cotangents):
            arrays, made = kept
            rows = dict(zip(visible, cotangents))
            rows = [rows[i] if i in rows else jax.numpy.zeros(outputs[i].shape, outputs[i].dtype)
                    for i in read_gradients]
            found = dict(zip(differentiable, gradients(*rows, *arrays, *made) if differentiable else ()))
            return tuple(found[k] if k in found else _zero_gradient(one) for k, one in enumerate(structs))

        return jax.jit(_with_gradient(forward, backward))


def _elements_of(overloads):
    """For each parameter that schemas have the dtypes that its pointers may have; none where any will do."""
    rows = [[type[2] if type[0] == POINTER else None for _, type in parameters if type[0] != STREAM]
            for _, _, _, parameters, _ in overloads]
    plain = set(np.sctypeDict) | {"bfloat16"}
    return [() if None in column or set(column) - plain else tuple(dict.fromkeys(column)) for column in zip(*rows)]


class FunctionCall:
    """A C++ function as a function of JAX."""

    def __init__(self, function, backward, outputs, updates, gradients, mutates, vmap, side_effect):
        self._function, self._outputs, self._vmap, self._side_effect = function, outputs, vmap, side_effect
        self._name = self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._programs, self._callees = Programs(), {}
        mutates = None if mutates is None else set(to_names(mutates, "mutates"))
        described = {of_function(one, mutates) for one in function._description}
        if len(described) != 1:
            raise ArgumentTypeError(f"{self._name} has overloads whose parameters are called or used differently: JAX takes "
                                    f"one function")
        (schema,), result = described, function._description[0][-1]
        self._parameters = schema.arguments
        self._elements = _elements_of(function._description)
        n_returned = len(result[3]) if result[0] == TUPLE else 0 if not schema.returns else 1
        kinds = [one[0] for one in (result[3] if result[0] == TUPLE else (result,))]
        takes = [type[3][0][0] if type[0] == LIST and type[3] else type[0] for _, type in function._description[0][3]]
        if OBJECT in kinds or OBJECT in takes:
            raise Unsupported(f"{self._name} takes or gives PyTorch's own tensors, of which JAX has none: let it take "
                              f"tarsia::Tensor or pointers")
        if any(kind not in (TENSOR, LIST, 0) for kind in kinds):
            raise Unsupported(f"{self._name} gives a number, which JAX takes only as an array: let it write into one, or "
                              f"return a tensor")
        if n_returned and outputs is None:
            raise ArgumentTypeError(f"{self._name} returns tensors: outputs= has to tell their shapes and dtypes")
        updates = set() if updates is None else set(to_names(updates, "updates"))
        written = {self._parameters[i].key for i in schema.written}
        if updates - written:
            raise ArgumentValueError(f"updates names {', '.join(sorted(updates - written))}; {self._name} writes to "
                                     f"{', '.join(sorted(written)) or 'nothing'}")
        # What is written to and not read is no parameter.
        self._made = {i for i in schema.written if outputs is not None and self._parameters[i].key not in updates}
        self._updated = set(schema.written) - self._made
        if any(self._parameters[i].type.rstrip("?") != "Tensor" for i in schema.written):
            raise Unsupported(f"{self._name} writes to a list of tensors, which JAX has no counterpart of; mutates=() "
                              f"says that it does not")
        if not schema.written and not n_returned:
            raise ArgumentTypeError(f"{self._name} gives nothing: neither does it write to a tensor nor return one")
        self._given = [i for i in range(len(self._parameters)) if i not in self._made]
        self.__signature__ = inspect.Signature([
            inspect.Parameter(self._parameters[i].name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                              default=inspect.Parameter.empty if self._parameters[i].default is None else None)
            for i in self._given])
        self._pair = None
        if backward is not None:
            self._pair = Pair(function, backward, gradients, mutates)
            if self._updated:
                raise ArgumentTypeError(f"{self._name} updates {', '.join(self._parameters[i].name for i in self._updated)}: "
                                        f"what has a gradient makes its outputs, outputs=")
        elif gradients is not None:
            raise ArgumentTypeError("gradients names those that backward gives, and there is no backward")

    def __repr__(self):
        return f"<tarsia.jax.function of {self._function!r}>"

    def __call__(self, *args, **named):
        try:
            bound = self.__signature__.bind(*args, **named)
        except TypeError as error:
            raise ArgumentTypeError(f"{self._name}: {error}; it is called as {self._name}{self.__signature__}") from None
        bound.apply_defaults()
        values, arrays, shapes = [], [], []
        for i, value in zip(self._given, bound.arguments.values()):
            parameter = self._parameters[i]
            what = f"{self._name}: argument {parameter.name!r}"
            if not parameter.is_tensor:
                value = _constant(value, what)
                self._check_number(parameter, value, what)
                shapes.append(identity(value))
            elif value is None:
                if parameter.default is None and not parameter.type.endswith("?"):
                    raise ArgumentTypeError(f"{what} has to be an array, not None")
                shapes.append(None)
            elif parameter.is_list:
                if not isinstance(value, (list, tuple)):
                    raise ArgumentTypeError(f"{what} has to be a list of arrays, not {type(value).__name__}")
                value = [one if one is None else _array(one, what) for one in value]
                arrays += [one for one in value if one is not None]
                shapes.append(tuple(one if one is None else _meta(one) for one in value))
            else:
                value = _array(value, what)
                arrays.append(value)
                shapes.append(_meta(value))
            values.append(value)
        key = tuple(shapes)
        program = self._programs.find(key, lambda: self._make(values))
        results = program(*arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def _callee(self, function, arguments, n_written):
        """What compiled programs know by a number alone, so that it stays as long as this. Programs for other shapes with
        the same constants share it."""
        key = function, layout(arguments), n_written
        found = self._callees.get(key)
        if found is None:
            found = self._callees.setdefault(key, _tarsia.jax_function(function, arguments, n_written))
        return found

    def _make(self, values):
        """The program of arguments that are like these."""
        given = dict(zip(self._given, values))
        results, aliases, n = [], {}, 0
        arguments: list[tuple] = []
        outputs = []
        if self._outputs is not None:
            outputs = self._outputs(*[_shape_of(value) for value in values])
            outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
            for one in outputs:
                if not hasattr(one, "shape") or not hasattr(one, "dtype"):
                    raise ArgumentTypeError(f"{self._name}: outputs= gives jax.ShapeDtypeStruct, not {type(one).__name__}")
            outputs = [jax.ShapeDtypeStruct(one.shape, _dtype(str(one.dtype), self._name)) for one in outputs]
            if len(outputs) < len(self._made):
                raise ArgumentTypeError(f"{self._name} writes {len(self._made)} outputs, and outputs= gives {len(outputs)}")
        made = iter(outputs)
        for i, value in [*given.items(), *zip(sorted(self._made), outputs)]:
            self._check_elements(i, value)
        for i, parameter in enumerate(self._parameters):
            if i in self._made:
                arguments.append(("result", len(results)))
                results.append(next(made))
                continue
            value = given[i]
            if parameter.is_tensor and parameter.is_list:
                items = []
                for one in value:
                    items.append(("value", None) if one is None else ("input", n))
                    n += one is not None
                arguments.append(("list", items))
            elif parameter.is_tensor and value is not None:
                arguments.append(("input", n))
                if i in self._updated:
                    arguments[-1] = ("result", len(results))
                    aliases[n] = len(results)
                    results.append(value)
                n += 1
            else:
                arguments.append(("value", value))
        n_written = len(results)
        results += list(made)
        callee = self._callee(self._function, _trimmed(arguments, self._parameters), n_written)
        run = _call(callee, results, aliases=aliases, vmap=self._vmap, side_effect=self._side_effect)
        if self._pair is None:
            return jax.jit(run)
        return jax.jit(self._differentiable(run, values))

    @staticmethod
    def _check_number(parameter, value, what):
        """What XLA would refuse in words of its own."""
        wanted = parameter.type.rstrip("?")
        if value is None and (wanted != parameter.type or parameter.default is not None):
            return
        for types, accepted, words in ((("float",), (bool, int, float), "a number"), (("int", "SymInt"), (bool, int), "an int"),
                                       (("bool",), (bool, int), "True or False"), (("str",), (str,), "a str")):
            if wanted in types and not isinstance(value, accepted):
                raise ArgumentTypeError(f"{what} has to be {words}, not {type(value).__name__} {value!r}")

    def _check_elements(self, i, value):
        parameter, wanted = self._parameters[i], self._elements[i]
        if wanted and parameter.is_tensor and not parameter.is_list and value is not None:
            if str(value.dtype) not in wanted:
                raise ArgumentTypeError(f"{self._name}: {'output' if i in self._made else 'argument'} {parameter.name!r} has to "
                                        f"be an array of {' or '.join(wanted)}, not {value.dtype}")

    def _differentiable(self, run, values):
        pair = self._pair
        # Where each tensor of forward stands among its arrays.
        places, n = {}, 0
        for i, value in enumerate(values):
            if isinstance(value, list):
                n += sum(one is not None for one in value)
            elif pair.schema.arguments[i].is_tensor and value is not None:
                places[i] = n
                n += 1
        n_arrays = n
        kept, arguments = [], []  # ("input" | "output" | "gradient", index) of what backward takes as arrays
        read = iter(pair.sources)
        results_of = iter(range(len(pair.made)))
        for k in range(len(pair.backward_parameters)):
            if k in pair.made:
                arguments.append(("result", next(results_of)))
                continue
            pool, i = next(read)
            if pool == "input" and i not in places:
                if isinstance(values[i], list):
                    raise Unsupported(f"{pair.backward.__name__} takes a list of tensors, which JAX's gradients do not")
                arguments.append(("value", values[i]))
                continue
            arguments.append(("input", len(kept)))
            kept.append((pool, places[i] if pool == "input" else i))
        targets = [places.get(i) for i in pair.targets]
        metas = [None if values[i] is None else jax.ShapeDtypeStruct(values[i].shape, values[i].dtype)
                 for i in pair.targets]
        if None in metas:
            raise Unsupported(f"{pair.backward.__name__} gives the gradient of a tensor that is None")
        callee = self._callee(pair.backward, _trimmed(arguments, pair.backward_parameters), len(pair.made))
        gradients = _call(callee, metas, vmap=self._vmap)

        def forward(*arrays):
            made = run(*arrays)
            pools = {"input": arrays, "output": made}
            return made, (arrays, [pools[pool][i] if pool in pools else None for pool, i in kept])

        def backward(saved, cotangents):
            arrays, row = saved
            row = [cotangents[i] if pool == "gradient" else one for one, (pool, i) in zip(row, kept)]
            found = dict(zip(targets, gradients(*row)))
            return tuple(found[k] if k in found and jax.numpy.issubdtype(arrays[k].dtype, jax.numpy.inexact)
                         else _zero_gradient(arrays[k]) for k in range(n_arrays))

        return _with_gradient(forward, backward)


def _shape_of(value):
    """What outputs= sees of an argument: shapes and dtypes of arrays."""
    if isinstance(value, list):
        return [_shape_of(one) for one in value]
    return jax.ShapeDtypeStruct(value.shape, value.dtype) if hasattr(value, "shape") else value


def _trimmed(arguments, parameters):
    """Without the default arguments at the end that are left out."""
    arguments = list(arguments)
    while arguments and arguments[-1] == ("value", None) and parameters[len(arguments) - 1].default is not None:
        arguments.pop()
    return arguments

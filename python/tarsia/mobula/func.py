"""The kernels and functions of loaded sources: ``mobula.func.NAME(arguments…)``.

The tensors of a call tell the types of its template parameters, and where the kernel runs. For each combination of types the source
is compiled once.
"""

import ctypes

from .. import _errors
from .._compile.loading import warn_caller
from .._compile_options import to_dict, to_names
from .._errors import ArgumentError, ArgumentTypeError, ArgumentValueError, MissingFunction
from . import glue
from ._instances import NAME as _CALLED
from .config import config
from .glue import backend
from .internal.dtype import DTYPE_OF, NAME_OF_CTYPE, canonical

__all__ = ["MobulaFunc", "bind"]


@_errors.methods_explain_misuse(made="op.load makes them of kernels' sources", module="tarsia.mobula.func")
class MobulaFunc:
    """A kernel or function of a source. ``signature`` says what it takes."""

    def __init__(self, declaration, source):
        self.name = self.__name__ = declaration.name
        self.declaration = declaration
        self.signature = str(declaration)
        self.__doc__ = f"{self.signature}\n\nFrom {declaration.place}."
        self._source = source
        self._templates = {name for name, is_type, _ in declaration.templates if is_type}
        self._structs = {p.type: glue.common.CSTRUCT_CONSTRUCTOR[p.type] for p in declaration.parameters
                         if p.type in glue.common.CSTRUCT_CONSTRUCTOR}
        self._check_types()
        told = {p.type for p in declaration.parameters if p.is_pointer}
        # Whether the arguments alone, as Tarsia checks them, tell an instance from all others.
        self._is_plain = self._templates <= told and not self._structs and "void" not in told
        self._last = self._last_settings = None

    def __repr__(self):
        return f"<mobula.func.{self.signature}>"

    def __call__(self, *args, **kwargs):
        if self._last is not None and not kwargs and self._last_settings == config.changes:
            try:
                return self._last(*args)
            except ArgumentError:  # they are for another instance, or need more than a look
                pass
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        parameters = self.declaration.parameters
        if kwargs or len(args) != len(parameters):
            args = self._bound(args, kwargs)
        types, tellers, modes, values, copies, kept = {}, {}, [], list(args), [], []
        device, frameworks = _NoDevice, set()
        for k, (parameter, value) in enumerate(zip(parameters, args)):
            if parameter.type in self._structs:
                modes.append("struct")
                values[k], place = self._struct(parameter, value, kept)
                if place is not _NoDevice:
                    device = self._joined(device, place, parameter)
                continue
            if not parameter.is_pointer:
                modes.append("number")
                values[k] = self._number(parameter, value, types, tellers)
                continue
            found = backend.get_var_glue(value)
            if found is None:
                if isinstance(value, (str, bytes)) and parameter.is_text:
                    modes.append("text")
                    continue
                if parameter.type != "void" or not (value is None or isinstance(value, (int, ctypes.c_void_p))):
                    kinds = "a str, bytes, or a tensor" if parameter.is_text else "a tensor"
                    raise self._error(ArgumentTypeError, parameter, f"takes {kinds} of NumPy, PyTorch or CuPy", value)
                modes.append("address")
                values[k] = (value.value if isinstance(value, ctypes.c_void_p) else value) or 0
                continue
            modes.append("tensor")
            type, place, is_contiguous = found.describe(value)
            if parameter.type in self._templates:
                self._tell(parameter, type, types, tellers, value)
            device = self._joined(device, place, parameter)
            frameworks.add(found)
            if not is_contiguous:
                values[k] = found.contiguous(value)
                if not parameter.is_const:
                    copies.append((found, value, values[k]))
        self._fill(args, types)
        on_gpu = device is not None and device is not _NoDevice
        if on_gpu and self.declaration.is_kernel and "text" in modes:
            k = modes.index("text")
            raise self._error(ArgumentTypeError, parameters[k], "is a text, which kernels on a GPU cannot read: pass a tensor of its bytes",
                              values[k])
        if len(frameworks) > 1 and not on_gpu:  # the call takes tensors of one framework
            values = [found.on_cpu(value) if (found := backend.get_var_glue(value)) else value for value in values]
        function = self._source.function(self.declaration, modes, types, on_gpu)
        if self._is_plain:
            self._last, self._last_settings = function, config.changes
        try:
            result = function(*values)
        except ArgumentError as error:
            raise self._renamed(error) from None
        for found, x, written in copies:
            found.copy_to(x, written)
        return result

    def build(self, ctx, template_types=None):
        """Compiles an instance ahead of its first call. ctx: "cpu" or "cuda". template_types: the types of the template parameters, as
        a list in the order in which the parameters name them, or by their names: ``build("cpu", {"T": "float"})``."""
        if not isinstance(ctx, str) or ctx not in ("cpu", "cuda"):
            raise ArgumentValueError(f"{self.name}.build: ctx is 'cpu' or 'cuda', not {ctx!r}")
        order = list(dict.fromkeys(p.type for p in self.declaration.parameters if p.type in self._templates))
        if isinstance(template_types, dict):
            given = dict(template_types)
        else:
            items = [] if template_types is None else to_names(template_types, f"{self.name}.build: template_types")
            if len(items) != len(order):
                raise ArgumentValueError(f"{self.name}.build takes the types of {', '.join(order) or 'no template parameters'}, "
                                         f"got {len(items)}")
            given = dict(zip(order, items))
        if set(given) != set(order):
            raise ArgumentValueError(f"{self.name}.build takes the types of {', '.join(order) or 'no template parameters'}, got "
                                     f"{', '.join(map(str, given)) or 'none'}")
        types = {}
        for name, spelling in given.items():
            found = canonical(spelling) if isinstance(spelling, str) else None
            # ctypes' names: c_int64 is int64_t.
            types[name] = found or (canonical(f"{spelling}_t") if isinstance(spelling, str) else None)
            if types[name] is None:
                raise ArgumentValueError(f"{self.name}.build: {spelling!r} is no type of elements, such as 'float' or 'int64'")
        modes = ["struct" if p.type in self._structs else "text" if p.is_text and not (ctx == "cuda" and self.declaration.is_kernel)
                 else "tensor" if p.is_pointer else "number" for p in self.declaration.parameters]
        self._source.function(self.declaration, modes, types, ctx == "cuda")

    # ---- its own ----

    def _check_types(self):
        for p in self.declaration.parameters:
            if p.type not in self._templates and p.type not in self._structs and p.type != "void" and canonical(p.type) is None:
                raise ArgumentTypeError(
                    f"{self.declaration.place}: {self.declaration.symbol}: the type of '{p.name}', {p.type}, is neither a number, nor a "
                    f"template parameter, nor a struct that Python knows; tell a struct's layout before op.load: "
                    f"mobula.glue.register_cstruct({p.type!r}, a class derived from ctypes.Structure)")

    def _bound(self, args, kwargs):
        names = [p.name for p in self.declaration.parameters]
        if len(args) > len(names):
            raise ArgumentTypeError(f"{self.name} takes {len(names)} arguments, got {len(args)}\n  in {self.signature}")
        bound = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise ArgumentTypeError(f"{self.name} has no parameter '{name}'\n  in {self.signature}")
            if name in bound:
                raise ArgumentTypeError(f"{self.name}: '{name}' is given twice\n  in {self.signature}")
            bound[name] = value
        missing = [name for name in names if name not in bound]
        if missing:
            raise ArgumentTypeError(f"{self.name}: '{missing[0]}' is missing\n  in {self.signature}")
        return [bound[name] for name in names]

    def _error(self, kind, parameter, wanted, value):
        dtype = getattr(value, "dtype", None)
        got = f"{type(value).__name__} of {dtype}" if dtype is not None else f"{type(value).__name__} {value!r}"
        return kind(f"{self.name}: '{parameter.name}' {wanted}, got {got}\n  in {self.signature} at {self.declaration.place}")

    def _renamed(self, error):
        """An error of the function that an instance is called through, as one of the kernel."""
        first, _, _ = str(error).partition("\n  in ")
        if not first.startswith(f"{_CALLED}:"):
            return error
        return type(error)(f"{self.name}:{first.removeprefix(f'{_CALLED}:')}\n  in {self.signature} at {self.declaration.place}")

    def _joined(self, device, place, parameter):
        if device is _NoDevice or device == place:
            return place
        words = ["the CPU" if one is None else f"GPU {one}" for one in (device, place)]
        raise ArgumentValueError(f"{self.name}: '{parameter.name}' is on {words[1]}, the tensors before it are on {words[0]}; move them "
                                 f"to one device\n  in {self.signature}")

    def _tell(self, parameter, type, types, tellers, value):
        """A tensor or a number with a type says what a template parameter is."""
        if type is None:
            raise self._error(ArgumentTypeError, parameter, f"is to tell the type {parameter.type}, and elements of this dtype have none "
                                                            f"in C++ here; convert it", value)
        known = types.setdefault(parameter.type, type)
        if known != type:
            raise ArgumentTypeError(
                f"{self.name}: {parameter.type} is {known} by '{tellers[parameter.type]}' and {type} by '{parameter.name}'; convert one of "
                f"them, to {DTYPE_OF[known]} or {DTYPE_OF[type]}\n  in {self.signature} at {self.declaration.place}")
        tellers.setdefault(parameter.type, parameter.name)

    def _number(self, parameter, value, types, tellers):
        simple = type(value)
        if simple in NAME_OF_CTYPE or simple.__base__ is ctypes._SimpleCData:
            if parameter.type in self._templates:
                self._tell(parameter, NAME_OF_CTYPE.get(simple), types, tellers, value)
            return value.value
        if simple.__name__ == "builtin_function_or_method" and simple.__module__ == "builtins" and value.__name__ == "size":
            return value.__self__.numel()  # x.size of a tensor of PyTorch, which NumPy and MXNet have as a number
        return value

    def _struct(self, parameter, value, kept):
        """(the address of a struct, where it lies that it points to)."""
        cstruct, constructor = self._structs[parameter.type]
        found = backend.get_var_glue(value)
        if isinstance(value, cstruct):
            made = value
        else:
            try:
                made = constructor(value)
            except TypeError:
                if not isinstance(value, (tuple, list)):
                    raise self._error(ArgumentTypeError, parameter, f"takes what the constructor of {parameter.type} takes", value) from None
                made = constructor(*value)
        kept.append(made)
        return ctypes.addressof(made), found.describe(value)[1] if found else _NoDevice

    def _fill(self, args, types):
        """Looks that all types are known. What no tensor tells, one of NumPy's numbers may."""
        missing = [(name, default) for name, _, default in self.declaration.templates if name not in types and not name.endswith("...")]
        for name, default in missing:
            parameter = next((p for p in self.declaration.parameters if p.type == name), None)
            scalar = next((args[k] for k, p in enumerate(self.declaration.parameters) if p.type == name), None)
            dtype = canonical_dtype(scalar)
            if dtype is not None:
                types[name] = dtype
            elif not default:
                remedy = f"pass a number with a type of its own as '{parameter.name}', such as ctypes.c_float({scalar!r})" \
                    if parameter else "no parameter has it; give it a default in the source"
                raise ArgumentTypeError(f"{self.name}: no tensor tells the type {name}: {remedy}\n  in {self.signature} at "
                                        f"{self.declaration.place}")


class _NoDevice:
    """No tensor has said where the kernel runs."""


def canonical_dtype(value):
    """The C++ type of one of NumPy's numbers; None for anything else."""
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    return backend.get_var_type_glue(numpy.ndarray).describe(numpy.asarray(value))[0]


_bound = {}


@_errors.explains_misuse()
def bind(functions):
    """Makes functions, a dict of name to MobulaFunc, members of mobula.func."""
    functions = to_dict(functions, "functions")
    for name, function in functions.items():
        if not isinstance(function, MobulaFunc):
            raise ArgumentTypeError(f"bind takes a dict of name to MobulaFunc, and {name!r} is {type(function).__name__} {function!r}")
    for name, function in functions.items():
        before = _bound.get(name)
        if before is not None and before.declaration.file != function.declaration.file:
            warn_caller(f"mobula.func.{name} of {before.declaration.file} is replaced by the one of {function.declaration.file}")
        if name in _OWN:
            raise ArgumentValueError(f"{function.declaration.place}: mobula.func cannot hold a function called {name}: its own "
                                     "members have that name; rename it")
        _bound[name] = globals()[name] = function


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise MissingFunction(f"mobula.func has no function {name!r}; op.load of the folder with its source makes it. There are "
                          f"{', '.join(sorted(_bound)) or 'none so far'}")


_OWN = frozenset(globals())

"""PyTorch's schemas of functions and ops."""

import builtins
import keyword
import math
import re
from dataclasses import dataclass

from ._errors import ArgumentTypeError, ArgumentValueError, Error, Unsupported

# Of <tarsia/abi.h>: tarsia_kind, tarsia_type.flags, tarsia_function.flags.
NONE, BOOL, INT, FLOAT, STRING, TENSOR, POINTER, STREAM, LIST, TUPLE, ARGUMENT, OBJECT, NUMBER = range(13)
OPTIONAL, CONST = 1, 2
MAIN = 4
# Of <tarsia/op_abi.h>: tarsia_port.flags, tarsia_attribute.flags, tarsia_op.flags.
OP_ANY_ATTRIBUTES, OP_RANDOM = 1, 4
PORT_OPTIONAL, PORT_VARIADIC, PORT_MUTABLE, PORT_NO_GRADIENT, PORT_HIDDEN = 1, 2, 4, 8, 16
ATTRIBUTE_REQUIRED, ATTRIBUTE_CUSTOM = 1, 8

_SCALARS = {BOOL: "bool", INT: "SymInt", FLOAT: "float", STRING: "str"}
_ELEMENTS = {**_SCALARS, TENSOR: "Tensor", POINTER: "Tensor", OBJECT: "Tensor", NUMBER: "Scalar"}


@dataclass(frozen=True)
class Argument:
    """A parameter of an operator. `default` is its text; `key` is what Tarsia calls it."""

    name: str
    type: str
    key: str
    writes: bool = False
    default: str | None = None
    keyword: bool = False

    @property
    def is_list(self):
        return self.type.endswith("[]")

    @property
    def is_tensor(self):
        return self.type.startswith("Tensor")


@dataclass(frozen=True)
class Schema:
    """What an operator takes and gives."""

    arguments: tuple
    returns: tuple

    def text(self, name):
        parts, starred = [], False
        for i, argument in enumerate(self.arguments):
            if argument.keyword and not starred:
                parts.append("*")
                starred = True
            type = argument.type.replace("Tensor", f"Tensor(a{i}!)", 1) if argument.writes else argument.type
            parts.append(f"{type} {argument.name}" + (f"={argument.default}" if argument.default is not None else ""))
        returns = self.returns[0] if len(self.returns) == 1 else f"({', '.join(self.returns)})"
        return f"{name}({', '.join(parts)}) -> {returns}"

    @property
    def written(self):
        """The indices of what is written to."""
        return tuple(i for i, argument in enumerate(self.arguments) if argument.writes)


def identifier(text, fallback="arg"):
    """The text as a name that schemas take."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or fallback
    if name[0].isdigit():
        name = f"_{name}"
    return name + "_" if keyword.iskeyword(name) or name in ("inf", "nan") else name


def _type_text(type):
    """The schema's type, or None."""
    kind, flags, _, elements = type
    if kind in _ELEMENTS:
        text = _ELEMENTS[kind]
    elif kind == LIST and elements and elements[0][0] in _ELEMENTS:
        optional = "?" if elements[0][1] & OPTIONAL else ""
        text = f"{_ELEMENTS[elements[0][0]]}{optional}[]"
    else:
        return None
    return text + ("?" if flags & OPTIONAL else "")


def _writes(type):
    kind, flags, _, elements = type
    if kind == LIST:
        return bool(elements) and _writes(elements[0])
    return kind in (TENSOR, POINTER) and not flags & CONST


def ports_of(op, description, keywords):
    """The names and flags of an op's inputs in a call with these keywords, of which some may be inputs."""
    if not description["names_inputs"]:
        return description["inputs"]
    declared = {key for key, *_ in description["attributes"]}
    takes_any = description["flags"] & OP_ANY_ATTRIBUTES
    return op._ports(**{key: value for key, value in keywords.items() if takes_any or key in declared})


def flags_at(ports, i):
    """The flags of input i; those of a variadic port hold for all behind it."""
    if i < len(ports):
        return ports[i][1]
    return ports[-1][1] if ports and ports[-1][1] & PORT_VARIADIC else 0


def inputs_by_name(op, description, inputs, keywords):
    """The inputs of a call of an op in its order, None for what is not given, and the keywords that name no input. C++ has the same
    rule: python/op/named_inputs.cpp."""
    name = op.name
    ports = {port: (i, flags) for i, (port, flags) in enumerate(ports_of(op, description, keywords))
             if port in keywords and port not in ("out", "req")}
    row, rest = list(inputs), {key: value for key, value in keywords.items() if key not in ports}
    for port, (i, flags) in sorted(ports.items(), key=lambda item: item[1]):
        value = keywords[port]
        if i < len(row) and (i < len(inputs) or flags & PORT_VARIADIC):
            raise ArgumentTypeError(f"{name}: input '{port}' is given twice, by its place and by its name")
        values = list(value) if flags & PORT_VARIADIC and isinstance(value, (list, tuple)) else [value]
        row += [None] * (i - len(row))
        row += values
    return row, rest


def needs_of(description, n_inputs, n_outputs):
    """Whether an op's backward needs each output gradient, input and output, in one row, by what the op declares."""
    names = description["backward_needs"]
    if names is None:
        return [True] * (2 * n_outputs + n_inputs)

    def named(ports, n, letter=""):
        return [bool(ports) and letter + ports[min(i, len(ports) - 1)][0] in names for i in range(n)]

    inputs, outputs = description["inputs"], description["outputs"]
    return [*named(outputs, n_outputs, "d"), *named(inputs, n_inputs), *named(outputs, n_outputs)]


def of_function(description, mutates=None):
    """The Schema of an overload. `mutates` names the parameters that are written to, where the types say too much."""
    name, flags, n_required, parameters, result = description
    if flags & MAIN:
        raise Unsupported(f"{name} is a program's main: PyTorch has no operators of that kind")
    arguments, names = [], set()
    for i, (key, type) in enumerate(parameters):
        if type[0] == STREAM:
            continue  # the current one
        text = _type_text(type)
        shown = identifier(key, f"arg{i + 1}")
        if text is None:
            raise Unsupported(f"{name}: PyTorch has no type for parameter {shown!r}, a list of lists or the like")
        while shown in names:
            shown += "_"
        names.add(shown)
        default = None
        if i >= n_required:
            text, default = text.rstrip("?") + "?", "None"
        writes = _writes(type) if mutates is None else key in mutates
        if writes and not _writes(type):
            raise ArgumentValueError(f"{name}: mutates names {key!r}, which the function cannot write to")
        arguments.append(Argument(shown, text, key, writes, default))
    unknown = set(mutates or ()) - {argument.key for argument in arguments if argument.writes}
    if unknown:
        raise ArgumentValueError(f"{name}: mutates names {', '.join(sorted(unknown))}, which it does not have")
    return Schema(tuple(arguments), _returns(name, result))


def _returns(name, result):
    if result[0] == NONE:
        return ()
    results = result[3] if result[0] == TUPLE else (result,)
    texts = tuple(_type_text(one) for one in results)
    if None in texts:
        raise Unsupported(f"{name}: PyTorch has no type for its result")
    return texts


def of_op(name, description, fixed=(), counts=None, own=None):
    """The Schema of an op; attributes in `fixed` are given when it is registered. `counts` are the inputs, ((name, flags), …), and the
    number of outputs of an op that counts them itself, if they are known. `own` has attributes that the op does not declare: name to
    default or type."""
    ports = description["inputs"]
    arguments = []
    if counts:
        for i, (key, flags) in enumerate(counts[0]):
            key = key or ("input" if len(counts[0]) == 1 else f"input{i + 1}")
            arguments.append(Argument(identifier(key, "input"), "Tensor", key, bool(flags & PORT_MUTABLE)))
        returns = ("Tensor",) * counts[1]
    elif description["arity"]:  # the numbers of inputs and outputs depend on attributes
        arguments.append(Argument("inputs", "Tensor[]", "inputs"))
        returns = ("Tensor[]",)
    else:
        optional = True  # whether a default may stand: all after it have one
        for key, flags in reversed(ports):
            type, default = "Tensor", None
            if flags & PORT_VARIADIC:
                type, optional = "Tensor[]", False
            elif flags & PORT_OPTIONAL:
                type, default = "Tensor?", "None" if optional else None
            else:
                optional = False
            arguments.insert(0, Argument(identifier(key, "input"), type, key, bool(flags & PORT_MUTABLE), default))
        returns = ("Tensor",) * sum(not flags & PORT_HIDDEN for _, flags in description["outputs"])
    names = {argument.name for argument in arguments} | {"gradients", "inputs", "outputs", "wanted"}  # of its backward
    for key, flags, type, default, choices in description["attributes"]:
        if key in fixed:
            continue
        shown = identifier(key, "attribute")
        while shown in names:
            shown += "_"
        names.add(shown)
        arguments.append(_attribute(shown, key, flags, type, default, choices))
    for key, value in (own or {}).items():
        shown = identifier(key, "attribute")
        while shown in names:
            shown += "_"
        names.add(shown)
        arguments.append(_own_attribute(name, shown, key, value))
    return Schema(tuple(arguments), returns)


_OWN = {bool: "bool", int: "SymInt", float: "float", str: "str"}


def _own_attribute(name, shown, key, value):
    """The argument of an attribute that the op does not declare."""
    is_type = isinstance(value, type)
    text = _OWN.get(value if is_type else type(value))
    if text is None:
        raise ArgumentTypeError(f"{name}: arguments of attributes are bool, int, float or str, or a default of one of these, and {key!r} is "
                                f"{value!r}")
    literal = None if is_type else _literal(text, value, ())
    if literal is None and not is_type:  # a default that schemas cannot write: the operator adds it
        text, literal = text + "?", "None"
    return Argument(shown, text, key, default=literal, keyword=True)


def counts_of(op, description, fixed, own):
    """The inputs, ((name, flags), …), and the number of outputs of an op that counts them by its attributes: the same for all values of
    those that calls give, as far as trying tells. None if they differ, or no values are known that the op takes."""

    def counts_with(attributes):
        n_inputs, n_outputs = op._count(**attributes)
        ports = op._ports(**attributes)
        return (*ports[:n_inputs], *[("", 0)] * (n_inputs - len(ports))), n_outputs

    if not description["arity"] and not description["tells_visible"]:
        return None
    usual, tried = dict(fixed), []
    for key, flags, type, default, choices in description["attributes"]:
        if key in fixed:
            continue
        kind = type[0]
        values = choices or {BOOL: (False, True), INT: (1, 2, 3)}.get(kind, ())
        if flags & ATTRIBUTE_REQUIRED and not default:
            if not values:
                return None
            usual[key] = values[0]
        tried += [(key, value) for value in values]
    samples = {}
    for key, value in own.items():
        is_type = isinstance(value, builtins.type)
        values = {bool: (False, True), int: (1, 2, 3), float: (0.5, 1.0)}.get(value if is_type else builtins.type(value), ())
        if not is_type:
            usual[key] = value
        elif values:
            samples[key] = values[-1]
        tried += [(key, one) for one in values]
    try:
        counts = counts_with(usual)
    except Error:  # perhaps one has to be given
        usual.update(samples)
        try:
            counts = counts_with(usual)
        except Error:
            return None
    for key, value in tried:
        try:
            if counts_with({**usual, key: value}) != counts:
                return None
        except Error:
            pass  # a value that the op does not take
    return counts


def _attribute(shown, key, flags, type, default, choices):
    kind, _, _, elements = type
    is_list = kind == LIST and len(elements) == 1 and elements[0][0] in _SCALARS
    if choices or flags & ATTRIBUTE_CUSTOM or not (kind in _SCALARS or is_list):
        text = "str"  # every attribute can be given as a text
    else:
        text = f"{_SCALARS[elements[0][0]]}[]" if is_list else _SCALARS[kind]
    optional = bool(type[1] & OPTIONAL)
    literal = None
    if default and not optional:
        literal = _literal(text, default[0], choices)
    if literal is None and (default or optional or not flags & ATTRIBUTE_REQUIRED):
        text, literal = text + "?", "None"
    return Argument(shown, text, key, default=literal, keyword=True)


def _literal(text, value, choices):
    """A default as the schema's language writes it; None where it cannot."""
    if choices and isinstance(value, int) and 0 <= value < len(choices):
        value = choices[value]
    if text == "bool" and isinstance(value, bool):
        return str(value)
    if text == "SymInt" and type(value) is int:
        return str(value) if value < 2**63 else None  # PyTorch has no larger ones
    if text == "float" and isinstance(value, (int, float)) and math.isfinite(value):
        return repr(float(value))
    if text in ("SymInt[]", "float[]") and isinstance(value, tuple):
        items = [_literal(text[:-2], one, ()) for one in value]
        return None if None in items else f"[{', '.join(items)}]"
    if text == "str" and isinstance(value, str) and re.fullmatch(r"[\w .,()\[\]+-]*", value, re.ASCII):
        return f'"{value}"'
    return None

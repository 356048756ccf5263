"""Attributes and descriptions of ops that are written in Python, as annotations declare them."""

import operator
import types
import typing

from .._errors import ArgumentTypeError, ArgumentValueError, explains_misuse, methods_explain_misuse


class _Bounds(typing.NamedTuple):
    at_least: float | None = None
    at_most: float | None = None


@methods_explain_misuse
class Range(_Bounds):
    """The bounds of a number, both included: ``rate: Annotated[float, tarsia.Range(0, 1)] = 0.5``. In a tuple they apply to each number."""

    __slots__ = ()

    @explains_misuse("pass the least and the greatest value: tarsia.Range(0, 1), tarsia.Range(at_least=0)")
    def __new__(cls, at_least=None, at_most=None):
        for name, value in (("at_least", at_least), ("at_most", at_most)):
            if value is not None and (isinstance(value, (str, bytes)) or not hasattr(value, "__float__")):
                raise ArgumentTypeError(f"Range: {name} must be a number or None, got {type(value).__name__} {value!r}")
        if at_least is not None and at_most is not None and not at_least <= at_most:
            raise ArgumentValueError(f"Range: no number is at least {at_least!r} and at most {at_most!r}")
        return super().__new__(cls, at_least, at_most)


class Attribute(typing.NamedTuple):
    name: str
    kind: str
    optional: bool
    is_list: bool
    required: bool
    default: typing.Any
    description: str = ""
    choices: tuple = ()
    least: float | None = None
    most: float | None = None

    def spec(self, op):
        """As the extension takes it: the default of the attribute's own type."""
        if self.required or self.default is None:
            return {**self._asdict(), "default": None}
        try:
            read = {"bool": _as_bool, "int": _as_int, "float": float, "str": _as_str}[self.kind]
            default = tuple(map(read, self.default)) if self.is_list else read(self.default)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentTypeError(f"op '{op}': attribute '{self.name}' has the default {self.default!r}, which is no {self.kind}") from None
        return {**self._asdict(), "default": default}


def _as_bool(value):
    if not isinstance(value, bool):
        raise TypeError
    return value


def _as_int(value):
    value = operator.index(value)
    value.to_bytes(8, "little", signed=True)  # raises if it needs more than the 64 bits of the op's
    return value


def _as_str(value):
    if not isinstance(value, str):
        raise TypeError
    return value


def attribute_of(op, name, annotation, default, has_default):
    """An attribute from its annotation, or else from the type of its default."""
    if annotation is None:
        annotation = type(default)
        if isinstance(default, (list, tuple)):
            annotation = types.GenericAlias(tuple, (type(default[0]) if default else int, ...))
    extras = ()
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, *extras = typing.get_args(annotation)
    optional = has_default and default is None
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not type(None)]
        optional = True
        annotation = parts[0] if len(parts) == 1 else None
    is_list = annotation in (list, tuple) or typing.get_origin(annotation) in (list, tuple)
    if is_list:
        parts = [part for part in typing.get_args(annotation) if part is not Ellipsis] or [int]
        annotation = parts[0] if len(set(parts)) == 1 else None
    choices = ()
    if typing.get_origin(annotation) is typing.Literal and not is_list:
        choices = typing.get_args(annotation)
        annotation = str if all(isinstance(choice, str) for choice in choices) else None
    if annotation not in (bool, int, float, str):
        raise ArgumentTypeError(f"op '{op}': attribute '{name}' has to be declared as bool, int, float, str, a tuple of one of them, or one of "
                                f"these or None")
    least, most = _bounds(f"op '{op}': attribute '{name}'", extras)
    if annotation not in (int, float) and (least, most) != (None, None):
        raise ArgumentTypeError(f"op '{op}': attribute '{name}' is no number, and has no range")
    return Attribute(name, annotation.__name__, optional, is_list, not has_default and not optional, default, _text_of(extras), choices,
                      least, most)


def _text_of(extras):
    """The description among what Annotated says besides the type."""
    return " ".join(extra for extra in extras if isinstance(extra, str))


def _bounds(what, extras):
    """Of tarsia.Range, and of what has ge and le, as annotated_types has them."""
    least = most = None
    for extra in extras:
        if any(getattr(extra, key, None) is not None for key in ("gt", "lt")):
            raise ArgumentTypeError(f"{what}: bounds include themselves: ge and le, or tarsia.Range, not {extra!r}")
        for key in ("at_least", "ge"):
            least = getattr(extra, key, None) if least is None else least
        for key in ("at_most", "le"):
            most = getattr(extra, key, None) if most is None else most
    return least, most


def descriptions_of(function):
    """Of the parameters of a function that Annotated describes. Other annotations need not even be readable."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}
    return {name: _text_of(hint.__metadata__) for name, hint in hints.items() if typing.get_origin(hint) is typing.Annotated}

"""The options of a compile as Python takes them: the rows of <tarsia/compile_options.h>, their checks and their help."""

import os

from . import _tarsia


class Row:
    """An option: its name, its kind, its default, what values it takes, and one sentence about it."""

    __slots__ = ("command", "default", "help", "in_key", "kind", "name", "normalised", "values")

    def __init__(self, name, kind, default, values, in_key, command, help):
        self.name, self.kind, self.values, self.in_key = name, kind, values, in_key
        self.default = () if kind in ("dirs", "paths", "flags", "symbols") else None if default == "" else default
        self.command, self.help = command, help
        self.normalised = _NORMALISED[kind]

    def described(self):
        """For docstrings."""
        form = _FORMS.get(self.kind, "")
        if isinstance(self.values, tuple):
            form = form or f"{self.values[0]} to {self.values[1]}"
        elif self.values:
            form = ", ".join(map(repr, self.values if self.kind != "mode" else [True, *self.values]))
        lowered = self.help[0].lower() if self.help[1].islower() else self.help[0]
        return f"{self.name}: {lowered}{self.help[1:]}{form and f' ({form})'}."


def normalised(options, function):
    """The values of the options that are given and are not None, as _tarsia.CompileOptions takes them. Unknown ones are a
    TypeError that names the function."""
    values = {}
    for name, value in _fast(options).items():
        row = ROWS.get(name)
        if row is None:
            raise _unknown(name, function)
        if value is not None or row.default is not None and row.default != ():
            values[name] = row.normalised(row, value)
    return values


def add_arguments(parser, without=()):
    """Adds the options of the command `tarsia` to an argparse.ArgumentParser. One that is not given stays away, so that a
    compile has the default."""
    import argparse

    for row in ROWS.values():
        if not row.command or row.name in without:
            continue
        names, _, metavar = row.command.partition(" ")
        form = {"action": "store_true"} if row.kind == "flag" else {"metavar": metavar}
        if row.kind == "mode":
            form = {"nargs": "?", "const": True, "choices": row.values}
        if row.kind in ("dirs", "paths", "flags", "symbols", "defines", "names", "archs"):
            form["action"] = "append"
        elif row.kind in ("number", "seconds"):
            form["type"] = int if row.kind == "number" else float
        parser.add_argument(*names.split(","), dest=row.name, default=argparse.SUPPRESS, help=row.help.replace("%", "%%"), **form)


def given_options(given):
    """What load_inline takes, of the words that such a parser was given, by name."""
    options = {}
    for row in ROWS.values():
        if row.name in given:
            value = given[row.name]
            if row.kind in ("names", "archs"):
                value = ",".join(value).split(",")
            elif row.kind == "defines":
                value = dict(one.split("=", 1) if "=" in one else (one, None) for one in value)
            options[row.name] = value
    return options


def words_of(options, without=()):
    """The words of the command `tarsia` that give a compile these options, which are those of load_inline."""
    words = []
    for name, value in normalised({name: value for name, value in options.items() if name not in without}, "words_of").items():
        row = ROWS[name]
        if not row.command or value is False or value is None or value == "":
            continue
        spelling = row.command.partition(" ")[0].split(",")[-1]
        values: list[str | None] = [None]
        if row.kind == "flag" or value == "on" and row.kind == "mode":
            pass
        elif row.kind == "defines":
            values = [macro if text is None else f"{macro}={text}" for macro, text in value.items()]
        else:
            values = [f"{value / 1000}" if row.kind == "seconds" else str(one) for one in (value if isinstance(value, list) else [value])]
        for one in values:
            words += [spelling] if one is None else [f"{spelling}={one}"] if spelling.startswith("--") else [spelling, one]
    return words


def option_of_text(name, text):
    """The value of an option that somebody typed as text, as in opt=3; without a text, a flag is on. An error names what
    there is."""
    from ._errors import ArgumentValueError

    row = ROWS.get(name)
    if row is None:
        raise ArgumentValueError(f"there is no option {name!r}: {', '.join(sorted(ROWS))}")
    if text is None or text in ("", "on", "true", "True", "1") and row.kind in ("flag", "mode"):
        return True if row.kind in ("flag", "mode") else None
    if row.kind in ("flag", "mode") and text in ("off", "false", "False", "0"):
        return False
    if row.kind in ("number", "seconds"):
        try:
            return float(text) if row.kind == "seconds" else int(text)
        except ValueError:
            raise ArgumentValueError(f"{name} must be a number, got {text!r}") from None
    if row.kind in ("dirs", "paths", "flags", "symbols", "archs"):
        return text.split(",")
    if row.kind == "defines":
        return given_options({name: text.split(",")})[name]
    return text


def shown(function):
    """Gives a function that takes **options a docstring and a signature that have each of them."""
    function.__doc__ = function.__doc__.replace("    options:\n", "".join(f"    {row.described()}\n" for row in ROWS.values()))
    function.__wrapped__ = _Shown(function)
    return function


class _Shown:
    """What inspect and help() find behind such a function: first a signature, which is made when they ask for it, since
    importing inspect takes longer than importing tarsia. Behind that, where inspect looks for source text, a function
    with the same code."""

    def __init__(self, function):
        self._function = type(function)(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        self._function.__kwdefaults__ = function.__kwdefaults__
        self._function.__doc__ = function.__doc__
        self.__wrapped__ = self._function

    def __call__(self, *args, **options):
        return self._function(*args, **options)

    @property
    def __signature__(self):
        from inspect import Parameter, signature

        own = [one.replace(default=Parameter.empty) if one.default is REQUIRED else one
               for one in signature(self._function, follow_wrapped=False).parameters.values()
               if one.kind is not Parameter.VAR_KEYWORD]
        table = [Parameter(row.name, Parameter.KEYWORD_ONLY, default=row.default) for row in ROWS.values()]
        return signature(self._function, follow_wrapped=False).replace(
            parameters=[one for one in own if one.kind is not Parameter.KEYWORD_ONLY] + table
            + [one for one in own if one.kind is Parameter.KEYWORD_ONLY])


class _Required:
    """The default of a parameter that must be given, where Python's own error would be no tarsia.Error."""

    def __repr__(self):
        return "<required>"


REQUIRED = _Required()


def required(value, function, name, what):
    """The value of a parameter that must be given."""
    if value is REQUIRED:
        from ._errors import ArgumentTypeError

        raise ArgumentTypeError(f"{function}() is missing its argument {name!r}: {what}")
    return value


def _fast(options):
    """opt="fast" is dev=True, as TARSIA_OPT=fast is."""
    if options.get("opt") != "fast" or not isinstance(options["opt"], str):
        return options
    return {**{name: value for name, value in options.items() if name != "opt"}, "dev": True}


def _unknown(name, function):
    from difflib import get_close_matches

    similar = get_close_matches(name, ROWS, 3, 0.6)
    hint = f"; did you mean {' or '.join(map(repr, similar))}?" if similar else f"; it takes {', '.join(ROWS)}"
    from ._errors import ArgumentTypeError

    return ArgumentTypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def wrong_type(what, wanted, given):
    from ._errors import ArgumentTypeError

    shown = repr(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ArgumentTypeError(f"{what} must be {wanted}, got {type(given).__name__} {shown}")


def wrong_value(what, wanted, given):
    from ._errors import ArgumentValueError

    return ArgumentValueError(f"{what} must be {wanted}, got {given!r}")


def escapes(text):
    """How a str is encoded as UTF-8: text from outside of Python may have bytes that are not UTF-8, which are surrogates in a str
    (PEP 383) and are bytes again for the compiler, so that it names them. Other surrogates stay what they are."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "surrogatepass"
    return "surrogateescape"


def to_bytes(text, what):
    if isinstance(text, str):
        return text.encode("utf-8", escapes(text))
    if isinstance(text, (bytes, bytearray)):
        return bytes(text)
    raise wrong_type(what, "a str", text)


def to_texts(items, what_name, what):
    """(name, bytes) of texts by name. What is too large for a source is refused before anything is copied: a str has at
    least a byte a character."""
    named = [(to_path(name, what_name), text) for name, text in items]
    total = 0
    for name, text in named:
        if isinstance(text, (str, bytes, bytearray)):
            total = _tarsia.count_source(name, len(text), total)
    return [(name, to_bytes(text, what.format(name))) for name, text in named]


def to_text(value, what):
    """A str that C++ takes as it is."""
    if not isinstance(value, str):
        raise wrong_type(what, "a str", value)
    if "\0" in value:
        raise wrong_value(what, "a str without NUL characters", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong_value(what, "text that can be written as UTF-8", value) from None
    return value


def to_path(value, what):
    """A path as a str that C++ takes."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise wrong_type(what, "a path (str, bytes or os.PathLike)", value)
    return to_text(os.fsdecode(value), what)


def to_names(values, what):
    """A list of names; one is a list of one."""
    if isinstance(values, str):
        return [to_text(values, what)]
    try:
        names = [] if isinstance(values, (bytes, bytearray)) else list(values)
    except TypeError:
        names = []
    if not names and not isinstance(values, (list, tuple, set, frozenset, dict)):
        raise wrong_type(what, "a name or a list of names", values)
    return [to_text(name, f"{what}: each name") for name in names]


def to_flag(value, what):
    """A bool; numbers and None count as they do for Python, arrays do not."""
    if value is not None and not isinstance(value, (bool, int)):
        raise wrong_type(what, "True or False", value)
    return bool(value)


def to_callable(value, what):
    """A function, or None."""
    if value is not None and not callable(value):
        raise wrong_type(what, "a function", value)
    return value


def to_dict(value, what):
    """A dict whose keys are names; None is an empty one."""
    if value is not None and not isinstance(value, dict):
        raise wrong_type(what, "a dict of name to value", value)
    return {to_text(name, f"{what}: each name"): one for name, one in (value or {}).items()}


def write_text(path, text):
    """Writes a file to a path that the user has given."""
    path = to_path(path, "path")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        from ._errors import Error

        raise Error(f"cannot write {path!r}: {error.strerror}") from None


def _items(values, what):
    if isinstance(values, (str, bytes)):
        raise wrong_type(what, f"a list: write [{values!r}]", values)
    try:
        return list(values)
    except TypeError:
        raise wrong_type(what, "a list", values) from None


def _dict(row, values):
    if not isinstance(values, dict):
        raise wrong_type(row.name, "a dict", values)
    return values.items()


def _names(row, names):
    return [to_text(name, f"{row.name}: each name") for name in _items(names, row.name)]


def _paths(row, paths):
    if isinstance(paths, os.PathLike):
        paths = [paths]
    return [to_path(path, f"{row.name}: each item") for path in _items(paths, row.name)]


def _archs(row, archs):
    if isinstance(archs, (str, int)):
        archs = [archs]
    return [f"sm_{one}" if isinstance(one, int) else to_text(one, f"{row.name}: each item")
            for one in _items(archs, row.name)]


def _headers(row, headers):
    return to_texts(_dict(row, headers), "a header's name", "header {!r}")


def _defines(row, defines):
    return {to_text(name, f"a macro's name in {row.name}"): _macro(name, value, row.name)
            for name, value in _dict(row, defines)}


def _macro(name, value, what):
    if value is None:
        return None
    return to_text(str(int(value)) if isinstance(value, bool) else str(value), f"the value of {name!r} in {what}")


def _flag(_row, value):
    return bool(value)


def _number(row, value):
    first, last = row.values
    if not hasattr(value, "__index__") or isinstance(value, bool):
        raise wrong_type(row.name, f"an int from {first} to {last}{' or ' + repr('fast') if row.name == 'opt' else ''}", value)
    if not first <= value.__index__() <= last:
        raise wrong_value(row.name, f"an int from {first} to {last}", value)
    return value.__index__()


def _word(row, value):
    return to_text(value, row.name)  # libtarsia says which there are


def _choice(row, value):
    if value not in row.values:
        raise wrong_value(row.name, " or ".join(map(repr, row.values)), value)
    return value


def _mode(row, value):
    """"" for off, "on", or the word."""
    if not isinstance(value, str):
        return "on" if value else ""
    if value not in row.values:
        raise wrong_value(row.name, f"True, False, {' or '.join(map(repr, row.values))}", value)
    return value


def _seconds(row, value):
    """Milliseconds; for 0 the compiler's own limit holds."""
    wanted = f"seconds above 0, at most {row.values[1]}, or None for 300"
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        raise wrong_type(row.name, wanted, value)
    seconds = float(value)
    if not 0 < seconds <= row.values[1]:
        raise wrong_value(row.name, wanted, value)
    return max(1, round(seconds * 1000))


_NORMALISED = {"names": _names, "headers": _headers, "dirs": _paths, "defines": _defines, "paths": _paths, "flags": _names, "symbols": _names, "word": _word,
               "number": _number, "archs": _archs, "flag": _flag, "choice": _choice, "mode": _mode, "seconds": _seconds}
# What a value looks like, where its default does not show it.
_FORMS = {"names": "a list", "headers": "a dict of name to text", "dirs": "a list", "paths": "a list", "flags": "a list", "symbols": "a list",
          "defines": "a dict of macro to value, which is None for a macro without one",
          "archs": "'sm_90', 90, or a list of these", "seconds": "a number"}
ROWS = {row[0]: Row(*row) for row in _tarsia.compile_options()}

"""Finds the kernels and functions of a source: what is declared with MOBULA_KERNEL and MOBULA_FUNC."""

import re
from dataclasses import dataclass

from .._errors import ArgumentValueError
from .internal.dtype import canonical

_TOKENS = re.compile(
    r"""(?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|//[^\n]*|[^\n])*)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\])*"|(?:[uUL])?'(?:\\.|[^'\\])+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>::|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_QUALIFIERS = {"const", "volatile", "struct", "typename", "class", "register", "restrict", "__restrict", "__restrict__"}
_TYPE_WORDS = {"unsigned", "signed", "long", "short", "int", "char", "float", "double", "bool", "void"}

_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Parameter:
    """A parameter: ``type`` is as the source spells it, without const and the star."""

    name: str
    type: str
    is_pointer: bool
    is_const: bool

    @property
    def is_text(self):
        """Whether it takes texts: const char*."""
        return self.is_pointer and self.is_const and self.type == "char"

    def __str__(self):
        return f"{'const ' if self.is_const else ''}{self.type}{'*' if self.is_pointer else ''} {self.name}"


@dataclass(frozen=True)
class Declaration:
    """A kernel or function. ``templates``: (name, is a type, the text of its default) of each template parameter; "" where there is none.
    A name that ends in ... is that of a pack."""

    name: str  # as Python calls it
    symbol: str  # as the source does
    namespace: str
    is_kernel: bool
    result: str
    parameters: tuple
    templates: tuple
    file: str
    line: int

    @property
    def place(self):
        return f"{self.file}:{self.line}"

    def __str__(self):
        return f"{self.name}({', '.join(map(str, self.parameters))})"


def find(text, file):
    """The declarations of a text: a dict of name to Declaration. Of several of one name the last definition counts."""
    return _Reader(text, file).read()


class _Reader:
    def __init__(self, text, file):
        self._file = file
        self._tokens = []  # (text, line, whether it stands apart from the one before)
        line, is_apart = 1, False
        for match in _TOKENS.finditer(text):
            if match.lastgroup not in ("skip", "directive"):
                self._tokens.append((match.group(), line, is_apart))
            is_apart = match.lastgroup in ("skip", "directive")
            line += match.group().count("\n")
        self._at = 0

    def _peek(self, ahead=0):
        at = self._at + ahead
        return self._tokens[at][0] if at < len(self._tokens) else ""

    def _next(self):
        token = self._peek()
        self._at += 1
        return token

    def _error(self, message, line):
        return ArgumentValueError(f"{self._file}:{line}: {message}")

    def read(self):
        scopes: list = []  # names of namespaces, and None for other braces
        found, templates = {}, ()
        while self._at < len(self._tokens):
            line = self._tokens[self._at][1]
            token = self._next()
            if token == "namespace":
                name = []
                while self._peek() not in ("{", ";", "=", ""):
                    name.append(self._next())
                if self._peek() == "{":
                    self._next()
                    scopes.append("".join(part for part in name if part != "inline"))
            elif token == "{":
                scopes.append(None)
            elif token == "}" and scopes:
                scopes.pop()
                templates = ()
            elif token == ";":
                templates = ()
            elif token == "template" and self._peek() == "<":
                self._next()
                templates = self._templates()
            elif token in ("MOBULA_KERNEL", "MOBULA_FUNC"):
                one = self._declaration(token == "MOBULA_KERNEL", templates, [scope for scope in scopes if scope], line)
                templates = ()
                if self._peek() == "{" or one.name not in found:
                    found[one.name] = one
        return found

    def _templates(self):
        """The parameters of a template, behind its `<`."""
        parameters, closing, begin = [], [">"], self._at
        while closing and self._at < len(self._tokens):
            token = self._next()
            if token in _CLOSING and (token != "<" or closing[-1] == ">"):  # within parentheses it compares
                closing.append(_CLOSING[token])
            elif token == closing[-1]:
                closing.pop()
            if not closing or (len(closing) == 1 and token == ","):
                if self._at - 1 > begin:
                    parameters.append(self._template(begin, self._at - 1))
                begin = self._at
        return tuple(parameters)

    def _template(self, begin, end):
        words = [token for token, *_ in self._tokens[begin:end]]
        n = words.index("=") if "=" in words else len(words)
        default = "".join(" " * is_apart + token for token, _, is_apart in self._tokens[begin + n + 1:end]).strip()
        words = words[:n]
        has_name = n > 1 and re.match(r"[A-Za-z_]", words[-1]) and words[-1] not in _TYPE_WORDS and words[-2] != "::"
        name = (words[-1] if has_name else "") + "..." * ("." in words)
        return name, len(words) == 2 and words[0] in ("typename", "class"), default

    def _declaration(self, is_kernel, templates, scopes, line):
        head = []
        while self._peek() not in ("(", "{", ";", ""):
            head.append(self._next())
        if self._next() != "(" or not head:
            raise self._error("MOBULA_KERNEL and MOBULA_FUNC stand before a function: MOBULA_KERNEL name_kernel(const int n, …)", line)
        symbol = head[-1]
        result = [word for word in head[:-1] if word not in ("inline", "static", "constexpr")]
        if is_kernel and not symbol.endswith("_kernel"):
            raise self._error(f"the name of a MOBULA_KERNEL ends in _kernel: {symbol}_kernel, which Python calls "
                              f"mobula.func.{symbol}", line)
        parameters, depth, words = [], 1, []
        while depth:
            token = self._next()
            if not token:
                raise self._error(f"the parameters of {symbol} have no end: a ')' is missing", line)
            depth += (token in ("(", "<", "[", "{")) - (token in (")", ">", "]", "}"))
            if depth == 0 or (depth == 1 and token == ","):
                if words and words != ["void"]:
                    parameters.append(self._parameter(words, len(parameters), symbol, line))
                words = []
            else:
                words.append(token)
        if is_kernel and (not parameters or parameters[0].is_pointer):
            raise self._error(f"the first parameter of a MOBULA_KERNEL is the number of threads: {symbol}(const int n, …)", line)
        return Declaration(symbol.removesuffix("_kernel") if is_kernel else symbol, symbol, "::".join(scopes), is_kernel,
                           _spelled(result), tuple(parameters), templates, self._file, line)

    def _parameter(self, words, position, symbol, line):
        if "=" in words:
            words = words[: words.index("=")]
        stars = words.count("*")
        if "[" in words:
            words, stars = words[: words.index("[")], stars + 1
        if stars > 1:
            raise self._error(f"{symbol}: a parameter is a number or a pointer to elements, not a pointer to pointers: "
                              f"{' '.join(words)}", line)
        first_star = words.index("*") if "*" in words else len(words)
        is_const = "const" in words[:first_star]
        rest = [word for word in words if word not in _QUALIFIERS and word not in ("*", "&")]
        name = f"argument{position + 1}"
        # The last word is the name, unless it belongs to the type.
        if len(rest) > 1 and rest[-1] not in _TYPE_WORDS and rest[-2] != "::" and rest[-1] != ">":
            name = rest.pop()
        if "&" in words and not is_const:
            raise self._error(f"{symbol}: '{name}' is a reference, to which Python has nothing to give: take a pointer", line)
        type = _spelled(rest)
        return Parameter(name, canonical(type) or type, stars == 1, is_const)


def _spelled(words):
    """A type from its words."""
    text = ""
    for word in words:
        text += (" " if text and (text[-1].isalnum() or text[-1] == "_") and (word[0].isalnum() or word[0] == "_") else "") + word
    return text

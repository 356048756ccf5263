"""What tarsia.elementwise and tarsia.reduction share: parameters, names, compiling for a combination of types.

An expression becomes a source for each device and combination of types that it is called with. What broadcasts,
takes dimensions together and walks memory is in Tarsia's headers (detail/loop*.h); here is the text
around the user's own. User's lines keep their place: messages name "saxpy: operation", line and column.
"""

import re

from .. import _tarsia
from .._errors import ArgumentTypeError, ArgumentValueError

TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "::tarsia::half_element",
    "bfloat16": "::tarsia::bfloat_element",
    "float32": "float",
    "float64": "double",
}
BYTES = {"bool": 1, "bfloat16": 2, **{name: int(re.sub(r"\D", "", name)) // 8 for name in TYPES if name[-1].isdigit()}}
SEEN = {**TYPES, "float16": "float", "bfloat16": "float"}
# How C++, CUDA, NumPy and PyTorch write them.
WRITTEN = {
    **{name: name for name in TYPES},
    **{name + "_t": name for name in TYPES if "int" in name},
    "signed char": "int8", "char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "unsigned": "uint32", "unsigned int": "uint32", "long": "int64", "long long": "int64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "size_t": "uint64", "ptrdiff_t": "int64",
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16", "__nv_bfloat16": "bfloat16",
}
_WORDS = frozenset("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
constexpr continue default delete do double else enum explicit export extern false float for friend goto if inline int
long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register return short
signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual
void volatile while xor xor_eq concept requires decltype""".split())
_MATH = tuple("""abs acos acosh asin asinh atan atan2 atanh atomicAdd cbrt ceil copysign cos cosh erf erfc exp exp2 expm1
floor fma fmax fmin fmod hypot isfinite isinf isnan lgamma log log10 log1p log2 max min nearbyint pow rint round rsqrt
signbit sin sinh sqrt tan tanh tgamma trunc""".split())


class Parameter:
    """A parameter of an expression: "T x", "raw float y", "inout T z"."""

    def __init__(self, text, is_output, where):
        words = text.split()
        self.is_output = is_output
        self.is_raw = self.is_inout = False
        while words and words[0] in ("raw", "inout", "const"):
            word = words.pop(0)
            self.is_raw |= word == "raw"
            self.is_inout |= word == "inout"
        if len(words) < 2:
            raise ArgumentValueError(f"{where}: {text.strip()!r} is no parameter: write a type and a name, such as 'T x' or 'float a'")
        self.name = words.pop()
        self.type = " ".join(words)
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name) or self.name in _WORDS:
            raise ArgumentValueError(f"{where}: {self.name!r} in {text.strip()!r} is no name of a parameter")
        self.is_letter = re.fullmatch(r"[A-Z][0-9]*", self.type) is not None
        if not self.is_letter and self.type not in WRITTEN:
            hint = "; pointers and references are not written: elements are passed" if "*" in text or "&" in text else ""
            raise ArgumentValueError(f"{where}: {self.type!r} in {text.strip()!r} is no element type: take a letter such as T, whose "
                                     f"type is that of the tensor, or one of {', '.join(TYPES)}, or a C++ name of these{hint}")
        if self.is_inout and not is_output:
            raise ArgumentValueError(f"{where}: {text.strip()!r}: inout is for outputs that are read as well")
        self.dtype = "" if self.is_letter else WRITTEN[self.type]

    def __str__(self):
        return f"{'raw ' * self.is_raw}{'inout ' * self.is_inout}{self.type} {self.name}"


def _parameters(text, is_output, where, reserved):
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{where} must be a str such as 'T x, float a', got {type(text).__name__}")
    found = [Parameter(part, is_output, where) for part in text.split(",")] if text.strip() else []
    for parameter in found:
        if parameter.name in reserved or parameter.name.endswith("_"):
            raise ArgumentValueError(f"{where}: the name {parameter.name!r} is taken ({', '.join(sorted(reserved))} have a meaning in "
                                     f"expressions, and names that end in _ are Tarsia's); call it something else")
    return found


def uses(name, *texts):
    return any(re.search(rf"\b{name}\b", text) for text in texts)


def marked(text, name, semicolon=False, is_expression=False):
    """The user's text with its own lines."""
    text = text.rstrip()
    if semicolon and not text.endswith((";",) if is_expression else (";", "}")):
        text += "\n;" if "//" in text.split("\n")[-1] else ";"
    return f'\n#line 1 "{name}"\n{text}\n#line 1 "generated by tarsia"\n'


class Recipe:
    """What elementwise and reduction share: parameters, names, and compiling for a combination of types."""

    kind: str  # "elementwise" or "reduction"
    more_params: tuple[str, ...]  # numbers that the function takes after the tensors
    _made_from: tuple  # "elementwise" or "reduction" and its arguments, for pickling

    def __getattr__(self, name):
        """Its objects stand behind those of tarsia.Expression, which users know."""
        raise AttributeError(f"'tarsia.Expression' object has no attribute {name!r}", name=name, obj=self)

    def headline(self):
        """What it is, in one line."""
        raise NotImplementedError

    def how_to_call(self):
        """The lines of the documentation that tell which arguments it takes."""
        raise NotImplementedError

    def keywords(self):
        """(name, default) of the keywords of a call."""
        raise NotImplementedError

    def text(self, gpu, dtypes, numbers):
        """The source for these types."""
        raise NotImplementedError

    def __init__(self, inputs, outputs, name, preamble, options, doc, reserved, texts):
        for what, text in {"name": name, "preamble": preamble, **texts}.items():
            if not isinstance(text, str):
                raise ArgumentTypeError(f"{self.kind}: {what} must be a str, got {type(text).__name__}")
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in _WORDS:
            raise ArgumentValueError(f"{self.kind}: {name!r} is no name for a function: take letters, digits and _")
        self.name = name
        self.inputs = _parameters(inputs, False, f"{name}: inputs", reserved)
        self.outputs = _parameters(outputs, True, f"{name}: outputs", reserved)
        self.params = self.inputs + self.outputs
        if not self.outputs:
            raise ArgumentValueError(f"{name}: there is no output; write one such as 'T z'")
        names = [parameter.name for parameter in self.params]
        for twice in sorted({one for one in names if names.count(one) > 1}):
            raise ArgumentValueError(f"{name}: two parameters are called {twice!r}; an output that is read as well is 'inout', and an input "
                                     f"may be passed as the output too: out=x")
        self.preamble = preamble
        self.texts = texts
        self.options = dict(options or {})
        self.letters = list(dict.fromkeys(p.type for p in self.params if p.is_letter))
        self.libraries = {}
        self.__name__ = self.__qualname__ = name
        self.__module__ = "tarsia"
        self.__doc__ = "\n\n".join(filter(None, [self.headline(), doc, self.how_to_call()]))

    def __repr__(self):
        return f"<tarsia.Expression {self.headline()}>"

    def make(self):
        """The tarsia.Expression, whose texts stand where the package is called."""
        from .._compile.loading import callers_place

        self.place = callers_place()
        params = [(p.name, p.type, self.letters.index(p.type) if p.is_letter else -1, p.dtype, p.is_raw, p.is_output,
                   p.is_inout) for p in self.params]
        return _tarsia.make_expression(self, self.name, params, self.letters, self.kind == "reduction")

    @property
    def __signature__(self):
        from inspect import Parameter as P, Signature

        parameters = [P(p.name, P.POSITIONAL_OR_KEYWORD) for p in self.inputs]
        parameters += [P(p.name, P.POSITIONAL_OR_KEYWORD, default=None) for p in self.outputs]
        parameters += [P(name, P.KEYWORD_ONLY, default=default) for name, default in self.keywords()]
        return Signature(parameters)

    def source(self, *dtypes, gpu=False):
        """The source that is compiled for these dtypes ("float32", …), one for each parameter."""
        names = [WRITTEN.get(str(dtype).removeprefix("torch.")) for dtype in dtypes]
        if len(names) != len(self.params) or None in names:
            raise ArgumentValueError(f"{self.name}: source takes a dtype for each parameter: "
                                     f"{', '.join(str(p) for p in self.params)}")
        return self.text(gpu, names, [False] * len(names))

    def compile(self, gpu, dtypes, numbers):
        """The tarsia.Function for these types; called by the extension when it meets them first."""
        from .._compile_options import normalised, to_texts
        from .._compile import recipe as _recipe
        from .._library import _load
        from .._compile.loading import warn

        source = {f"{self.name}.{'cu' if gpu else 'cc'}": self.text(gpu, dtypes, numbers)}
        try:
            values = normalised({**self.options, "functions": [f"tarsia_expression::{self.name}"]}, "load_inline")
            recipe = _recipe.Recipe(to_texts(source.items(), "a file's name in the source", "the source of {!r}"), self.name, values)
            lib = _load(recipe, source, self.options.get("headers"), True, self.place, quiet=True)
        except Exception as error:
            self.explain(error)
            raise
        warnings = lib._handle.warnings()
        if warnings:
            warn(warnings, _recipe.Recipe(list(self.user_texts().items()), self.name, {}), self.place)
        kind = "gpu" if gpu else "cpu", *dtypes
        self.libraries[kind] = lib
        return lib[f"tarsia_expression::{self.name}"]

    def user_texts(self):
        """What the user wrote, by its name in diagnostics."""
        return {f"{self.name}: {what}": text for what, text in {**self.texts, "preamble": self.preamble}.items()}

    def explain(self, error):
        """Points a compile error at the user's text."""
        from .._library import _explain

        texts = self.user_texts()
        for diagnostic in getattr(error, "diagnostics", ()):
            diagnostic.source_line = diagnostic.origin = None
        _explain(error, texts, self.options.get("headers"), self.place)
        missing = re.compile(r"variable ['\"](\w+)['\"] is (?:un|used)")
        for diagnostic in getattr(error, "diagnostics", ()):
            found = missing.match(diagnostic.message)
            if found and found[1] in [p.name for p in self.outputs]:
                diagnostic.message = (f"output '{found[1]}' is not assigned on every path; declare it as inout to keep what it "
                                      f"holds ({diagnostic.message})")
        if hasattr(error, "diagnostics") and error.args:
            error.args = (f"{self.name} does not compile for "
                          f"{', '.join(f'{p} = {d}' for p, d in zip(self.params, self.types_tried))}", *error.args[1:])

    # ---- what the texts of both kinds share ----

    def sort(self, dtypes, numbers):
        """Parameters with their types: (elements walked, raw ones, numbers)."""
        self.types_tried = dtypes
        walked, raws, scalars = [], [], []
        for parameter, dtype, number in zip(self.params, dtypes, numbers):
            entry = (parameter, dtype)
            (scalars if number else raws if parameter.is_raw else walked).append(entry)
        return walked, raws, scalars

    def head(self, gpu, dtypes):
        parts = ["#include <tarsia/op.h>\n", f"#include <tarsia/detail/loop_{'plan' if gpu else 'cpu'}.h>\n"]
        if len(self.outputs) > 1:
            parts.append("#include <tuple>\n")
        if self.preamble.strip():
            parts.append(marked(self.preamble, f"{self.name}: preamble"))
        parts.append("namespace tarsia_parts {\nusing namespace ::tarsia::detail;\n")
        seen = set()
        for parameter, dtype in zip(self.params, dtypes):
            if parameter.is_letter and parameter.type not in seen:
                seen.add(parameter.type)
                parts.append(f"typedef {SEEN[dtype]} {parameter.type};\n")
        parts.append('#pragma clang diagnostic error "-Wuninitialized"\n#pragma clang diagnostic error "-Wsometimes-uninitialized"\n'
                     if not gpu else "")
        return "".join(parts)

    def usings(self, gpu):
        names = ("min", "max") if gpu else _MATH
        taken = {p.name for p in self.params}
        own = [name for name in names if name not in taken and not re.search(rf"\b{name}\s*\(", self.preamble)]
        used = [name for name in own if uses(name, *self.texts.values())]
        where = "::tarsia::detail::expression::"
        both = "".join(f"  using ::{name};\n" for name in used) if gpu else ""
        return both + "".join(f"  using {where}{name};\n" for name in used)

    def function_of(self, gpu):
        return "static __device__ __forceinline__" if gpu else "__attribute__((always_inline)) static inline"

    def raw_type(self, parameter, dtype):
        return f"RawTensor<{'' if parameter.is_output else 'const '}{TYPES[dtype]}>"

    def host_params(self, numbers, dtypes):
        """Host text: the parameters of the function, a list."""
        texts = []
        for parameter, dtype, number in zip(self.params, dtypes, numbers):
            texts.append(f"{SEEN[dtype]} {parameter.name}_value_" if number else f"const ::tarsia::Tensor& {parameter.name}_given_")
        return texts + [f"long long {name}" for name in self.more_params]

    def exported(self, numbers, dtypes):
        """Host text, the last: the function, in a namespace of its own, where it may be called like anything that is used."""
        params = self.host_params(numbers, dtypes)
        given = ", ".join(param.split()[-1] for param in params)
        return (f"}}  // namespace tarsia_parts\nnamespace tarsia_expression {{\n{self.result()[0]} {self.name}({', '.join(params)}) {{\n"
                f"  return ::tarsia_parts::call_({given});\n}}\n}}  // namespace tarsia_expression\n")

    def tensors(self, walked, raws):
        """Host text: the tensors that are walked, and the raw ones."""
        entries = [f'{{{p.name}_given_.get(), "{p.name}", {str(p.is_output).lower()}}}' for p, _ in walked]
        lines = [f'  const char* const op_ = "{self.name}";\n',
                 f"  LoopTensor tensors_[{max(len(walked), 1)}] = {{{', '.join(entries)}}};\n"]
        for p, dtype in raws:
            lines.append(f'  const {self.raw_type(p, dtype)} {p.name}_value_ = raw<{"" if p.is_output else "const "}{TYPES[dtype]}>'
                         f'(op_, "{p.name}", {p.name}_given_);\n')
        return "".join(lines)

    def made(self, walked, shape, ndim):
        """Host text: outputs that were not given are made."""
        lines = []
        for k, (p, dtype) in enumerate(walked):
            if p.is_output:
                lines.append(f"  ::tarsia::Tensor {p.name}_out_ = {p.name}_given_;\n"
                             f"  if (!{p.name}_out_) {p.name}_out_ = ::tarsia::empty(::tarsia::Dims({shape}, {ndim}), "
                             f"::tarsia::dtype<{TYPES[dtype]}>(), host()->call_device());\n"
                             f"  tensors_[{k}].tensor = {p.name}_out_.get();\n")
        return "".join(lines)

    def result(self):
        """Host text: (the type of the result, what is returned)."""
        names = [f"{p.name}_given_" if p.is_raw else f"{p.name}_out_" for p in self.outputs]
        if len(names) == 1:
            return "::tarsia::Tensor", names[0]
        types = ", ".join(["::tarsia::Tensor"] * len(names))
        return f"std::tuple<{types}>", f"std::tuple<{types}>({', '.join(names)})"


WIDE_AND_PLAIN = """__attribute__((target("avx2,f16c"))) static void run_wide_(void* with_, int64_t begin_, int64_t end_) {
  run_<true>(with_, begin_, end_);
}
static void run_plain_(void* with_, int64_t begin_, int64_t end_) { run_<false>(with_, begin_, end_); }
"""

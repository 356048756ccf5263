"""Compiles a kernel or function for the types of a call: the source, and behind it one function that Tarsia calls."""

import os
import re

import tarsia

from .._errors import ArgumentTypeError, LoadError
from .config import config

NAME = "tarsia_mobula_call"
_PARTS = ("api.h", "ctypes.h", "defines.h", "helper.h", "logging.h", "context/common.h", "context/context.h")
_INCLUDES = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


class Source:
    """The text of a source file as it was when it was loaded, and the libraries that were compiled of it."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.folder, self.name = os.path.split(self.path)
        self.text = _read(self.path)
        self._libraries = {}

    def function(self, declaration, modes, types, on_gpu):
        """The function of an instance. modes: for each parameter "number", "tensor", "text", "address" or "struct". types: of each
        parameter, and template parameters by their names."""
        key = (declaration.name, tuple(modes), tuple(sorted(types.items())), on_gpu, _settings())
        found = self._libraries.get(key)
        if found is None:  # threads that come here at once have one compile: the cache sees to that
            compiled = self._compile(_wrapper(self.name, declaration, modes, types, on_gpu), on_gpu)
            found = self._libraries.setdefault(key, compiled)
        return found[NAME]

    def _compile(self, text, on_gpu):
        headers, is_whole = self._headers()
        defines = {"USING_CBLAS": 1} if config.USING_CBLAS else {}
        if not config.USING_OPENMP or config.HOST_NUM_THREADS:
            defines["HOST_NUM_THREADS"] = config.HOST_NUM_THREADS if config.USING_OPENMP else 1
        options: dict = {} if config.USING_OPTIMIZATION else {"opt": 0}  # TARSIA_OPT holds where no opt is asked for
        name = os.path.splitext(self.name)[0]
        return tarsia.load_inline(
            {f"{name}_call.{'cu' if on_gpu else 'cpp'}": text}, name, functions=[NAME], headers=headers,
            include_dirs=[] if is_whole else [self.folder], defines=defines, openmp=not on_gpu, debug=config.DEBUG,
            **options, cflags=["-Wall", "-Wextra"] if config.USING_HIGH_LEVEL_WARNINGS else [])

    def _headers(self):
        """The texts of the source and of what it includes, and whether these are all that its folder has for it. So long as
        they are, sources of all folders share what the compiler keeps of mobula_op.h."""
        texts, waiting, is_whole = {part: "#include <mobula_op.h>\n" for part in _PARTS}, [(self.name, self.text)], True
        while waiting:
            name, text = waiting.pop()
            texts[name] = text
            for included in _INCLUDES.findall(text):
                path = os.path.join(self.folder, included)
                if os.path.dirname(included):
                    is_whole &= not os.path.exists(path)
                elif (included not in texts or included in _PARTS) and os.path.isfile(path):
                    waiting.append((included, _read(path)))
        return {name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()}, is_whole


def _read(path):
    """A file's text. What is not UTF-8 in it is kept: the compiler says where that stands."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise LoadError(f"cannot read {path}: {error.strerror}") from None


def _settings():
    return (config.DEBUG, config.USING_OPTIMIZATION, config.HOST_NUM_THREADS, config.USING_OPENMP, config.USING_CBLAS,
            config.USING_HIGH_LEVEL_WARNINGS)


def _with_defaults(declaration, types):
    """(the types with the defaults of template parameters that no argument tells, what stands between the angle brackets). A default's
    own words may name the parameters before it."""
    types, told = dict(types), [name in types for name, _, _ in declaration.templates]
    given = []
    for name, _, default in declaration.templates:
        if name.endswith("..."):
            break  # a pack, which is empty
        if name not in types:
            if not default:
                raise ArgumentTypeError(f"{declaration.name}: no argument tells {name or 'a template parameter without a name'}, and it has "
                                        f"no default: give it a default in the source\n  in {declaration} at {declaration.place}")
            spelled = re.sub(r"(?<![\w.:])[A-Za-z_]\w*", lambda word: types.get(word.group(), word.group()), default)
            if name:
                types[name] = spelled
            given.append(spelled)
        else:
            given.append(types[name])
    return types, given[: max((k + 1 for k, is_told in enumerate(told) if is_told), default=0)]


def _wrapper(file, declaration, modes, types, on_gpu):
    types, given = _with_defaults(declaration, types)
    parameters, arguments, before, after = [], [], [], []
    for parameter, mode in zip(declaration.parameters, modes):
        name, const = parameter.name, "const " if parameter.is_const else ""
        type = types.get(parameter.type, parameter.type)
        if mode == "tensor" and type == "char":  # to Tarsia, a char* is a text
            parameters.append(f"{const}signed char* {name}")
            arguments.append(f"reinterpret_cast<{const}char*>({name})")
        elif mode in ("tensor", "text"):
            parameters.append(f"{const}{type}* {name}")
            arguments.append(name)
        elif mode == "number":
            parameters.append(f"{type} {name}")
            arguments.append(name)
        else:  # an address
            parameters.append(f"unsigned long long {name}")
            if mode == "struct" and on_gpu:
                before.append(f"  ::mobula::tarsia_detail::DeviceStruct<{type}> held_{name}(reinterpret_cast<{type}*>({name}));")
                arguments.append(f"held_{name}.get()")
                if not parameter.is_const:
                    after.append(f"  held_{name}.fetch();")
            else:
                arguments.append(f"reinterpret_cast<{const}{type}*>({name})")
    symbol = f"{declaration.namespace}::{declaration.symbol}" if declaration.namespace else f"::{declaration.symbol}"
    symbol += f"<{', '.join(given)}>" if given else ""
    result, call = "void", f"KERNEL_RUN(({symbol}))({', '.join(arguments)})"
    if not declaration.is_kernel:
        result = types.get(declaration.result, declaration.result) or "void"
        call = f"{symbol}({', '.join(arguments)})"
    if on_gpu:
        parameters.insert(0, "cudaStream_t tarsia_stream")
        before.insert(0, "  ::mobula::tarsia_detail::StreamScope tarsia_scope(tarsia_stream);")
    if after and result != "void":
        call, after = f"{result} tarsia_result = {call}", [*after, "  return tarsia_result;"]
    elif result != "void":
        call = f"return {call}"
    return "\n".join([
        "#include <mobula_op.h>",
        "using namespace mobula;",
        f'#include "{file}"',
        *([f"using namespace {declaration.namespace};"] if declaration.namespace not in ("", "mobula") else []),
        f"{result} {NAME}({', '.join(parameters)}) {{",
        *before, f"  {call};", *after, "}", ""])

"""C extensions of early PyTorch: tarsia.torch.create_extension, and the packages that its build() writes."""

import os
import re
import types

from .. import _errors, _library
from .._compile_options import to_names, to_path
from .._schema import OBJECT, POINTER, TENSOR
from .extension_sources import Sources, names_in, source_behind

# Code of that time leaves out prototypes and mixes pointers, of which compilers then warned.
_LENIENT = ("-Wno-error=implicit-function-declaration", "-Wno-error=implicit-int", "-Wno-error=int-conversion",
            "-Wno-error=incompatible-pointer-types")
# A standard of C, which C sources have anyway. Standards of C++ are handed on.
_C_STANDARD = re.compile(r"--?std=(c|gnu|iso9899:)\d\w*|-ansi")
# Which GPU nvcc was to compile for: here it is that of the machine.
_FOR_GPU = re.compile(r"--?(arch|gencode|gpu-architecture|generate-code)(=.*)?")
_TO_HOST = ("-Xcompiler", "--compiler-options")
# What stands behind these is a folder.
_FOLDER_FLAG = re.compile(r"(-I|-L|-isystem)(.*)", re.DOTALL)


@_errors.explains_misuse()
def create_extension(name, headers=(), sources=(), verbose=False, with_cuda=False, package=False, relative_to=".", *,
                     include_dirs=(), define_macros=(), undef_macros=(), extra_objects=(), extra_compile_args=(),
                     extra_link_args=(), libraries=(), library_dirs=(), language=None, **options):
    """Compiles a C extension of early PyTorch's kind and gives the module of its functions, as the builder of that time did.

    name: of the module: "_ext.my_lib".
    headers: the header, or a list of headers, that declare the functions of the module; none: all that the sources define.
    sources: the C, C++ and CUDA files.
    relative_to: a file, usually ``__file__``; the paths are relative to its folder.
    include_dirs, define_macros, undef_macros, libraries, library_dirs: as of a distutils.Extension. Macros are pairs of
        name and value; None is a macro without one.
    extra_objects: objects that nvcc made beforehand. Their sources are looked for by their names, beside them and beside
        the other sources, and compiled in their place. CUDA's own libraries are left out: they are there.
    extra_compile_args: as cflags of tarsia.load_inline. Standards of C, and what names the GPU, are left out.
    extra_link_args: "-lNAME" and "-LFOLDER".
    verbose, with_cuda, package, language: the builder took them. They change nothing: whether a source uses CUDA is seen.
    options: further ones of tarsia.load_inline; `defines` and `cflags` add to define_macros and extra_compile_args.

    The functions take torch.Tensors for THFloatTensor* and the like. `module.build()` writes the package that
    ``import NAME`` finds later.
    """
    extension = Extension(name, headers, sources, relative_to, extra_objects, {
        "include_dirs": include_dirs, "define_macros": define_macros, "undef_macros": undef_macros,
        "extra_compile_args": extra_compile_args, "extra_link_args": extra_link_args, "libraries": libraries,
        "library_dirs": library_dirs, **options})
    extension.compile()
    return extension


class Extension(types.ModuleType):
    """The module of an extension's functions. It compiles when the first of them is asked for."""

    def __init__(self, name, headers, sources, relative_to, extra_objects, options):
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise _errors.ArgumentValueError(f"create_extension: name is that of a module, such as '_ext.my_lib', not {name!r}")
        super().__init__(name, f"The functions of the C extension {name}.")
        base = os.path.abspath(os.path.dirname(to_path(relative_to, "create_extension: relative_to")))
        self._base, self._options, self._library = base, options, None
        self._headers = _paths(headers, "headers")
        self._sources = _paths(sources, "sources")
        for thing in _paths(extra_objects, "extra_objects"):
            found = source_behind(thing, base, self._sources)
            if found is not None and found not in self._sources:
                self._sources.append(found)
        if not self._sources:
            raise _errors.ArgumentValueError(f"create_extension: extension {name!r} has no sources")

    def compile(self):
        """Compiles it, unless that was done; its functions are then there."""
        if self._library is not None:
            return
        title = f"extension {self.__name__!r}"
        sources = Sources(title, self._base, self._sources)
        wanted = names_in(title, self._base, self._headers)
        options = _options_of(title, self._base, sources, self._options)
        if wanted:
            if options.get("functions") is not None:
                raise _errors.ArgumentValueError(f"{title}: give either headers, which declare its functions, or functions, not both")
            self._check_names(title, wanted)
            options["functions"] = wanted
        library = _library.load_at(sources.texts, options, ("", {}, 0), sources.paths)
        names = wanted or [one for one in library.functions if "::" not in one]
        self._check_names(title, names)
        self._library = library
        for one in names:
            function = library[one]._quiet  # the builder's functions told autograd nothing either
            setattr(self, one, _GivesTorch(function) if _makes_tensors(function) else function)
        self.__all__ = names

    def _check_names(self, title, names):
        for one in names:
            if one in dir(Extension) or one in self.__dict__:
                raise _errors.ArgumentValueError(f"{title}: its function {one!r} has the name of something that the module itself has: "
                                                 "rename it, or give headers that do not declare it")

    def build(self):
        """Compiles the extension and writes the package that imports it, into the folder of the build script."""
        from .extension_package import write

        self.compile()
        write(self.__name__, self._base, self._headers, self._sources, self._options)
        return self

    def __getattr__(self, name):
        if name.startswith("__"):  # what Python itself asks modules for
            raise AttributeError(name)
        if self.__dict__.get("_library") is not None:
            raise _errors.MissingFunction(f"extension {self.__name__!r} has no function {name!r}; it has {', '.join(self.__all__)}")
        self.compile()
        return getattr(self, name)

    def __dir__(self):
        self.compile()
        return sorted(self.__all__)

    def __repr__(self):
        return f"<tarsia.torch extension {self.__name__!r} from {self._base!r}>"


def _makes_tensors(function):
    """Whether an overload gives a tensor and takes none, which would tell of what kind it is to be."""
    return any(result[0] == TENSOR and not any(kind in (TENSOR, POINTER, OBJECT) for _, (kind, *_) in parameters)
               for _, _, _, parameters, result in function._description)


class _GivesTorch:
    """A function without tensors among its parameters: the tensors that it makes are torch.Tensors all the same."""

    def __init__(self, function):
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args, **named):
        from .ops import of_torch

        return of_torch(self._function(*args, **named))

    def __getattr__(self, name):
        if name == "_function":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._function, name)

    def __repr__(self):
        return repr(self._function)


def _paths(given, what):
    """A list of paths or names; one is a list of one, and None of none."""
    is_one = isinstance(given, (str, bytes, os.PathLike, dict))  # a dict is refused as one that is no path
    try:
        return [to_path(one, f"create_extension: {what}") for one in ([given] if is_one else () if given is None else given)]
    except TypeError:  # Python's, or that of to_path
        kind = "names" if what in ("libraries", "undef_macros") else "paths"
        raise _errors.ArgumentTypeError(f"create_extension: {what} is a list of {kind}, got {given!r}") from None


def _options_of(title, base, sources, given):
    """What load_inline takes."""
    given = dict(given)
    at_base = [os.path.join(base, one) for one in _paths(given.pop("include_dirs"), "include_dirs")]
    folders = dict.fromkeys([*at_base, *sources.folders, base])
    defines = given.pop("defines", None) or {}
    if not isinstance(defines, dict):
        raise _errors.ArgumentTypeError(f"{title}: defines is a dict of names and values, got {defines!r}")
    defines = dict(defines)
    macros = given.pop("define_macros")
    if not isinstance(macros, (list, tuple, type(None))):
        raise _errors.ArgumentTypeError(f"{title}: define_macros has pairs of name and value, in a list, got {macros!r}")
    for macro in macros or ():
        try:
            name, value = macro
        except (TypeError, ValueError):
            raise _errors.ArgumentTypeError(f"{title}: define_macros has pairs of name and value, got {macro!r}") from None
        if defines.setdefault(name, value) != value:
            raise _errors.ArgumentValueError(f"{title}: define_macros gives {name} the value {value!r}, and it, or defines, also "
                                             f"{defines[name]!r}: give one of them")
    flags = [*_LENIENT, *_compile_flags(_flags(given.pop("extra_compile_args"), "extra_compile_args"), base),
             *(f"-U{one}" for one in _paths(given.pop("undef_macros"), "undef_macros")), *_flags(given.pop("cflags", None), "cflags")]
    libraries = _paths(given.pop("libraries"), "libraries")
    library_dirs = [os.path.join(base, one) for one in _paths(given.pop("library_dirs"), "library_dirs")]
    for flag in _flags(given.pop("extra_link_args"), "extra_link_args"):
        if flag.startswith("-l"):
            libraries.append(flag[2:])
        elif flag.startswith("-L"):
            library_dirs.append(os.path.join(base, flag[2:]))
        elif flag == "-fopenmp":
            flags.append(flag)
        else:
            raise _errors.ArgumentValueError(f"{title}: extra_link_args takes -lNAME and -LFOLDER, not {flag!r}")
    libraries = [one for one in libraries if one not in ("cudart", "gomp", "m", "c", "stdc++")]
    return {"include_dirs": list(folders), "defines": defines, "cflags": flags, "headers": sources.short_headers(),
            "libraries": libraries, "library_dirs": library_dirs, **given}


def _compile_flags(given, base):
    """The flags as cflags takes them: folders are below `base`; what is settled here is left out."""
    made, words = [], iter(given)
    for word in words:
        folder = _FOLDER_FLAG.fullmatch(word)
        if folder:
            flag, path = folder.groups()
            path = path or next(words, None)
            made += [flag] if path is None else [flag, os.path.join(base, path)]
        elif word in _TO_HOST:
            value = next(words, None)
            rest = None if value is None else [one for one in value.split(",") if not _C_STANDARD.fullmatch(one)]
            made += [word] if rest is None else [word, ",".join(rest)] if rest else []
        elif _FOR_GPU.fullmatch(word):
            if "=" not in word:
                next(words, None)
        elif not _C_STANDARD.fullmatch(word):
            made.append("-fopenmp" if word == "-qopenmp" else word)
    return made


def _flags(given, what):
    """A list of flags. Dicts of compiler to flags were given as well: nvcc's and the C compiler's count."""
    if given is None:
        return []
    if isinstance(given, dict):
        return [flag for flags in given.values() for flag in _flags(flags, what)]
    return to_names(given, f"create_extension: {what}")

"""What libraries are made from: for more of their device code, and for pickles.

A pickle of a library, function, kernel or op holds the recipe of its library. Whoever reads it compiles the source, or
takes it from the cache as usual, or loads the file. Of several things of one library each process makes one.
"""

import copy
import itertools
import os
import sys
import weakref

from .. import _errors, _tarsia
from .._compile_options import to_path

LONE_NAME = "source"  # of a source that is one string, in diagnostics


class Recipe:
    """What a library was compiled from."""

    compiles = True
    library = None  # that the holder of this recipe keeps for others of the same recipe
    paths: dict = {}  # of texts that are files, by the names that diagnostics give them: where their warnings stand

    def __init__(self, files, name, values, path=None):
        self.files = files
        self._name = name
        self._values = values
        self.path = path  # of the file that the source is, as the user gave it; None for a string

    def text_of(self, file):
        """The text of a file or virtual header by the name that diagnostics give it; None if it is neither."""
        for name, text in (*self.files, *self._values.get("headers", ())):
            if (name or LONE_NAME) == file:
                return text.decode()
        return None

    def texts(self):
        """(name, text) of the user's own texts, with which a diagnostic can be told from one of an included header."""
        return [*self.files, *self._values.get("headers", ())]

    def shown_name(self, file):
        """What a text is called to the user: a source file by its path."""
        return self.path if self.path is not None and file == self.files[0][0] else file

    def kernels(self, names, file, ptx=False):
        """The handle of a library with these kernels of a file alone: instantiations, or kernels by their names. With
        ptx they are for reading."""
        values = {**self._values, "ptx": True} if ptx else self._values
        return _tarsia.load_inline(self.files, _tarsia.CompileOptions(self._name, values, cached_only(), names, file, ptx))

    def options(self, loads=True, only=None):
        """loads: the process will load the library, not only write its file. only: what cached_only() gave on the caller's
        thread, if this is another one."""
        options = _tarsia.CompileOptions(self._name, self._values, cached_only() if only is None else only)
        if loads and (self._values.get("debug") or "cflags" in self._values):
            from .script import provide

            provide(options)
        return options

    def load(self):
        """The handle of the library."""
        return _tarsia.load_inline(self.files, self.options())

    def _key(self):
        _, (files, name, values, _) = self.__reduce__()
        return Recipe, tuple(files), name, repr(sorted(values.items()))

    def __eq__(self, other):
        return isinstance(other, Recipe) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __reduce__(self):
        # The process that reads a pickle may work in another folder.
        here = {name: [os.path.abspath(one) for one in self._values[name]] for name in ("include_dirs", "library_dirs")
                if name in self._values}
        return Recipe, (self.files, self._name, {**self._values, **here}, self.path and os.path.abspath(self.path))


class Prebuilt:
    """The file of a library that was built ahead of time."""

    compiles = False
    path = None
    library = None

    def __init__(self, file):
        self.file = file  # absolute: the process that reads a pickle may work in another folder

    def text_of(self, file):
        return None

    def load(self):
        return _tarsia.load(to_path(self.file, "path"))

    def __eq__(self, other):
        return isinstance(other, Prebuilt) and self.file == other.file

    def __hash__(self):
        return hash(self.file)

    def __reduce__(self):
        return Prebuilt, (self.file,)


def cached_only():
    """The option of that name for who asks on this thread."""
    return 2 if capturing() else 1 if _tarsia.no_compile_depth() else 0


def capturing():
    """Whether PyTorch captures a CUDA graph on this thread: a compile would stall it, and kernels cannot load then."""
    import sys

    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    except Exception:  # another module of that name, or a torch without CUDA
        return False


# ---- pickles ----

_of_ops = {}  # the recipe of the library that registered an op last, by the op's name
_libraries = weakref.WeakValueDictionary()  # those of this process that were made from recipes, by their numbers
_numbers = itertools.count()


def note_ops(recipe, names):
    """Keeps whose ops these are."""
    for name in names:
        _of_ops[name] = recipe


def forget_ops(recipe, name=None):
    """Forgets the ops of a library that is unloaded, or the name of an op that Python replaced."""
    for known, of in list(_of_ops.items()):
        own = of if of.library is None else of.library._recipe
        if known == name or (name is None and own is recipe):
            del _of_ops[known]


def note_library(lib):
    """Lets pickles of the same recipe find a library."""
    _libraries[next(_numbers)] = lib


def library(recipe):
    """The library of a recipe that came with a pickle: the one that this process loaded last, as long as something holds
    it, whether by load_inline or for a pickle; else a new one."""
    for found in reversed(list(_libraries.values())):
        if found._recipe == recipe:  # None: it was unloaded
            return found
    from .._library import from_recipe

    return from_recipe(recipe)


def _keeping(recipe, lib):
    """The recipe for a thing of a library, which keeps the library: what comes with a later pickle is of the same."""
    kept = copy.copy(recipe)
    kept.library = lib
    return kept


def named(recipe, name, release_gil):
    """A function or kernel of a library."""
    kept = library(recipe)
    return _restored_as(kept[name], recipe, kept, release_gil)


def _restored_as(found, recipe, kept, release_gil):
    found._recipe = _keeping(recipe, kept)
    found.release_gil = release_gil
    return found


def overload(recipe, name, signature, release_gil):
    """One of the overloads of a kernel."""
    kept = library(recipe)
    for one in kept[name].overloads:
        if one.signatures == (signature,):
            return _restored_as(one, recipe, kept, release_gil)
    raise _errors.NotFound(f"kernel {name} has no overload {signature}: the source that it was pickled from was another")


def instance(recipe, template, name, release_gil):
    """An instantiation of a kernel template."""
    kept = library(recipe)
    return _restored_as(kept[template]._instance_named(name), recipe, kept, release_gil)


def template(recipe, name, given):
    found = library(recipe)[name]
    return found[given] if given else found


def op(recipe, name):
    """An op. One that this process has under the name already, of the same library, stays."""
    if _of_ops.get(name) != recipe or name not in _tarsia.op_names():
        kept = library(recipe)
        note_ops(_keeping(recipe, kept), kept.ops)
    return _tarsia.op(name)


def routine(name):
    """An op of <tarsia/math/ops.h>, which every process compiles when it is asked for."""
    return _tarsia.op(name)


def launch(kernel, grid, block, shared_bytes):
    return kernel[grid, block, shared_bytes]


def reduced(thing):
    """What pickle takes for a function, kernel, launch or op: (how to make it again, with what)."""
    return _WAYS[type(thing)](thing)


def reduced_library(lib):
    return library, (_recipe_of(lib.__dict__.get("_recipe"), f"library {lib.name!r}"),)


def reduced_template(found):
    return template, (_recipe_of(found._recipe, found._title()), found._name, found._given)


def _function(found):
    recipe = _recipe_of(found._recipe, f"function {found.__qualname__}")
    return named, (recipe, found.__qualname__, found.release_gil)


def _kernel(found):
    name = found.__qualname__
    recipe = _recipe_of(found._recipe, f"kernel {name}")
    if "<" in name:
        return instance, (recipe, name.partition("<")[0], name, found.release_gil)
    if len(found.signatures) == 1:
        return overload, (recipe, name, found.signatures[0], found.release_gil)
    return named, (recipe, name, found.release_gil)


def _launch(found):
    if found._has_stream:
        raise _errors.ArgumentTypeError(f"a launch of kernel {found.kernel.__qualname__} on a stream cannot be pickled: the stream "
                                        "belongs to this process; leave it out of the brackets")
    return launch, (found.kernel, found.grid, found.block, found.shared_bytes)


def _op(found):
    name = found.name
    if name not in _tarsia.op_names():
        raise _errors.NotFound(f"op {name!r} cannot be pickled: its library was unloaded")
    recipe = _of_ops.get(name)
    if recipe is None and found._description["location"].startswith("tarsia_math_"):
        return routine, (name,)
    if recipe is None:
        sessions = sys.modules.get("tarsia._session.session")
        if sessions is not None and sessions.defines_op(name):
            raise _errors.ArgumentTypeError(
                f"op {name!r} cannot be pickled: a cell of a session has registered it, and lives in this process; save the session, and "
                "pickle the op of the library that tarsia.load makes of it")
        raise _errors.ArgumentTypeError(
            f"op {name!r} cannot be pickled: it was defined in Python, whose functions stay in this process; define it in a "
            f"module that the other process imports, and send its name for tarsia.op({name!r})")
    return op, (recipe, name)


def _bound(found):
    raise _errors.ArgumentTypeError(
        f"a bound op cannot be pickled: pickle tarsia.op({found.name!r}) and bind it in the other process")


def expression(kind, arguments, options):
    """What tarsia.elementwise or tarsia.reduction made."""
    import tarsia

    return getattr(tarsia, kind)(*arguments, **options)


def _expression(found):
    return expression, found._made_from


def _recipe_of(recipe, what):
    if recipe is None:
        raise _errors.ArgumentTypeError(f"{what} cannot be pickled: it was unloaded, or has neither a source nor a file; load it in the "
                                  "other process")
    return recipe


_WAYS = {_tarsia.Function: _function, _tarsia.Kernel: _kernel, _tarsia.KernelLaunch: _launch, _tarsia.Op: _op,
         _tarsia.BoundOp: _bound, _tarsia.Expression: _expression}

"""The files of a C extension: their texts, the functions that its headers declare, and the sources of objects."""

import glob
import os
import re

from .. import _errors, _tarsia

_SUFFIXES = tuple(suffix for suffix, _ in _tarsia.source_suffixes)
_OBJECTS = (".o", ".obj", ".so", ".a", ".lo")
_NOISE = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# What holds declarations, or follows them, and is none.
_AROUND = re.compile(r'\bextern\s*"C"\s*\{|\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\b_Static_assert\b[^;]*')
_BRACES = re.compile(r"\{[^{}]*\}")
_TYPEDEF = re.compile(r"\btypedef\b[^;]*;")
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*\((?:[^(){}]|\([^(){}]*\))*\)\s*;")


class Sources:
    """The sources by the names that diagnostics give them, and the folders that they lie in."""

    def __init__(self, title, base, paths):
        self.texts, self.paths, self.folders = {}, {}, []
        for path in paths:
            full = os.path.join(base, path)
            if not full.endswith(_SUFFIXES):
                raise _errors.ArgumentValueError(f"{title}: {path} is no source: their suffixes are {', '.join(_SUFFIXES)}")
            name = os.path.relpath(full, base)
            name = os.path.basename(full) if name.startswith("..") else name
            while name in self.texts:
                name = f"again_{name}"
            self.texts[name] = _text(title, full)
            self.paths[name] = full
            if os.path.dirname(full) not in self.folders:
                self.folders.append(os.path.dirname(full))

    def short_headers(self):
        """The builder's folders of headers were those of TH and THC themselves, too: "THC.h". THC's make a source one of
        CUDA, so they are there where a source includes one."""
        with_thc = any(re.search(r"^\s*#\s*include\s*[<\"]THC", _COMMENT.sub(" ", text), re.MULTILINE)
                       for text in self.texts.values())
        return {f"{part}.h": f"#include <{part[:3 if part.startswith('THC') else 2]}/{part}.h>\n"
                for part in ("TH", "THGeneral", "THTensor", *(("THC", "THCGeneral", "THCTensor") if with_thc else ()))}


def _text(title, path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise _errors.LoadError(f"{title}: cannot read {path}: {error.strerror}") from None


def names_in(title, base, headers):
    """The functions that the headers declare, in their order."""
    names = []
    for header in headers:
        found = _declared_in(_text(title, os.path.join(base, header)))
        if not found:
            raise _errors.ArgumentValueError(f"{title}: header {header} declares no function: it is to declare those of the module")
        names += [name for name in found if name not in names]
    return names


def _declared_in(text):
    """The functions that a text declares. Those that it defines, as inline functions, are none of the module's."""
    text = _AROUND.sub(" ", _NOISE.sub(" ", text))
    outer = None
    while text != outer:  # from the innermost braces outwards
        outer, text = text, _BRACES.sub(" ", text)
    return _DECLARED.findall(_TYPEDEF.sub(" ", text))


def source_behind(thing, base, sources):
    """The source that an object was made of, relative to `base`; None for CUDA's own libraries, which are there."""
    full = os.path.join(base, thing)
    if full.endswith(_SUFFIXES):
        return thing
    if not full.endswith(_OBJECTS):
        raise _errors.ArgumentValueError(f"extra_objects: {thing} is no object by its suffix ({', '.join(_OBJECTS)}), and no source")
    stem = os.path.basename(full)
    while stem.endswith(_OBJECTS):
        stem = os.path.splitext(stem)[0]
    if stem.startswith("lib"):
        candidates = (stem, stem[3:])
    else:
        candidates = (stem,)
    home = os.path.dirname(full)
    folders = list(dict.fromkeys([home, *(os.path.dirname(os.path.join(base, one)) for one in sources), os.path.dirname(home),
                                  os.path.join(os.path.dirname(home), "src"), os.path.join(base, "src"), base]))
    for folder in folders:
        for name in candidates:
            for suffix in ("", *_SUFFIXES):
                path = os.path.join(folder, name + suffix)
                if path.endswith(_SUFFIXES) and os.path.isfile(path):
                    return os.path.relpath(path, base)
    kernels = [one for one in sorted(glob.glob(os.path.join(glob.escape(home), "*.cu"))) if os.path.relpath(one, base) not in sources]
    if len(kernels) == 1:  # nvcc may have called the object otherwise
        return os.path.relpath(kernels[0], base)
    if re.search(r"/(cuda[-.\d]*|nvidia)/(\S+/)?lib(64)?/", full):
        return None
    raise _errors.ArgumentValueError(f"extra_objects: the source of {thing} is not there: {' or '.join(candidates)} with a source's suffix, in "
                              f"{', '.join(os.path.relpath(one, base) for one in folders)}; list the source itself in sources")

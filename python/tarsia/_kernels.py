"""Templates of kernels, and what kernels tell beyond what launches need; imported when it is asked for."""

from typing import NamedTuple

from ._comments import doc
from ._errors import ArgumentTypeError, Unsupported, explains_misuse, make, methods_explain_misuse
from ._tarsia import dtype_of


class KernelAttributes(NamedTuple):
    """What a kernel needs of a GPU. ``shared`` is static shared memory, in bytes; ``local`` a thread's."""

    registers: int
    shared: int
    local: int
    const: int
    max_threads: int
    ptx_version: int
    binary_version: int


class Occupancy(NamedTuple):
    """How many blocks run at once: on one multiprocessor, and on the GPU, which is the largest cooperative grid;
    ``fraction`` of the threads that a multiprocessor holds."""

    blocks: int
    grid: int
    fraction: float


def attributes(kernel):
    return KernelAttributes(*kernel._read_attributes(-1))


@explains_misuse()
def occupancy(kernel, block, shared_bytes=0, device=-1):
    return Occupancy(*kernel._read_occupancy(block, shared_bytes, device))


@explains_misuse()
def suggest_block(kernel, shared_bytes=0, limit=0, device=-1):
    return kernel._read_suggestion(shared_bytes, limit, device)


def ptx(kernel):
    kept = _ptx_of(kernel)
    if kept is not None:
        return kept
    name = kernel.__qualname__
    if kernel._recipe is None or not kernel._recipe.compiles:
        raise Unsupported(f"kernel {name} has no PTX: its library was built ahead of time without it; compile it with ptx=True")
    return _ptx_of(kernel._recipe.kernels([name], kernel._file, ptx=True).kernel(name))


def _ptx_of(kernel):
    for file, arch, data in kernel._images():
        if file == kernel._file and arch.startswith("compute_"):
            return data.rstrip(b"\0").decode()
    return None


def sass(kernel):
    import re
    import subprocess
    import tempfile

    name = kernel.__qualname__
    images = [(int(re.sub(r"\D", "", arch)), data) for file, arch, data in kernel._images()
              if file == kernel._file and arch.startswith("sm_")]
    if not images:
        raise Unsupported(f"kernel {name}: its library has no machine code")
    program = _nvdisasm()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(max(images)[1])
        file.flush()
        done = subprocess.run([program, "-c", file.name], capture_output=True, text=True)
    if done.returncode:
        raise Unsupported(f"{program} does not read the code of kernel {name}: {done.stderr.strip()}")
    sections = re.split(r"(?m)^(?=//-+ \S+ +-+$)", done.stdout)
    wanted = f".text.{kernel._symbol} "
    return "".join(section for section in sections if wanted in section.split("\n", 1)[0] + " ")


def _nvdisasm():
    """The path of NVIDIA's disassembler: that of a toolkit, or of the wheel nvidia-cuda-nvdisasm."""
    import glob
    import os
    import shutil
    import sys

    homes = [os.environ.get(name) for name in ("TARSIA_CUDA_HOME", "CUDA_HOME", "CUDA_PATH")]
    folders = [os.path.join(home, "bin") for home in [*homes, "/usr/local/cuda"] if home]
    for site in sys.path:
        folders += glob.glob(os.path.join(site, "nvidia", "*", "bin"))
    found = shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(folders))
    if not found:
        raise Unsupported("there is no nvdisasm to show machine code with: pip install nvidia-cuda-nvdisasm, or set "
                          "CUDA_HOME to a toolkit that has it")
    return found


@methods_explain_misuse(made="a template of kernels in a library, lib.NAME, is one")
class KernelTemplate:
    """A template of kernels. ``t["float", 128]`` is an instantiation, a Kernel, compiled when it is first asked for. Types
    are str in C++, a NumPy or PyTorch dtype, or the name of one ("float32"); values are int, bool or str.

    ``t.launch(*args, grid=, block=)`` takes the types from the tensors that are passed. It also deduces what the end of a
    subscript omits and has no default: ``t[128].launch(...)``.
    """

    def __init__(self, library, name, given=(), instances=None):
        self._library = library
        self._name = name
        self._given = given
        self._entries = [entry for entry in library._handle.templates() if entry[0] == name]
        _, self._signature, self._location, self._file, self._params, self._function_params = self._entries[0]
        self._instances = {} if instances is None else instances
        self._deduced = {}
        self.__name__ = name.rsplit("::", 1)[-1]
        self.__qualname__ = name
        self.__doc__ = doc(self, "Its instantiations are t[template arguments...], kernels; t.launch(..., grid=, block=) "
                           "takes the types from the tensors that are passed.")

    @property
    def _described(self):
        return tuple((f"{entry[1]} at {entry[2]}", entry[2]) for entry in self._entries)

    @property
    def _recipe(self):
        return self._library._recipe

    @property
    def signatures(self):
        """The C++ signatures of the templates of this name."""
        return tuple(entry[1] for entry in self._entries)

    @property
    def location(self):
        """'file:line' of the first of them in the source."""
        return self._location

    @property
    def instances(self):
        """The instantiations that the library was compiled with, and those asked for since: a dict of name to Kernel."""
        for name in self._library.kernels:
            if name.startswith(self._name + "<"):
                self._instance_named(name)
        return {kernel.__qualname__: kernel for kernel in self._instances.values()}

    def __repr__(self):
        given = f"<{', '.join(self._given)}, ...>" if self._given else ""
        return f"<tarsia.KernelTemplate {given}{'; '.join(self.signatures)}>"

    def __getitem__(self, arguments):
        if not isinstance(arguments, tuple):
            arguments = (arguments,)
        texts = list(self._given)
        for argument in arguments:
            texts.append(self._spell(argument, len(texts)))
        if self._lacks(len(texts)):
            return make(KernelTemplate, self._library, self._name, tuple(texts), self._instances)
        return self._instance(tuple(texts))

    def __call__(self, *args, **kwargs):
        raise ArgumentTypeError(f"{self._title()} is called with its arguments, a grid and a block: {self.__name__}[...]"
                                f"[grid, block](...), or {self.__name__}.launch(..., grid=, block=)")

    def launch(self, *args, **kwargs):
        """Deduces the template's arguments from the tensors, instantiates and launches: as Kernel.launch."""
        key = self._types_of(args, kwargs)
        kernel = self._deduced.get(key)
        if kernel is None:
            kernel = self._deduced[key] = self._instance(self._deduce(key))
        return kernel.launch(*args, **kwargs)

    def _title(self):
        return f"kernel template {self._name}"

    def __eq__(self, other):
        if not isinstance(other, KernelTemplate):
            return NotImplemented
        return self._library is other._library and (self._name, self._given) == (other._name, other._given)

    def __hash__(self):
        return hash((self._name, self._given))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        from ._compile.recipe import reduced_template

        return reduced_template(self)

    def _is_overloaded(self):
        return len(self._entries) > 1

    def _lacks(self, n):
        """Whether n arguments are too few to name an instantiation."""
        return not self._is_overloaded() and any(
            not has_default and kind != _PACK for _, kind, has_default, _ in self._params[n:])

    def _spell(self, argument, i):
        """A template argument in C++."""
        pack = next((k for k, param in enumerate(self._params) if param[1] == _PACK), len(self._params))
        if not self._is_overloaded() and i >= len(self._params) == pack:
            raise ArgumentTypeError(f"{self._title()} takes {len(self._params)} template arguments, and {argument!r} is one "
                                    f"too many\n  in {self._signature}")
        if isinstance(argument, str):
            text = " ".join(argument.split())
            return _CPP_TYPES.get(text) or _ALIASES.get(text, text)
        if self._is_overloaded() or i >= pack:
            kind = _TYPE if _cpp_type(argument) else _VALUE
            what = f"argument {i + 1}"
        else:
            name, kind, _, _ = self._params[i]
            what = f"argument {name!r}" if name else f"argument {i + 1}"
        if kind == _TYPE:
            text = _cpp_type(argument)
            if text is None:
                raise ArgumentTypeError(f"{self._title()}: template {what} must be a type, as a str in C++ or a dtype, got "
                                        f"{argument!r}; the first subscript is the template's arguments, the second grid "
                                        f"and block: {self.__name__}[\"float\"][grid, block](...)\n  in {self._signature}")
            return text
        if kind == _VALUE and hasattr(argument, "__index__"):
            value = argument if isinstance(argument, bool) else argument.__index__()
            return str(value).lower() if isinstance(value, bool) else str(value)
        raise ArgumentTypeError(f"{self._title()}: template {what} must be an int, a bool or a str in C++, got {argument!r}"
                                f"\n  in {self._signature}")

    def _instance(self, texts):
        # By its full name first, by which the library may have it.
        full = list(texts)
        if not self._is_overloaded():
            for *_, default in self._params[len(texts):]:
                # A type that is an earlier parameter's is named by its number.
                earlier = default.removeprefix("type-parameter-0-")
                same = earlier != default and earlier.isdigit() and int(earlier) < len(full)
                full.append(full[int(earlier)] if same else default)
            name = f"{self._name}<{', '.join(full)}>"
            if name in self._instances or name in self._library.kernels:
                return self._instance_named(name)
        return self._instance_named(f"{self._name}<{', '.join(texts)}>")

    def _instance_named(self, name):
        kernel = self._instances.get(name)
        if kernel is None:
            kernel = self._library._handle.kernel(name) or self._compile(name)
            kernel._recipe = self._library._recipe
            # Arguments that were left out or spelled otherwise: one kernel for all.
            kernel = self._instances.setdefault(kernel.__qualname__, kernel)
            self._instances[name] = kernel
        return kernel

    def _compile(self, name):
        recipe = self._library._recipe
        if recipe is None or not recipe.compiles:
            has = ", ".join(self.instances) or "none"
            raise Unsupported(f"{self._title()} cannot be instantiated any more: library {self._library.name!r} was built "
                              f"ahead of time, with {has}; name {name} in its source")
        handle = recipe.kernels([name], self._file)
        rows = handle.warnings()
        if rows:
            from ._compile.loading import callers_place, warn

            warn(rows, recipe, callers_place())
            self._keep_warnings(rows)
        full = handle.kernels()[0][0]
        return self._library._handle.kernel(full) or handle.kernel(full)

    def _keep_warnings(self, rows):
        """Adds those to the library's warnings that it has not, each with the notes behind it."""
        kept = self._library._of_instances
        known = [*self._library._handle.warnings(), *kept]
        is_new = True
        for row in rows:
            is_new = row not in known if row[3] != "note" else is_new
            if is_new:
                kept.append(row)

    def _types_of(self, args, kwargs):
        """What the arguments say of the template's type parameters: the name of a C++ type for each, or None."""
        if self._is_overloaded():
            raise ArgumentTypeError(f"{self._title()} is several templates, of which none is chosen by arguments: give the "
                                    f"template's in a subscript\n  " + "\n  ".join(self.signatures))
        found, numbers = {}, {}
        for i, (name, deduces, is_pointer) in enumerate(self._function_params):
            if deduces < 0 or deduces < len(self._given):
                continue
            argument = args[i] if i < len(args) else kwargs.get(name)
            if argument is None:
                continue
            if not is_pointer:
                numbers.setdefault(deduces, _type_of_number(argument))
                continue
            dtype = dtype_of(argument)
            text = _CPP_TYPES.get(dtype) if dtype else None
            if text is None:
                continue
            if found.setdefault(deduces, (text, name))[0] != text:
                raise ArgumentTypeError(f"{self._title()}: {self._params[deduces][0]} is {found[deduces][0]} by argument "
                                        f"{found[deduces][1]!r} and {text} by argument {name!r}\n  in {self._signature}")
        return tuple(found[i][0] if i in found else numbers.get(i) for i in range(len(self._params)))

    def _deduce(self, types):
        texts = list(self._given)
        for i in range(len(texts), len(self._params)):
            name, kind, has_default, _ = self._params[i]
            if types[i] is None:
                if has_default or kind == _PACK:
                    break
                raise ArgumentTypeError(f"{self._title()}: {name or f'its argument {i + 1}'} does not follow from the tensors "
                                        f"that are passed: give it in a subscript\n  in {self._signature}")
            texts.append(types[i])
        return tuple(texts)


_TYPE, _VALUE, _PACK = 0, 1, 3

# dtypes by their names, as sources have them; NumPy's names that are C++ types too ("double") stay what they are.
_CPP_TYPES = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long",
    "uint64": "unsigned long",
    "bool": "bool",
    "complex64": "float2",
    "complex128": "double2",
}


# Other names that C++ has for its types; the names of instantiations have the ones on the right.
_ALIASES = {
    "unsigned": "unsigned int",
    "uint": "unsigned int",
    "long int": "long",
    "long long int": "long long",
    "unsigned long int": "unsigned long",
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "half": "__half",
    "nv_bfloat16": "__nv_bfloat16",
}


def _cpp_type(argument):
    """The C++ type of a dtype: NumPy's or its scalar types, PyTorch's, ml_dtypes'. None if it is none."""
    if argument is int or argument is float or argument is complex:
        return None  # of no width in C++
    if argument is bool:
        return "bool"
    name = str(argument)
    if name.startswith("torch."):
        return _CPP_TYPES.get(name[len("torch."):])
    return _CPP_TYPES.get(getattr(argument, "name", "") or getattr(argument, "__name__", ""))


def _type_of_number(argument):
    """The C++ type that a number has by itself."""
    dtype = getattr(argument, "dtype", None)
    if dtype is not None:
        return _cpp_type(dtype)
    if isinstance(argument, bool):
        return "bool"
    if isinstance(argument, int):
        return "int" if -(2**31) <= argument < 2**31 else "long"
    return "double" if isinstance(argument, float) else None

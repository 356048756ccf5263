"""Finds the module of a framework by the types of its tensors. A framework is imported by the program, never from here."""

import importlib
import weakref

from ..._errors import ArgumentTypeError

_MODULES = {"numpy": ("numpy_glue", "ndarray"), "torch": ("torch_glue", "Tensor"), "cupy": ("cupy_glue", "ndarray")}
_of_types: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # a type of tensors, or of anything else → its module or None


def get_var_type_glue(vtype):
    """The module of the framework that a type of tensors belongs to; None for other types."""
    try:
        return _of_types[vtype]
    except KeyError:
        pass
    except TypeError:  # no type at all
        return None
    found = None
    for base in getattr(vtype, "__mro__", ()):
        module, name = _MODULES.get(base.__module__.split(".")[0], (None, None))
        if module is not None and base.__name__ == name:
            found = importlib.import_module(f".{module}", __package__)
            break
    _of_types[vtype] = found
    return found


def get_var_glue(var):
    """The module of the framework of a tensor; None for anything else."""
    return get_var_type_glue(type(var))


def get_args_glue(*args, **kwargs):
    """The module of the framework of the tensors among arguments; None without any. All are of one."""
    found = None
    for value in (*args, *kwargs.values()):
        glue = get_var_glue(value)
        if glue is None or glue is found:
            continue
        if found is not None:
            raise ArgumentTypeError(f"the tensors of a call belong to one framework; there are {found.NAME}'s and {glue.NAME}'s: "
                                    "convert one of them")
        found = glue
    return found


def get_glue_modules():
    """The modules of the frameworks that were met so far."""
    return list({id(one): one for one in _of_types.values() if one is not None}.values())


def op_gen(glue_mod, op, name):
    """What makes and calls an operator of a class in a framework."""
    found = glue_mod.gen_cache.get(op)
    if found is None:
        found = glue_mod.gen_cache[op] = glue_mod.OpGen(op=op, name=name)
    return found

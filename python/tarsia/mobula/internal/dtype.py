"""C++ types of elements and numbers: their spellings, and what they are in ctypes and NumPy."""

import ctypes

# name in generated code: (spellings in sources, dtype, ctypes)
_TYPES = {
    "bool": (("bool",), "bool", ctypes.c_bool),
    "char": (("char", "byte"), None, ctypes.c_char),
    "int8_t": (("int8_t", "signed char"), "int8", ctypes.c_int8),
    "uint8_t": (("uint8_t", "unsigned char", "ubyte"), "uint8", ctypes.c_uint8),
    "int16_t": (("int16_t", "short", "short int"), "int16", ctypes.c_int16),
    "uint16_t": (("uint16_t", "unsigned short", "ushort"), "uint16", ctypes.c_uint16),
    "int": (("int", "int32_t", "signed", "signed int"), "int32", ctypes.c_int32),
    "unsigned": (("unsigned", "unsigned int", "uint", "uint32_t"), "uint32", ctypes.c_uint32),
    "int64_t": (("int64_t", "long", "long int", "ssize_t", "ptrdiff_t"), "int64", ctypes.c_int64),
    "uint64_t": (("uint64_t", "unsigned long", "ulong", "size_t"), "uint64", ctypes.c_uint64),
    "long long": (("long long", "longlong", "long long int"), None, ctypes.c_longlong),
    "unsigned long long": (("unsigned long long", "ulonglong"), None, ctypes.c_ulonglong),
    "float": (("float",), "float32", ctypes.c_float),
    "double": (("double",), "float64", ctypes.c_double),
}

NAME_OF = {spelling: name for name, (spellings, _, _) in _TYPES.items() for spelling in spellings}
NAME_OF_DTYPE = {dtype: name for name, (_, dtype, _) in _TYPES.items() if dtype}
DTYPE_OF = {name: dtype for name, (_, dtype, _) in _TYPES.items()}
DTYPE_OF.update({"long long": "int64", "unsigned long long": "uint64", "char": "int8"})
CTYPE_OF_DTYPE = {dtype: ctype for _, dtype, ctype in _TYPES.values() if dtype}
NAME_OF_CTYPE = {ctype: name for name, (_, _, ctype) in reversed(_TYPES.items())}


def canonical(spelling):
    """The name of a type by one of its spellings; None for a type that is not among them."""
    return NAME_OF.get(spelling.removeprefix("std::"))

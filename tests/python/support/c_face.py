"""Calls functions through tarsia_call of the C API, with ctypes: what the C face takes and gives, from Python."""

import ctypes
import functools

import numpy as np
from places import PACKAGE

NONE, BOOL, INT, FLOAT, STRING, TENSOR, STREAM, LIST, TUPLE = 0, 1, 2, 3, 4, 5, 7, 8, 9
CPU = 1
DTYPE_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Value(ctypes.Structure):
    pass


class Union(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("s", ctypes.c_char_p), ("p", ctypes.c_void_p),
                ("v", ctypes.POINTER(Value))]


Value._anonymous_ = ("union",)
Value._fields_ = [("union", Union), ("kind", ctypes.c_uint32), ("size", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Context(ctypes.Structure):
    pass


Context._fields_ = [("size", ctypes.c_uint32), ("framework", ctypes.c_uint32), ("device_type", ctypes.c_int32),
                    ("device_id", ctypes.c_int32), ("user", ctypes.c_void_p), ("empty", ctypes.c_void_p),
                    ("current_stream", ctypes.c_void_p), ("outer", ctypes.POINTER(Context)),
                    ("resources", ctypes.c_void_p)]


class Function(ctypes.Structure):  # its beginning
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("name", ctypes.c_char_p)]


class Error(ctypes.Structure):  # its beginning
    _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32), ("stage", ctypes.c_char_p),
                ("message", ctypes.c_char_p)]


class CallFailed(Exception):
    def __init__(self, error):
        super().__init__(error.message.decode())
        self.code = error.code


class Stream(int):
    """A cudaStream_t."""


@functools.cache
def api():
    (path,) = PACKAGE.rglob("libtarsia.so*")
    library = ctypes.CDLL(str(path))
    library.tarsia_last_error.restype = ctypes.POINTER(Error)
    library.tarsia_call_slot.restype = ctypes.POINTER(ctypes.POINTER(Context))
    library.tarsia_library_functions.restype = ctypes.POINTER(ctypes.POINTER(Function))
    return library


class Library:
    """A library loaded through the C API: library.call(name, *arguments)."""

    def __init__(self, path):
        self._handle = ctypes.c_void_p()
        self._check(api().tarsia_load(str(path).encode(), ctypes.byref(self._handle)))
        n = ctypes.c_uint64()
        found = api().tarsia_library_functions(self._handle, ctypes.byref(n))
        self._functions = [found[i] for i in range(n.value)]

    def close(self):
        api().tarsia_library_release(self._handle)

    def call(self, name, *arguments):
        overloads = [one for one in self._functions if one.contents.name == name.encode()]
        assert overloads, name
        kept = []
        values = (Value * len(arguments))(*(_value(one, kept) for one in arguments))
        result = Value()
        context = Context(size=ctypes.sizeof(Context), framework=1, device_type=CPU)
        slot = api().tarsia_call_slot()
        context.outer = slot[0]
        slot[0] = ctypes.pointer(context)
        try:
            self._check(api().tarsia_call((ctypes.POINTER(Function) * len(overloads))(*overloads),
                                          ctypes.c_uint64(len(overloads)), values, len(arguments),
                                          ctypes.byref(result)))
            return _object(result)
        finally:
            slot[0] = context.outer
            if context.resources:
                api().tarsia_free_resources(ctypes.byref(context))

    @staticmethod
    def _check(code):
        if code:
            raise CallFailed(api().tarsia_last_error().contents)


def _value(argument, kept):
    """A tarsia_value; what it points to is appended to `kept`."""
    value = Value()
    if argument is None:
        value.kind = NONE
    elif isinstance(argument, Stream):
        value.kind, value.p = STREAM, int(argument)
    elif isinstance(argument, bool):
        value.kind, value.i = BOOL, argument
    elif isinstance(argument, int):
        value.kind, value.i = INT, argument
    elif isinstance(argument, float):
        value.kind, value.f = FLOAT, argument
    elif isinstance(argument, str):
        text = argument.encode()
        kept.append(ctypes.create_string_buffer(text))
        value.kind, value.size, value.p = STRING, len(text), ctypes.addressof(kept[-1])
    elif isinstance(argument, (list, tuple)):
        items = (Value * len(argument))(*(_value(one, kept) for one in argument))
        kept.append(items)
        value.kind, value.size = LIST if isinstance(argument, list) else TUPLE, len(argument)
        value.v = ctypes.cast(items, ctypes.POINTER(Value))
    elif isinstance(argument, np.ndarray):
        tensor = _tensor(argument, kept)
        kept.append(tensor)
        value.kind, value.p = TENSOR, ctypes.addressof(tensor)
    else:
        raise TypeError(type(argument))
    return value


def _tensor(array, kept):
    extents = ctypes.c_int64 * max(array.ndim, 1)
    shape = extents(*array.shape)
    strides = extents(*(stride // array.itemsize for stride in array.strides))
    kept += [array, shape, strides]
    dtype = array.dtype
    return Tensor(data=array.ctypes.data, device_type=CPU, ndim=array.ndim, code=DTYPE_CODES[dtype.kind],
                  bits=8 * dtype.itemsize, lanes=1, shape=shape, strides=strides)


def _object(value):
    if value.kind == STRING:
        return ctypes.string_at(value.p, value.size).decode()
    if value.kind in (LIST, TUPLE):
        return [_object(value.v[i]) for i in range(value.size)]
    return {NONE: None, BOOL: bool(value.i), INT: value.i, FLOAT: value.f}[value.kind]

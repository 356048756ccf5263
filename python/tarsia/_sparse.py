"""Sparse tensors: SciPy's and PyTorch's CSR, row-sparse ones, and sparse outputs of ops that are written in Python."""

import sys

from ._errors import ArgumentTypeError, ArgumentValueError, OpIndexError, StorageFallbackWarning, explains_misuse, make, methods_explain_misuse

ROW_SPARSE, CSR = 1, 2  # tarsia_storage_type
STORAGES = ("dense", "row_sparse", "csr")  # their names, in its order


@methods_explain_misuse
class RowSparse:
    """A tensor that stores only some of its rows: ``data[i]`` is row ``indices[i]`` of a tensor of ``shape``.

    data and indices are NumPy arrays or PyTorch tensors. indices are int64, in increasing order.
    """

    __slots__ = ("data", "indices", "shape")

    @explains_misuse("pass data, indices and shape: tarsia.RowSparse(values, rows, (100, 4))")
    def __init__(self, data, indices, shape):
        for name, array in (("data", data), ("indices", indices)):
            if not hasattr(array, "shape") or not hasattr(array, "__len__"):
                raise ArgumentTypeError(f"RowSparse: {name} must be an array of NumPy or a tensor of PyTorch, got "
                                        f"{type(array).__name__} {array!r}")
        if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__") or not all(hasattr(e, "__index__") for e in shape):
            raise ArgumentTypeError(f"RowSparse: shape must be a tuple of ints, got {type(shape).__name__} {shape!r}")
        self.data, self.indices, self.shape = data, indices, tuple(int(extent) for extent in shape)
        if len(self.shape) == 0 or tuple(data.shape) != (len(indices), *self.shape[1:]):
            raise ArgumentValueError(f"data of {len(indices)} rows of {self.shape} has to have the shape "
                                     f"{(len(indices), *self.shape[1:])}, not {tuple(data.shape)}")

    def todense(self):
        """The whole tensor, zeros in the rows that are not stored."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(self.data, torch.Tensor):
            dense = torch.zeros(self.shape, dtype=self.data.dtype, device=self.data.device)
        else:
            import numpy

            dense = numpy.zeros(self.shape, self.data.dtype)
        dense[self.indices] = self.data
        return dense

    def __repr__(self):
        return f"tarsia.RowSparse({len(self.indices)} rows of {self.shape}, {self.data.dtype})"


@methods_explain_misuse(made="ops that are written in Python get them")
class SparseOutput:
    """A sparse output in `forward` or `backward` of an op that is written in Python.

    ``y[...] = matrix`` gives it the elements of a sparse tensor of the same kind and shape. ``y.allocate(n)`` gives memory for n
    elements (CSR) or rows, to be filled. Without either it has no elements.

    shape, dtype; storage: "csr" or "row_sparse"; current: if the write request is "add", the sparse tensor to add to.
    """

    __slots__ = ("_allocate", "_name", "current", "dtype", "shape", "storage")

    def __init__(self, storage, shape, dtype, current, allocate, name):
        self.storage, self.shape, self.dtype, self.current = STORAGES[storage], shape, dtype, current
        self._allocate, self._name = allocate, name

    def allocate(self, count):
        """(values, indices, indptr) for `count` elements or rows, unset. indptr says where rows start; for row-sparse tensors it is None. The
        last call counts.
        """
        if not hasattr(count, "__index__"):
            raise ArgumentTypeError(f"allocate takes the number of elements, got {type(count).__name__}")
        return self._allocate(count.__index__())

    def __setitem__(self, key, tensor):
        if key is not Ellipsis and key != slice(None):
            raise OpIndexError(f"{self._name} is written as a whole: y[...] = matrix")
        given = parts(tensor)
        if given is None or STORAGES[given[0]] != self.storage:
            kind = "CSR, and takes scipy.sparse.csr_matrix or torch.sparse_csr" if self.storage == "csr" else \
                "row-sparse, and takes tarsia.RowSparse"
            raise ArgumentTypeError(f"{self._name} is {kind}, not a {type(tensor).__module__}.{type(tensor).__qualname__}")
        if given[1] != self.shape:
            raise ArgumentValueError(f"{self._name} has the shape {self.shape}, not {given[1]}")
        for to, part in zip(self.allocate(len(given[3])), given[2:]):
            if to is not None:
                to[...] = part

    def __repr__(self):
        return f"tarsia.SparseOutput({self.storage}, {self.shape}, {self.dtype})"


def sparse_output(*parts):
    """A SparseOutput; the extension makes them."""
    return make(SparseOutput, *parts)


@explains_misuse("pass a sparse tensor")
def sparse_parts(tensor):
    """(values, indices, indptr) of a sparse tensor, contiguous, with indices and indptr of int64, as inline kernels take them.

    Takes CSR tensors of SciPy and PyTorch, and a RowSparse, whose indptr is None. Parts that already are like this share the tensor's
    memory.
    """
    given = parts(tensor)
    if given is None:
        raise ArgumentTypeError(f"{type(tensor).__module__}.{type(tensor).__qualname__} is no sparse tensor: there are scipy.sparse.csr_matrix, "
                                f"torch.sparse_csr and tarsia.RowSparse")
    return given[2:]


def parts(tensor):
    """(storage, shape, values, indices, indptr) of a sparse tensor, None of anything else."""
    torch = sys.modules.get("torch")
    if isinstance(tensor, RowSparse):
        return ROW_SPARSE, tensor.shape, _contiguous(tensor.data), _int64(tensor.indices), None
    if torch is not None and isinstance(tensor, torch.Tensor):
        if tensor.layout is not torch.sparse_csr:
            return None
        if tensor.ndim != 2:
            raise ArgumentTypeError(f"a CSR tensor has 2 dimensions, not {tensor.ndim}")
        tensor = tensor.detach()
        return (CSR, tuple(tensor.shape), tensor.values().contiguous(), _int64(tensor.col_indices()),
                _int64(tensor.crow_indices()))
    scipy = sys.modules.get("scipy.sparse")
    if scipy is not None and scipy.issparse(tensor):
        if tensor.format != "csr":
            raise ArgumentTypeError(f"SciPy's sparse matrices go in as CSR, not {tensor.format.upper()}: call tocsr()")
        return CSR, tuple(tensor.shape), _contiguous(tensor.data), _int64(tensor.indices), _int64(tensor.indptr)
    return None


def build(storage, shape, values, indices, indptr, like, dtype):
    """The tensor of these parts, in the framework of `like`. Parts that an op did not allocate are None: no elements."""
    torch = sys.modules.get("torch")
    uses_torch = torch is not None and any(isinstance(part, torch.Tensor) for part in (values, like))
    if values is None:
        none = (0, *shape[1:]) if storage == ROW_SPARSE else (0,)
        if uses_torch:
            device = like.device
            values = torch.zeros(none, dtype=getattr(torch, dtype), device=device)
            indices = torch.zeros(0, dtype=torch.int64, device=device)
            indptr = torch.zeros(shape[0] + 1, dtype=torch.int64, device=device)
        else:
            import numpy

            values, indices, indptr = (numpy.zeros(none, dtype), numpy.zeros(0, numpy.int64),
                                       numpy.zeros(shape[0] + 1, numpy.int64))
    if storage == ROW_SPARSE:
        return RowSparse(values, indices, shape)
    if uses_torch:
        return torch.sparse_csr_tensor(indptr, indices, values, size=shape, check_invariants=False)
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise ImportError("a CSR result needs SciPy (pip install scipy), or inputs of PyTorch") from None
    return csr_matrix((values, indices, indptr), shape=shape)


def assign(into, made):
    """Gives `into` the elements of `made`, a tensor of the same kind and shape."""
    torch = sys.modules.get("torch")
    if isinstance(into, RowSparse):
        into.data, into.indices = made.data, made.indices
    elif torch is not None and isinstance(into, torch.Tensor):
        into.resize_as_sparse_(made).copy_(made)
    else:
        into.data, into.indices, into.indptr = made.data, made.indices, made.indptr


def _contiguous(array):
    if hasattr(array, "contiguous"):
        return array.contiguous()
    import numpy

    return numpy.ascontiguousarray(array)


def _int64(array):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return array.to(torch.int64).contiguous()
    import numpy

    return numpy.ascontiguousarray(array, numpy.int64)


_warned = set()  # what this process has shown


def warn_of_conversions(op, direction, conversions):
    """Warns, once in a process, that calls of an op convert sparse tensors."""
    _warn_once(f"op '{op}', {direction}: no implementation takes these storage types, so every call converts "
               f"{', '.join(conversions)}")


def warn_of_graph(conversions):
    """The same of the nodes of a graph."""
    for text in conversions:
        _warn_once(f"graph, node {text}: no implementation takes this storage type, so every call converts it")


def _warn_once(text):
    from ._compile.loading import warn_caller

    if text not in _warned:
        warn_caller(StorageFallbackWarning(text))
        _warned.add(text)  # not if it became an error: then it is one the next time, too

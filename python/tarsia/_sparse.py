"""Sparse tensors: SciPy's and PyTorch's CSR, and row-sparse ones."""

import sys

ROW_SPARSE, CSR = 1, 2  # tarsia_storage_type


class RowSparse:
    """A tensor of which only some rows are stored: ``data[i]`` is row ``indices[i]`` of a tensor of ``shape``.

    Arrays of NumPy or tensors of PyTorch; indices are int64, in increasing order.
    """

    __slots__ = ("data", "indices", "shape")

    def __init__(self, data, indices, shape):
        self.data, self.indices, self.shape = data, indices, tuple(int(extent) for extent in shape)
        if len(self.shape) == 0 or tuple(data.shape) != (len(indices), *self.shape[1:]):
            raise ValueError(f"data of {len(indices)} rows of {self.shape} has to have the shape "
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


def parts(tensor):
    """(storage, shape, values, indices, indptr) of a sparse tensor, None of anything else."""
    torch = sys.modules.get("torch")
    if isinstance(tensor, RowSparse):
        return ROW_SPARSE, tensor.shape, _contiguous(tensor.data), _int64(tensor.indices), None
    if torch is not None and isinstance(tensor, torch.Tensor):
        if tensor.layout is not torch.sparse_csr:
            return None
        if tensor.ndim != 2:
            raise TypeError(f"a CSR tensor has 2 dimensions, not {tensor.ndim}")
        tensor = tensor.detach()
        return (CSR, tuple(tensor.shape), tensor.values().contiguous(), _int64(tensor.col_indices()),
                _int64(tensor.crow_indices()))
    scipy = sys.modules.get("scipy.sparse")
    if scipy is not None and scipy.issparse(tensor):
        if tensor.format != "csr":
            raise TypeError(f"SciPy's sparse matrices go in as CSR, not {tensor.format.upper()}: call tocsr()")
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

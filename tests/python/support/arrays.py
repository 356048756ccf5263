"""Arrays of NumPy whose memory lies in many ways, and sparse tensors of them."""

import numpy as np

import tarsia


def strided(rng, shape, dtype=np.float32):
    """Random elements in an array of a shape, whose memory lies in one of many ways."""
    def filled(shape):
        return (rng.random(shape) * 100).astype(dtype)

    if not shape:
        return np.array(rng.random() * 100, dtype)
    kind = rng.integers(0, 6)
    if kind == 0:
        return filled(shape)
    if kind == 1:
        return np.asfortranarray(filled(shape))
    if kind == 2:
        return filled([s * 2 + 1 for s in shape])[tuple(slice(1, None, 2) for _ in shape)]
    if kind == 3:
        return filled(shape)[tuple(slice(None, None, -1) for _ in shape)]
    if kind == 4:
        return np.broadcast_to(filled(shape[1:]), shape)
    order = rng.permutation(len(shape))
    return filled([shape[i] for i in order]).transpose(np.argsort(order))


def row_sparse(rows, shape=(5, 2)):
    """Of a dict of the rows that are there."""
    return tarsia.RowSparse(np.array(list(rows.values()), np.float32).reshape(-1, *shape[1:]),
                            np.array(list(rows), np.int64), shape)

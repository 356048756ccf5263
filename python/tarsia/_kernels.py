"""What kernels tell about themselves beyond what launches need; imported when it is asked for."""

from typing import NamedTuple


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


def occupancy(kernel, block, shared_bytes=0, device=-1):
    return Occupancy(*kernel._read_occupancy(block, shared_bytes, device))


def suggest_block(kernel, shared_bytes=0, limit=0, device=-1):
    return kernel._read_suggestion(shared_bytes, limit, device)

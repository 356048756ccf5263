"""MobulaOP's package over Tarsia: kernels of one text for CPUs and GPUs, and operators of Python classes that use them.

    import tarsia.mobula as mobula

    mobula.op.load("ROIAlign")                                    # ROIAlign/ROIAlign.cpp and ROIAlign/ROIAlign.py
    y = mobula.op.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=1.0, sampling_ratio=1)
"""

from .._tarsia import version as __version__
from . import const, func, glue, op, testing, utils
from .config import config

function = func
operator = op

__all__ = ["__version__", "config", "const", "func", "function", "glue", "op", "operator", "testing", "utils"]

"""What notebooks show of tensors: tables and images."""

import re
from html import escape

from .. import _errors
from .._session import plot

# How session/ready_values.h describes a tensor: "float32[2, 3] cpu" and its elements.
_TENSOR = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[\d, ]*)\] (?P<device>cpu|gpu:\d+)(?P<elements>[ \n].*)?", re.DOTALL)
_TOKEN = re.compile(r"[{}]|[^\s{},]+")
_STYLE = "text-align:right;font-family:monospace"


def html_of_value(text):
    """The HTML of a cell's value if it is a tensor with a dimension at least; otherwise None.

    Its text is read rather than its elements: the text has those that people can look at, and the expression whose value it is
    must not run again."""
    found = _TENSOR.fullmatch(text or "")
    if found is None or not found["shape"] or found["elements"] is None:
        return None
    elements = _nested(found["elements"])
    if elements is None:
        return None
    shape = " × ".join(found["shape"].split(", "))
    caption = f"<div><b>{escape(found['dtype'])}</b> {shape}, {escape(found['device'])}</div>"
    return f"<div>{caption}{''.join(_tables(elements, ()))}</div>"


def _nested(text):
    """Lists of lists of texts, as the braces have it; None if they do not close."""
    levels = [[]]
    for token in _TOKEN.findall(text):
        if token == "{":
            levels.append([])
        elif token == "}":
            if len(levels) < 2:
                return None
            levels[-2].append(levels.pop())
        else:
            levels[-1].append(token)
    return levels[0][0] if len(levels) == 1 and len(levels[0]) == 1 and isinstance(levels[0][0], list) else None


def _tables(elements, at):
    """A table for each matrix of the last two dimensions, below its indices."""
    deeper = [one for one in elements if isinstance(one, list)]
    if any(isinstance(one, list) for sub in deeper for one in sub):
        n_after = 0  # from the gap on, indices are not known: they count from the end
        for i, one in enumerate(elements):
            if isinstance(one, list):
                yield from _tables(one, (*at, i - len(elements) if n_after else i))
            else:
                n_after = 1
                yield f"<div>{escape(one)}</div>"
        return
    rows = [one if isinstance(one, list) else [one] for one in elements] if deeper else [elements]
    if at:
        yield f"<div>[{', '.join(map(str, at))}]</div>"
    yield f'<table style="{_STYLE}">' + "".join(
        "<tr>" + "".join(f"<td>{escape(one)}</td>" for one in row) + "</tr>" for row in rows if row) + "</table>"


def png(array):
    """An image as PNG, and what it is in words. Errors, as for what is no image, are tarsia.Error.

    H x W is grey, H x W x C has 1, 3 or 4 channels: grey, RGB or RGBA. C x H x W is taken as well, if the last extent is none of
    these. uint8 is shown as it is, bool as black and white, floats from 0 (dark) to 1."""
    import numpy as np

    channels = (1, 3, 4)
    if array.ndim == 3 and array.shape[2] not in channels and array.shape[0] in channels:
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in channels or 0 in array.shape:
        raise _errors.ArgumentValueError(f"a tensor of shape {list(array.shape)} is no image: H x W, H x W x C or C x H x W is, with 1, 3 or 4 channels C")
    if array.dtype == np.bool_:
        array = array * np.uint8(255)
    elif array.dtype.kind == "f":
        array = np.rint(np.clip(np.nan_to_num(array.astype(np.float32)), 0, 1) * 255).astype(np.uint8)
    elif array.dtype != np.uint8:
        raise _errors.ArgumentValueError(f"a tensor of {array.dtype} is no image: elements are uint8, bool, or floats from 0 to 1")
    height, width, n = array.shape
    return plot.png(array), f"image, {width} x {height}, {({1: 'grey', 3: 'RGB', 4: 'RGBA'}[n])}"

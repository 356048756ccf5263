"""What notebooks show of tensors: tables and images."""

import re
from html import escape

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

"""A library in a notebook: a table of what it has, with the resources of its kernels."""

from html import escape

_STYLE = "text-align:left;font-family:monospace;vertical-align:top"


def library(lib):
    """The HTML of a Library; of one that is still compiled, that it is."""
    if not lib.ready:
        return "<div><b>tarsia.Library</b>, still compiling</div>"
    error = lib._failure()
    if error is not None:
        return f"<div><b>tarsia.Library</b>, which failed: <pre>{escape(str(error))}</pre></div>"
    rows = []
    for name in lib.functions:
        rows += _rows("function", lib[name])
    for name in lib.kernels:
        found = lib._handle.kernel(name)
        found._recipe = lib._recipe
        for one in found.overloads:
            rows += _rows("kernel", one, _needs(one))
    for name in lib.templates:
        rows += _rows("template", lib._exactly(name))
    rows += [_row("op", escape(name), "") for name in lib.ops]
    rows += [_row("variable", escape(f"{kind} {name}"), "") for name, kind, _ in lib._handle.globals()]
    rows += [_row("skipped", escape(name), escape(reason)) for name, reason in lib.skipped.items()]
    head = f"<div><b>tarsia.Library</b> {escape(lib.name)}, {escape(_origin(lib))}</div>"
    return head + (f"<table>{''.join(rows)}</table>" if rows else "")


def _origin(lib):
    came = lib._came_from()
    return {"memory": "from memory", "disk": "from the disk's cache", "remote": "from the shared store"}.get(came, came)


def _rows(kind, found, needs=""):
    from ._comments import above

    recipe = found._recipe
    for signature, (_, location) in zip(found.signatures, found._described):
        comment = above(recipe, location) if recipe is not None else ""
        yield _row(kind, escape(signature), "<br>".join(escape(text) for text in [needs, *comment.split("\n")] if text))


def _row(kind, what, more):
    return f'<tr><td style="text-align:left">{kind}</td><td style="{_STYLE}">{what}</td><td style="text-align:left">{more}</td></tr>'


def _needs(kernel):
    """What a kernel needs of a GPU, in words; from its machine code if there is no GPU."""
    from ._errors import Error

    try:
        a = kernel.attributes
    except Error:
        return ""
    words = [f"{a.registers} registers", f"{a.shared} bytes of shared memory"]
    if a.local:
        words.append(f"{a.local} bytes of local memory a thread")
    return ", ".join(words)

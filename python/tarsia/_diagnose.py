"""Makes compile errors point at the user's text: the line itself, and the .py file where the string stands.

Imported only when a compile failed.
"""

import ast


def explain(error, source, headers, frame):
    """Adds source_line and origin to the diagnostics of `error`. `frame` is that of load_inline's caller."""
    texts = {name: _text(text) for name, text in (headers or {}).items()}
    if isinstance(source, dict):
        texts.update({str(name): _text(text) for name, text in source.items()})
        lone = None
    else:
        lone = _text(source)
    origins = {}
    for diagnostic in error.diagnostics:
        text = texts.get(diagnostic.file, lone if _is_lone(diagnostic.file, error) else None)
        if text is None or diagnostic.line <= 0:
            continue
        lines = text.split("\n")
        if diagnostic.line > len(lines):
            continue
        diagnostic.source_line = lines[diagnostic.line - 1].rstrip("\r")
        if text not in origins:
            origins[text] = _literal(text, frame)
        origin = origins[text]
        if origin:
            file, first = origin
            diagnostic.origin = f"{file}:{first + diagnostic.line - 1}"


def _is_lone(file, error):
    # The lone source has a name that no header or file on disk has: it holds no folder.
    return "/" not in file


def _text(text):
    return text.decode("utf-8", "replace") if isinstance(text, (bytes, bytearray)) else text


def _literal(text, frame):
    """(file, line of the string's first line) of the literal with this value in the caller's file, or None."""
    import linecache

    file = frame.f_code.co_filename
    lines = linecache.getlines(file, frame.f_globals)
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    found = [node for node in ast.walk(tree)
             if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and _text(node.value) == text]
    if not found:
        return None
    # Of several equal literals, the one nearest to the call.
    node = min(found, key=lambda node: abs(node.lineno - frame.f_lineno))
    spans = node.end_lineno - node.lineno
    if spans != text.count("\n"):
        return None  # escapes or implicit joining: lines of the file are not lines of the text
    return file, node.lineno

"""Makes compile errors point at the user's text: the line itself, and the .py file where the string stands.

Imported only when a compile failed.
"""

import ast
import re


def explain(error, source, headers, place):
    """Adds source_line and origin to the diagnostics of `error`. `place` is (file, globals, line) of load_inline's caller.
    A second time, from further out, adds what is still missing."""
    texts = {name: _text(text) for name, text in (headers or {}).items()}
    if isinstance(source, dict):
        texts.update({str(name): _text(text) for name, text in source.items()})
        lone = None
    else:
        lone = _text(source)
    origins = {}
    for diagnostic in error.diagnostics:
        text = texts.get(diagnostic.file, lone if _is_lone(diagnostic.file) else None)
        if text is None or diagnostic.line <= 0:
            continue
        lines = text.split("\n")
        if diagnostic.line > len(lines):
            continue
        if diagnostic.source_line is None:
            diagnostic.source_line = line = lines[diagnostic.line - 1].rstrip("\r")
            diagnostic.column = _characters(line, diagnostic.column)
        if text not in origins:
            origins[text] = _literal(text, place)
        if origins[text]:
            file, rows = origins[text]
            diagnostic.origin = f"{file}:{rows[diagnostic.line - 1]}"


def _characters(line, column):
    """A column that counts bytes, as compilers do, in characters."""
    if column <= 1 or line.isascii():
        return column
    return len(line.encode(errors="surrogatepass")[: column - 1].decode(errors="ignore")) + 1


def _is_lone(file):
    # The lone source has a name that no header or file on disk has: it holds no folder.
    return "/" not in file


def _text(text):
    return text.decode("utf-8", "replace") if isinstance(text, (bytes, bytearray)) else text


def _literal(text, place):
    """(file, the line of the file for each line of the text) of the literal with this value in the caller's file, or
    None."""
    import linecache

    file, variables, row = place
    lines = linecache.getlines(file, variables)
    if not lines:
        return None
    tree = _parsed("".join(lines))
    if tree is None:
        return None
    found = [node for node in ast.walk(tree)
             if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and _text(node.value) == text]
    if not found:
        return None
    # Of several equal literals, the one nearest to the call.
    node = min(found, key=lambda node: abs(node.lineno - row))
    rows = _rows(_segments(node, lines))
    return (file, rows) if len(rows) == text.count("\n") + 1 else None


def _parsed(text):
    """The tree of a Python file; None if it does not parse."""
    for _ in range(3):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None
        except SystemError:
            # Work-around: ast.parse() fails if another thread parses meanwhile.
            # Trigger: garbage is collected in the middle, and runs code that lets another thread parse.
            # Symptom: "AST constructor recursion depth mismatch".
            # Removal: CPython 3.12 is the oldest supported.
            continue
    return None


def _segments(node, lines):
    """(line of the file, value) of each stretch of a literal that lies in one line of the file. A literal may be
    several strings that stand side by side."""
    import tokenize

    def column(row, bytes_before):
        return len(lines[row - 1].encode()[:bytes_before].decode("utf-8", "replace"))

    begin = node.lineno, column(node.lineno, node.col_offset)
    end = node.end_lineno, column(node.end_lineno, node.end_col_offset)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type != tokenize.STRING or token.start < begin or token.end > end:
            continue
        opening = re.match(r"""[A-Za-z]*('''|\"""|'|")""", token.string)
        quote = opening.group(1)
        raw = "r" in opening.group().lower()
        stretches = token.string[opening.end():-len(quote)].split("\n")
        for i, stretch in enumerate(stretches):
            joined = not raw and (len(stretch) - len(stretch.rstrip("\\"))) % 2 == 1
            value = stretch[:-1] if joined else stretch
            if not raw:
                value = re.sub(r"\\(.)", lambda escape: "\n" if escape.group(1) == "n" else escape.group(), value)
            yield token.start[0] + i, value + ("" if joined or i == len(stretches) - 1 else "\n")


def _rows(segments):
    """The line of the file where each line of the text begins."""
    rows, fresh = [], True
    for row, value in segments:
        if fresh and value:
            rows.append(row)
            fresh = False
        rows += [row] * value.count("\n")
        if value.endswith("\n"):  # the next stretch begins that line
            rows.pop()
            fresh = True
    return rows + [row] if fresh else rows

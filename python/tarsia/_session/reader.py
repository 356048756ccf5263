"""Reading what a person types: when a cell is whole, and which lines are the session's own commands."""

import re

_TOKEN = re.compile(
    r'''//[^\n]*(?:\n|$)|/\*.*?\*/|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|'''
    r'''(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'|[({\[\])}]|^[ \t]*\#[ \t]*(?P<directive>\w+)|/\*|R"[^\s()\\]{0,16}\(''',
    re.DOTALL | re.MULTILINE)
_OPEN = {"(": ")", "[": "]", "{": "}"}

FIRST, NEXT = ">>> ", "... "  # the prompts of a cell's first line and of the others


def is_command(text):
    """Whether it is a command of the prompt. `::f()` is C++."""
    text = text.lstrip()
    return text.startswith(":") and not text.startswith("::")


def is_whole(text):
    """Whether nothing is missing at the end of a cell's text: all brackets, comments, raw strings and conditions are
    closed, and the last line does not go on. A bracket too many is for the compiler to report."""
    if text.rstrip(" \t").endswith("\\"):
        return False
    depth, conditions = 0, 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _OPEN:
            depth += 1
        elif token in _OPEN.values():
            depth -= 1
        elif match["directive"]:
            conditions += match["directive"] in ("if", "ifdef", "ifndef")
            conditions -= match["directive"] == "endif"
        elif token == "/*" or re.fullmatch(r'R"[^\s()\\]{0,16}\(', token):
            return False
    # `template <class T>` alone, or a function's head, goes on.
    return depth <= 0 and conditions <= 0 and not re.search(r"\b(template|else|do)\s*(<[^;{}]*>)?\s*$", text)


def commands_of(text):
    """The commands at the beginning of a cell, which are lines that begin with a colon; and the text with these lines
    empty, or "" if there is nothing else."""
    commands, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith(":") and not line.startswith("::"):
            commands.append(line.strip())
            lines[i] = ""
        elif line.strip():
            return commands, "\n".join(lines)
    return commands, ""


def cells_of(text):
    """The cells of a script: parts between lines of %%, or else what is whole, line by line, as if it was typed."""
    text = re.sub(r"\r\n?", "\n", text)
    if re.search(r"^%%[ \t]*$", text, re.MULTILINE):
        return [part.strip("\n") for part in re.split(r"^%%[ \t]*$\n?", text, flags=re.MULTILINE)]
    cells, lines, all_lines = [], [], text.splitlines()
    for i, line in enumerate(all_lines):
        if not lines and not line.strip():
            continue
        lines.append(line)
        following = next((one.lstrip() for one in all_lines[i + 1:] if one.strip()), "")
        goes_on = following.startswith("{") or re.match(r"(else|catch|while\s*\(.*\)\s*;)\b", following)
        if not goes_on and is_whole("\n".join(lines)):
            cells.append("\n".join(lines))
            lines = []
    if lines:
        cells.append("\n".join(lines))
    return [cell for cell in cells if cell.strip()]

"""Reading what a person types: when a cell is whole, and which lines are the session's own commands."""

import re

_TOKEN = re.compile(
    r'''//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|'''
    r'''(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'|^[ \t]*\#[ \t]*(?P<directive>\w*)(?:\\\n|(?!//|/\*)[^\n])*|'''
    r'''(?P<open>/\*|R"[^\s()\\]{0,16}\()''', re.DOTALL | re.MULTILINE)
_PARTS = re.compile(r"\w+|\S")
# A cell does not end with these. (`>` may close a template's arguments.)
_GOES_ON = re.compile(r"(?:(?<!\+)\+|(?<!-)-|[=*/%&|^<,.?:!~]|->|\b(?:template|else|do|operator|return|new|typename|using|typedef))\s*$"
                      r"|\btemplate\s*<[^;{}]*>\s*$")
# What a line of a script begins with if it belongs to the one before, unless a semicolon or a block has ended that.
_WENT_ON = re.compile(r"[.=?,)<]|->|&&|\|\||:\s")
_HEADS = frozenset({"if", "for", "while", "switch"})

FIRST, NEXT = ">>> ", "... "  # the prompts of a cell's first line and of the others


def is_command(text):
    """Whether it is a command of the prompt. `::f()` is C++."""
    text = text.lstrip()
    return text.startswith(":") and not text.startswith("::")


def _code_of(text):
    """The text without comments, strings and directives; and how many conditional directives are not closed. None in
    place of the text if it ends within a comment or a raw string."""
    conditions, code, done = 0, [], 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            return None, conditions
        if match["directive"]:
            conditions += match["directive"] in ("if", "ifdef", "ifndef")
            conditions -= match["directive"] == "endif"
        code += [text[done:match.start()], '""' if match.group()[0] in "\"'R" else " "]
        done = match.end()
    return "".join([*code, text[done:]]), conditions


def _lacks_body(code):
    """Whether the code ends with the head of a loop or a condition, or with a `do` that no `while` has ended."""
    opened, pending, head, before = [], 0, False, ""
    parts = _PARTS.findall(code)
    for i, part in enumerate(parts):
        if part in ("(", "[", "{"):
            word = parts[i - 2] if i > 1 and before == "constexpr" else before
            is_end = word == "while" and pending > 0 and i > 1 and parts[i - 2] in ("}", ";")
            pending -= is_end
            opened.append(part == "(" and word in _HEADS and not is_end)
        elif part in (")", "]", "}"):
            head = opened.pop() if opened else False
        pending += part == "do"
        before = part
    return pending > 0 or (before == ")" and head)


def is_whole(text):
    """Whether nothing is missing at the end of a cell's text: all brackets, comments, raw strings and conditions are
    closed, and the last line does not go on. A bracket too many is for the compiler to report."""
    if text.rstrip(" \t").endswith("\\"):
        return False
    code, conditions = _code_of(text)
    if code is None or conditions > 0:
        return False
    if sum(code.count(bracket) for bracket in "([{") > sum(code.count(bracket) for bracket in ")]}"):
        return False
    return not _GOES_ON.search(code) and not _lacks_body(code)


def commands_of(text):
    """The commands at the beginning of a cell, which are lines that begin with a colon; and the text with these lines
    empty, or "" if there is nothing else."""
    commands, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        if is_command(line):
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
        if not lines and is_command(line):  # a line, whatever follows
            cells.append(line)
            continue
        lines.append(line)
        following = next((one.lstrip() for one in all_lines[i + 1:] if one.strip()), "")
        text = "\n".join(lines)
        goes_on = following.startswith("{") or re.match(r"(else|catch)\b", following) or (
            _WENT_ON.match(following) and not re.search(r"[;}]\s*$", _code_of(text)[0] or ""))
        if not goes_on and is_whole(text):
            cells.append(text)
            lines = []
    if lines:
        cells.append("\n".join(lines))
    return [cell for cell in cells if cell.strip()]

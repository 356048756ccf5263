"""Transcripts of sessions: files that look like a terminal, and are tests.

    >>> int square(int x) {
    ...   return x * x; }
    >>> square(3)
    9

Lines that begin with `>>> ` or `... ` were typed. What follows, up to the next of them, is what was answered: standard output and
standard error together. Lines before the first prompt are comments. In an answer, `…` alone stands for any text within its line.
"""

import io
import re

from .. import _errors
from .commands import Commands
from .reader import is_command
from .repl import show


def entries(text):
    """The comments at the beginning, and a list of (what was typed, what was answered)."""
    comments, found = [], []
    for line in text.splitlines():
        if line.startswith(">>> ") or line == ">>>":
            found.append(([line[4:]], []))
        elif found and not found[-1][1] and (line.startswith("... ") or line == "..."):
            found[-1][0].append(line[4:])
        elif found:
            found[-1][1].append(line)
        else:
            comments.append(line)
    for _, answered in found:
        while answered and not answered[-1].strip():
            answered.pop()
    return comments, [("\n".join(typed), "\n".join(answered)) for typed, answered in found]


def answer(session, commands, typed):
    """What a session answers to what was typed."""
    out = io.StringIO()
    try:
        if is_command(typed):
            commands.run(typed.strip(), out)
        else:
            cell = session._run(typed)
            commands.note(cell)
            show(cell, out, out, typed)
    except _errors.Error as error:
        out.write(f"{type(error).__name__}: {error}\n")
    return out.getvalue().rstrip("\n")


def agrees(expected, got):
    """Whether an answer is the expected one."""
    pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", expected))
    return re.fullmatch(pattern, got) is not None


def run(session, text):
    """Runs a transcript in a session. Returns (what differs, as (typed, expected, got) each, and the transcript as it is now).
    A text in which nothing was typed is a tarsia.ArgumentValueError."""
    comments, all_entries = entries(text)
    if not all_entries:
        raise _errors.ArgumentValueError("no line begins with '>>> ', so it is no transcript of a session: `tarsia repl < FILE` "
                                         "runs the cells of a file, `tarsia run FILE` a program")
    commands = Commands(session)
    differences, lines = [], list(comments)
    for typed, expected in all_entries:
        got = kept = answer(session, commands, typed)
        if agrees(expected, got):
            kept = expected
        else:
            differences.append((typed, expected, got))
        first, *more = typed.split("\n")
        lines += [(">>> " + first).rstrip(), *(("... " + line).rstrip() for line in more), *([kept] if kept else [])]
    return differences, "\n".join(lines) + "\n"

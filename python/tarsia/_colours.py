"""Colours of terminals: whether a stream gets them, the styles of what compilers say, and what stands before a caret."""

import os

_STYLES = {"bold": "1", "faint": "2", "error": "1;31", "fatal error": "1;31", "warning": "1;35", "note": "1;36", "caret": "1;32",
           "value": "36"}


def plain(style, text):
    return text


def coloured(style, text):
    return f"\033[{_STYLES.get(style, '1')}m{text}\033[0m" if text else ""


def wanted(stream):
    """Whether a stream, or None, gets colours. Python's own variables decide, and else whether it is a terminal
    (https://no-color.org, https://docs.python.org/3/using/cmdline.html)."""
    chosen = os.environ.get("PYTHON_COLORS")
    if chosen == "0" or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if chosen == "1" or os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and "TERM" in os.environ


def depth_of(stream):
    """How many colours may be written to a stream: 0, 256 or 1 << 24."""
    if not wanted(stream):
        return 0
    return 1 << 24 if os.environ.get("COLORTERM") in ("truecolor", "24bit") else 256


def painter(stream):
    """The function (style, text) that makes the texts of a stream: `coloured` or `plain`."""
    return coloured if wanted(stream) else plain


def blanks(text):
    """What is as wide as a text in a terminal: tabs stay tabs, East Asian characters take two columns, marks none."""
    if text.isascii():
        return "".join("\t" if c == "\t" else " " for c in text)
    from unicodedata import combining, east_asian_width

    return "".join("\t" if c == "\t" else "" if combining(c) else "  " if east_asian_width(c) in "WF" else " " for c in text)

"""`tarsia repl`: a terminal program in which C++ and CUDA are typed and answered.

    tarsia repl [OPTIONS]                 a prompt, or the script on standard input
    tarsia repl [OPTIONS] -c TEXT         cells that lines of %% separate
    tarsia repl [OPTIONS] FILE.repl …     transcripts, compared with what is answered now
"""

import argparse
import json
import re
import signal
import sys

from .. import _colours, _errors
from .._compile_options import add_arguments, given_options, to_bytes
from .commands import Commands, can_write
from .forks import Forks
from .reader import FIRST, NEXT, cells_of, commands_of, is_command, is_whole
from .session import NOT_FOR_CELLS, Session


def parser():
    made = argparse.ArgumentParser(
        prog="tarsia repl", description="Compiles and runs cells of C++ and CUDA that share what they define.",
        epilog="At the prompt, :help lists the commands.")
    made.add_argument("-c", dest="text", metavar="TEXT", help="run this text; lines of %%%% separate its cells")
    made.add_argument("transcripts", nargs="*", metavar="FILE.repl", help="transcripts of sessions to run and compare")
    made.add_argument("--write", action="store_true", help="write into the transcripts what is answered now")
    made.add_argument("--json", action="store_true", help="write one JSON object for each cell, and nothing else")
    made.add_argument("--in-process", action="store_true", help="run cells in this process, which a crash ends")
    add_arguments(made, without=NOT_FOR_CELLS)
    return made


def messages(cell, text, name=None, paint=_colours.plain):
    """The lines that tell people about a cell: diagnostics with carets, its error, and notes. name: of the file that the text
    is from. paint: a painter of tarsia._colours."""
    told, lines, own = [], re.split(r"\r?\n|\r", text), f"cell {cell.number}"
    for one in cell.diagnostics:
        file = name if name and one.file == own else one.file
        place = ":".join(str(part) for part in (file, one.line, one.column) if part)
        told.append((f"{place}: " if place else "") + paint(one.severity, f"{one.severity}:") + f" {one.message}")
        if one.file == own and 0 < one.line <= len(lines):
            told.append(f"    {lines[one.line - 1]}")
            if one.column:
                before = to_bytes(lines[one.line - 1], "a line")[:one.column - 1].decode("utf-8", "replace")
                told.append("    " + _colours.blanks(before) + paint("caret", "^"))
    if not cell.ok and not any(one.severity in ("error", "fatal error") for one in cell.diagnostics):
        error = re.sub(rf"\b{own}(?=:\d)", lambda _: name, cell.error) if name else cell.error
        told.append(paint("error", f"{cell.error_class}:") + f" {error}")
    told += [paint("note", "note:") + f" {note}" for note in cell.notes]
    if cell.undone:
        told.append(paint("note", "note:") + f" no longer there: {', '.join(cell.undone)}")
    return [readable(line) for line in told]


def readable(text):
    """A text that can be written as UTF-8: a sign stands for each byte that is none."""
    return to_bytes(text, "a text").decode("utf-8", "replace")


def show(cell, out, errors, text="", name=None):
    """Writes what became of a cell, for people. name: of the file that the text is from."""
    if cell.stdout:
        out.write(cell.stdout)
        if not cell.stdout.endswith("\n"):
            out.write("\n")
    for line in messages(cell, text, name, _colours.painter(errors)):
        errors.write(line + "\n")
    if cell.value is not None:
        out.write(_colours.painter(out)("value", cell.value) + "\n")
    out.flush()
    errors.flush()


def as_json(cell):
    import base64

    fields = {name: getattr(cell, name) for name in cell.__slots__ if name != "diagnostics"}
    fields["image"] = cell.image and base64.b64encode(cell.image).decode()
    fields["diagnostics"] = [{name: getattr(one, name) for name in ("file", "line", "column", "severity", "message")}
                             for one in cell.diagnostics]
    text = json.dumps(fields, ensure_ascii=False)
    return text if can_write(sys.stdout, text) else json.dumps(fields)


def run_cells(session, cells, with_json):
    """Runs all cells. Returns the exit code: 0, or that of the first cell that failed; a command that fails has 1."""
    commands, code, forks = Commands(session), 0, Forks()
    for text in cells:
        words, text = commands_of(text)
        for word in words:
            try:
                if not commands.run(word, sys.stderr if with_json else sys.stdout):
                    return code
            except _errors.Error as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                code = code or 1
        if words and not text.strip():
            continue
        with forks.ended():
            cell = session._run(text)
        commands.note(cell)
        if with_json:
            sys.stdout.write(as_json(cell) + "\n")
            sys.stdout.flush()
        else:
            show(cell, sys.stdout, sys.stderr, text)
        code = code or cell.exit_code
    return code


def interact(session):
    """The prompt, until the end of the input."""
    from .editor import open_editor

    commands = Commands(session)
    editor = open_editor(commands, FIRST)
    typed, forks = [], Forks()
    try:
        while True:
            try:
                if not typed:
                    commands.run_again(commands.changed_files(), sys.stdout)
                typed.append(editor.read(NEXT if typed else FIRST))
                if len(typed) == 1:  # what is typed is meant for files as they are now
                    commands.run_again(commands.changed_files(), sys.stdout)
            except EOFError:
                return 0
            except KeyboardInterrupt:
                typed = []
                continue
            text = "\n".join(typed)
            if not text.strip():
                typed = []
                continue
            if len(typed) == 1 and is_command(text):
                typed = []
                try:
                    if not commands.run(text.strip(), sys.stdout):
                        return 0
                except KeyboardInterrupt:
                    sys.stdout.write("\n")
                except _errors.Error as error:
                    paint = _colours.painter(sys.stderr)
                    sys.stderr.write(paint("error", f"{type(error).__name__}:") + f" {error}\n")
                continue
            if not is_whole(text):
                continue
            typed = []
            try:
                with forks.ended():
                    cell = session._run(text)
            except KeyboardInterrupt:
                sys.stderr.write("interrupted\n")
                continue
            commands.note(cell)
            show(cell, sys.stdout, sys.stderr, text)
    finally:
        editor.close()


def check_transcripts(paths, write, make_session):
    """Runs transcripts, each in a session of its own. Returns the exit code: 0, or 1 if an answer differs."""
    from . import transcript

    code = 0
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except OSError as error:
            raise _errors.NotFound(f"cannot read {path!r}: {error.strerror}") from None
        try:
            differences, now = transcript.run(make_session(), text)
        except _errors.ArgumentValueError as error:
            raise _errors.ArgumentValueError(f"{path}: {error}") from None
        if write and differences:
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(now)
        for typed, expected, got in [] if write else differences:
            sys.stdout.write(readable(f"{path}: {typed}\nexpected:\n{expected}\ngot:\n{got}\n\n"))
        if not write:
            sys.stdout.write(f"{path}: {'differs' if differences else 'ok'}\n")
            code = code or int(bool(differences))
    return code


def _script(given):
    if given["text"] is not None:
        return given["text"]
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _end_output():
    """What is left to write goes nowhere, or Python would fail once more when it ends."""
    import os

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def _end_input():
    """Cells read no script: what they read has ended, in this process as in a child."""
    import os

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _keep_output_for_json():
    """What cells write that is in no cell's output, at the end of the process or from a thread, goes to standard error."""
    import os

    sys.stdout = open(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(2, 1)


def _with_cells(words):
    """Arguments in which a cell that begins with a dash is no option."""
    joined = []
    for word in words:
        if joined[-1:] == ["-c"] and word.startswith("-"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def main(arguments=None):
    given = vars(parser().parse_args(_with_cells(sys.argv[1:] if arguments is None else arguments)))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # No text that somebody types or that a cell gives ends the program, whatever is in it.
    sys.stdin.reconfigure(errors="surrogateescape")
    sys.stdout.reconfigure(errors="backslashreplace")
    interactive = given["text"] is None and sys.stdin.isatty() and not given["json"]
    try:
        if given["transcripts"]:
            if given["in_process"]:
                _end_input()
            return check_transcripts(given["transcripts"], given["write"], lambda: Session(
                isolated=not given["in_process"], keep_output=True, **given_options(given)))
        if not interactive and given["in_process"]:
            given["text"] = _script(given)
            _end_input()
            if given["json"]:
                _keep_output_for_json()
        session = Session(isolated=not given["in_process"], keep_output=given["json"],
                          stdin=sys.stdin if interactive and not given["in_process"] else None, **given_options(given))
        if interactive:
            return interact(session)
        return run_cells(session, cells_of(_script(given)), given["json"])
    except _errors.Error as error:
        sys.stderr.write(f"tarsia repl: {error}\n")
        return 2
    except OSError as error:  # a disk that is full, say: files that the session reads and writes have errors of their own
        sys.stderr.write(f"tarsia repl: what is told cannot be written: {error.strerror}\n")
        _end_output()
        return 2


if __name__ == "__main__":
    sys.exit(main())

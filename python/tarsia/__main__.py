"""The command `tarsia` as `python -m tarsia`, and Python programs as `python -m tarsia SCRIPT`, `-m MODULE` and `-c CODE`."""

import os
import sys

# In an installed package, and in the folder of a build.
_PLACES = ("bin", os.path.join("..", "..", "bin"))


# The program's first word to `repl` when it has translated the others from the spellings of gcc and nvcc.
_TRANSLATED = "--translated"


def _needs_translation(words):
    own = ("-c", "--json", "--write", "--in-process", "--help", "-h")
    return words[:1] != [_TRANSLATED] and any(word.startswith("-") and word not in own for word in words)


def main():
    from tarsia._compile import script

    if len(sys.argv) > 1 and script.is_program(sys.argv[1:]):

        return script.run(sys.argv[1:])
    if len(sys.argv) > 1 and sys.argv[1] == "repl" and not _needs_translation(sys.argv[2:]):
        from tarsia._session import repl

        sys.exit(repl.main([word for i, word in enumerate(sys.argv[2:]) if i or word != _TRANSLATED]))
    if len(sys.argv) > 1 and sys.argv[1] == "jupyter":
        from tarsia._jupyter import command

        sys.exit(command.main(sys.argv[2:]))
    if sys.argv[1:3] == ["pack", "--record"]:  # from the command, for a script
        from tarsia._cache import script as recorded

        recorded.main(sys.argv[3:])
    package = os.path.dirname(os.path.abspath(__file__))
    programs = [os.path.normpath(os.path.join(package, place, "tarsia")) for place in _PLACES]
    program = next((one for one in programs if os.access(one, os.X_OK)), None)
    if program is None:
        sys.exit(f"tarsia: the program {programs[0]} is not there; install Tarsia again")
    try:
        os.execve(program, ["tarsia", *sys.argv[1:]], {**os.environ, "TARSIA_COMMAND_PYTHON": sys.executable or ""})
    except OSError as error:
        sys.exit(f"tarsia: cannot run {program}: {error.strerror}; install Tarsia again")


if __name__ == "__main__":
    main()

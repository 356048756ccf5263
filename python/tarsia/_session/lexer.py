"""The colours of C++ and CUDA as they are typed, by Pygments."""

from prompt_toolkit.lexers import Lexer, PygmentsLexer
from pygments.lexers.c_cpp import CppLexer
from pygments.token import Keyword, Name

from . import reader

_WORDS = frozenset(("__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__grid_constant__",
                    "__launch_bounds__", "__noinline__", "__forceinline__", "__restrict__"))


class CudaLexer(CppLexer):
    """C++ with the words of CUDA."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        for at, token, value in super().get_tokens_unprocessed(text, stack):
            yield at, Keyword if token in Name and value in _WORDS else token, value


class CellLexer(Lexer):
    """Cells; a command is left as it is."""

    def __init__(self):
        self._code = PygmentsLexer(CudaLexer)

    def lex_document(self, document):
        if reader.is_command(document.text):
            return lambda number: [("", document.lines[number])]
        return self._code.lex_document(document)

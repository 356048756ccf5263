"""The line editor by prompt_toolkit: cells of many lines, completion in a menu, colours if Pygments is there."""

import asyncio
import sys

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.history import History as ToolkitHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from .._colours import depth_of
from . import reader
from .editor import interrupts_raise
from .history import History

_LOOK = 0.2  # seconds between two looks at watched files

# Names of the terminal's own colours, which fit its background.
_STYLE = {
    "pygments.comment": "ansibrightblack",
    "pygments.comment.preproc": "ansimagenta",
    "pygments.comment.preprocfile": "ansigreen",
    "pygments.keyword": "ansiblue bold",
    "pygments.keyword.type": "ansicyan",
    "pygments.literal.string": "ansigreen",
    "pygments.literal.number": "ansired",
    "prompt": "ansibrightblack",
}


class ToolkitEditor:
    """Enter runs a cell that is whole, and begins a new line in others; Alt-Enter begins a new line in each."""

    def __init__(self, commands, shown):
        self._commands, self._shown = commands, shown
        output = Vt100_Output.from_pty(sys.stdout)
        output.enable_cpr = False  # no questions to the terminal, whose answers might come when a cell runs
        depths = {0: ColorDepth.DEPTH_1_BIT, 256: ColorDepth.DEPTH_8_BIT}
        colours = depth_of(sys.stdout)
        self._session = PromptSession(
            history=_Shared(History()), completer=_Completer(commands), complete_while_typing=False,
            complete_style=CompleteStyle.COLUMN, key_bindings=_keys(), lexer=_lexer() if colours else None, multiline=True,
            prompt_continuation=[("class:prompt", reader.NEXT)], style=Style.from_dict(_STYLE), include_default_pygments_style=False,
            color_depth=depths.get(colours, ColorDepth.DEPTH_24_BIT), output=output)

    def read(self, prompt):
        self._shown.erase()
        try:
            return self._session.prompt([("class:prompt", prompt)], pre_run=self._begin_to_look)
        finally:
            self._shown.restore()

    def close(self):
        self._shown.restore()

    def _begin_to_look(self):
        if self._commands.watches:
            self._session.app.create_background_task(self._look())

    async def _look(self):
        """Runs watched files that are saved while the prompt waits. No cell runs then, and what is typed stays."""
        while True:
            await asyncio.sleep(_LOOK)
            names = self._commands.changed_files(settled=True)
            if names:
                await run_in_terminal(lambda names=names: self._run(names))

    def _run(self, names):
        with interrupts_raise():
            self._commands.run_again(names, sys.stdout)


class _Shared(ToolkitHistory):
    """The history of all prompts."""

    def __init__(self, history):
        super().__init__()
        self._history = history

    def load_history_strings(self):
        return reversed(self._history.entries())

    def append_string(self, string):
        if string.strip() and self.get_strings()[-1:] != [string]:
            super().append_string(string)

    def store_string(self, string):
        self._history.add(string)


class _Completer(Completer):
    def __init__(self, commands):
        self._commands = commands

    def get_completions(self, document, complete_event):
        start, matches = self._commands.completions(document.text, document.cursor_position)
        for match in matches:
            yield Completion(match, start_position=start - document.cursor_position)


def _keys():
    keys = KeyBindings()

    @keys.add("enter")
    def accept(event):
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # takes what the menu shows
        elif reader.is_command(buffer.text) or reader.is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def new_line(event):
        event.current_buffer.insert_text("\n")

    @Condition
    def at_indentation():
        from prompt_toolkit.application import get_app

        return not get_app().current_buffer.document.current_line_before_cursor.strip()

    @keys.add("tab", filter=at_indentation & ~has_completions)
    def indent(event):
        event.current_buffer.insert_text("    ")

    return keys


def _lexer():
    """Colours of what is typed; None without Pygments."""
    try:
        from .lexer import CellLexer
    except ImportError:
        return None
    return CellLexer()

"""Scopes in which a thread compiles nothing."""

from contextlib import ContextDecorator

from .. import _tarsia


class NoCompile(ContextDecorator):
    """What tarsia.no_compile() gives. It may be entered again, also within itself."""

    def __enter__(self):
        _tarsia.no_compile_enter()

    def __exit__(self, *error):
        _tarsia.no_compile_leave()

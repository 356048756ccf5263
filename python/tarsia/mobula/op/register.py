"""``register``, by the module's name that MobulaOP gives it."""

from ..glue.common import register

__all__ = ["register"]

"""Sessions: cells of C++ and CUDA that are compiled and run one after the other and share what they define."""

from .session import Cell, Session

__all__ = ["Cell", "Session"]

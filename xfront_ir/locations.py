"""Locations of ops: the position in the user's code, and the transformations and scopes around it.

A location holds a code object and an instruction offset. They are resolved to a line only when
someone asks, because a location is captured for each op that is traced.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

import sys
from types import CodeType, FrameType

Scope = tuple[str, ...]


class Location:
    """A code position (`code`, `lasti`) under a stack of scope names, outermost first."""

    __slots__ = ("code", "lasti", "scope")

    def __init__(self, code: CodeType | None, lasti: int, scope: Scope = ()) -> None:
        self.code, self.lasti, self.scope = code, lasti, scope

    @property
    def file(self) -> str:
        """Path of the user's file, or `?`."""
        return self.code.co_filename if self.code else "?"

    @property
    def function(self) -> str:
        """Name of the user's function, or `?`."""
        return self.code.co_qualname if self.code else "?"

    @property
    def line(self) -> int:
        """1-based line, 0 where unknown."""
        if self.code is None:
            return 0
        for start, end, line in self.code.co_lines():
            if start <= self.lasti < end and line is not None:
                return line
        return self.code.co_firstlineno

    def scoped(self, name: str) -> Location:
        """The same position with one more transformation around it."""
        return Location(self.code, self.lasti, (name, *self.scope))

    def __str__(self) -> str:
        short = self.file.rsplit("/", 1)[-1]
        where = f"{short}:{self.line} ({self.function})" if self.code else "?"
        return f"{'/'.join(self.scope)} {where}" if self.scope else where


LIBRARY_FILES: set[str] = set()
USER_FILES: set[str] = set()
"""The files of code met so far, by name: hashing a code object would hash all that it holds."""

_LIBRARY_PATHS: list[str] = []


def register_library(path: str) -> None:
    """Declare that frames of files under `path` are never a user's."""
    _LIBRARY_PATHS.append(path)
    LIBRARY_FILES.clear()
    USER_FILES.clear()


def forget_library(path: str) -> None:
    """Undo `register_library`: frames of files under `path` may be a user's again."""
    _LIBRARY_PATHS.remove(path)
    LIBRARY_FILES.clear()
    USER_FILES.clear()


def library_paths() -> tuple[str, ...]:
    """The paths that were registered as libraries."""
    return tuple(_LIBRARY_PATHS)


def is_library(code: CodeType) -> bool:
    """Whether code is the library's, not a user's."""
    file = code.co_filename
    if file in USER_FILES:
        return False
    if file in LIBRARY_FILES:
        return True
    found = file.startswith(tuple(_LIBRARY_PATHS))
    (LIBRARY_FILES if found else USER_FILES).add(file)
    return found


def capture(scope: Scope = (), skip: int = 1) -> Location:
    """The location of the innermost frame that is not the library's, at least `skip` frames up."""
    frame: FrameType | None = sys._getframe(skip)      # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in LIBRARY_FILES and not is_library(code):
            return Location(code, frame.f_lasti, scope)
        frame = frame.f_back
    return Location(None, 0, scope)

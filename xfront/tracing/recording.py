"""The type of traces for files below `trace.py`: the fields of a trace that these files read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from xfront_ir.builder import Builder


class Recording(Protocol):
    """A trace. `trace.Trace`, which is the one class of this form, says what each of these is."""

    @property
    def axis(self) -> tuple[Any, int] | None: ...
    @property
    def builder(self) -> Builder: ...
    @property
    def differentiates(self) -> bool: ...
    @property
    def following(self) -> Any: ...
    @property
    def given(self) -> Sequence[Any] | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def level(self) -> int: ...
    @property
    def started_at(self) -> Any: ...
    @property
    def sources(self) -> Sequence[Any]: ...


__all__ = ["Recording"]

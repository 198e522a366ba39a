"""The context manager that sets the mesh in context for this thread."""

from __future__ import annotations

from typing import Any

from .. import binding


class Entered:
    """A context that sets the mesh in context, a state of this thread, to a given value."""

    __slots__ = ("before", "value")

    def __init__(self, value: Any) -> None:
        self.value = value

    def __enter__(self) -> None:
        self.before = binding.mesh_state.swap_local(self.value)

    def __exit__(self, *exc: object) -> None:
        binding.mesh_state.swap_local(self.before)

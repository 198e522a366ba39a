"""The process among others, as `jax._src.distributed.global_state` tells it."""

from __future__ import annotations

from typing import Any

from ..devices import process_count, process_index


class GlobalState:
    """Which process of how many this is; `client` is that of the coordination service, None
    where there is a single process."""

    client: Any = None

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return process_index()

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        return process_count()


global_state = GlobalState()

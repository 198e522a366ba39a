"""This process among others, as `jax._src.distributed.global_state` describes it."""

from __future__ import annotations

from typing import Any

from lowering import clients

from ..devices import process_count, process_index
from ..distributed.membership import coordinator_address


class GlobalState:
    """Which process of how many this is; `client` is that of the coordination service, `service`
    that service itself (of process 0): None where no processes were joined."""

    @property
    def client(self) -> Any:
        """The client of the coordination service: its table of keys and values, its barriers."""
        here = clients.processes()
        return None if here is None else here.client

    @property
    def service(self) -> Any:
        """The coordination service, where this process runs it."""
        here = clients.processes()
        return None if here is None else here.service

    @property
    def preemption_sync_manager(self) -> Any:
        """The manager that announces a coming end of the machine."""
        here = clients.processes()
        return None if here is None else here.preemption

    @property
    def coordinator_address(self) -> str | None:
        """Where the processes met."""
        return coordinator_address()

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return process_index()

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        return process_count()


global_state = GlobalState()

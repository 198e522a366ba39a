"""This process among others, as `jax._src.distributed.global_state` describes it."""

from __future__ import annotations

from typing import Any

from lowering import clients

from ..distributed.membership import coordinator_address
from ..eager.devices import process_count, process_index


class GlobalState:
    """The number of this process, the number of all processes, and the coordination service.

    `client` and, in process 0, `service` are objects of jaxlib; they are None where no processes
    were joined.
    """

    @property
    def client(self) -> Any:
        """The client of the coordination service, which has its keys, values and barriers."""
        here = clients.processes()
        return None if here is None else here.client

    @property
    def service(self) -> Any:
        """The coordination service where this process runs it, else None."""
        here = clients.processes()
        return None if here is None else here.service

    @property
    def preemption_sync_manager(self) -> Any:
        """The manager that announces that the machine will be taken away, or None."""
        here = clients.processes()
        return None if here is None else here.preemption

    @property
    def coordinator_address(self) -> str | None:
        """The address (`host:port`) at which the processes met, or None."""
        return coordinator_address()

    @property
    def process_id(self) -> int:
        """The number of this process."""
        return process_index()

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        return process_count()


global_state = GlobalState()

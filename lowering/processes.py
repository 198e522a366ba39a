"""Several processes that compute together: jaxlib's coordination service and its clients.

Process 0 runs the service. Every process is a client of it, finds the others in its table of keys
and values, and makes its PJRT clients (clients.py) with it, so that they know all devices.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jaxlib._jax as _jax

JaxRuntimeError = _jax.JaxRuntimeError


_SECONDS_TO_HEAR = 3.0
_MS_TO_AGREE = 300_000


class ProcessLost(JaxRuntimeError):
    """Another process has ended, or left, while this one was computing with it."""


class Processes:
    """This process among others.

    Fields: `index` of `count`; `client` of the coordination service; `service` itself in process 0,
    None elsewhere; `preemption` announces that the machine will be taken away, None where this is
    not asked for; `recoverable` says that processes may outlive others; `lost` has the names of the
    processes that ended without leaving, by index. `begun` counts for each other process the
    computations that this one has begun with it; `left` has, of each process that has left, how
    many it had begun with this one. `on_wait` is called with the index of such a process if this
    one would wait for it.
    """

    __slots__ = ("_asked", "begun", "client", "count", "index", "left", "lost", "on_wait",
                 "preemption", "recoverable", "service")

    def __init__(self, index: int, count: int, client: Any, service: Any, preemption: Any,
                 recoverable: bool) -> None:
        self.index, self.count, self.client, self.service = index, count, client, service
        self.preemption, self.recoverable = preemption, recoverable
        self.lost: dict[int, str] = {}
        self.begun: Counter[int] = Counter()
        self.left: dict[int, int] = {}
        self.on_wait: Callable[[int], None] = lambda index: None
        self._asked: dict[tuple[int, ...], int] = {}

    def begins(self, indices: Iterable[int]) -> None:
        """Count something that ends only when these processes begin it too.

        Raises: ProcessLost where one of them has left, and did not begin as much.
        """
        for i in indices:
            if i != self.index:
                self.begun[i] += 1
                if self.waits_for(i):
                    self.on_wait(i)
                    raise ProcessLost(f"process {i} of {self.count} has left, and process "
                                      f"{self.index} begins to compute with it: every process must "
                                      "run the same programs, in the same order")

    def waits_for(self, index: int) -> bool:
        """Whether this process has begun a computation that another one, which has left, never
        began."""
        return index in self.left and self.begun[index] > self.left[index]

    def leave(self) -> None:
        """Wait until the others leave too, and stop the service. Raises: JaxRuntimeError."""
        if self.preemption is not None:
            self.preemption.shutdown()
        self.client.shutdown()
        if self.service is not None:
            self.service.shutdown()

    def named(self, error: BaseException) -> BaseException:
        """An error that names the lost processes, where `error` is of a collective that failed
        because they ended; any other error as it is."""
        if "Gloo" not in str(error) or isinstance(error, ProcessLost):
            return error
        until = time.monotonic() + _SECONDS_TO_HEAR  # the connection breaks before the report comes
        while not self.lost and time.monotonic() < until:
            time.sleep(0.02)
        if not self.lost:
            return error
        text = " ".join(str(error).split())[:300]
        return ProcessLost(f"{self.losses()} of {self.count} ended while process {self.index} was "
                           f"computing with it: {text}")

    def differing(self, digest: str, indices: Sequence[int]) -> list[int]:
        """The processes among `indices` whose digest differs from that of the first one.

        Each of them must call this, in the same order.
        Raises: JaxRuntimeError where one does not; ProcessLost where one has left.
        """
        self.begins(indices)
        asked = self._asked
        asked[tuple(indices)] = number = asked.get(tuple(indices), 0) + 1
        folder = f"xfront/digests/{'-'.join(map(str, indices))}/{number}"
        self.client.key_value_set(f"{folder}/{self.index}", digest)
        self.client.wait_at_barrier(f"{folder}/set", _MS_TO_AGREE, list(indices))
        found = [self.client.blocking_key_value_get(f"{folder}/{i}", _MS_TO_AGREE) for i in indices]
        self.client.wait_at_barrier(f"{folder}/read", _MS_TO_AGREE, list(indices))
        self.client.key_value_delete(f"{folder}/{self.index}")
        return [i for i, d in zip(indices, found, strict=True) if d != found[0]]

    def losses(self) -> str:
        """The lost processes as text: `process 1 (of host a, pid 17)`."""
        return ", ".join([f"process {i} ({name})" for i, name in sorted(self.lost.items())])


def join(address: str, index: int, count: int, *, bind: str, patience: float, heartbeat: int,
         farewell: int, recoverable: bool, preemptible: bool) -> Processes:
    """Start the service (in process 0) and connect to it, with all other processes.

    Args:
      address: `host:port` at which processes reach the service.
      bind: `host:port` on which process 0 listens.
      patience: seconds to wait until all processes have come.
      heartbeat: seconds of silence after which a process counts as dead.
      farewell: seconds to wait until all processes have left.
      recoverable: whether processes may outlive others.
      preemptible: whether to listen for notice that the machine will be taken away.
    Raises: TimeoutError where not all processes came in time; JaxRuntimeError.
    """
    longer = int(patience) + 120                 # at its own timeout jaxlib ends the process
    service = None
    if index == 0:
        service = _jax.get_distributed_runtime_service(
            bind, count, heartbeat_timeout=heartbeat, shutdown_timeout=farewell,
            cluster_register_timeout=longer, recoverable=recoverable)
    client = _jax.get_distributed_runtime_client(
        address, index, init_timeout=longer, heartbeat_timeout=heartbeat,
        shutdown_timeout=farewell, use_compression=True, shutdown_on_destruction=False)
    _connect(client, patience, f"not all of the {count} processes connected to {address} within "
                               f"{patience:g} s; process {index} did")
    preemption = _jax.create_preemption_sync_manager() if preemptible else None
    if preemption is not None:
        preemption.initialize(client)
    return Processes(index, count, client, service, preemption, recoverable)


def _connect(client: Any, patience: float, complaint: str) -> None:
    failures: list[BaseException] = []

    def connect() -> None:
        try:
            client.connect()
        except Exception as e:
            failures.append(e)

    thread = threading.Thread(target=connect, name="xfront-connect", daemon=True)
    thread.start()
    thread.join(patience)
    if thread.is_alive():
        raise TimeoutError(complaint)
    if failures:
        raise failures[0]


def collectives(kind: str, processes: Processes) -> Any:
    """jaxlib's collectives, which move numbers between the CPU devices of several processes.

    Args:
      kind: `gloo`, `mpi` or `none`.
    Raises: ValueError for another kind.
    """
    if kind == "gloo":
        return _jax.make_gloo_tcp_collectives(distributed_client=processes.client)
    if kind == "mpi":
        made = _jax.make_mpi_collectives()
        made.Init()
        return made
    if kind == "none":
        return None
    raise ValueError(f"jax_cpu_collectives_implementation must be gloo, mpi or none, got {kind!r}")


__all__ = ["ProcessLost", "Processes", "collectives", "join"]

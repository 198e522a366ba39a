"""Writes trees of arrays to files and reads them, at once or while the program goes on.

    specs = [serialization.get_tensorstore_spec(f"{folder}/{name}") for name in names]
    serialization.run_serialization(arrays, specs)
    arrays = serialization.run_deserialization(shardings, specs)

`GlobalAsyncCheckpointManager` writes in the background: the arrays have been copied when
`serialize` returns, and are in the files after `wait_until_finished`.
"""

from __future__ import annotations

import abc
import asyncio
import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from lowering import clients

from ... import binding
from ...base.on_demand import shown as _shown
from ...base.trees import tree_map
from ...binding.tracebacks import front_door
from ...eager.devices import process_index
from . import tensorstore_impl
from .tensorstore_impl import ByteLimiter, async_deserialize, async_serialize, default_context

_REMOTE = ("gcs", "s3")


def __getattr__(name: str) -> Any:
    if name == "TS_CONTEXT":
        return default_context()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


get_tensorstore_spec = functools.partial(tensorstore_impl.get_tensorstore_spec, ocdbt=False,
                                         driver="zarr")
"""`tensorstore_impl.get_tensorstore_spec` for zarr version 2, with a folder for each array."""


@front_door
def is_remote_storage(tspec: dict[str, Any] | str) -> bool:
    """Whether a spec or a path leads to Google Cloud Storage or S3.

    >>> from xfront.experimental.array_serialization import serialization
    >>> serialization.is_remote_storage("gs://bucket/weights")
    True
    """
    if isinstance(tspec, str):
        return tspec.startswith(("gs://", "s3://"))
    return tspec.get("driver") in _REMOTE or any(
        is_remote_storage(tspec[key]) for key in ("base", "kvstore") if key in tspec)


@front_door
def run_serialization(arrays: Any, tensorstore_specs: Any) -> None:
    """Write arrays, and return when they are in their files.

    Args:
      arrays: tree of arrays.
      tensorstore_specs: tree of the same structure with a spec for each array.
    Raises: ValueError where the trees differ; and the errors of `tensorstore_impl.async_serialize`.
    """
    async def run() -> None:
        await asyncio.gather(*_each(async_serialize, arrays, tensorstore_specs))

    asyncio.run(run())


@front_door
def run_deserialization(shardings: Sequence[Any], tensorstore_specs: Sequence[Any],
                        global_shapes: Sequence[Sequence[int]] | None = None,
                        dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32) -> list[Any]:
    """Read arrays from their files.

    Args:
      shardings: a Sharding or Format for each array, where it goes.
      tensorstore_specs: a spec for each array, where it is.
      global_shapes, dtypes: a shape and a dtype for each array, see
        `tensorstore_impl.async_deserialize`; None, or an entry None, means that of the file.
      concurrent_gb: greatest number of gigabytes that the reads may take at a time, 32 by default.
    Returns: list of arrays.
    Raises: ValueError where the lists differ in length; and the errors of
      `tensorstore_impl.async_deserialize`.
    """
    count = len(shardings)
    lists = {"tensorstore_specs": tensorstore_specs, "global_shapes": global_shapes,
            "dtypes": dtypes}
    for name, given in lists.items():
        if given is not None and len(given) != count:
            raise ValueError(f"run_deserialization: shardings has {count} entries, but {name} has "
                             f"{len(given)}; each must have one entry for each array")

    async def run() -> list[Any]:
        limiter = ByteLimiter(concurrent_gb * 10**9)
        none = [None] * count
        return await asyncio.gather(*[
            async_deserialize(place, spec, shape, dtype, limiter)
            for place, spec, shape, dtype in zip(shardings, tensorstore_specs,
                                                 global_shapes or none, dtypes or none)])

    return asyncio.run(run())


def _each(write: Callable[[Any, Any], Any], arrays: Any, specs: Any) -> list[Any]:
    """The results of `write` for each array with its spec, which is a dict and so itself a tree."""
    found: list[Any] = []
    tree_map(lambda x, spec: found.append(write(x, spec)), arrays, specs)
    return found


class BarrierTimeoutError(Exception):
    """Another process did not finish writing in time."""


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """The base of classes that write and read arrays in the background, one write at a time; see
    `GlobalAsyncCheckpointManager`."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of a write that failed in the background."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until everything is written, then act as `check_for_errors`."""

    @abc.abstractmethod
    def serialize(self, arrays: Any, tensorstore_specs: Any, *,
                  on_commit_callback: Callable[[], None]) -> None:
        """Begin to write arrays."""

    @abc.abstractmethod
    def deserialize(self, shardings: Sequence[Any], tensorstore_specs: Sequence[Any],
                    global_shapes: Sequence[Sequence[int]] | None = None,
                    dtypes: Sequence[Any] | None = None) -> Any:
        """Read arrays."""


class AsyncManager:
    """Waits for TensorStore's futures in a thread, then calls back in one of the processes.

    Args:
      timeout_secs: number of seconds that processes wait for one another.
    """

    _numbers = itertools.count()

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._futures: Sequence[Any] = ()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def _add_futures(self, futures: Sequence[Any]) -> None:
        """Set the futures that the next `_start_async_commit` waits for."""
        self._futures = futures

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        """Begin to wait; call back when all processes are done."""
        number = next(AsyncManager._numbers)     # equal in all processes: they save in equal order
        self._thread = threading.Thread(
            target=self._finish, args=(self._futures, on_commit_callback, number),
            name="xfront-serialization")
        self._thread.start()

    def _finish(self, futures: Sequence[Any], called: Callable[[], None] | None, number: int
                ) -> None:
        try:
            for future in futures:
                future.result()
            self._agree(called, f"xfront/serialization/{number}")
        except BaseException as error:
            self._error = error

    def _agree(self, called: Callable[[], None] | None, name: str) -> None:
        """Call back in process 0 when all processes have written; the other processes wait."""
        together = clients.processes()
        if together is None or together.count == 1:
            if called is not None:
                called()
            return
        patience = int(self._timeout_secs * 1000)
        try:
            together.client.wait_at_barrier(f"{name}/written", patience)
            if process_index() == 0:
                said = "failed"
                try:
                    if called is not None:
                        called()
                    said = "done"
                finally:
                    together.client.key_value_set(f"{name}/commit", said)
            elif together.client.blocking_key_value_get(f"{name}/commit", patience) != "done":
                raise RuntimeError("serialize: process 0 failed when it called on_commit_callback; "
                                   "the error is raised in that process")
        except binding.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise BarrierTimeoutError(
                f"serialize: another process has not written its part within {self._timeout_secs} "
                "seconds; pass a larger timeout_secs to GlobalAsyncCheckpointManager if that is "
                "too short") from error

    def check_for_errors(self) -> None:
        """Raise the error of a write that failed in the background, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Wait until everything is written, then as `check_for_errors`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Writes arrays while the program goes on.

    Args:
      timeout_secs: number of seconds that processes wait for one another.
    """

    @front_door
    def serialize(self, arrays: Any, tensorstore_specs: Any, *,
                  on_commit_callback: Callable[[], None] | None = None, transaction: Any = None
                  ) -> None:
        """Begin to write arrays, once the previous write is finished. When this method returns, the
        arrays have been copied and may be donated.

        Args:
          arrays: tree of arrays.
          tensorstore_specs: tree of the same structure with a spec for each array.
          on_commit_callback: function without arguments that process 0 calls when all processes
            have written, or None; the next `wait_until_finished` raises its error.
          transaction: a transaction of TensorStore that everything is part of and that the caller
            commits; None writes without one.
        Raises: the error of an earlier write; and those of `tensorstore_impl.async_serialize`.
        """
        self.wait_until_finished()
        futures: list[Any] = []

        async def run() -> None:
            await asyncio.gather(*_each(
                lambda x, spec: async_serialize(x, spec, futures, transaction=transaction),
                arrays, tensorstore_specs))

        asyncio.run(run())
        self._add_futures(futures)
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(self, arrays: Sequence[Any], paths: Sequence[str], *,
                             on_commit_callback: Callable[[], None] | None = None,
                             transaction: Any = None) -> None:
        """Begin to write each array to the folder at its path; otherwise as `serialize`."""
        self.serialize(list(arrays), [get_tensorstore_spec(path) for path in paths],
                       on_commit_callback=on_commit_callback, transaction=transaction)

    @front_door
    def deserialize(self, shardings: Sequence[Any], tensorstore_specs: Sequence[Any],
                    global_shapes: Sequence[Sequence[int]] | None = None,
                    dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32) -> list[Any]:
        """Read arrays once the previous write is finished; arguments as `run_deserialization`."""
        self.wait_until_finished()
        return run_deserialization(shardings, tensorstore_specs, global_shapes, dtypes,
                                   concurrent_gb)

    def deserialize_with_paths(self, shardings: Sequence[Any], paths: Sequence[str],
                               global_shapes: Sequence[Sequence[int]] | None = None,
                               dtypes: Sequence[Any] | None = None, concurrent_gb: int = 32
                               ) -> list[Any]:
        """Read each array from the folder at its path; otherwise as `deserialize`."""
        return self.deserialize(shardings, [get_tensorstore_spec(path) for path in paths],
                                global_shapes, dtypes, concurrent_gb)


__all__ = ["AsyncManager", "BarrierTimeoutError", "GlobalAsyncCheckpointManager",
           "GlobalAsyncCheckpointManagerBase", "async_deserialize", "async_serialize",
           "get_tensorstore_spec", "is_remote_storage", "run_deserialization", "run_serialization"]
__dir__ = _shown(globals())

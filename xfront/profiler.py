"""Profiles of the time and the memory that a program uses, recorded by XLA's profiler.

    with profiler.trace("/tmp/profile"):
        for step in range(3):
            with profiler.StepTraceAnnotation("train", step_num=step):
                params = train_step(params).block_until_ready()

The profile is then in the folder `plugins/profile/<time>` below it; XProf, TensorBoard and
ui.perfetto.dev show it.
"""

from __future__ import annotations

import functools
import gzip
import os
import shutil
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lowering import clients
from lowering.profiling import (
    ProfileData,
    ProfileEvent,
    ProfileOptions,
    ProfilePlane,
    ProfilerServer,
    ProfilerSession,
    TraceMe,
    register_subprocess,
)
from lowering.profiling import start_server as _start_server

from .arrays.arguments import only
from .on_demand import shown as _shown

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = threading.Lock()
_running: tuple[ProfilerSession, Path, bool] | None = None
_server: ProfilerServer | None = None


def start_trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> None:
    """Begin to record a profile; `stop_trace` writes it.

    Args:
      log_dir: path of the folder for profiles, which is made where it does not exist.
      create_perfetto_link: False only.
      create_perfetto_trace: whether `perfetto_trace.json.gz` is written too, which ui.perfetto.dev
        opens.
      profiler_options: the ProfileOptions that say what is recorded; None means the default ones.
    Raises: RuntimeError where a profile is being recorded already; NotImplementedError for
      `create_perfetto_link`.
    """
    global _running
    only("start_trace", False, "pass create_perfetto_trace=True, and open the file in "
         "ui.perfetto.dev", create_perfetto_link=create_perfetto_link)
    with _LOCK:
        if _running is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at "
                               "a time.")
        clients.default_client()                 # a device has a tracer only once its client exists
        session = ProfilerSession() if profiler_options is None else ProfilerSession(
            profiler_options)
        _running = session, Path(log_dir), create_perfetto_trace


def stop_trace() -> None:
    """End the recording that `start_trace` began, and write the profile.

    Raises: RuntimeError where no profile is being recorded.
    """
    global _running
    with _LOCK:
        if _running is None:
            raise RuntimeError("No profile started: call start_trace first")
        session, folder, for_perfetto = _running
        _running = None
        session.stop_and_export(str(folder))     # pyright: ignore[reportArgumentType]
        if for_perfetto:
            made = max(folder.glob("plugins/profile/*/*.trace.json.gz"), key=os.path.getmtime)
            shutil.copyfile(made, made.parent / "perfetto_trace.json.gz")


@contextmanager
def trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False,
          create_perfetto_trace: bool = False, profiler_options: ProfileOptions | None = None
          ) -> Generator[None, None, None]:
    """A context that records a profile of a block of code; arguments as for `start_trace`."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation(TraceMe):
    """A context that names a block of code on the time line of its thread.

    Keyword arguments after the name are shown with it.

    >>> with xfront.profiler.TraceAnnotation("load", file=3):
    ...     x = jnp.ones(3)
    """


class StepTraceAnnotation(TraceAnnotation):
    """A context for a step that tools count: `StepTraceAnnotation("train", step_num=i)`.

    >>> with xfront.profiler.StepTraceAnnotation("train", step_num=1):
    ...     jnp.sin(0.5)
    Array(0.479, dtype=float32, weak_type=True)
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: F, name: str | None = None, **decorator_kwargs: Any) -> F:
    """`func` with each call in a `TraceAnnotation`, named `name` or, where that is None, as `func`.

    >>> xfront.profiler.annotate_function(jnp.sin, name="wave")(0.5)
    Array(0.479, dtype=float32, weak_type=True)
    """
    name = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated  # type: ignore[return-value]


def start_server(port: int, requires_backend: bool = True) -> ProfilerServer:
    """A server from which other programs take profiles of this one.

    Args:
      port: number of the port on which the server listens.
      requires_backend: whether the default platform's client is made first, so that profiles have
        its devices.
    Raises: ValueError where there is a server already.
    """
    global _server
    if _server is not None:
        raise ValueError("Only one profiler server can be active at a time.")
    if requires_backend:
        clients.default_client()
    _server = _start_server(port)
    return _server


def stop_server() -> None:
    """Stop the server that `start_server` started. Raises: ValueError where there is none."""
    global _server
    if _server is None:
        raise ValueError("No active profiler server.")
    _server = None


def device_memory_profile(backend: str | None = None) -> bytes:
    """A profile of the memory of a platform's devices, in the format of pprof.

    It says which arrays and programs there are, and where they were made.
    """
    return gzip.compress(clients.client(backend).heap_profile())


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None
                               ) -> None:
    """Write `device_memory_profile` to a file."""
    Path(filename).write_bytes(device_memory_profile(backend))


__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation",
    "TraceAnnotation", "annotate_function", "device_memory_profile", "register_subprocess",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace",
    "trace",
]
__dir__ = _shown(globals())

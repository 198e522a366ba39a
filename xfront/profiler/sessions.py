"""What `xfront.profiler` offers, whose file says how it is used."""

from __future__ import annotations

import functools
import gzip
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lowering import clients
from lowering.profiling import (
    ProfileData,
    ProfileEvent,
    ProfileLine,
    ProfileOptions,
    ProfilePlane,
    ProfilerServer,
    ProfilerSession,
    TraceMe,
    register_subprocess,
)
from lowering.profiling import start_server as _start_server

from ..base.on_demand import public as _public
from ..values.arguments import only

F = TypeVar("F", bound=Callable[..., Any])

_LOCK = threading.Lock()
_running: ProfileSession | None = None
_sessions: weakref.WeakSet[ProfileSession] = weakref.WeakSet()
_server: ProfilerServer | None = None


class ProfileSession:
    """A recording of a profile, from `start` to `stop`, which may be written to a folder.

    As a context it records a block of code.

    Args:
      log_dir: path of the folder for profiles to which `stop` writes the profile; None keeps it in
        memory alone, as `profile_data`.
      create_perfetto_link: False only.
      create_perfetto_trace: whether `perfetto_trace.json.gz` is written too, which ui.perfetto.dev
        opens.
      profiler_options: the ProfileOptions that say what is recorded; None means the default ones.
    Raises: NotImplementedError for `create_perfetto_link`.

    >>> with xfront.profiler.ProfileSession() as session:
    ...     _ = jnp.sin(jnp.ones(3)).block_until_ready()
    >>> session.profile_data.find_plane_with_name("/host:CPU").name
    '/host:CPU'
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None,
                 create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                 profiler_options: ProfileOptions | None = None) -> None:
        _no_link("ProfileSession", create_perfetto_link)
        self._folder = None if log_dir is None else Path(log_dir)
        self._for_perfetto, self._options = create_perfetto_trace, profiler_options
        self._session: ProfilerSession | None = None
        self._recorded: bytes | None = None
        self.profile_data: ProfileData | None = None

    @property
    def is_running(self) -> bool:
        """Whether the profile is being recorded."""
        return _running is self

    def start(self) -> None:
        """Begin to record. Raises: RuntimeError where a profile is being recorded already."""
        global _running
        with _LOCK:
            if _running is not None:
                raise RuntimeError("Profile has already been started. Only one profile may be run "
                                   "at a time.")
            clients.default_client()             # a device has a tracer only once its client exists
            self._session = (ProfilerSession() if self._options is None
                             else ProfilerSession(self._options))
            _running = self

    def stop(self) -> ProfileData:
        """End the recording; write it to `log_dir`, where that was given. Raises: RuntimeError
        where this session is not recording."""
        global _running
        with _LOCK:
            if _running is not self or self._session is None:
                raise RuntimeError("No profile started: call start first")
            _running = None
            self._recorded = self._session.stop()
            self.profile_data = ProfileData.from_serialized_xspace(self._recorded)
            _sessions.add(self)
        if self._folder is not None:
            self.export_profile_data(self._folder, create_perfetto_trace=self._for_perfetto)
        return self.profile_data

    def export_profile_data(self, log_dir: str | os.PathLike[str],
                            create_perfetto_link: bool = False,
                            create_perfetto_trace: bool = False, session_id: str | None = None
                            ) -> None:
        """Write the recorded profile; arguments as in the function `export_profile_data`. Raises:
        RuntimeError where nothing was recorded yet."""
        _no_link("export_profile_data", create_perfetto_link)
        if self._session is None or self._recorded is None:
            raise RuntimeError("No profile data to export: stop the session first")
        with tempfile.TemporaryDirectory() as place:
            self._session.export(self._recorded, place)
            (made,) = Path(place).glob("plugins/profile/*")
            if create_perfetto_trace:
                (trace,) = made.glob("*.trace.json.gz")
                shutil.copyfile(trace, made / "perfetto_trace.json.gz")
            shutil.copytree(made, Path(log_dir) / "plugins" / "profile" / (session_id or made.name),
                            dirs_exist_ok=True)

    def __enter__(self) -> ProfileSession:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _no_link(function: str, create_perfetto_link: Any) -> None:
    only(function, False, "pass create_perfetto_trace=True, and open the file in ui.perfetto.dev",
         create_perfetto_link=create_perfetto_link)


def export_profile_data(profile_data: ProfileData | ProfileSession,
                        log_dir: str | os.PathLike[str], create_perfetto_link: bool = False,
                        create_perfetto_trace: bool = False, session_id: str | None = None) -> None:
    """Write what a `ProfileSession` has recorded to a folder.

    Args:
      profile_data: a session that has been stopped, or its `profile_data`, while the session lives.
      log_dir: path of the folder for profiles, which is made where it does not exist.
      create_perfetto_link: False only.
      create_perfetto_trace: whether `perfetto_trace.json.gz` is written too.
      session_id: name of the folder of this profile below `plugins/profile`; the time if None.
    Raises: TypeError where `profile_data` is neither; RuntimeError where nothing was recorded yet;
      NotImplementedError for `create_perfetto_link`, and for data of no session.
    """
    if not isinstance(profile_data, (ProfileData, ProfileSession)):
        raise TypeError("export_profile_data: expected a ProfileData or a ProfileSession, got "
                        f"{profile_data!r}")
    session = profile_data if isinstance(profile_data, ProfileSession) else next(
        (s for s in list(_sessions) if s.profile_data is profile_data), None)
    if session is None:
        raise NotImplementedError("export_profile_data: jaxlib writes no ProfileData; give the "
                                  "ProfileSession that recorded it, and keep that")
    session.export_profile_data(log_dir, create_perfetto_link, create_perfetto_trace, session_id)


def start_trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> ProfileSession:
    """Begin to record a profile; `stop_trace` writes it.

    Args:
      log_dir: path of the folder for profiles, which is made where it does not exist.
      create_perfetto_link: False only.
      create_perfetto_trace: whether `perfetto_trace.json.gz` is written too, which ui.perfetto.dev
        opens.
      profiler_options: the ProfileOptions that say what is recorded; None means the default ones.
    Returns: the session that records.
    Raises: RuntimeError where a profile is being recorded already; NotImplementedError for
      `create_perfetto_link`.
    """
    _no_link("start_trace", create_perfetto_link)
    session = ProfileSession(log_dir, False, create_perfetto_trace, profiler_options)
    session.start()
    return session


def stop_trace() -> ProfileData:
    """End the recording that `start_trace` began, and write the profile.

    Returns: what was recorded.
    Raises: RuntimeError where no profile is being recorded.
    """
    session = _running
    if session is None:
        raise RuntimeError("No profile started: call start_trace first")
    return session.stop()


@contextmanager
def trace(log_dir: str | os.PathLike[str], create_perfetto_link: bool = False,
          create_perfetto_trace: bool = False, profiler_options: ProfileOptions | None = None
          ) -> Generator[ProfileSession, None, None]:
    """A context that records a profile of a block of code; arguments as for `start_trace`."""
    session = start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield session
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
    "ProfileData", "ProfileEvent", "ProfileLine", "ProfileOptions", "ProfilePlane",
    "ProfileSession", "StepTraceAnnotation", "TraceAnnotation", "annotate_function",
    "device_memory_profile", "export_profile_data", "register_subprocess",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace",
    "trace",
]
_public("xfront.profiler", globals())

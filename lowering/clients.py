"""PJRT clients, one for each platform, made at first use; and the choice of the default platform.

The default is the first usable platform of XFRONT_PLATFORMS (or JAX_PLATFORMS) where that is set;
else an accelerator that is installed and present; else the CPU.
"""

from __future__ import annotations

import os
import threading
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from . import disk_cache, plugins

if TYPE_CHECKING:
    from .processes import Processes

ALIASES = {"gpu": ("cuda", "rocm"), "cuda": ("cuda",), "rocm": ("rocm",), "tpu": ("tpu",),
           "cpu": ("cpu",)}

_LOCK = threading.RLock()
_CLIENTS: dict[str, Any] = {}
_FAILURES: dict[str, str] = {}
_default: str | None = None
_platforms: str | None = None
_of_cpu: dict[str, Any] = {"cpu_devices": None, "keep_freed_memory": False, "asynchronous": True}
_SHOWN = {"cpu_devices": "the number of CPU devices", "asynchronous": "cpu_enable_async_dispatch"}
"""What errors call an option of CPU clients, where that is not its name."""
_visible = {"cuda": "all", "rocm": "all"}
_processes: Processes | None = None
_between_processes: dict[str, Any] = {}


def configure(*, platforms: str | None = None, cpu_devices: int | None = None,
              keep_freed_memory: bool | None = None, asynchronous: bool | None = None,
              visible: dict[str, str] | None = None,
              between_processes: dict[str, Any] | None = None) -> None:
    """Set options of clients that do not exist yet; None leaves an option as it is.

    Args:
      platforms: comma-separated; the first one is the default.
      cpu_devices: number of virtual CPU devices.
      keep_freed_memory: whether freed memory stays with the process (allocation.py).
      asynchronous: whether programs on CPU run beside Python.
      visible: the devices to use by platform: "all", or their numbers.
      between_processes: `collectives` and `topology_minutes` of `compat.cpu_client`.
    Raises: RuntimeError where a client that an option concerns exists already, unless the default
      platform is the one in use.
    """
    global _platforms
    with _LOCK:
        if platforms is not None:
            if _default is None:
                _platforms = platforms or None
            elif (platforms or None) != _platforms and _default not in _first_of(platforms):
                raise RuntimeError("platforms must be chosen before the first use of a device")
        for name, wanted in (("cpu_devices", cpu_devices), ("asynchronous", asynchronous),
                             ("keep_freed_memory", keep_freed_memory)):
            if wanted is None:
                continue
            if name == "cpu_devices":
                wanted = wanted if wanted > 0 else None
            if "cpu" in _CLIENTS and wanted != _of_cpu[name]:
                raise RuntimeError(f"{_SHOWN.get(name, name)} must be chosen before the first use "
                                   "of a CPU device")
            _of_cpu[name] = wanted
        if between_processes and "cpu" in _CLIENTS and _processes is not None:
            raise RuntimeError("the collectives between CPU devices of several processes must be "
                               "chosen before the first use of a CPU device")
        _between_processes.update(between_processes or {})
        for name, devices in (visible or {}).items():
            if name in _CLIENTS and devices != _visible[name]:
                raise RuntimeError(f"{name}_visible_devices must be chosen before the first use of "
                                   "such a device")
            _visible[name] = devices


def join(processes: Processes | None) -> None:
    """Make clients include the devices of several processes; None: of this process alone.

    Raises: RuntimeError where a client exists already.
    """
    global _processes
    with _LOCK:
        if _CLIENTS and processes is not None:
            raise RuntimeError("processes must be joined before the first use of a device")
        _processes = processes


def processes() -> Processes | None:
    """This process among those that `join` was given; None where it is alone."""
    return _processes


def _first_of(platforms: str) -> tuple[str, ...]:
    """The platforms that the first of a list of them may stand for."""
    first = platforms.lower().split(",")[0].strip()
    return ALIASES.get(first, (first,))


def is_known(platform: str) -> bool:
    """Whether a platform has this name."""
    return platform in ALIASES or plugins.is_known(platform)


def client(platform: str | None = None) -> Any:
    """The PJRT client of a platform (`cpu`, `gpu`, `cuda`, `rocm`, `tpu`), or the default one.

    Raises: RuntimeError where the platform is unknown or cannot be used.
    """
    if platform is None:
        return default_client()
    found = _CLIENTS.get(platform)
    if found is not None:
        return found
    if not is_known(platform):
        raise RuntimeError(f"Unknown backend: platform {platform!r}; the known platforms are "
                           f"{', '.join(ALIASES)}")
    with _LOCK:
        reasons = []
        for name in ALIASES.get(platform, (platform,)):
            made = _CLIENTS.get(name) or _try(name)
            if made is not None:
                return made
            reasons.append(f"{name}: {_FAILURES[name]}")
    raise RuntimeError(f"Unknown backend: platform {platform!r} cannot be used "
                       f"({'; '.join(reasons)})")


def default_client() -> Any:
    """The client of the default platform."""
    global _default
    if _default is None:
        with _LOCK:
            if _default is None:
                _default = _choose()
    return _CLIENTS[_default]


def default_backend() -> str:
    """Name of the default platform: `cpu`, `gpu` or `tpu`."""
    name = default_client().platform
    return "gpu" if name in ("cuda", "rocm") else name


def platform_of(device: Any) -> str:
    """The platform to lower for: `cpu`, `cuda`, `rocm` or `tpu`. `device.platform` is `gpu` for two
    of them."""
    return device.client._raw_platform


def device_kind(device: Any) -> str:
    """The kind of a device. A program compiled for one device runs on all devices of its kind: the
    kind names the version of the plugin and its settings too."""
    kind = f"{device.platform}:{device.device_kind}"
    if device.platform == "cpu":
        return kind
    settings = os.environ.get("LIBTPU_INIT_ARGS", "") if device.platform == "tpu" else ""
    return f"{kind}:{device.client.platform_version}:{settings}"


def is_initialized() -> bool:
    """Whether any client exists."""
    return bool(_CLIENTS)


def existing() -> dict[str, Any]:
    """The clients that exist, by platform."""
    return dict(_CLIENTS)


def clear() -> None:
    """Forget all clients; the next use makes new ones. Existing arrays keep their old clients."""
    global _default
    with _LOCK:
        _CLIENTS.clear()
        _FAILURES.clear()
        _default = None


def _choose() -> str:
    asked = _platforms or os.environ.get("XFRONT_PLATFORMS") or os.environ.get("JAX_PLATFORMS")
    if asked:
        given = [word.strip() for word in asked.lower().split(",") if word.strip()]
        names = [name for word in given for name in ALIASES.get(word, (word,))]
        for name in names:
            if _CLIENTS.get(name) or _try(name):
                return name
        reasons = "; ".join(f"{n}: {_FAILURES[n]}" for n in names)
        raise RuntimeError(f"none of the requested platforms ({asked}) can be used ({reasons})")
    for name in plugins.present():
        if _try(name):
            return name
    _try("cpu")
    return "cpu"


def _try(name: str) -> Any:
    """Make the client of a platform; if that fails, record why in `_FAILURES` and return None."""
    from . import compat  # jaxlib is imported with the first client

    if name in _FAILURES:
        return None
    if name == "cpu" and _of_cpu["keep_freed_memory"]:
        from .allocation import keep_freed_memory  # few processes need it

        keep_freed_memory()
    disk_cache.flags_were_read()
    try:
        made = (compat.cpu_client(_cpu_count(), _of_cpu["asynchronous"], _processes,
                                  **_between_processes)
                if name == "cpu" else
                plugins.make_client(name, _visible.get(name, "all"), _processes))
    except Exception as e:      # a plugin's loader may raise any exception
        if name == "cpu":
            raise
        _FAILURES[name] = str(e) or type(e).__name__
        return None
    _CLIENTS[name] = made
    _warn_at_forks()
    return made


@cache
def _warn_at_forks() -> None:
    """Have each later fork of this process warn: a child has the clients but not their threads."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_warn_of_fork)


def _warn_of_fork() -> None:
    if _CLIENTS:
        warnings.warn(
            "os.fork() was called after xfront had made a client for a device. The client's "
            "threads are not there in the child, which waits for ever where it computes with "
            "xfront; start processes with multiprocessing.get_context('spawn') or 'forkserver'.",
            RuntimeWarning, stacklevel=2)


def _cpu_count() -> int | None:
    if _of_cpu["cpu_devices"] is not None:
        return _of_cpu["cpu_devices"]
    text = os.environ.get("XFRONT_NUM_CPU_DEVICES") or os.environ.get("JAX_NUM_CPU_DEVICES")
    count = int(text) if text and text.lstrip("-").isdigit() else 0
    return count if count > 0 else None

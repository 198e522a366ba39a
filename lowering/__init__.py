"""From IR to running programs: lowering rules, PJRT clients, compilation, caches, execution.

`compile_function` is the main door: it looks a program up among the live ones and in the cache on
disk, and lowers and compiles it only where both miss. `lower` always lowers, so that the module it
shows has the locations of the Function it was given. Importing this package does not import jaxlib.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from xfront_ir.core import Function

from . import clients, disk_cache
from .partitioning import Partition
from .topologies import is_described

if TYPE_CHECKING:
    from .executable import Callbacks, Executable
    from .forms.extras import Extras
    from .forms.inspection import TakenForm
    from .module import Built

__all__ = ["LoweredModule", "as_compiled", "compile_function", "deserialize", "lower", "needed"]

_LIVE: weakref.WeakValueDictionary[str, Executable] = weakref.WeakValueDictionary()


class LoweredModule:
    """A Function lowered to StableHLO; `module` is the MLIR module."""

    def __init__(self, function: Function, built: Built, name: str, platform: str,
                 partition: Partition, extras: Extras, donated: Sequence[int]) -> None:
        self.function, self.name, self.platform = function, name, platform
        self.donated = tuple(donated)
        self.partition, self.extras, self._built = partition, extras, built

    @property
    def module(self) -> Any:
        """The MLIR module (of jaxlib's bindings)."""
        return self._built.module

    @property
    def callbacks(self) -> list[Any]:
        """The host calls in the program, by index."""
        return self._built.callbacks

    def as_text(self, debug_info: bool = False) -> str:
        """StableHLO text, with locations if `debug_info`."""
        return self.module.operation.get_asm(enable_debug_info=debug_info)

    @property
    def forms(self) -> list[TakenForm]:
        """The ops that take a form for the platform, in program order; a body is listed once."""
        from .forms.inspection import described
        from .forms.placing import taken

        return [described(op, form) for op, form in taken(self.function_written)]

    @property
    def function_written(self) -> Function:
        """The Function from which the module was written: `function` with its extras."""
        return self._built.function

    def as_hlo_text(self) -> str:
        """HLO text before XLA's optimisation."""
        return self.as_hlo().as_hlo_text()

    def as_hlo(self) -> Any:
        """XLA's computation before its optimisation."""
        from . import compat

        return compat.unoptimized_hlo(self.module)

    def compile(self, *, options: Any = (), effort: str = "jit",
                devices: Sequence[Any] | None = None,
                callbacks: Callbacks = ()) -> Executable:
        """Compile and load the module. The arguments are those of `compile_function`."""
        from .compile import all_options

        devices = _devices(devices, self.partition)
        overrides = all_options(effort, self.function, self.platform, options, self.extras)
        return _compile(self._built, self.name, devices, overrides, self.partition, callbacks)


def lower(function: Function, *, name: str | None = None, donated: Sequence[int] = (),
          platform: str = "cpu", partition: Partition | None = None,
          extras: Extras | None = None) -> LoweredModule:
    """Lower a Function to StableHLO.

    Args:
      function: what to lower.
      name: of the program, in profiles and in the module's name `jit_<name>`.
      donated: positions of parameters whose buffers the program may overwrite.
      platform: `cpu`, `cuda`, `rocm` or `tpu`.
      partition: how the program is divided between several devices.
      extras: fences and forms that the platform gets beyond plain StableHLO; none if None.
    Raises: MissingRule where an op has no lowering.
    """
    from .forms.extras import NOTHING
    from .module import build_module

    partition, extras = partition or Partition(), extras or NOTHING
    name = name or function.name
    built = build_module(function, name=name, platform=platform, donated=donated,
                         partition=partition, extras=extras)
    return LoweredModule(function, built, name, platform, partition, extras, donated)


def as_compiled(lowered: LoweredModule, effort: str = "jit", devices: int = 1) -> LoweredModule:
    """The same program with the extras that it gets when it is compiled for that many devices."""
    from .forms.extras import extras

    chosen = extras(effort, lowered.platform, devices)
    return lowered if chosen == lowered.extras else lower(
        lowered.function, name=lowered.name, donated=lowered.donated, platform=lowered.platform,
        partition=lowered.partition, extras=chosen)


def needed(platform: str) -> Extras:
    """The extras without which programs do not compile on a platform, or compute wrong values."""
    from .forms.extras import ALWAYS, NOTHING

    return ALWAYS.get(platform, NOTHING)


def compile_function(function: Function, *, name: str | None = None,
                     fingerprint: bytes | None = None, donated: Sequence[int] = (),
                     options: Any = (), devices: Sequence[Any] | None = None,
                     callbacks: Callbacks = (), effort: str = "jit",
                     partition: Partition | None = None,
                     on_lowered: Callable[[float], Any] | None = None) -> Executable:
    """The executable of a Function: a live one, one from disk, or one that is compiled now.

    Args:
      function: what to compile.
      name: as for `lower`.
      fingerprint: of `function`; None bypasses all caches.
      donated: as for `lower`.
      options: XLA debug options by name, a mapping or pairs.
      devices: where it runs; the default platform's first device(s) if None.
      callbacks: host functions by slot; a program that calls them is not cached.
      effort: `jit`, `eager` (tiny programs compile faster) or `fast` (all programs compile faster
        and run slower).
      partition: how it is divided between `devices`.
      on_lowered: called with the seconds that it took to lower, where no cache had the program.
    Raises: MissingRule, ValueError, and JaxRuntimeError with XLA's message.
    """
    from . import dump
    from .compile import all_options, is_tiny
    from .forms.extras import extras

    partition = partition or Partition()
    places = _devices(devices, partition)
    first = places[0]
    platform = clients.platform_of(first)
    name = name or function.name
    chosen = extras(effort, platform, len(places), tiny=is_tiny(function))
    overrides = all_options(effort, function, platform, options, chosen)
    key = None
    if fingerprint is not None and not callbacks and not is_described(first):
        key = disk_cache.key(fingerprint, (
            name, tuple(donated), overrides, chosen, *_where(places), partition))
        found = find(key, overrides, places, partition)
        if found is not None:
            return found
    start = time.perf_counter()
    lowered = lower(function, name=name, donated=donated, platform=platform,
                    partition=partition, extras=chosen)
    if on_lowered is not None:
        on_lowered(time.perf_counter() - start)
    if dump.is_on():
        dump.write(lowered)
    start = time.perf_counter()
    made = _compile(lowered._built, name, places, overrides, partition, callbacks)
    seconds = time.perf_counter() - start
    if key is not None and not made.has_callbacks:
        made.key = key
        if disk_cache.is_enabled():
            header = {"name": name, "requirements": list(made.requirements)}
            disk_cache.store(key, header, made.serialize(), seconds)
        made = _LIVE.setdefault(_live_key(key, places), made)
    return made


def find(key: str, overrides: Any, devices: Sequence[Any], partition: Partition | None = None
         ) -> Executable | None:
    """The program compiled under `key` with these XLA options; None if neither alive nor on disk.
    """
    from . import dump

    live_key = _live_key(key, devices)
    found = _LIVE.get(live_key)
    if found is None and not dump.is_on():
        found = _from_disk(key, devices, overrides, partition or Partition())
        if found is not None:
            found.key = key
            found = _LIVE.setdefault(live_key, found)
    return found


def _where(devices: Sequence[Any]) -> tuple[Any, ...]:
    """The part of a key that describes the devices."""
    return (clients.device_kind(devices[0]), len(devices),
            tuple(d.id for d in devices) if len(devices) > 1 else ())


def _live_key(key: str, devices: Sequence[Any]) -> str:
    return f"{key}{tuple(d.id for d in devices)}{id(devices[0].client)}"


def deserialize(blob: bytes, *, name: str = "main", devices: Sequence[Any] | None = None,
                options: Any = (), partition: Partition | None = None,
                requirements: Sequence[str] = ()) -> Executable:
    """Load the bytes of `Executable.serialize` on devices of the kind they were compiled for.

    The bytes are machine code: load only bytes that you trust.
    Raises: JaxRuntimeError where the bytes are not an executable.
    """
    from . import compat
    from .compile import load_serialized, normalize_options
    from .executable import Executable

    partition = partition or Partition()
    devices = _devices(devices, partition)
    overrides = normalize_options(options)
    compat.meet(requirements)
    loaded = load_serialized(blob, devices, overrides, partition)
    return Executable(loaded, name, devices, overrides, partition, requirements, lambda: blob)


def _devices(devices: Sequence[Any] | None, partition: Partition) -> tuple[Any, ...]:
    count = partition.num_replicas * partition.num_partitions
    found = clients.default_client().local_devices()[:count] if devices is None else devices
    if len(found) != count:
        raise ValueError(f"the program runs on {count} devices, but {len(found)} were given")
    return tuple(found)


def _from_disk(key: str, devices: Sequence[Any], overrides: Any, partition: Partition
               ) -> Executable | None:
    """The program of that key, or None where the disk has no such program or it fails to load."""
    from . import compat
    from .compile import load_serialized
    from .executable import Executable

    entry = disk_cache.load(key)
    if entry is None:
        return None
    header, blob = entry
    try:
        requirements = [str(r) for r in header["requirements"]]
        if not compat.meet(requirements):
            return None
        loaded = load_serialized(blob, devices, overrides, partition)
        return Executable(loaded, str(header["name"]), devices, overrides, partition, requirements,
                          partial(_bytes_on_disk, key))
    except (KeyError, TypeError, compat.RuntimeFailure):
        disk_cache.forget(key)
        return None


def _bytes_on_disk(key: str) -> bytes | None:
    from . import disk_cache

    entry = disk_cache.load(key)
    return entry and entry[1]


def _compile(built: Built, name: str, devices: Sequence[Any], overrides: Any,
             partition: Partition, callbacks: Callbacks) -> Executable:
    from .compile import compile_module
    from .executable import (
        DescribedExecutable,
        Executable,
        HostCallExecutable,
        SpreadHostCallExecutable,
        for_runtime,
        host_calls,
    )

    described = is_described(devices[0])
    hosts = [] if described else host_calls(built.callbacks, callbacks)
    taken = for_runtime(devices[0].client, hosts, built.callbacks) if hosts else []
    loaded = compile_module(built, devices, overrides, partition, taken)
    requirements = sorted(built.requirements)
    if hosts:
        together = len(devices) > 1 and len({d.process_index for d in devices}) == 1
        kind = SpreadHostCallExecutable if together else HostCallExecutable
        return kind(loaded, name, devices, overrides, partition, requirements, built.callbacks,
                    hosts)
    made = DescribedExecutable if described else Executable
    return made(loaded, name, devices, overrides, partition, requirements)

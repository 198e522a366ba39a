"""Limits how many programs run at once on virtual CPU devices that outnumber the cores.

The parts of a program that exchange values wait for one another in the threads of one pool, which
has a thread for each device. C++ lets 32 programs begin; further calls wait in these threads too,
and on jaxlib 0.10 and 0.11 everything then stops. A pool twice as large does not stop, but each
call takes twice as long. So the pool stays as it is, and Python waits for every few programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from lowering import compat

from ..arrays import binding
from ..arrays.keys import KeyArray

UNDER_WAY = 16
"""The number of programs that begin before Python waits for one."""

_begun = 0
_set: Callable[..., None] | None = None
"""The hook that was set last."""


def begin(devices: Sequence[Any]) -> bool:
    """Whether programs on these devices are paced. Where they are, programs that C++ runs alone are
    paced too from now on."""
    if not compat.COLLECTIVES_NEED_THREADS or len(devices) == 1 or devices[0].platform != "cpu":
        return False
    threads = int(os.environ.get("NPROC") or os.cpu_count() or 1)
    here = devices[0].client.process_index()
    needed = 2 * sum(d.process_index == here for d in devices) > threads
    if needed:
        _hook()
    return needed


def _hook() -> None:
    """Have `_called` run after each call, beside a hook that stands there already: C++ has one."""
    global _set
    standing = binding.post_hook_state.get_global()
    if standing is None:
        _set = _called
    elif standing is not _set:
        def both(*call: Any) -> None:
            standing(*call)
            _called(*call)

        _set = both
    binding.post_hook_state.set_global(_set)


def begun(results: Sequence[Any]) -> None:
    """Count a program that has begun, by its results, and wait for it where it is time. Programs
    that C++ runs count on any device, but Python waits for none that runs on a single one."""
    global _begun
    _begun += 1
    if _begun >= UNDER_WAY:
        _wait(results)


def _wait(results: Sequence[Any]) -> None:
    global _begun
    spread = [x for x in results if isinstance(x, binding.ArrayImpl | KeyArray)
              and not isinstance(x.sharding, binding.SingleDeviceSharding)]
    if spread:
        _begun = 0
    for x in spread:
        with suppress(compat.RuntimeFailure):    # the program failed, or its result was deleted
            x.block_until_ready()


def _called(function: Any, args: tuple, kwargs: dict[str, Any], result: Any) -> None:
    """Called from C++ after each call that it has run alone."""
    global _begun
    _begun += 1
    if _begun >= UNDER_WAY:
        _wait(binding.dispatch_registry.flatten(result)[0])

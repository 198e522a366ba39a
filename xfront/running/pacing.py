"""Limits how many programs run at once on virtual CPU devices that outnumber the cores.

The parts of a program that exchange values wait for one another in the threads of one pool, which
has a thread for each device. C++ lets 32 programs begin; further calls wait in these threads too,
and on jaxlib 0.10 and 0.11 everything then stops. A pool twice as large does not stop, but each
call takes twice as long. So the pool stays as it is. Once a program exists whose parts wait for one
another, Python counts all programs, because one without exchanges may wait for the results of one
with them. After every few programs it waits for the one at which it counted so far the last time,
which has usually ended.
"""

# hot: benchmarks/sharding.py

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from lowering import compat

from .. import binding
from ..values.keys import KeyArray

if TYPE_CHECKING:
    from lowering.executable import Executable

EVERY = 14
"""Python waits at every so many programs, for the one that began as many programs before."""

LARGEST = 1 << 16
"""The greatest size in bytes of a result that is kept to be waited for. Where a program has none so
small, Python waits for this program at once."""

_begun = 0
_kept: Any = None
"""A result of the last program at which Python came to wait."""
_set: Callable[..., None] | None = None
"""The hook that was set last."""


def begin(executable: Executable) -> bool:
    """Whether programs on the devices of this one are to be counted, because these are virtual and
    outnumber the cores. If this one exchanges values, those that C++ runs alone count from now on
    too."""
    devices = executable.devices
    if not compat.COLLECTIVES_NEED_THREADS or len(devices) == 1 or devices[0].platform != "cpu":
        return False
    threads = int(os.environ.get("NPROC") or os.cpu_count() or 1)
    here = devices[0].client.process_index()
    needed = 2 * sum(d.process_index == here for d in devices) > threads
    if needed and executable.exchanges():
        _hook()
    return needed


def _hook() -> None:
    """Make C++ call `_called` after each call. C++ has one hook, so one that is set already is
    called as well."""
    global _begun, _set
    standing = binding.post_hook_state.get_global()
    if _set is None:
        _begun = EVERY                           # nobody has counted those that are under way
    if standing is None:
        _set = _called
    elif standing is not _set:
        def both(*call: Any) -> None:
            standing(*call)
            _called(*call)

        _set = both
    binding.post_hook_state.set_global(_set)


def begun(results: Sequence[Any]) -> None:
    """Count a program that Python has begun, by its results, and wait where it is time."""
    global _begun
    _begun += 1
    if _begun >= EVERY and _set is not None:
        _wait(results)


def _called(function: Any, args: tuple, kwargs: dict[str, Any], result: Any) -> None:
    """Called from C++ after each call that it has run alone."""
    global _begun
    _begun += 1
    if _begun >= EVERY:
        _wait((result,) if type(result) is binding.ArrayImpl
              else binding.dispatch_registry.flatten(result)[0])


def _wait(results: Sequence[Any]) -> None:
    """Wait for the program whose result was kept, or else for the one with these results."""
    global _begun, _kept
    least = min([x for x in results if _is_divided(x)], key=_size, default=None)
    if least is None:
        return                                   # no result is divided: wait at the next one
    _begun = 0
    earlier, _kept = _kept, least if least.nbytes <= LARGEST else None
    if earlier is None or _kept is None or not _ended(earlier):
        _ended(least)


_size = attrgetter("nbytes")


def _is_divided(x: Any) -> bool:
    """Whether the program that gives `x` ends behind earlier ones on several devices."""
    return (isinstance(x, binding.ArrayImpl | KeyArray)
            and type(x.sharding) is not binding.SingleDeviceSharding)


def _ended(result: Any) -> bool:
    """Wait for a program by a result of it; False where the result was deleted."""
    try:
        result.block_until_ready()
    except compat.RuntimeFailure:                # the program failed, if its result is still there
        return not result.is_deleted()
    return True

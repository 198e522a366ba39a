"""Options that look at traces and programs: logs, checks, and refusals to trace."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xfront_ir.core import Function
from xfront_ir.locations import capture as capture_location

from .. import binding
from ..base import monitoring
from ..base.config import (
    check_tracer_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    enable_checks,
    log_compiles,
)
from ..base.errors import UnexpectedTracerError
from ..values.keys import KeyArray
from .tracer import Tracer

if TYPE_CHECKING:
    from .recording import Recording


# --- traces ---------------------------------------------------------------------------------

def refuse_tracing(name: str, kind: str) -> None:
    """Raise the RuntimeError that the option no_tracing asks for."""
    raise RuntimeError(f"re-tracing function {name} for `{kind}`, but 'no_tracing' is set")


def traced(trace: Recording, function: Function, seconds: float, is_outermost: bool) -> None:
    """Log, record and check a trace that has been closed, as the options say.

    Raises: UnexpectedTracerError where one of its tracers is still alive; VerifyError where its
      Function is not valid.
    """
    if log_compiles.value:
        from ..base import logs  # seldom needed

        logs.write(logs.DISPATCH, True, f"Finished tracing {function.name} for "
                   f"{trace.kind} in {seconds:.9f} sec")
    if is_outermost and trace.kind == "jit" and monitoring.hears_durations:
        monitoring.record_event_duration_secs(monitoring.TRACE, seconds, fun_name=function.name)
    if enable_checks.value:
        verified(function)
    if check_tracer_leaks.value:
        refuse_leaks(trace, function)


def verified(function: Function) -> None:
    """Verify a Function. Raises: VerifyError."""
    from xfront_ir import verifier  # seldom needed

    verifier.verify(function)


def _leaked(trace: Recording, function: Function) -> list[Tracer]:
    found = [t for t in gc.get_referrers(trace) if type(t) is Tracer]
    if not found:
        return found
    own = _held_by_rules(function)
    return [t for t in found if id(t) not in own]


def _held_by_rules(function: Function) -> set[int]:
    """Identities of the tracers that the Function holds through the closures of custom rules."""
    left: list[Any] = [function]
    seen: set[int] = set()
    held = set()
    while left:
        x = left.pop()
        if id(x) in seen or isinstance(x, (type, types.ModuleType)) or (
                isinstance(x, dict) and "__builtins__" in x):
            continue
        seen.add(id(x))
        if type(x) is Tracer:
            held.add(id(x))
        left.extend(gc.get_referents(x))
    return held


def refuse_leaks(trace: Recording, function: Function) -> None:
    """Refuse tracers of a closed trace that are still alive. Raises: UnexpectedTracerError."""
    if _leaked(trace, function):
        gc.collect()                               # cycles are not leaks
    found = _leaked(trace, function)
    if not found:
        return
    lines = []
    places = {v: op.loc for op in trace.builder.ops for v in op.results}
    for t in found:
        made = places.get(t.value, trace.started_at)
        held = sorted({type(x).__name__ for x in gc.get_referrers(t) if x is not found} - {"frame"})
        lines.append(f"  of type {t.value.type}, made at {made}, held by {', '.join(held)}")
    raise UnexpectedTracerError(
        f"Leaked trace: {len(found)} tracer(s) outlive the {trace.kind} of @{trace.builder.name}:\n"
        + "\n".join(lines) + "\nReturn the value instead of storing it in a global, an attribute "
        "or a closure.")


# --- why a function is traced again ---------------------------------------------------------

def explain_miss(name: str, fun: Any, key: tuple, known: Sequence[tuple],
                 names: Sequence[str]) -> None:
    """Log how a new signature of a function differs from the signatures that have been traced."""
    from ..base import logs  # seldom needed

    code = getattr(fun, "__code__", None)
    stands = f" defined at {code.co_filename}:{code.co_firstlineno}" if code else ""
    lines = [f"TRACING CACHE MISS at {capture_location()}:"]
    if not known:
        lines.append(f"  never seen function: {name} id={id(fun)}{stands}")
    else:
        nearest = max(reversed(known), key=lambda k: _likeness(k, key))
        lines += [f"  for {name}{stands}",
                  "  all previously seen signatures differ. From the closest:",
                  *_differences(nearest, key, names)]
    logs.write(logs.TRACING, True, "\n".join(lines))


def _likeness(old: tuple, new: tuple) -> float:
    same = sum([a == b for a, b in zip(old, new, strict=True)])
    alike = sum([a == b for a, b in zip(old[2], new[2], strict=False)])
    return same + alike / (len(new[2]) + 1)


def _differences(old: tuple, new: tuple, names: Sequence[str]) -> list[str]:
    found = []
    (statics, tree, kinds, options, axes, sets), before = new, old
    if statics != before[0]:
        found.append("  different static arguments: now "
                     f"{[(p, x) for p, _, x in statics]} and before "
                     f"{[(p, x) for p, _, x in before[0]]}")
    if tree != before[1]:
        found.append(f"  different input pytree: now {tree} and before {before[1]}")
    elif kinds != before[2]:
        found.append("  different input types:")
        found += [f"  * at {n}, now {_kind(a)} and before {_kind(b)}"
                  for n, a, b in zip(names, kinds, before[2], strict=True) if a != b]
    if options != before[3]:
        found.append("  different options:")
        found += [f"  * {n}: now {a!r} and before {b!r}"
                  for n, a, b in zip(binding.TRACE_STATES, options, before[3], strict=False)
                  if a != b]
    if axes != before[4]:
        found.append(f"  different mapped axes: now {axes} and before {before[4]}")
    if sets != before[5]:
        shown = [None if s is None else [sorted(x) for x in s] for s in (sets, before[5])]
        found.append("  arguments vary over different axes of a shard_map: now "
                     f"{shown[0]} and before {shown[1]}")
    return found


def _kind(kind: tuple[Any, bool]) -> str:
    return f"{kind[0]}{' (weak)' if kind[1] else ''}"


# --- programs -------------------------------------------------------------------------------

def is_heard() -> bool:
    """Whether compilations are logged."""
    if log_compiles.value:
        return True
    if "logging" not in sys.modules:
        return False
    from ..base import logs  # seldom needed

    return logs.is_heard(logs.DISPATCH) or logs.is_heard(logs.COMPILING)


def loaded(name: str, seconds: float) -> None:
    """Record a program that was found on disk as it was traced."""
    if monitoring.hears_durations:
        monitoring.record_event_duration_secs(monitoring.COMPILE, seconds,
                                              fun_name=f"jit({name})")


def compiled(name: str, function: Function, lowering: float | None, seconds: float) -> None:
    """Log and record a compilation.

    Args:
      lowering: the seconds in which the program was lowered; None where it was found on disk.
      seconds: those in which it was compiled or loaded.
    """
    if monitoring.hears_durations:
        if lowering is not None:
            monitoring.record_event_duration_secs(monitoring.TO_MLIR, lowering,
                                                  fun_name=f"jit({name})")
        monitoring.record_event_duration_secs(monitoring.COMPILE, seconds,
                                              fun_name=f"jit({name})")
    if not is_heard():
        return
    from ..base import logs  # seldom needed

    loud = log_compiles.value
    listed = ", ".join([str(v.type) for v in function.params])
    logs.write(logs.COMPILING, loud,
               f"Compiling jit({name}) with global shapes and types ({listed}).")
    if lowering is not None:
        logs.write(logs.DISPATCH, loud, "Finished jaxpr to MLIR module conversion "
                   f"jit({name}) in {lowering:.9f} sec")
    logs.write(logs.DISPATCH, loud, f"Finished XLA compilation of jit({name}) in {seconds:.9f} sec")


def is_on() -> bool:
    """Whether an option looks at the arguments and results of programs."""
    return _nans.value or _infs.value or _key_reuse.value


_nans, _infs, _key_reuse = debug_nans.state, debug_infs.state, debug_key_reuse.state


def bad(x: Any) -> str | None:
    """`nan` or `inf` where an array has one and the option asks for it."""
    if isinstance(x, KeyArray):
        return None
    array = np.asarray(x)
    if array.dtype.kind not in "fcV":
        return None
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    if debug_nans.value and np.isnan(array).any():
        return "nan"
    return "inf" if debug_infs.value and np.isinf(array).any() else None

__all__ = ["bad", "compiled", "explain_miss", "is_on", "refuse_leaks", "refuse_tracing", "traced",
           "verified"]

"""The passes that rules of ops with bodies call. No other file of `passes` is imported by `ops`.

Everything here is memoised on (body, request) in the body's `memo`, so that a body is transformed
once however often it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis import axis_names, has_effects, op_has_effects
from ..core import Function, Op, Value, bodies_of, forced, remembered
from ..fingerprint import identity
from ..placed_builder import PlacedBuilder
from ..regions import select
from ..types import TensorType
from .bypass import bypass
from .dead_code import dead_code
from .discharge import content_type, discharge, discharge_to, refs_of, refuse_twice
from .inline import expand, inline_calls, settle
from .inside import everywhere
from .jvp import Flags, jvp
from .linearize import Linearized, divide, linear_transpose, linearize
from .remat import divide_checkpoint
from .strong import strong
from .transpose import transpose
from .varying import NOWHERE, Names, like_body, varying
from .vectorize import Positions, batched, vectorize, vectorize_into

__all__ = [
    "NOWHERE", "Flags", "Linearized", "Names", "Positions", "axis_names",
    "batched", "bypassed", "content_type", "dead_code", "discharge", "discharge_to", "divide",
    "divide_checkpoint", "expand", "has_effects", "inline_calls", "invariants", "join", "jvp",
    "jvp_to", "like_body", "linear_first", "linear_transpose", "linearize", "loops", "refs_of",
    "refuse_twice", "remembered",
    "rule_fingerprint", "select", "settle", "slice_of", "strong", "strong_body", "transpose",
    "transpose_to", "unzip", "varying", "vectorize", "vectorize_into",
]


bypassed = everywhere(bypass, "bypassed")
"""The pass after which no body of an op, however deep, takes or gives what it only hands on."""


def rule_fingerprint(rule: Any) -> bytes:
    """The fingerprint of a Deferred; its identity where it gives none."""
    own = getattr(rule, "fingerprint", None)
    return identity(rule).encode() if own is None else own()


# --- small helpers on flags ---------------------------------------------------------------

def unzip(values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The values whose flag is set, and the others."""
    return select(values, flags), [v for v, f in zip(values, flags, strict=True) if not f]


def join(flags: Sequence[bool], chosen: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The inverse of `unzip`."""
    a, c = iter(chosen), iter(others)
    return [next(a) if f else next(c) for f in flags]


# --- transformations with given results -----------------------------------------------------

def jvp_to(fn: Function, active: Flags, out: Flags) -> Function:
    """`jvp` that returns tangents of exactly the results in `out`, zeros where they have none."""
    def make() -> Function:
        moved, active_out = jvp(fn, active)
        if active_out == out:
            return moved
        values = moved.returns[:len(fn.returns)]
        return _with_zeros(moved, values, [v.type for v in values], active_out, out)

    return remembered(fn, ("jvp_to", active, out), make)


def _with_zeros(fn: Function, before: Sequence[Value], types: Sequence[TensorType], active: Flags,
                wanted: Flags) -> Function:
    """The Function that returns `before`, then the wanted tangents or cotangents, of `types`.

    `fn` returns the `active` ones, after `before`; the others are zeros.
    """
    b = PlacedBuilder(fn.name)
    b.ops = list(fn.ops)
    given = iter(fn.returns[len(before):])
    found = [next(given) if a else None for a in active]
    made = [b.zeros(type) if t is None else t
            for type, t, w in zip(types, found, wanted, strict=False) if w]
    return Function(fn.name, fn.params, b.ops, (*before, *made))


def linear_first(fn: Function, linear: Flags) -> Function:
    """The same Function with its linear parameters before the others."""
    if all(linear) or not any(linear) or linear == tuple(sorted(linear, reverse=True)):
        return fn

    def make() -> Function:
        first, then = unzip(fn.params, linear)
        return Function(fn.name, (*first, *then), fn.ops, fn.returns)

    return remembered(fn, ("linear_first", linear), make)


def transpose_to(fn: Function, linear: Flags, active_ct: Flags, active_in: Flags | None = None
                 ) -> tuple[Function, Flags]:
    """`transpose` of a Function whose linear parameters may stand anywhere.

    Returns: the transpose (parameters: known ones, active cotangents), and which of the linear
      parameters get a cotangent: those in `active_in` where that is given, with zeros instantiated.
    """
    ordered = linear_first(fn, linear)
    n_known = len(linear) - sum(linear)
    back, active = transpose(ordered, n_known, active_ct)
    if active_in is None or active == active_in:
        return back, active

    types = [v.type.cotangent for v in ordered.params]
    return remembered(back, ("transpose_to", active_in, *types), _with_zeros, back, (), types,
                      active, active_in), active_in


# --- strong zeros ---------------------------------------------------------------------------

def strong_body(op: Op, linear: Flags) -> Any:
    """The `strong` rule of an op whose body `body` takes its operands and gives its results."""
    made, flags = strong(forced(op.attrs["body"]), linear)
    same = made is op.attrs["body"]
    return op.definition, op.attrs if same else {**op.attrs, "body": made}, flags


# --- what depends on what --------------------------------------------------------------------

def invariants(fn: Function, constant: Sequence[bool]) -> set[Value]:
    """Values that depend on constant parameters alone and are computed without effects."""
    varying = {v for v, c in zip(fn.params, constant, strict=True) if not c}
    found = set(select(fn.params, constant))
    for op in fn.ops:
        if varying.isdisjoint(op.operands) and not op_has_effects(op):
            found.update(op.results)
        else:
            varying.update(op.results)
    return found


def slice_of(fn: Function, wanted: Sequence[Value], given: Sequence[Value]) -> Function:
    """The part of `fn` that computes `wanted` from `given` (which may be inner values)."""
    stop, live = set(given), set(wanted) - set(given)
    kept: list[Op] = []
    for op in reversed(fn.ops):
        if not live.isdisjoint(op.results):
            kept.append(op)
            live.difference_update(op.results)
            live.update([v for v in op.operands if v not in stop])
    return Function(fn.name, given, tuple(reversed(kept)), wanted)


def loops(fn: Function) -> bool:
    """Whether a Function contains a loop whose number of turns depends on values."""
    def contains(op: Op) -> bool:
        definition = op.definition
        return definition.has_bodies and (definition.regions.may_not_end
                                          or any(map(loops, bodies_of(op))))

    return remembered(fn, "loops", lambda: (any(map(contains, fn.ops)),))[0]

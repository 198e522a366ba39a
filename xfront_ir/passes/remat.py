"""Checkpoints: which values are saved for the linear side, and which it computes again.

    // divide_checkpoint of sin(sin(x)) at tangent t; nothing is saved but x
    linear side:  func @f(%t: f32[3], %x: f32[3]) -> (f32[3]) {
                    %0: f32[3] = cos(%x)
                    %1: f32[3] = mul(%t, %0)
                    %2: f32[3] = sin(%x)
                    %3: f32[3] = cos(%2)
                    %4: f32[3] = mul(%1, %3)
                    return %4
                  }

A policy decides inside of loops, branches and checkpoints too. Such an op is divided in two. One op
computes the results and returns the saved values of every turn as further results; the other takes
these and computes again the values that the linear side reads.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import lookup
from ..opdef import infer_types
from ..ops.words import zeros_of
from ..placed_builder import PlacedBuilder
from ..regions import ByGroup, Regions, keep, operands_read, rebuilt, select, with_bodies
from ..sharding import HOST, in_memory, replicated
from ..types import TensorType
from .dead_code import dead_code
from .inline import inline_calls
from .inside import Pass, everywhere
from .linearize import Flags, divide


class Checkpointed(NamedTuple):
    """The two parts of a divided checkpointed body.

    `forward`: takes the known parameters; returns known results, then what the policy saves.
    `linear`: takes the linear parameters, the known ones in `read`, then what was saved.
    `active_out`: which results the linear side returns.
    """

    forward: Function
    linear: Function
    read: tuple[int, ...]
    active_out: Flags
    n_out: int


def divide_checkpoint(body: Function, linear: Flags, policy: Any) -> Checkpointed:
    """Divide a body so that the linear side computes again what the policy does not save.

    Args:
      body: a Function that is linear in the flagged parameters.
      linear: for each parameter, whether it is.
      policy: None (nothing is saved but parameters), or has `saveable(op) -> bool`, and
        `offloads(op) -> bool` for what is saved in the host's memory. It is not asked about ops
        whose bodies are divided, only about the ops in these. What it offloads in a loop is moved
        after the last turn.
    """
    if policy is not None:
        body = inline_calls(_also_saving(policy)(body))       # so that it sees the ops inside
    parts = divide(body, linear)
    forward = parts.forward
    wanted = parts.pick(forward.params, forward.returns)
    halves = _halves(forward.ops, wanted, policy)
    saved, parked = halves.saved, halves.parked
    read = tuple([i for i, v in enumerate(forward.params) if v in halves.read])
    given = [*[forward.params[i] for i in read], *saved]
    n = len(linear) - len(forward.params)        # the number of tangents, which come first
    b = PlacedBuilder(body.name)
    b.params = [Value(v.type.in_memory(HOST) if v in parked else v.type)
                for v in (*parts.linear.params[:n], *given)]
    recomputed = Function(body.name, given, halves.again, wanted)
    back = [_moved(b, p, None) if v in parked else p
            for v, p in zip(given, b.params[n:], strict=True)]
    residuals = b.inline(recomputed, back)
    side = b.close(b.inline(parts.linear, (*b.params[:n], *residuals)))
    f = PlacedBuilder(forward.name)
    f.ops = [*halves.ahead]
    left = [_moved(f, v, HOST) if v in parked else v for v in saved]
    ahead = dead_code(forward.replace(ops=tuple(f.ops),
                                      returns=(*forward.returns[:parts.n_out], *left)))
    return Checkpointed(ahead, dead_code(side), read, parts.active_out, parts.n_out)


class _Either:
    """A policy that saves what at least one of two policies saves."""

    __slots__ = ("__weakref__", "outer", "own")

    def __init__(self, own: Any, outer: Any) -> None:
        self.own, self.outer = own, outer

    def saveable(self, op: Op) -> bool:
        """Whether one of them saves the results of an op."""
        return self.outer.saveable(op) or self.own.saveable(op)

    def offloads(self, op: Op) -> bool:
        """Whether the one that saves them, the outer one first, does so in the host's memory."""
        return (self.outer if self.outer.saveable(op) else self.own).offloads(op)


_either = functools.lru_cache(256)(_Either)      # programs are told apart by the policy's identity


@functools.lru_cache(256)
def _also_saving(policy: Any) -> Pass:
    """A pass after which checkpoints inside a body also save the values that `policy`, that of the
    checkpoint around them, saves."""
    def joined(op: Op) -> Op:
        own = op.attrs.get("policy")
        both = policy if own is None else _either(own, policy)
        return Op(op.definition, op.operands, {**op.attrs, "policy": both}, op.results, op.loc)

    def change(fn: Function) -> Function:
        return fn.with_ops([joined(op) if "policy" in op.definition.attrs else op
                            for op in fn.ops])

    return everywhere(change, ("also saving", policy))


def _moved(b: Builder, value: Value, memory: str | None) -> Value:
    wanted = value.type.in_memory(memory)
    return b.emit(lookup("reshard"), value,
                  sharding=wanted.sharding or in_memory(wanted.ndim, None))


# --- what is computed once, and what again ----------------------------------------------------

class _Halves(NamedTuple):
    """Ops divided by a policy.

    `ahead`: the ops, of which those with bodies give what is saved inside as further results.
    `again`: the ops that compute what is wanted from what is read and saved.
    `saved`: results of `ahead` that `again` takes, of which `parked` belong in the host's memory.
    `read`: all values that `again` takes, or that are wanted as they are.
    """

    ahead: list[Op]
    again: list[Op]
    saved: list[Value]
    parked: set[Value]
    read: set[Value]


def _halves(ops: Sequence[Op], wanted: Sequence[Value], policy: Any) -> _Halves:
    ahead: list[Op] = []
    again: list[Op] = []
    groups: list[list[Value]] = []               # saved values of each op, the last op first
    parked: set[Value] = set()
    live = set(wanted)
    for op in reversed(ops):
        mine = [v for v in op.results if v in live]
        if not mine:
            ahead.append(op)
        elif (divided := _divided(op, live, policy)) is not None:
            first, second, kept, offloaded = divided
            ahead.append(first)
            again.append(second)
            groups.append(kept)
            parked.update(offloaded)
            live.update(second.operands)
        elif policy is not None and policy.saveable(op):
            ahead.append(op)
            groups.append(mine)
            if policy.offloads(op):
                parked.update([v for v in mine if v.type.memory is None])
        else:
            ahead.append(op)
            again.append(op)
            live.update(op.operands)
    saved = [v for group in reversed(groups) for v in group]
    return _Halves(ahead[::-1], again[::-1], saved, parked, live)


Divided = tuple[Op, Op, list[Value], list[Value]]
"""An op with what is saved inside as further results; the op that computes its live results again;
these further results, and those of them that are offloaded."""


def _divided(op: Op, live: set[Value], policy: Any) -> Divided | None:
    """The two parts of an op whose bodies give its results, in turns whose number is known, or in
    parts on devices; None for another op."""
    regions = op.definition.regions
    if regions is None or not all([isinstance(one.function, Function) for one in regions.held(op)]):
        return None
    if op.definition is lookup("shard_map"):
        return _by_parts(op, live, policy)
    return _by_turns(op, live, policy) if regions.free and not regions.may_not_end else None


def _by_turns(op: Op, live: set[Value], policy: Any) -> Divided:
    regions: Regions = op.definition.regions
    if policy is not None:
        op = with_bodies(op, [inline_calls(one.function) for one in regions.held(op)])
    groups = ByGroup(op, regions.held(op))
    bodies: list[Function] = [one.function for one in groups.held]
    stay = {name: [v in live for v in values] for name, values in groups.results.items()}
    while True:
        flags = [f for group in stay.values() for f in group]
        halves = [_halves(body.ops, select(body.returns, flags), policy) for body in bodies]
        seconds = [body.replace(ops=half.again, returns=select(body.returns, flags),
                                weak_returns=())
                   for body, half in zip(bodies, halves, strict=True)]
        used = operands_read(groups, seconds)
        if not regions.is_loop:
            break
        carried = [u or s for u, s in zip(used["carry"], stay["carry"], strict=True)]
        used["carry"] = carried
        if carried == stay["carry"]:
            break
        stay["carry"] = carried                  # later turns need them in every turn
    slots, places = _slots([half.saved for half in halves])
    turns = regions.turns(op.attrs)
    kept = [Value(t.stacked(turns) if regions.is_loop and turns is not None else t) for t in slots]
    firsts = [_giving(body, half, at, slots)
              for body, half, at in zip(bodies, halves, places, strict=True)]
    first = rebuilt(op, list(groups.operands.values()), firsts, (*op.results, *kept))
    second = keep(op, used, stay, seconds)
    operands = list(regions.groups(second).values())
    operands[-1] = [*operands[-1], *kept]
    takers = [_taking(one.function, half, at, slots) for one, half, at in zip(
        regions.held(second), halves, places, strict=True)]
    offloaded = [kept[i] for half, at in zip(halves, places, strict=True)
                 for v, i in zip(half.saved, at, strict=True) if v in half.parked]
    return first, rebuilt(second, operands, takers), kept, offloaded


def _by_parts(op: Op, live: set[Value], policy: Any) -> Divided | None:
    """The two parts of a `shard_map`. Saved values leave it with a new axis that is divided over
    the devices, so that each stays where it is. None if the type of one has a sharding."""
    attrs, wanted = op.attrs, [v in live for v in op.results]
    body = attrs["body"] if policy is None else inline_calls(attrs["body"])
    half = _halves(body.ops, select(body.returns, wanted), policy)
    if any([v.type.sharding is not None for v in half.saved]):
        return None
    read = [v in half.read for v in body.params]
    specs = [replicated(v.type.ndim).insert(0, attrs["axes"]) for v in half.saved]

    b = PlacedBuilder(body.name)
    b.ops = [*half.ahead]
    rows = [b.emit(lookup("reshape"), v, shape=(1, *v.type.shape)) for v in half.saved]
    giving = {**attrs, "out_specs": (*attrs["out_specs"], *specs),
              "body": Function(body.name, body.params, b.ops, (*body.returns, *rows))}
    types = infer_types(op.definition, tuple([v.type for v in op.operands]), giving)
    kept = [Value(t) for t in types[len(op.results):]]
    first = Op(op.definition, op.operands, giving, (*op.results, *kept), op.loc)

    b = PlacedBuilder(body.name)
    own = select(body.params, read)
    b.params = [Value(v.type) for v in (*own, *rows)]
    saved = [b.emit(lookup("reshape"), p, shape=v.type.shape)
             for p, v in zip(b.params[len(own):], half.saved, strict=True)]
    again = Function(body.name, [*own, *half.saved], half.again, select(body.returns, wanted))
    taking = {**attrs, "in_specs": (*select(attrs["in_specs"], read), *specs),
              "out_specs": tuple(select(attrs["out_specs"], wanted)),
              "body": b.close(b.inline(again, (*b.params[:len(own)], *saved)))}
    second = Op(op.definition, (*select(op.operands, read), *kept), taking,
                tuple(select(op.results, wanted)), op.loc)
    offloaded = [k for k, v in zip(kept, half.saved, strict=True) if v in half.parked]
    return first, second, kept, offloaded


def _slots(saved: Sequence[Sequence[Value]]) -> tuple[list[TensorType], list[list[int]]]:
    """The types of the values that bodies save, where branches share values of equal type; and for
    each body, the places of its own."""
    slots: list[TensorType] = []
    places: list[list[int]] = []
    for values in saved:
        free = list(range(len(slots)))
        mine: list[int] = []
        for v in values:
            at = next((i for i in free if slots[i] is v.type), None)
            if at is None:
                at = len(slots)
                slots.append(v.type)
            else:
                free.remove(at)
            mine.append(at)
        places.append(mine)
    return slots, places


def _giving(body: Function, half: _Halves, places: Sequence[int], slots: Sequence[TensorType]
            ) -> Function:
    """A body that also returns the values it saves, and zeros for those of other branches."""
    b = PlacedBuilder(body.name)
    b.ops = [*half.ahead]
    own = dict(zip(places, half.saved, strict=True))
    more = [own[i] if i in own else zeros_of(b, t) for i, t in enumerate(slots)]
    weak = body.weak_returns and (*body.weak_returns, *[False] * len(more))
    return body.replace(ops=b.ops, returns=(*body.returns, *more), weak_returns=weak)


def _taking(body: Function, half: _Halves, places: Sequence[int], slots: Sequence[TensorType]
            ) -> Function:
    """A body that takes the saved values as parameters behind its others."""
    own = dict(zip(places, half.saved, strict=True))
    more = [own[i] if i in own else Value(t) for i, t in enumerate(slots)]
    return body.replace(params=(*body.params, *more), param_names=(), weak_params=())

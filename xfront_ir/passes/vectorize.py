"""Vectorise: a Function of one example becomes a Function of many, by a batch axis.

    // vectorize(positions = [0, none], axis = ("", 8))
    func @f(%x: f32[3], %y: f32[3])            func @f(%x: f32[8,3], %y: f32[3])
        -> (f32[3]) {                              -> (f32[8,3]) {
      %0: f32[3] = sin(%y)                       %0: f32[3] = sin(%y)
      %1: f32[3] = mul(%x, %0)                   %1: f32[8,3] = broadcast_in_dim(%0) ...
      return %1                                  %2: f32[8,3] = mul(%x, %1)
    }                                            return %2
                                               }

Each value has a position of its batch axis, or None where it is the same for all examples. An op
that does not depend on a batch stays the same object; an axis is moved only where a rule must.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import axis_names
from ..builder import Builder
from ..core import Function, Op, Value, bodies_of, remembered, renamed
from ..definition import NONE
from ..errors import IRTypeError
from ..placed_builder import PlacedBuilder
from ..sharding import Spec
from ..types import TensorType
from .inline import settle
from .scopes import Scoped

Positions = tuple[int | None, ...]
Axis = tuple[str, int]


def vectorize(fn: Function, positions: Sequence[int | None], axis: Axis,
              out: Sequence[int | None] | None = None) -> tuple[Function, Positions]:
    """A Function over a batch.

    Args:
      fn: any Function.
      positions: for each parameter, where its batch axis goes; None: it has none.
      axis: name and size of the batch axis; collectives over that name are resolved.
      out: for each result, where its batch axis must be (a result without one is broadcast);
        None leaves it where it falls, or without one.
    Returns: `(function, positions_out)`.
    Raises: IRTypeError where a position does not fit; MissingRule.
    """
    positions, out = tuple(positions), None if out is None else tuple(out)
    return remembered(fn, ("vectorize", positions, axis, out), _vectorize, fn, positions, axis, out)


def _vectorize(fn: Function, positions: Positions, axis: Axis, out: Positions | None
               ) -> tuple[Function, Positions]:
    fn, size = settle(fn), axis[1]
    b = PlacedBuilder(fn.name)
    env: dict[Value, Value] = {}             # values that others have replaced
    place: dict[Value, int] = {}             # where the batched values have their axis
    params: list[Value] = []
    for v, p in zip(fn.params, positions, strict=True):
        if p is not None:
            if not 0 <= p <= v.type.ndim:
                raise IRTypeError(f"@{fn.name}: the batch axis {p} is out of bounds for a value of "
                                  f"type {v.type}")
            place[v] = p
            env[v] = v = Value(batched(v.type, p, size))
        params.append(v)
    b.params = params
    _push(b, fn, env, place, axis)
    returns = [*map(env.get, fn.returns, fn.returns)]
    places_out = [*map(place.get, fn.returns)]
    for i, wanted in enumerate(out or ()):
        if wanted is not None and wanted != places_out[i]:
            from ..ops.families import move_batch  # ops stand beside passes, not under them

            returns[i] = move_batch(b, returns[i], places_out[i], wanted, size)
            places_out[i] = wanted
    made = Function(fn.name, params, b.ops, returns, param_names=fn.param_names,
                    weak_params=fn.weak_params, weak_returns=fn.weak_returns)
    return made, tuple(places_out)


def batched(type: TensorType, position: int | None, size: int) -> TensorType:
    """The type with a batch axis at `position`. It keeps the axes over which values are unreduced
    or reduced, but not those that divide dimensions, which the compiler then chooses."""
    if position is None:
        return type
    made, held = type.stacked(size, position), type.sharding
    if held is None or type.is_manual:
        return made
    return made.over(held.on(Spec(((),) * made.ndim, (), *type.sums)))


def vectorize_into(b: Builder, fn: Function, operands: Sequence[Value],
                   positions: Sequence[int | None], axis: Axis
                   ) -> tuple[list[Value], list[int | None]]:
    """Append the ops of `fn`, vectorised, to `b`, in which the `operands` are already.

    Returns: the results, and where their batch axes fell.
    """
    fn = settle(fn)
    env = dict(zip(fn.params, operands, strict=True))
    place = {v: p for v, p in zip(fn.params, positions, strict=True) if p is not None}
    _push(b, fn, env, place, axis, fresh=True)
    return [env[v] for v in fn.returns], [place.get(v) for v in fn.returns]


def _push(b: Builder, fn: Function, env: dict[Value, Value], place: dict[Value, int], axis: Axis,
          fresh: bool = False) -> None:
    """Append the ops of `fn` over a batch; `env` and `place` grow by their results.

    An op that does not depend on a batch stays the same object, unless `fresh` asks for new values.
    """
    append, get, position, locs = b.ops.append, env.get, place.get, Scoped("vmap")
    still, name = place.keys(), axis[0]
    for op in fn.ops:
        definition, operands = op.definition, op.operands
        if still.isdisjoint(operands) and not (
                (definition.mentions_axis is not None or definition.has_bodies)
                and mentions(op, name)):
            if fresh:
                made = tuple([Value(v.type) for v in op.results])
                env.update(zip(op.results, made, strict=True))
                op = Op(definition, tuple([env[v] for v in operands]), op.attrs, made, op.loc)
            else:
                op = renamed(op, env)
            append(op)
            continue
        b.loc = locs[op.loc]
        given = tuple(map(get, operands, operands))
        positions = tuple(map(position, operands))
        batch = definition.batch
        if batch is None or batch is NONE:
            batch = definition.rule("batch")
        results, places = batch(b, op, given, positions, axis)
        for v, made, p in zip(op.results, results, places, strict=True):
            t, wanted = made.type, v.type
            same = t.sharding is wanted.sharding or t.sums == wanted.sums
            env[v] = made if same else _held_as(b, v, made, p, axis[1])
            if p is not None:
                place[v] = p


def _held_as(b: Builder, v: Value, made: Value, p: int | None, size: int) -> Value:
    """`made`, the batch of `v`, made unreduced and reduced over the same axes as `v`."""
    from ..ops.sharding import summed_as  # ops stand beside passes, not under them

    return summed_as(b, made, batched(v.type, p, size))


def mentions(op: Op, name: str) -> bool:
    """Whether an op, or an op in one of its bodies, reads the axis called `name`."""
    definition = op.definition
    if definition.mentions_axis is not None and name in definition.mentions_axis(op.attrs):
        return True
    return definition.has_bodies and any(name in axis_names(body) for body in bodies_of(op))

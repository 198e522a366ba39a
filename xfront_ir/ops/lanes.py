"""Lanes that take different branches: a cond whose predicate differs between the examples of a
batch, and helpers for such a while.

Where the branches are a few light ops, all are computed and each lane chooses among the results.
Otherwise each branch becomes a cond of its own, which runs if some lane takes the branch:

    %0 = cond(%p, %x) {branches = [@no, @yes]}, %p and %x batched

    light                                      other, for each branch and the lanes %m that take it
      %0 = no(%x)                                %first = the first lane in %m
      %1 = yes(%x)                               %0 = cond(%first < size, %m, %first, %x) {
      %2 = select(%p, %1, %0)                        branches = [zeros, @yes over lanes, where those
                                                     outside %m compute on the operands of %first]}

So a loop in a branch ends, and a branch that no lane takes costs next to nothing. A branch does not
spoil the derivatives of lanes that do not take it: what these lanes compute in it is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import dtypes
from ..analysis import op_has_effects
from ..builder import Builder
from ..core import Function, Value
from ..definition import OpDef, lookup
from ..passes.bodies import batched, bypassed, remembered, settle, vectorize, vectorize_into
from ..placed_builder import PlacedBuilder
from ..traits import LIGHT
from ..types import I32, tensor
from .families import move_batch
from .sharding import summed_as
from .words import words_of, wrapped, zeros_of

LIGHT_OPS = 32
"""Up to this many light ops cost less than the search for lanes that take a branch."""

LIGHT_ELEMENTS = 1 << 14
"""So do any light ops that compute at most this many elements."""

Places = Sequence[int | None]


def choose_by_lane(b: Builder, cond: OpDef, branches: Sequence[Function], index: Value,
                   values: Sequence[Value], places: Places, axis: Any
                   ) -> tuple[list[Value], tuple[int, ...]]:
    """The batching of a `cond` whose index has a batch axis; results have theirs in front."""
    if all([is_light(branch, values, places, axis[1]) for branch in branches]):
        results = _all_computed(b, branches, index, values, places, axis)
    else:
        results = _each_where_taken(b, cond, branches, index, values, places, axis)
    return results, (0,) * len(results)


def is_light(branch: Function, values: Sequence[Value], places: Places, size: int) -> bool:
    """Whether all lanes may compute a branch whose operands are `values`."""
    count, elements = remembered(branch, "light", lambda: _work(settle(branch)))
    if count > LIGHT_OPS and elements * size > LIGHT_ELEMENTS:
        return False
    types = [v.type for v in (*branch.params, *branch.returns)]
    widest = max([t.size for t, p in zip(types, (*places, *[0] * len(branch.returns)), strict=True)
                  if p is not None], default=1)
    return all([v.type.size <= widest for v, p in zip(values, places, strict=True)
                if p is None and v.type.is_inexact])


def _work(branch: Function) -> tuple[float, float]:
    """How many ops and elements a lane computes; infinite where an op is not light."""
    count = elements = 0
    for op in branch.ops:
        definition = op.definition
        if (LIGHT not in definition.traits or definition.has_bodies or not definition.single
                or definition.effects is not None):
            return float("inf"), float("inf")
        if op.operands:
            count += 1
            elements += max([v.type.size for v in (*op.operands, *op.results)])
    return count, elements


# --- light branches -------------------------------------------------------------------------

def _all_computed(b: Builder, branches: Sequence[Function], index: Value, values: Sequence[Value],
                  places: Places, axis: Any) -> list[Value]:
    """Compute every branch in all lanes, and choose its results in the lanes that take it.

    To derivatives, the operands of a branch are constants in the other lanes: an infinite slope
    there would otherwise meet a cotangent of zero and give NaN.
    """
    size = axis[1]
    held: dict[Value, Value] = {}
    fed: list[Value] = []
    now_at: list[int | None] = []
    for v, p in zip(values, places, strict=True):
        if p is None and not v.type.is_inexact:
            now_at.append(None)
        else:
            v = move_batch(b, v, p, 0, size)
            now_at.append(0)
            if v.type.is_inexact:
                held[v] = b.emit(lookup("idle"), v)
        fed.append(v)
    wide: dict[Any, Value] = {}
    results: list[Value] = []
    for mask, is_set, branch in zip(*_lanes_of(b, index, len(branches)), branches, strict=True):
        given = [v if v not in held else
                 choose(b, mask, v, held[v], wide) if is_set else choose(b, mask, held[v], v, wide)
                 for v in fed]
        made, at = vectorize_into(b, branch, given, now_at, axis)
        made = [move_batch(b, v, p, 0, size) for v, p in zip(made, at, strict=True)]
        results = made if not results else [
            choose(b, mask, new, old, wide) for new, old in zip(made, results, strict=True)]
    return results


def _lanes_of(b: Builder, index: Value, n: int) -> tuple[list[Value], list[bool]]:
    """For each branch, a mask, and whether the lanes that take it are set (or clear) in the mask.
    """
    if index.type.dtype is dtypes.bool_:
        return [index, index], [False, True]
    return _masks(b, index, n), [True] * n


# --- branches that run where a lane takes them -------------------------------------------------

def _each_where_taken(b: Builder, cond: OpDef, branches: Sequence[Function], index: Value,
                      values: Sequence[Value], places: Places, axis: Any) -> list[Value]:
    size = axis[1]
    in_front: dict[int, Value] = {}              # operands that a branch returns as they are
    results: list[Value] = []
    for branch, mask in zip(map(_short, branches), _masks(b, index, len(branches)), strict=True):
        around, computing = _parts(branch)
        for i in around:
            if i is not None and i not in in_front:
                in_front[i] = move_batch(b, values[i], places[i], 0, size)
        computed: Iterator[Value] = iter(())
        if computing.returns or any(map(op_has_effects, computing.ops)):
            first, some = first_lane(b, mask, size)
            taken, skipped = _lane_branches(computing, places, axis)
            computed = iter(b.emit(cond, some, mask, first, *values, branches=(skipped, taken)))
        fresh = [next(computed) if i is None else in_front[i] for i in around]
        results = fresh if not results else [
            choose(b, mask, new, old) for new, old in zip(fresh, results, strict=True)]
    return results


def _short(branch: Function) -> Function:
    """A branch in which values go around the ops that hand them through."""
    return remembered(branch, "short", lambda: bypassed(settle(branch)))


def _parts(branch: Function) -> tuple[list[int | None], Function]:
    """For each result, the parameter that is returned as it is, or None if the result is computed;
    and the branch with only the computed results."""
    params = {v: i for i, v in enumerate(branch.params)}
    around = [params.get(v) for v in branch.returns]
    if not any([i is not None for i in around]):
        return around, branch
    return around, remembered(branch, "computing", lambda: branch.replace(
        returns=tuple([v for v in branch.returns if v not in params]), weak_returns=()))


def _masks(b: Builder, index: Value, n: int) -> list[Value]:
    """For each branch, the lanes that take it."""
    if index.type.dtype is dtypes.bool_:
        return [b.emit(lookup("not"), index), index]

    def at(i: int) -> Value:
        return b.full(index.type, i)

    if n == 1:
        return [b.full(index.type.with_dtype(dtypes.bool_), True)]
    return [b.emit(lookup("le"), index, at(0)),
            *[b.emit(lookup("eq"), index, at(i)) for i in range(1, n - 1)],
            b.emit(lookup("ge"), index, at(n - 1))]


def first_lane(b: Builder, mask: Value, size: int) -> tuple[Value, Value]:
    """The number of the first lane in `mask` (`size` if there is none), and whether there is one.
    """
    lanes = tensor((size,), dtypes.i32)
    numbers = b.emit(lookup("iota"), dtype=dtypes.i32, shape=(size,), dimension=0)
    first = b.emit(lookup("reduce_min"),
                   b.emit(lookup("select"), mask, numbers, b.full(lanes, size)), axes=(0,))
    return first, b.emit(lookup("lt"), first, b.full(I32, size))


def choose(b: Builder, mask: Value, new: Value, old: Value, wide: dict[Any, Value] | None = None
           ) -> Value:
    """Lanes of `new` where `mask` is set, of `old` elsewhere; the batch axis is in front.

    `wide` keeps masks that were already broadcast.
    """
    if new is old:
        return new
    yes, no = (words_of(b, new), words_of(b, old)) if new.type.dtype.is_key else (new, old)
    shape = yes.type.shape
    if len(shape) > 1:
        wide = {} if wide is None else wide
        found = wide.get((mask, shape))
        if found is None:
            found = wide[mask, shape] = b.emit(lookup("broadcast_in_dim"), mask, shape=shape,
                                               dims=(0,))
        mask = found
    return wrapped(b, b.emit(lookup("select"), mask, yes, no), new.type)


def feed(b: Builder, mask: Value, first: Value, value: Value, place: int | None, size: int
         ) -> Value:
    """`value` with the lanes outside `mask` replaced by lane `first`; its batch axis in front."""
    if place is None:
        return value
    value = move_batch(b, value, place, 0, size)
    words = words_of(b, value)
    shape = words.type.shape
    starts = [first, *[b.full(I32, 0) for _ in shape[1:]]]
    one = b.emit(lookup("dynamic_slice"), words, *starts, sizes=(1, *shape[1:]))
    same = b.emit(lookup("broadcast_in_dim"), one, shape=shape, dims=tuple(range(len(shape))))
    return summed_as(b, wrapped(b, choose(b, mask, words, same), value.type), value.type)


def hold(b: Builder, mask: Value, value: Value, place: int | None, size: int) -> Value:
    """`value`, with its lanes outside `mask` constants to derivatives; its batch axis in front."""
    if not value.type.is_inexact:
        return value if place is None else move_batch(b, value, place, 0, size)
    value = move_batch(b, value, place, 0, size)
    return choose(b, mask, value, b.emit(lookup("idle"), value))


def _lane_branches(branch: Function, places: Places, axis: Any) -> tuple[Function, Function]:
    """A branch over lanes (mask, first lane, operands), and the branch for when no lane takes it.
    """
    def make() -> tuple[Function, Function]:
        size = axis[1]
        in_front = tuple([None if p is None else 0 for p in places])
        body, _ = vectorize(branch, in_front, axis, (0,) * len(branch.returns))

        def opened() -> Builder:
            b = PlacedBuilder(branch.name)
            b.param(tensor((size,), dtypes.bool_))
            b.param(I32)
            for v, p in zip(branch.params, places, strict=True):
                b.param(batched(v.type, p, size))
            return b

        b = opened()
        mask, first, *values = b.params
        fed = [feed(b, mask, first, v, p, size) for v, p in zip(values, places, strict=True)]
        taken = b.close(b.inline(body, fed))
        b = opened()
        return taken, b.close([zeros_of(b, v.type) for v in body.returns])

    return remembered(branch, ("lane_branches", tuple(places), axis), make)

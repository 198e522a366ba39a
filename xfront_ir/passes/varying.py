"""Varying: explicit casts say over which axes of a mesh each value may differ.

    // varying(sets = [{}, {"x"}], axes = [("x", 4)])
    func @f(%w: f32[], %x: f32[]) -> (f32[]) {    func @f(%w: f32[], %x: f32[]) -> (f32[]) {
      %0: f32[] = mul(%w, %x)                       %0: f32[] = pcast(%w) {axes = ["x"], ...}
      %1: f32[] = psum(%0) {axes = ["x"], ...}      %1: f32[] = mul(%0, %x)
      return %1                                     %2: f32[] = psum_invariant(%1) {...}
    }                                               return %2
                                                  }

Operands of an op that vary over different axes are cast to vary over all of these. So the cotangent
of a value that is the same on many devices is the sum of the cotangents from its uses there. A
definition's `varying` rule says over which axes results vary. Without a rule they vary over every
axis over which an operand does, and bodies of the op may not read axes that are followed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..core import Function, Op, Value, remembered
from ..definition import lookup
from ..errors import IRValueError, MissingRule, ShardingTypeError
from ..literal import literal
from ..placed_builder import PlacedBuilder
from ..types import TensorType
from .scopes import Scoped
from .vectorize import mentions

Names = frozenset[str]
NOWHERE: Names = frozenset()
Sets = tuple[Names, ...]
Axes = tuple[tuple[str, int], ...]


def varying(fn: Function, sets: Sequence[Names], axes: Axes, out: Sequence[Names] | None = None,
            asked: bool = False) -> tuple[Function, Sets]:
    """The Function with casts, and over which axes each result varies.

    Args:
      fn: any Function.
      sets: for each parameter, the axes over which it varies.
      axes: names and sizes of the axes that are followed.
      out: for each result, axes over which it is to be said to vary; the others are added.
      asked: whether casts are made for results alone, and refused where operands of an op need one.
    Raises: IRValueError where a cast is refused; MissingRule where an op's bodies read a followed
      axis and the op has no rule.
    """
    key = ("varying", tuple(sets), axes, None if out is None else tuple(out), asked)
    return remembered(fn, key, lambda: Varying(fn.name, axes, asked).run(fn, sets, out))


class Varying:
    """One run over the ops of a Function, with the methods by which rules query it."""

    def __init__(self, name: str, axes: Axes, asked: bool = False) -> None:
        self.axes, self.all, self.asked = dict(axes), axes, asked
        self.b = PlacedBuilder(name)
        self.sets: dict[Value, Names] = {}           # for values that vary at all
        self.names: dict[Value, Value] = {}          # values that others have replaced
        self.casts: dict[tuple[Value, Names], Value] = {}
        self.constants: set[Value] = set()           # literals, which have no derivative
        self.locs = Scoped("varying")

    def run(self, fn: Function, sets: Sequence[Names], out: Sequence[Names] | None
            ) -> tuple[Function, Sets]:
        """The whole Function with casts, and the sets of its results."""
        b = self.b
        self.take(fn.params, sets)
        self.step(fn.ops)
        returns = [self.names.get(v, v) for v in fn.returns]
        if out is not None:
            self.asked = False
            returns = [self.cast(v, self.of(v) | s) for v, s in zip(returns, out, strict=True)]
        same = tuple(b.ops) == fn.ops and tuple(returns) == fn.returns
        made = fn if same else fn.replace(ops=b.ops, returns=returns)
        return made, tuple(map(self.of, returns))

    def take(self, params: Sequence[Value], sets: Sequence[Names]) -> None:
        """Add parameters, with the axes over which they vary."""
        self.sets.update({v: s for v, s in zip(params, sets, strict=True) if s})

    def step(self, ops: Sequence[Op]) -> None:
        """Run over further ops."""
        b, renamed, locs = self.b, self.names.get, self.locs
        for op in ops:
            operands = tuple([renamed(v, v) for v in op.operands])
            b.loc = locs[op.loc]
            if op.definition.varying is None:
                self._plain(op, operands)
                continue
            results, found = op.definition.varying(self, op, operands)
            for v, made, s in zip(op.results, results, found, strict=True):
                self.names[v] = made
                if s:
                    self.sets[made] = s

    def _plain(self, op: Op, operands: tuple[Value, ...]) -> None:
        """Emit an op without a rule, its operands cast alike; its results vary as these do."""
        definition = op.definition
        if definition.has_bodies or definition.mentions_axis is not None:
            for name in self.axes:
                if mentions(op, name):
                    raise MissingRule(
                        f"op {definition.name!r} reads {name!r}, an axis of a shard_map, and has "
                        "no varying rule; call shard_map with check_vma=False, or move the "
                        "collective out of it")
        wanted = self.union(operands)
        if wanted:
            operands = tuple([self.cast(v, wanted) for v in operands])
            self.sets.update(dict.fromkeys(op.results, wanted))
        elif definition is literal:
            self.constants.add(op.results[0])
        if operands != op.operands:
            op = Op(definition, operands, op.attrs, op.results, op.loc)
        self.b.ops.append(op)

    # --- what rules ask -----------------------------------------------------------------

    def of(self, value: Value) -> Names:
        """The axes over which a value varies."""
        return self.sets.get(value, NOWHERE)

    def of_original(self, value: Value) -> Names:
        """The axes over which a value of the original Function varies."""
        return self.sets.get(self.names.get(value, value), NOWHERE)

    def union(self, values: Sequence[Value]) -> Names:
        """The axes over which any of the values varies."""
        get = self.sets.get
        return NOWHERE.union(*[get(v, NOWHERE) for v in values])

    def followed(self, names: Collection[str]) -> Names:
        """The names that are axes followed by this run."""
        return frozenset([a for a in names if a in self.axes])

    def cast(self, value: Value, wanted: Collection[str]) -> Value:
        """The value, cast to vary over the wanted axes too. Only derivatives read casts, so a value
        without a derivative stays itself."""
        own = self.of(value)
        missing = frozenset(wanted) - own
        if not missing or not value.type.is_inexact or value in self.constants:
            return value
        if self.asked:
            names = tuple(sorted(missing))
            raise IRValueError(
                f"a value of type {value.type} that does not vary over {', '.join(names)} meets "
                f"one that does, at {self.b.loc}: under auto_pcast(False) write the cast, "
                f"lax.pcast(x, {names}, to='varying')")
        if value.type.is_manual:
            refuse_sums(value.type, missing)
        found = self.casts.get((value, missing))
        if found is None:
            axes = [(a, n) for a, n in self.all if a in missing]
            found = self.b.emit(lookup("pcast"), value, axes=tuple([a for a, _ in axes]),
                                sizes=tuple([n for _, n in axes]))
            self.casts[value, missing] = found
            self.sets[found] = own | missing
        return found

    def body(self, fn: Function, sets: Sequence[Names], out: Sequence[Names] | None = None,
             without: Collection[Any] = (), also: Axes = ()) -> tuple[Function, Sets]:
        """The body after this pass, and the sets of its results. Inside it the axes in `without`
        are not followed, because something around it binds their names anew; those in `also`, which
        only the body has, are."""
        axes = tuple([(a, n) for a, n in self.all if a not in without])
        return varying(fn, sets, (*axes, *also), out, self.asked)


def refuse_sums(type: TensorType, axes: Collection[str]) -> None:
    """Refuse an unreduced or reduced value where one that varies is wanted."""
    assert type.sharding is not None
    spec = type.sharding.spec
    for word, held, advice in (("unreduced", spec.unreduced, "take the sum with lax.psum"),
                               ("reduced", spec.reduced,
                                "cast it with lax.pcast(x, axes, to='varying')")):
        if both := {*held}.intersection(axes):
            raise ShardingTypeError(f"a value of type {type} meets one that varies over "
                                    f"{min(both)!r}, along which it is {word}: {advice}")


def like_body(v: Varying, op: Op, operands: Sequence[Value]
              ) -> tuple[Sequence[Value], Sets]:
    """The rule of an op whose body `body` takes its operands and gives its results."""
    body, sets = v.body(op.attrs["body"], [v.of(x) for x in operands])
    made: tuple[Value, ...] = v.b.emit(op.definition, *operands, **{**op.attrs, "body": body})
    return made, sets


__all__ = ["NOWHERE", "Axes", "Names", "Sets", "Varying", "like_body", "varying"]

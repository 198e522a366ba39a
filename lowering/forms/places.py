"""The place of an op, which a form may query: what makes its operands, and what surrounds it.

A `Place` is a Function with what is known of its parameters. Where the Function is written out in
place (calls, branches), they are values outside; where it is a turn of a loop, only literals
outside are known. Answers are computed on demand, for most ops of a program need none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lowering.context import EXPANDED, INLINED, body_of
from lowering.rules import (  # noqa: F401  (they fill INLINED)
    control,
    custom,
    custom_vmap,
    linear_call,
)
from xfront_ir.core import Function, Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.literal import literal

from .emitted import emitted, renamed


class Outside(NamedTuple):
    """The outer value for which a parameter stands. With `literal_only`, as in a turn of a loop,
    nothing is known of it unless it is a literal."""

    place: Place
    value: Value
    literal_only: bool = False


Source = Outside | int
"""The value that a parameter stands for, or the number of operations that compute it."""

IsPrivate = Callable[[Function], bool]


class Place:
    """A Function, the sources of its parameters, and whether it is a turn of a loop.

    `has_fences`: whether the program gets fences, which a single operation does not.
    """

    __slots__ = ("_by_result", "changed", "function", "given", "has_fences", "in_loop",
                 "is_private")

    def __init__(self, function: Function, given: dict[Value, Source], is_private: IsPrivate, *,
                 in_loop: bool = False, has_fences: bool = False) -> None:
        self.function, self.given, self.is_private = function, given, is_private
        self.in_loop, self.has_fences = in_loop, has_fences
        self.changed: dict[Value, Op] = {}
        self._by_result: dict[Value, Op] | None = None

    def inside(self, function: Function, given: dict[Value, Source], *, in_loop: bool = False
               ) -> Place:
        """The place of a body of an op here; `in_loop` where that op is a loop."""
        return Place(function, given, self.is_private, in_loop=in_loop or self.in_loop,
                     has_fences=self.has_fences)

    def defining_op(self, value: Value) -> tuple[Place, Op] | int:
        """The op that computes a value, with its place. Calls and ops that only rename a value are
        followed. For a value that is not computed here: how many operations compute it."""
        place = self
        while True:
            op = place.changed.get(value) or place._makers().get(value)
            if op is None:
                source = place.given.get(value, 0)
                if isinstance(source, int):
                    return source
                if source.literal_only:
                    found = source.place.defining_op(source.value)
                    is_other = isinstance(found, int) or found[1].definition is not literal
                    return 0 if is_other else found
                place, value = source.place, source.value
            elif (same := renamed(op)) is not None:
                value = same
            elif (body := place._written_out(op)) is not None:
                given: dict[Value, Source] = {
                    p: Outside(place, v) for p, v in zip(body.params, op.operands, strict=True)}
                place, value = place.inside(body, given), body.returns[op.results.index(value)]
            else:
                return place, op

    def operation(self, value: Value, definition: OpDef) -> Op | None:
        """The op of this Function that computes a value, if it is of that definition."""
        op = self._makers().get(value)
        return op if op is not None and op.definition is definition else None

    def _written_out(self, op: Op) -> Function | None:
        """The Function whose ops are written out for an op; None where there is none."""
        expansion = EXPANDED.get(op.definition)
        if expansion is not None:
            return expansion(op)
        if op.definition not in INLINED or self.is_private(body_of(op)):
            return None
        return body_of(op)

    def _makers(self) -> dict[Value, Op]:
        if self._by_result is None:
            self._by_result = {v: op for op in self.function.ops for v in op.results}
        return self._by_result

    def work(self, value: Value, most: int) -> int:
        """How many operations XLA would fuse to compute a value, up to `most`. An operation counts
        once for each time it is read."""
        found = self.defining_op(value)
        if isinstance(found, int):
            return min(found, most)
        place, op = found
        counted, read = emitted(op)
        for v in read:
            if counted >= most:
                return most
            counted += place.work(v, most - counted)
        return min(counted, most)

    def constant(self, value: Value, depth: int = 4) -> Any:
        """The number with which a constant value is filled; `...` for any other constant, None
        where the program computes the value."""
        found = self.defining_op(value)
        if isinstance(found, int):
            return None
        place, op = found
        if op.definition is literal:
            data = op.attrs["value"].array
            return data.reshape(-1)[0].item() if data.size == 1 and data.dtype.kind != "c" else ...
        if not depth or not op.operands or op.definition.has_bodies or any(
                place.constant(v, depth - 1) is None for v in op.operands):
            return None
        return ...

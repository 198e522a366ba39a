"""Programs in which YNNPACK would lose NaN in a maximum or minimum of two arrays.

YNNPACK computes a reduction in one loop with elementwise operations on what it reads or gives, on
all jaxlibs so far, and its `maximum` of NaN and a number is the number: the sum of `relu(x)` is
finite where `x` has a NaN, and so is `relu` of a sum from 4,096 elements on. XLA's own loops are
right, and a program in which a reduction and an extremum of floats may meet gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from xfront_ir import ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, bodies_of
from xfront_ir.traits import ELEMENTWISE, MOVES

_EXTREMA = (ops.max, ops.min)
_REDUCTIONS = (ops.reduce_sum, ops.reduce_max, ops.reduce_min)
_LEAST = 2 ** 12
"""YNNPACK gets loops over this many elements or more."""

_OF_EXTREMUM, _OF_REDUCTION = 1, 2
Flags = tuple[int, ...]


def meet(function: Function) -> bool:
    """Whether a reduction and an extremum of floats may be computed in one loop."""
    if not any([_is_extremum(op) for fn in functions(function) for op in fn.ops]):
        return False
    return _Search().met(function)


def _is_extremum(op: Op) -> bool:
    return op.definition in _EXTREMA and op.results[0].type.dtype.is_float


class _Search:
    """Which values elementwise operations compute from extrema, and which from reductions."""

    def __init__(self) -> None:
        self.found = False
        self.known: dict[tuple[Function, Flags], Flags] = {}

    def met(self, function: Function) -> bool:
        """Whether any of the two meet in a function or in its bodies."""
        self.returned(function, (0,) * len(function.params))
        return self.found

    def returned(self, fn: Function, given: Flags) -> Flags:
        """The flags of what a function returns, from those of its parameters."""
        if (known := self.known.get((fn, given))) is not None:
            return known
        flags = dict(zip(fn.params, given, strict=True))
        for op in fn.ops:
            made = self._made(op, [flags.get(v, 0) for v in op.operands])
            flags.update((v, f) for v, f in zip(op.results, made, strict=True) if f)
        found = self.known[fn, given] = tuple([flags.get(v, 0) for v in fn.returns])
        return found

    def _made(self, op: Op, given: Sequence[int]) -> Sequence[int]:
        definition, read = op.definition, _together(given)
        if definition.has_bodies:
            return self._made_by_bodies(op, given)
        if definition in _REDUCTIONS:
            self.found |= bool(read & _OF_EXTREMUM) and op.operands[0].type.size >= _LEAST
            return (_OF_REDUCTION,) * len(op.results)
        if _is_extremum(op):
            self.found |= bool(read & _OF_REDUCTION) and op.results[0].type.size >= _LEAST
            return (read | _OF_EXTREMUM,)
        alike = ELEMENTWISE in definition.traits or MOVES in definition.traits
        return (read if alike else 0,) * len(op.results)

    def _made_by_bodies(self, op: Op, given: Sequence[int]) -> Sequence[int]:
        """The body of a call stands in its place. XLA puts a loop of one turn, and a branch that is
        known, there too, so any operand may reach any parameter of theirs."""
        bodies = list(bodies_of(op))
        if op.definition.is_call and len(bodies) == 1 and len(bodies[0].params) == len(given):
            return self.returned(bodies[0], tuple(given))
        read = made = _together(given)
        for body in bodies:
            made |= _together(self.returned(body, (read,) * len(body.params)))
        return (made,) * len(op.results)


def _together(flags: Iterable[int]) -> int:
    return reduce(or_, flags, 0)


__all__ = ["meet"]

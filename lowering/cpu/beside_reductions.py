"""Programs in which YNNPACK would compute an operation beside a reduction otherwise than XLA.

YNNPACK computes a reduction in one loop with elementwise operations on what it reads or gives, on
all jaxlibs so far. There what goes beyond the range of 8-bit integers is the greatest or the least:
`max(x) + 1` of int8 is 127 for -128. XLA's own loops are right, and a program in which a reduction
and such an operation may meet gets them. (Extrema of floats are written otherwise, see
`rules/elementwise.py`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from xfront_ir import ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, bodies_of
from xfront_ir.traits import ELEMENTWISE, MOVES

_REDUCTIONS = (ops.reduce_sum, ops.reduce_max, ops.reduce_min, ops.reduce_window_sum,
               ops.reduce_window_max, ops.reduce_window_min)
_LEAST = 2 ** 12
"""YNNPACK gets loops over this many elements or more."""

_OTHERWISE, _OF_REDUCTION = 1, 2
Flags = tuple[int, ...]


def meet(function: Function) -> bool:
    """Whether a reduction and an op that YNNPACK computes otherwise may be in one loop."""
    if not any([_is_otherwise(op) for fn in functions(function) for op in fn.ops]):
        return False
    return _Search().met(function)


def _is_otherwise(op: Op) -> bool:
    if not op.results or not _in_loops(op):
        return False
    dtype = op.results[0].type.dtype
    return dtype.is_integer and dtype.bits == 8 and MOVES not in op.definition.traits


def _in_loops(op: Op) -> bool:
    """Whether XLA computes the op in a loop with others: products of one term are products of
    elements."""
    if op.definition is ops.dot_general:
        shape = op.operands[0].type.shape
        return all([shape[d] == 1 for d in op.attrs["contract"][0]])
    return ELEMENTWISE in op.definition.traits or MOVES in op.definition.traits


class _Search:
    """Which values are computed by such ops and by reductions, in the same loop."""

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
            made = self._flags_of(op, [flags.get(v, 0) for v in op.operands])
            flags.update((v, f) for v, f in zip(op.results, made, strict=True) if f)
        found = self.known[fn, given] = tuple([flags.get(v, 0) for v in fn.returns])
        return found

    def _flags_of(self, op: Op, given: Sequence[int]) -> Sequence[int]:
        definition, read = op.definition, _together(given)
        if definition.has_bodies:
            return self._flags_of_bodies(op, given)
        if definition in _REDUCTIONS:
            self.found |= bool(read & _OTHERWISE) and op.operands[0].type.size >= _LEAST
            return (_OF_REDUCTION,) * len(op.results)
        if _is_otherwise(op):
            self.found |= bool(read & _OF_REDUCTION) and op.results[0].type.size >= _LEAST
            return (read | _OTHERWISE,) * len(op.results)
        return (read if _in_loops(op) else 0,) * len(op.results)

    def _flags_of_bodies(self, op: Op, given: Sequence[int]) -> Sequence[int]:
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

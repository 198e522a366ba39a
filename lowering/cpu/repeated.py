"""Sums along axes on which the terms do not depend: one term times the number of terms.

    sum(broadcast(a, [4, 512, 2048]))        with a of [512, 1]: 4 * 2048 * sum(a)

Before jaxlib 0.11, XLA's library for reductions divides such sums between threads that add to the
same places without waiting for each other, so results differ from run to run.
"""

from __future__ import annotations

import math

from lowering.forms.conditions import of, over_axes, size
from lowering.forms.places import Place
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.literal import literal
from xfront_ir.ops.formulas import Term, where
from xfront_ir.traits import ELEMENTWISE

_FLOATS = of(dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)
_MOST_OPS = 100
"""The most operations among which repeated axes are looked for."""

Axes = frozenset[int]


def repeats_terms(place: Place, op: Op) -> tuple[int, ...] | None:
    """Broadcasts, and elementwise operations on them, repeat the terms along some of the axes."""
    x = op.operands[0]
    found = _Search().along(place, x) & {a for a in op.attrs["axes"] if x.type.shape[a] > 1}
    return tuple(sorted(found)) or None


class _Search:
    """Finds the axes along which values are the same, looking at up to `_MOST_OPS` operations."""

    def __init__(self) -> None:
        self.found: dict[tuple[Function, Value], Axes] = {}

    def along(self, place: Place, value: Value) -> Axes:
        """The axes along which a value is the same; none where more operations compute it."""
        every = frozenset(range(value.type.ndim))
        made = place.made_by(value)
        if isinstance(made, int) or not every:
            return every if not every else frozenset()
        inside, op = made
        key = (inside.function, op.results[0])
        if key not in self.found:
            self.found[key] = frozenset()
            if len(self.found) <= _MOST_OPS:
                self.found[key] = self.of(inside, op)
        return self.found[key]

    def of(self, place: Place, op: Op) -> Axes:
        result = op.results[0].type
        every = frozenset(range(result.ndim))
        if op.definition is literal:
            return every if op.attrs["value"].array.size == 1 else frozenset()
        if op.definition is ops.iota:
            return every - {op.attrs["dimension"]}
        if op.definition is ops.broadcast_in_dim:
            x, dims = op.operands[0], op.attrs["dims"]
            same = self.along(place, x)
            return every - {d for i, d in enumerate(dims)
                            if x.type.shape[i] > 1 and i not in same}
        if op.definition in (ops.slice, ops.reverse):
            return self.along(place, op.operands[0])
        if op.definition is ops.transpose:
            same = self.along(place, op.operands[0])
            return frozenset(i for i, d in enumerate(op.attrs["permutation"]) if d in same)
        if op.definition is ops.reshape:
            same, shape = self.along(place, op.operands[0]), op.operands[0].type.shape
            return frozenset(d for old, new in _groups(shape, result.shape) for d in new
                             if all(shape[i] == 1 or i in same for i in old))
        if ELEMENTWISE not in op.definition.traits:
            return frozenset()
        for x in op.operands:
            if x.type.ndim and every:
                every = every & self.along(place, x)
        return every


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """The axes that a reshape makes of which axes, in the smallest groups of the same size."""
    if 0 in old:
        return []
    made: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right, size, wanted = [], [], 1, 1
        while not left and not right or size != wanted:
            if j == len(new) or (i < len(old) and size <= wanted):
                left.append(i)
                size, i = size * old[i], i + 1
            else:
                right.append(j)
                wanted, j = wanted * new[j], j + 1
        made.append((left, right))
    return made


# Sums of repeated terms: before jaxlib 0.11, XLA's library adds them up in threads that do not wait
# for each other. Elsewhere this is less work. The library takes sums of 2**12 terms or more.
@form(ops.reduce_sum, when=_FLOATS & size(2 ** 12) & over_axes, known=repeats_terms, needed=True,
      row="kernels.reduction: sum of a broadcast")
def sum_of_repeated(b: Builder, op: Op, x: Value) -> Value:
    """The sum of the terms that differ, times how often each occurs."""
    repeated, axes, shape = op.attrs["known"], op.attrs["axes"], x.type.shape
    rank = range(len(shape))
    once = b.emit(ops.slice, x, starts=(0,) * len(rank), strides=(1,) * len(rank), limits=tuple(
        1 if d in repeated else n for d, n in enumerate(shape)))
    wide = dtypes.f32 if x.type.dtype.bits < 32 else x.type.dtype
    kept = [d for d in rank if d not in repeated]
    terms = Term(b, b.emit(ops.reshape, once, shape=tuple(shape[d] for d in kept))).to(wide)
    left = tuple(i for i, d in enumerate(kept) if d in axes)
    total = ops.reduce_sum(terms, axes=left) if left else terms
    total = total * math.prod(shape[d] for d in repeated)
    return where(total == 0, 0, total).to(x.type.dtype).value

"""The choice between XLA's two libraries for the matrix products and convolutions of a program.

By XLA's default YNNPACK computes those of f32. It uses one core for some products that Eigen
divides between two, and on jaxlib 0.10 it is slower at convolutions of some twenty to a hundred
channels. Eigen is slower at few rows, at many small products, and where the columns of the right
matrix lie powers of two apart. XLA takes the choice per program, not per operation, so the times of
all products of a program are estimated for both libraries.

YNNPACK also computes reductions, and adds up long rows with vectors. It sets up each reduction when
a process first runs it. Where many reductions are small, this takes longer than XLA's own loops
lose in a hundred runs, and those loops are chosen. So they are for differences of slices, and where
YNNPACK would add up repeated terms wrongly (`repeated.py`) or hold 8-bit integers in their range
(`beside_reductions.py`).
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from lowering import compat
from xfront_ir import dtypes, ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.definition import OpDef
from xfront_ir.traits import ELEMENTWISE

from . import beside_reductions, repeated

OPTION = "xla_cpu_experimental_ynn_fusion_type"
GAIN = 0.95
"""Eigen is chosen where it takes less than this fraction of YNNPACK's time."""
LEAST_GAIN = 2 ** 20
"""The least time to save, in multiplications; programs that save less keep the default."""

_ON_ONE_CORE = (3 * 2 ** 19 if compat.VERSION < (0, 11) else 3 * 2 ** 20, 3 * 2 ** 22)
"""YNNPACK uses one core where Eigen uses two for products with multiplications in this range:
smaller ones are too small for two cores, greater ones YNNPACK divides too."""
_LONG_SUMS, _MOST_OF_LONG = 256, 3 * 2 ** 21
"""Products whose sums have at least the first number of terms YNNPACK divides from the second
number of multiplications on."""
_FEW_ROWS = 64
_TURNS = 16
"""Of a loop whose number of turns is not known."""

_SET_UP = 400.0
"""The microseconds in which YNNPACK sets up a reduction before its first run."""
_RUNS = 100
"""The number of runs in which the set-up should pay off."""
_MANY_REDUCTIONS = 20
_LOSS = {ops.reduce_sum: 2e-4, ops.reduce_max: 1e-3, ops.reduce_min: 1e-3}
"""The microseconds per element that XLA's own loops take longer, along the last axes."""

Times = tuple[float, float]
"""The times of YNNPACK and of Eigen, in multiplications on two cores, from measurements on x86 with
AVX-512."""


def options(function: Function, for_speed: bool) -> tuple[tuple[str, str], ...]:
    """XLA's option for a program, bodies included; none where its default is as good.

    Args:
      for_speed: whether to choose the faster library too; the one that computes right is always
        chosen.
    """
    if not compat.CHOOSES_LIBRARY:
        return ()
    with_products = with_convolutions = False
    with_reductions = beside_reductions.meet(function) or (
        compat.VERSION < (0, 11) and repeated.repeats_somewhere(function))
    if for_speed and platform.machine() in ("x86_64", "AMD64"):
        found = list(_ops_inside(function))
        with_products = _is_faster(found, ops.dot_general, _times_of_product)
        with_convolutions = compat.YNNPACK_CONVOLVES and _is_faster(
            found, ops.conv_general_dilated, _times_of_convolution)
        with_reductions = (with_reductions or _are_many_and_small(function)
                           or _are_of_slices(function))
    if not with_products and not with_convolutions and not with_reductions:
        return ()
    kept = [*["REDUCE"] * (not with_reductions), *["INDIVIDUAL_DOT"] * (not with_products),
            *["INDIVIDUAL_CONVOLUTION"] * (compat.YNNPACK_CONVOLVES and not with_convolutions)]
    return ((OPTION, ",".join("LIBRARY_FUSION_TYPE_" + name for name in kept)),)


def _ops_inside(function: Function) -> Iterator[tuple[Op, int]]:
    """Yield the products and convolutions of a function and of its bodies, each body once, with the
    number of times that they run."""
    seen, left = {function}, [(function, 1)]
    while left:
        inside, runs = left.pop()
        for op in inside.ops:
            if op.definition in (ops.dot_general, ops.conv_general_dilated):
                yield op, runs
            elif op.definition.has_bodies:
                regions = op.definition.regions
                turns = regions.turns(op.attrs) if regions.is_loop else 1
                new = {body for body in bodies_of(op) if body not in seen}
                seen |= new
                left.extend([(body, runs * (_TURNS if turns is None else turns)) for body in new])


def _is_faster(found: list[tuple[Op, int]], definition: OpDef, times: Callable[[Op], Times]
               ) -> bool:
    """Whether Eigen takes less time for the ops of a definition."""
    taken = [(times(op), runs) for op, runs in found if op.definition is definition]
    of_ynnpack, of_eigen = (sum(t[i] * runs for t, runs in taken) for i in (0, 1))
    return of_eigen < GAIN * of_ynnpack and of_ynnpack - of_eigen >= LEAST_GAIN


def _are_many_and_small(function: Function) -> bool:
    """Whether YNNPACK's set-up of the reductions takes longer than they gain in a hundred runs.

    False for programs with loops, whose bodies run more often.
    """
    count, loss = 0, 0.0
    seen, left = {function}, [function]
    while left:
        for op in left.pop().ops:
            definition = op.definition
            if definition in _LOSS:
                x, axes = op.operands[0].type, op.attrs["axes"]
                if x.dtype is dtypes.f32 and axes:
                    count += 1
                    loss += _LOSS[definition] * x.size * (axes[-1] == x.ndim - 1)
            elif definition.has_bodies:
                if definition is not ops.call:
                    return False
                inside = {body for body in bodies_of(op) if body not in seen}
                seen |= inside
                left.extend(inside)
    return count >= _MANY_REDUCTIONS and loss * _RUNS < _SET_UP * count


def _are_of_slices(function: Function) -> bool:
    """Whether all long reductions have operands that are computed from several slices, as
    differences are, and that nothing else reads.

    YNNPACK reads these from memory, where XLA's own loops compute them in place.
    """
    found = False
    for fn in functions(function):
        long = [op.operands[0] for op in fn.ops if op.definition in _LOSS and op.attrs["axes"]
                and op.operands[0].type.size >= _LEAST_LONG]
        if not long:
            continue
        made = {v: op for op in fn.ops for v in op.results}
        readers = Counter([v for op in fn.ops for v in set(op.operands)] + [*fn.returns])
        if any([x.type.size < _LONG_OF_SLICES or _slices(made, readers, x) < 2 for x in long]):
            return False
        found = True
    return found


_LEAST_LONG, _LONG_OF_SLICES = 2 ** 14, 2 ** 18
_MOST_OPS = 32


def _slices(made: Mapping[Value, Op], readers: Mapping[Value, int], value: Value) -> int:
    """How many slices elementwise operations read to compute a value; 0 if something else reads
    their results too."""
    seen, left, count = {value}, [value], 0
    while left and len(seen) < _MOST_OPS:
        value = left.pop()
        op = made.get(value)
        if op is None:
            continue
        count += op.definition is ops.slice
        if ELEMENTWISE in op.definition.traits:
            if readers[value] > 1:
                return 0
            new = [v for v in op.operands if v not in seen]
            seen.update(new)
            left += new
    return count


def _times_of_product(op: Op) -> Times:
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    (left, right), (of_lhs, _) = a["contract"], a["batch"]
    terms = math.prod(lhs.shape[d] for d in left)
    count = op.results[0].type.size * terms
    if lhs.dtype is dtypes.bf16:
        return count, 2.0 * count
    if lhs.dtype is not dtypes.f32 or len(left) != 1 or not count:
        return 0.0, 0.0
    if of_lhs:
        return 1.5 * count, 2.2 * count
    rows, columns = lhs.size // terms, rhs.size // terms
    if rows == 1 or columns == 1:
        return 0.0, 0.0
    if left[0] != lhs.ndim - 1:              # YNNPACK does not take these
        return 1.3 * count, 1.3 * count
    by_columns = right[0] == rhs.ndim - 1
    if by_columns and (rows < _FEW_ROWS or terms % 256 == 0):
        return 1.1 * count, 1.7 * count
    least, most = _ON_ONE_CORE
    if terms >= _LONG_SUMS:
        most = _MOST_OF_LONG
    if rows >= _FEW_ROWS and least <= count <= most:
        return 1.9 * count, (1.3 if by_columns else 1.15) * count
    return 1.1 * count, (1.2 if by_columns or rows < _FEW_ROWS else 1.1) * count


def _times_of_convolution(op: Op) -> Times:
    rhs, spec = op.operands[1].type, op.attrs["rhs_spec"]
    if rhs.dtype is not dtypes.f32:
        return 0.0, 0.0
    channels, window = rhs.shape[spec[1]], math.prod(rhs.shape[d] for d in spec[2:])
    count = op.results[0].type.size * channels * window
    if channels < 4:
        return count, 2.0 * count
    return (1.6 if 20 <= channels < 112 and window > 1 else 1.0) * count, float(count)

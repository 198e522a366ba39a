"""What a program should give, and whether a result is that.

The NumPy evaluator says what is right. A value that no operation has rounded is compared bit for
bit but for the payload of NaN; signs of zeros count where elements are moved alone; a subnormal
number, given or expected, may have become zero. What was rounded may be off by

    (operations that round, of a sum its terms) * eps * (the value with all numbers made positive)

which bounds the error of sums and products in any order: the last factor is the same program over
absolute values, with sums for differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from xfront_ir.core import Function, Op
from xfront_ir.reference import row_of, run

from .program import Value

Arrays = list[np.ndarray]
SHOWN = 4
"""Wrong elements in a message."""


class Expected:
    """The right results of a Function for some arrays.

    Attributes:
      values: what the evaluator gives.
      flushed: what it gives where subnormal numbers among the arrays are zeros.
      bounds: for each result how far off a rounded one may be, or None where nothing was rounded.
    """

    def __init__(self, fn: Function, arrays: Arrays, rough: bool) -> None:
        known: list[Any] = []
        self.values = run(fn, arrays, lambda op, xs: _recorded(known, op, xs))
        self.flushed = self.values
        if any(_subnormal(x).any() for x in arrays):
            self.flushed = run(fn, [_flush(x) for x in arrays])
        self.bounds: list[np.ndarray | None] = [None] * len(self.values)
        if rough:
            self.bounds = _bounds(fn, arrays, known)

    def differences(self, got: Sequence[np.ndarray], values: Sequence[Value]) -> str:
        """What is wrong with the results; empty where nothing is."""
        said = []
        for k, (value, x) in enumerate(zip(values, got, strict=True)):
            e = self.values[k]
            if x.shape != value.shape or x.dtype != e.dtype or e.shape != value.shape:
                said.append(f"{value.name}: {x.dtype}{list(x.shape)} is given, the evaluator gives "
                            f"{e.dtype}{list(e.shape)}, {value} was meant")
                continue
            bound = self.bounds[k] if value.rough else None
            wrong = ~_right(x, e, self.flushed[k], bound, value.moved)
            if wrong.any():
                said.append(_shown(value, x, e, wrong))
        return "\n".join(said)


def _right(x: np.ndarray, e: np.ndarray, flushed: np.ndarray, bound: np.ndarray | None,
           signs: bool) -> np.ndarray:
    """For each element whether it is right."""
    if x.dtype.kind in "biu":
        return (x == e) | (x == flushed)
    with np.errstate(all="ignore"):
        right = np.asarray(_same(x, e, signs) | _same(x, flushed, signs)
                           | _same(_flush(x), _flush(flushed), signs))
        if bound is not None:
            kind = np.complex128 if x.dtype.kind == "c" else np.float64
            right |= np.abs(x.astype(kind) - e.astype(kind)) <= bound
    return right


def _same(x: np.ndarray, e: np.ndarray, signs: bool) -> np.ndarray:
    if x.dtype.kind == "c":
        parts = [_same(f(x), f(e), signs) for f in (np.real, np.imag)]
        return np.asarray(parts[0] & parts[1])
    same = (x == e) | (np.isnan(x) & np.isnan(e))
    return np.asarray(same & ((np.signbit(x) == np.signbit(e)) | np.isnan(x)) if signs else same)


def _shown(value: Value, x: np.ndarray, e: np.ndarray, wrong: np.ndarray) -> str:
    places = np.argwhere(wrong)[:SHOWN]
    pairs = [f"{p.tolist()}: {x[tuple(p)]} for {e[tuple(p)]}" for p in places]
    return f"{value.name}, {value}: {int(wrong.sum())} of {wrong.size} wrong; {'; '.join(pairs)}"


def _subnormal(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "biuc":
        return np.zeros(x.shape, bool)
    tiny = ml_dtypes.finfo(x.dtype).tiny
    with np.errstate(all="ignore"):
        return np.asarray((x != 0) & (np.abs(x) < tiny))


def _flush(x: np.ndarray) -> np.ndarray:
    return np.where(_subnormal(x), np.copysign(np.zeros((), x.dtype), x), x) \
        if x.dtype.kind not in "biuc" else x


# --- bounds of errors -----------------------------------------------------------------------

def _recorded(known: list[Any], op: Op, operands: Sequence[np.ndarray]) -> Any:
    """The meaning of an op, noted in the order in which ops are evaluated."""
    made = row_of(op.definition.name)(op.attrs, tuple([v.type for v in op.results]), *operands)
    known.append(made)
    return made


def _bounds(fn: Function, arrays: Arrays, known: list[Any]) -> list[np.ndarray | None]:
    """The program over absolute values, times the number of roundings, times eps.

    Integers and bools are those of the program itself, so that it takes the same way.
    """
    rounded, eps = 0, 0.0
    place = iter(known)

    def meaning(op: Op, operands: Sequence[np.ndarray]) -> Any:
        nonlocal rounded, eps
        made = next(place)
        types = [v.type for v in op.results]
        if not any(t.dtype.is_inexact for t in types):
            return _absolute(op, operands) if op.definition.has_bodies else made
        rounded += _terms(op)
        eps = max([eps, *[float(ml_dtypes.finfo(t.dtype.numpy).eps) for t in types
                          if t.dtype.is_inexact]])
        return _absolute(op, operands)

    sizes = run(fn, [_positive(x) for x in arrays], meaning)
    return [None if x.dtype.kind in "biu" else 2 * rounded * eps * x.astype(np.float64).real
            for x in sizes]


def _positive(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "biu" else np.abs(np.where(np.isfinite(x), x, 0)).astype(x.dtype)


_MAJORANTS = {"sub": "add", "min": "max", "reduce_min": "reduce_max", "cummin": "cummax",
              "reduce_window_min": "reduce_window_max", "scatter_min": "scatter_max"}


def _absolute(op: Op, operands: Sequence[np.ndarray]) -> Any:
    """What an op gives at most for operands of at most these sizes."""
    name = op.definition.name
    if name in ("neg", "abs"):
        return operands[0]
    row = row_of(_MAJORANTS.get(name, name))
    made = row(op.attrs, tuple([v.type for v in op.results]), *operands)
    if name == "clamp":
        made = np.maximum(*np.broadcast_arrays(operands[0], operands[1]))
    if not isinstance(made, np.ndarray | np.generic):
        return made
    return _positive(np.asarray(made))


def _terms(op: Op) -> int:
    """How often a result of the op was rounded."""
    name, result = op.definition.name, op.results[0].type
    operand = op.operands[0].type if op.operands else result
    if name == "dot_general":
        return math.prod(operand.shape[d] for d in op.attrs["contract"][0]) + 1
    if name == "conv_general_dilated":
        kernel = op.operands[1].type
        return math.prod(kernel.shape)
    if name.startswith("reduce_window"):
        return math.prod(op.attrs["window"])
    if name.startswith(("cum", "scatter")):
        return max(operand.shape, default=1) + math.prod(op.operands[-1].type.shape)
    return max(1, math.prod(operand.shape) // max(1, math.prod(result.shape)))

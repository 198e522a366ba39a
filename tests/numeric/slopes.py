"""Gradients of the reference by differences, for one number made of all results of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from . import reference
from .compare import leaves
from .reference import Taken
from .row import Row, operand

CLOSE = {"float16": 2e-2, "bfloat16": 0.1, "float32": 2e-3, "float64": 1e-6}
"""How far an element of a gradient may be, beside the largest of its operand."""
STEP = 2e-3
MOST = 24
"""Elements of a call whose gradient is looked at."""


def active(taken: Sequence[Taken]) -> list[Taken]:
    """The operands that have a gradient."""
    return [t for t in taken if t.letter in "abcd"]


def is_small(taken: Sequence[Taken]) -> bool:
    return 0 < sum(int(np.prod(t.shape)) for t in active(taken)) <= MOST


def weights(shape: tuple[int, ...], place: int) -> np.ndarray:
    """Of the results of one leaf, in [0.5, 1.5]: sums of them hide no element."""
    count = int(np.prod(shape))
    return (1 + 0.5 * np.cos(1.7 * np.arange(count) + place)).reshape(shape)


def total(results: Any, lib: Any) -> Any:
    """One number: the weighted real and imaginary parts of all inexact results."""
    made = 0.0
    for place, x in enumerate(leaves(results)):
        parts = (lib.real(x), lib.imag(x)) if x.dtype.kind == "c" else (x,)
        for k, part in enumerate(parts):
            if part.dtype.kind in "fV":
                w = weights(part.shape, place + 10 * k)
                made = made + (part * w.astype(part.dtype)).sum()
    return made


class Slopes(NamedTuple):
    """Of the elements of an operand the derivatives, NaN where there are none."""

    taken: Taken
    values: np.ndarray


def differences(row: Row, text: str, dtype: str, taken: Sequence[Taken]) -> list[Slopes]:
    """The gradient of the reference."""
    made = []
    for one in active(taken):
        shape = operand(row, *one, dtype).shape
        found = np.full(shape, np.nan)
        for place in np.ndindex(*shape):
            quotients = [_quotient(row, text, dtype, one, place, step) for step in (STEP, STEP / 2)]
            if np.all(np.isfinite(quotients)) and abs(quotients[0] - quotients[1]) <= 1e-6 * (
                    abs(quotients[1]) + 1e-3):
                found[place] = quotients[1]
        made.append(Slopes(one, found))
    return made


def _quotient(row: Row, text: str, dtype: str, one: Taken, place: tuple[int, ...], step: float
              ) -> float:
    """Of the fourth order."""
    values = []
    size = float(np.abs(operand(row, *one, dtype)[place].astype(np.float64))) or 1.0
    h = step * min(size, 1.0)
    for k in (-2, -1, 1, 2):
        def give(taken: Taken, k: int = k) -> np.ndarray:
            x = operand(row, *taken, dtype)
            if taken.letter in "ik":
                return x
            x = x.astype(np.float64)
            if taken == one:
                x = x.copy()
                x[place] += k * h
            return x

        values.append(float(total(reference._evaluate(row, text, give), np)))
    low2, low, high, high2 = values
    return (8 * (high - low) - (high2 - low2)) / (12 * h)


def rounding(dtype: str) -> float:
    """How large a derivative of 0 may be, whose terms cancel, here or in a difference."""
    return max(64 * float(ml_dtypes.finfo(dtype).eps), 1e-10)


def most(dtype: str) -> float:
    """Larger derivatives, or what they are products of, may be beyond the dtype."""
    return float(ml_dtypes.finfo(dtype).max) / 8


def misses(got: np.ndarray, wanted: np.ndarray, dtype: str, close: float) -> np.ndarray:
    """Which elements of a gradient are wrong."""
    known = np.isfinite(wanted)
    size = np.abs(np.where(known, wanted, 0))
    near = (close or CLOSE[dtype]) * np.maximum(size, 0.25 * size.max(initial=0))
    near = near + rounding(dtype)
    with np.errstate(all="ignore"):
        known &= size < most(dtype)
        return known & ~(np.abs(got.astype(np.float64) - np.where(known, wanted, 0)) <= near)

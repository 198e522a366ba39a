"""What is checked of a row: gradients are finite, and right, where differences say that they are.

The function is traced in double precision and evaluated by NumPy, at the points and beside them.
Where quotients of two steps agree there is a derivative: the gradient in double precision must be
finite and lie between the one from the left and the one from the right, and the compiled gradient
in a narrower dtype must be finite and near it, as far as rounding of the arguments and of the
value allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import xfront
from xfront.base.config import enable_x64
from xfront_ir.core import Function
from xfront_ir.reference import evaluate

from .rows import Row, weighted

STEPS = (1e-5, 1e-7, 1e-9, 1e-11)
"""Of the argument's magnitude; oscillations at large arguments need the small ones."""
AGREE = 1e-2
CLOSE = {"float32": 2e-3, "bfloat16": 0.1, "float16": 2e-2}


# --- values ---------------------------------------------------------------------------------

class Evaluated:
    """A function of batches of points in double precision.

    NumPy computes it, or XLA where it has special functions, which NumPy does not have.
    """

    def __init__(self, f: Callable[..., Any], *points: np.ndarray) -> None:
        self.batched = xfront.vmap(f)
        with enable_x64(True):
            closed = xfront.make_ir(self.batched)(*points)
            is_special = _is_special(closed.ir)
        self.ir, self.captured = closed.ir, [np.asarray(c) for c in closed.consts]
        self.compiled = xfront.jit(self.batched) if is_special else None

    def __call__(self, *points: np.ndarray) -> list[np.ndarray]:
        if self.compiled is None:
            return evaluate(self.ir, *points, *self.captured)
        with enable_x64(True):
            return [np.asarray(y) for y in
                    xfront.tree_util.tree_leaves(self.compiled(*points))]


def _is_special(fn: Function) -> bool:
    return (any(op.definition.family.endswith("special.py") for op in fn.ops)
            or any(_is_special(body) for body in fn.bodies()))


# --- differences ---------------------------------------------------------------------------

@dataclass
class Slope:
    """Of each point, along one element of one argument: the quotients, where they agree."""

    left: np.ndarray
    right: np.ndarray
    noise: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Whether a derivative exists on one side at least."""
        return np.isfinite(self.left) | np.isfinite(self.right)

    def misses(self, gradient: np.ndarray) -> np.ndarray:
        """Where a gradient lies outside of what the quotients allow."""
        both = np.isfinite(self.left) & np.isfinite(self.right)
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        room = 2 * AGREE * np.maximum(abs(low), abs(high)) + self.noise
        return both & ((gradient < low - room) | (gradient > high + room))


def _one_sided(values: list[np.ndarray], at: np.ndarray, steps: list[np.ndarray],
               inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The quotient of the largest two steps that agree, NaN where none do; its rounding."""
    found = np.full(at.shape, np.nan)
    noise = np.zeros(at.shape)
    for i in range(len(steps) - 1):
        first, second = ((values[j] - at) / steps[j] for j in (i, i + 1))
        rounding = 8e-16 * (np.abs(at) + inside) / np.abs(steps[i + 1]) + 1e-300
        agree = np.abs(first - second) <= AGREE * np.abs(second) + rounding
        new = np.isnan(found) & agree & np.isfinite(first) & np.isfinite(second)
        found, noise = np.where(new, first, found), np.where(new, rounding, noise)
    return found, noise


def _scale(points: Sequence[np.ndarray]) -> np.ndarray:
    """The largest magnitude of each point, 1 where all is 0."""
    most = np.max([np.abs(np.nan_to_num(p)).reshape(len(p), -1).max(1) for p in points], 0)
    return np.where(most == 0, 1.0, most)


def slopes(f: Callable[..., Any], points: Sequence[np.ndarray], floor: float
           ) -> tuple[np.ndarray, list]:
    """(values at the points, for each argument a Slope for each of its elements).

    Numbers inside the function are as large as `floor`, and of vectors as their elements.
    """
    n = len(points[0])
    scale = _scale(points)
    inside = scale * any(p.ndim > 1 for p in points) + floor
    moved: list[list[np.ndarray]] = [[p] for p in points]
    places = []
    for i, p in enumerate(points):
        for place in np.ndindex(*p.shape[1:]):
            x = p[(slice(None), *place)]
            size = np.where(x == 0, scale, np.abs(x))
            taken = []
            for side in (-1, 1):
                for step in STEPS:
                    to = p.copy()
                    to[(slice(None), *place)] = x + side * step * size
                    taken.append(to[(slice(None), *place)] - x)
                    for j, q in enumerate(points):
                        moved[j].append(to if j == i else q)
            places.append((i, taken))
    every = np.concatenate
    values = Evaluated(f, *[every(m) for m in moved])(*[every(m) for m in moved])[0]
    rows = iter(values.reshape(-1, n))
    at, made = next(rows), [[] for _ in points]
    for i, taken in places:
        around = [next(rows) for _ in taken]
        k = len(STEPS)
        left, noisy = _one_sided(around[:k], at, taken[:k], inside)
        right, noise = _one_sided(around[k:], at, taken[k:], inside)
        made[i].append(Slope(left, right, np.maximum(noisy, noise)))
    return at, made


# --- the checks ----------------------------------------------------------------------------

@dataclass
class Fault:
    """A gradient that is not what it should be."""

    name: str
    dtype: str
    argument: int
    point: tuple
    got: float
    wanted: str

    def __str__(self) -> str:
        return (f"{self.name} {self.dtype}: d/d(argument {self.argument}) at {self.point} is "
                f"{self.got:.6g}, wanted {self.wanted}")


def _narrow(points: Sequence[np.ndarray], dtype: str) -> list[np.ndarray]:
    """The points that the dtype holds, each once."""
    as_numpy = np.dtype(getattr(ml_dtypes, dtype, dtype))
    with np.errstate(all="ignore"):
        rounded = [p.astype(as_numpy) + as_numpy.type(0) for p in points]       # one zero
    n = len(points[0])
    wide = np.concatenate([r.astype(np.float64).reshape(n, -1) for r in rounded], 1)
    given = np.concatenate([p.reshape(n, -1) for p in points], 1)
    lost = np.isfinite(given) & (~np.isfinite(wide) | ((wide == 0) & (given != 0)))
    _, first = np.unique(wide, axis=0, return_index=True)
    chosen = np.setdiff1d(first, np.flatnonzero(lost.any(1)))
    return [r[chosen] for r in rounded]


def _elements(gradient: np.ndarray) -> list[np.ndarray]:
    """Of each element of an argument, the gradients at all points."""
    wide = np.asarray(gradient).astype(np.float64)
    return list(wide.reshape(len(wide), -1).T)


def faults(row: Row, dtypes: Sequence[str]) -> list[Fault]:
    """All that is wrong with the gradients of a row, in double precision and in these dtypes."""
    number = weighted(row.f)
    active = tuple(range(len(row.points)))
    found = []
    for dtype in dtypes if row.narrow else ("float32",):
        given = _narrow(row.points, dtype)
        wide = [g.astype(np.float64) for g in given]
        with np.errstate(all="ignore"):
            values, known = slopes(number, wide, row.floor)
            gradients = Evaluated(xfront.grad(number, active), *wide)
            exact = [_elements(g) for g in gradients(*wide)]
            eps = float(ml_dtypes.finfo(given[0].dtype).eps)
            beside = [[_elements(g) for g in gradients(*[w * (1 + side * eps) for w in wide])]
                      for side in (-2, 2)]
        made, compiled = xfront.jit(xfront.vmap(xfront.value_and_grad(number, active)))(*given)
        made = np.asarray(made).astype(np.float64)
        scale = _scale(wide)
        tied = _tied(wide) if row.ties else np.zeros(len(values), bool)
        for i, p in enumerate(wide):
            for j, (slope, g, c) in enumerate(zip(known[i], exact[i], _elements(compiled[i]),
                                                  strict=True)):
                x = p.reshape(len(p), -1)[:, j]
                wrong = _wrong(row, dtype, slope, values, made, x, scale, tied, g, c,
                               [b[i][j] for b in beside])
                for k, got, wanted, where in wrong:
                    found.append(Fault(row.name, where, i, tuple(w[k].tolist() for w in wide),
                                       got, wanted))
    return found


def _tied(points: Sequence[np.ndarray]) -> np.ndarray:
    """Whether two numbers of a point are equal."""
    every = np.sort(np.concatenate([p.reshape(len(p), -1) for p in points], 1), 1)
    return (every[:, 1:] == every[:, :-1]).any(1)


def _wrong(row: Row, dtype: str, slope: Slope, values: np.ndarray, made: np.ndarray,
           x: np.ndarray, scale: np.ndarray, tied: np.ndarray, exact: np.ndarray,
           compiled: np.ndarray, beside: list[np.ndarray]) -> list[tuple[int, float, str, str]]:
    """(point, what came, what is wanted, in which dtype) of each gradient that is wrong."""
    info = ml_dtypes.finfo(dtype)
    most, eps = float(info.max), float(info.eps)
    with np.errstate(all="ignore"):
        due = np.isfinite(values) & slope.known
        lost = due & ~np.isfinite(exact)
        off = due & ~lost & slope.misses(exact) & (not row.steps) & ~tied
        spread = np.nan_to_num(np.max([np.abs(b - exact) for b in beside], 0), nan=np.inf)
        rounding = eps * (np.abs(values) + row.floor) / np.where(x == 0, scale, np.abs(x))
        room = (row.close.get(dtype, CLOSE[dtype]) * np.abs(exact) + 4 * spread + 16 * rounding
                + 64 * float(info.smallest_normal))
        inside = due & ~lost & ~off & np.isfinite(made) & (np.abs(exact) < most / 8)
        gone = inside & ~np.isfinite(compiled)
        same = np.abs(made - values) <= 0.1 * np.abs(values)     # nothing left the range inside
        far = inside & ~gone & same & ~(np.abs(compiled - exact) <= room) & (not row.rough)
    wrong = []
    for where, flags, got in (("float64", lost | off, exact), (dtype, gone | far, compiled)):
        for k in np.flatnonzero(flags):
            wanted = (f"between {slope.left[k]:.6g} and {slope.right[k]:.6g}" if where == "float64"
                      else f"{exact[k]:.6g}")
            wrong.append((int(k), float(got[k]), wanted, where))
    return wrong

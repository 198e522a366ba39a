"""Arrays written as indices: `r_` and `c_`."""

from __future__ import annotations

from typing import Any

from .creation import array, asarray
from .manipulation import concatenate, swapaxes, transpose
from .ranges import _known_slice, arange, linspace


def _range(s: slice) -> Any:
    """The numbers of a slice; an imaginary step says how many there are, both ends included."""
    s = _known_slice(s)
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    if s.stop is None:
        raise ValueError(f"r_ and c_: a slice needs a stop, got {s}")
    if isinstance(step, complex):
        return linspace(start, s.stop, int(abs(step)))
    return arange(start, s.stop, step)


class _Joined:
    """`r_` and `c_`: what stands in the brackets, joined along an axis."""

    __slots__ = ("__dict__", "_axis", "_ndim", "_start")

    def __init__(self, axis: int, ndim: int, start: int, doc: str) -> None:
        self._axis, self._ndim, self._start = axis, ndim, start
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        axis, ndim, start = self._axis, self._ndim, self._start
        if parts and isinstance(parts[0], str) and parts[0] in ("r", "c"):
            made = self[parts[1:]]
            return made if made.ndim > 1 else made[None] if parts[0] == "r" else made[:, None]
        if parts and isinstance(parts[0], str):
            axis, ndim, start = _directive(parts[0], axis, ndim, start)
            parts = parts[1:]
        made = []
        for part in parts:
            if isinstance(part, str):
                raise ValueError("r_ and c_: a directive must be the first entry, got "
                                 f"{part!r} after it")
            if isinstance(part, slice):
                x = _ndim_at_least(_range(part), ndim)
                made.append(swapaxes(x, -1, start) if start != -1 and ndim > 1 else x)
                continue
            x = asarray(part)
            wide = _ndim_at_least(x, ndim)
            if start != -1 and 0 < x.ndim < ndim:
                wide = _from(wide, start, ndim - x.ndim)
            made.append(wide)
        return concatenate(made, axis)


def _ndim_at_least(x: Any, ndim: int) -> Any:
    """`x` with leading axes of size 1, so that it has at least `ndim` axes."""
    return array(x, ndmin=ndim) if x.ndim < ndim else x


def _from(x: Any, start: int, new: int) -> Any:
    """`x` with its first `new` axes moved so that its other axes begin at axis `start`."""
    start = start + new + 1 if start < 0 else start
    axes = list(range(x.ndim))
    return transpose(x, axes[:start] + axes[new:] + axes[start:new])


def _directive(text: str, axis: int, ndim: int, start: int) -> tuple[int, int, int]:
    """(axis, ndim, start) as a directive gives them, which may leave out the last ones."""
    try:
        given = [int(number) for number in text.split(",")]
    except ValueError:
        given = []
    if not 0 < len(given) <= 3:
        raise ValueError(f"r_ and c_: could not understand directive {text!r}: write 'axis', "
                         "'axis,ndim' or 'axis,ndim,start' in integers")
    axis, ndim, start = *given, *(axis, ndim, start)[len(given):]
    return axis, ndim, start


r_ = _Joined(0, 1, -1, """What stands in the brackets, joined along the first axis.

    Slices are ranges, `0:1:5j` five numbers of which the last is 1. A text before them,
    'axis,ndim,start', says along which axis to join, how many axes each part has at least, and at
    which of these its own begin; 'r' and 'c' make a row or a column of what has one axis.
    Source: `numpy.r_`.

    >>> jnp.r_[1:4, 0, jnp.array([5, 6])]
    Array([1, 2, 3, 0, 5, 6], dtype=int32)
    """)
c_ = _Joined(-1, 2, 0, """What stands in the brackets, as columns: joined along the last axis.

    What may stand there is told at `r_`.
    Source: `numpy.c_`.
    """)

__all__ = ["c_", "r_"]

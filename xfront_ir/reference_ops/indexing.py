"""NumPy rows of the slices, pad and concatenate. Keys keep their words after the axes."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..reference import reference


def _span(start: int, limit: int, stride: int = 1) -> builtins.slice:
    return builtins.slice(start, limit, stride)


@reference("slice")
def _slice(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return x[tuple(map(_span, attrs["starts"], attrs["limits"], attrs["strides"]))]


@reference("pad")
def _pad(attrs: Any, types: Any, x: np.ndarray, value: np.ndarray) -> Any:
    low, high, interior = attrs["low"], attrs["high"], attrs["interior"]
    dilated = [max(0, (n - 1) * (i + 1) + 1) if n else 0 for n, i in zip(x.shape, interior)]
    wide = np.broadcast_to(value, [n + max(l, 0) + max(h, 0) for n, l, h in
                                   zip(dilated, low, high)] + [*value.shape]).copy()
    wide[tuple(_span(max(l, 0), max(l, 0) + n, i + 1)
               for n, l, i in zip(dilated, low, interior))] = x
    return wide[tuple(_span(max(-l, 0), n - max(-h, 0))
                      for n, l, h in zip(wide.shape, low, high))]


@reference("concatenate")
def _concatenate(attrs: Any, types: Any, *operands: np.ndarray) -> Any:
    return np.concatenate(operands, attrs["dimension"])


def _clamped(starts: Any, shape: Any, sizes: Any) -> Any:
    return tuple(_span(at, at + size) for at, size in
                 ((min(max(int(s), 0), n - size), size)
                  for s, n, size in zip(starts, shape, sizes)))


@reference("dynamic_slice")
def _dynamic_slice(attrs: Any, types: Any, x: np.ndarray, *starts: np.ndarray) -> Any:
    return x[_clamped(starts, x.shape, attrs["sizes"])]


@reference("dynamic_update_slice")
def _dynamic_update_slice(attrs: Any, types: Any, x: np.ndarray, update: np.ndarray,
                          *starts: np.ndarray) -> Any:
    made = x.copy()
    made[_clamped(starts, x.shape, update.shape)] = update
    return made

"""NumPy rows of the windows, over the elements inside the array."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtypes import DType, greatest, least
from ..reference import Steps, reference
from .dot import wide


def _windows(shape: tuple[int, ...], out: tuple[int, ...], attrs: Any, keep_padding: bool = False
             ) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """For each window its index and the indices of its elements, in order.

    With `keep_padding` places without an element are included as None.
    """
    ones = (1,) * len(shape)
    base, inner = attrs.get("base_dilation", ones), attrs.get("window_dilation", ones)
    for index in np.ndindex(*out):
        along: list[list[int | None]] = []
        for i, n, w, stride, (low, _), by, apart in zip(
                index, shape, attrs["window"], attrs["strides"], attrs["padding"], base, inner):
            places = [i * stride + k * apart - low for k in range(w)]
            along.append([p // by if p % by == 0 and 0 <= p // by < n else None for p in places])
        held = list(itertools.product(*along))
        yield index, [None if None in at else at for at in held
                      if keep_padding or None not in at]


def _reduced(combine: Callable[[Any, Any], Any], start: Callable[[DType], Any]
             ) -> Callable[..., Any]:
    """One place of the windows after another, in all of them at once."""
    def row(attrs: Any, types: Any, x: np.ndarray) -> Any:
        made = np.full(types[0].shape, np.asarray(start(types[0].dtype)).astype(x.dtype), x.dtype)
        for place in np.ndindex(*attrs["window"]):
            inside, at = _elements(x.shape, types[0].shape, attrs, place)
            made[inside] = combine(made[inside], x[at])       # rounded at each step, as compiled
        return made

    return row


def _elements(shape: tuple[int, ...], out: tuple[int, ...], attrs: Any, place: tuple[int, ...]
              ) -> tuple[Any, Any]:
    """The windows that hold an element at one of their places, and these elements."""
    inside: list[np.ndarray] = []
    at: list[np.ndarray] = []
    for n, count, k, stride, (low, _), by, apart in zip(
            shape, out, place, attrs["strides"], attrs["padding"], attrs["base_dilation"],
            attrs["window_dilation"], strict=True):
        places = stride * np.arange(count, dtype=np.int64) + (k * apart - low)
        held = (places % by == 0) & (places >= 0) & (places // by < n)
        inside.append(np.flatnonzero(held))
        at.append(places[held] // by)
    return np.ix_(*inside), np.ix_(*at)


reference("reduce_window_sum")(_reduced(np.add, lambda dtype: 0))
reference("reduce_window_prod")(_reduced(np.multiply, lambda dtype: 1))
reference("reduce_window_max")(_reduced(np.maximum, least))
reference("reduce_window_min")(_reduced(np.minimum, greatest))


@reference("reduce_window")
def _by_body(attrs: Any, types: Any, *given: np.ndarray) -> Steps:
    """Apply the body to all places of a window in order; the padding holds the initial values."""
    n, body = len(types), attrs["body"]
    made = [np.empty(t.shape, t.dtype.numpy) for t in types]
    for index, held in _windows(given[0].shape, types[0].shape, attrs, keep_padding=True):
        state = list(given[n:])
        for at in held:
            state = yield body, [*state, *(given[n:] if at is None else
                                           [np.asarray(x[at]) for x in given[:n]])]
        for result, value in zip(made, state, strict=True):
            result[index] = value
    return tuple(made)


def _winner(attrs: Any, x: np.ndarray, held: list[tuple[int, ...]]) -> tuple[int, ...]:
    best = held[0]
    for at in held[1:]:
        keeps = x[best] >= x[at] if attrs["select"] == "ge" else x[best] <= x[at]
        best = best if keeps else at
    return best


@reference("select_and_gather_add")
def _gather(attrs: Any, types: Any, tangents: np.ndarray, x: np.ndarray) -> Any:
    made = np.zeros(types[0].shape, x.dtype)
    for index, held in _windows(x.shape, types[0].shape, attrs):
        if held:
            made[index] = tangents[_winner(attrs, x, held)]
    return made


@reference("select_and_scatter_add")
def _scatter(attrs: Any, types: Any, source: np.ndarray, x: np.ndarray) -> Any:
    made = np.zeros(x.shape, wide(x).dtype)
    for index, held in _windows(x.shape, source.shape, attrs):
        if held:
            made[_winner(attrs, x, held)] += source[index]
    return made

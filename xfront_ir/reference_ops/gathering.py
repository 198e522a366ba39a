"""NumPy rows of gather and the scatters: one index vector after another, as in the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..ops.gathering import default_fill
from ..reference import reference

Place = tuple[tuple[Any, ...], tuple[Any, ...], bool]


def _places(shape: tuple[int, ...], indices: np.ndarray, sizes: tuple[int, ...], windows: Any,
            removed: Any, batching: Any, of_indices: Any, index_map: Any, clipped: bool
            ) -> Iterator[Place]:
    """For each index vector: the block of the operand, moved inside if `clipped`; the block of the
    result; and whether the first lies inside the operand."""
    ndim = indices.ndim - 1 + len(windows)
    batch_dims = [d for d in range(ndim) if d not in windows]
    for at in np.ndindex(*indices.shape[:-1]):
        start = [0] * len(shape)
        for d, i in zip(index_map, indices[at]):
            start[d] = int(i)
        for d, i in zip(batching, of_indices):
            start[d] = at[i]
        inside = all(0 <= s <= n - size for s, n, size in zip(start, shape, sizes))
        if clipped:
            start = [min(max(s, 0), n - size) for s, n, size in zip(start, shape, sizes)]
            inside = True
        block = tuple(s if d in removed or d in batching else slice(s, s + size)
                      for d, (s, size) in enumerate(zip(start, sizes)))
        result: list[Any] = [slice(None)] * ndim
        for d, i in zip(batch_dims, at):
            result[d] = i
        yield block, tuple(result), inside


@reference("gather")
def _gather(attrs: Any, types: Any, x: np.ndarray, indices: np.ndarray) -> Any:
    fill, dtype = attrs["fill_value"], types[0].dtype
    outside = default_fill(dtype) if fill is None else fill.array
    shape = (*types[0].shape, *dtype.physical)
    made = np.full(shape, np.asarray(outside).astype(dtype.numpy), dtype.numpy)
    if 0 in attrs["slice_sizes"]:
        return made
    for block, result, inside in _places(
            x.shape, indices, attrs["slice_sizes"], attrs["offset_dims"],
            attrs["collapsed_slice_dims"], attrs["operand_batching_dims"],
            attrs["start_indices_batching_dims"], attrs["start_index_map"],
            attrs["mode"] != "fill"):
        if inside:
            made[result] = x[block]
    return made


def _scatter_with(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def row(attrs: Any, types: Any, x: np.ndarray, indices: np.ndarray, updates: np.ndarray
            ) -> Any:
        made = x.copy()
        windows = attrs["update_window_dims"]
        removed = (*attrs["inserted_window_dims"], *attrs["operand_batching_dims"])
        by_window = iter(windows)
        sizes = tuple(1 if d in removed else updates.shape[next(by_window)]
                      for d in range(types[0].ndim))
        for block, update, inside in _places(
                x.shape, indices, sizes, windows, attrs["inserted_window_dims"],
                attrs["operand_batching_dims"], attrs["scatter_indices_batching_dims"],
                attrs["scatter_dims_to_operand_dims"], attrs["mode"] == "clip"):
            if inside:
                made[block] = combine(made[block], updates[update])
        return made

    return row


reference("scatter")(_scatter_with(lambda old, new: new))
reference("scatter_add")(_scatter_with(lambda old, new: old + new))
reference("scatter_mul")(_scatter_with(lambda old, new: old * new))
reference("scatter_min")(_scatter_with(np.minimum))
reference("scatter_max")(_scatter_with(np.maximum))

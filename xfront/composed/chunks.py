"""vmap in chunks: a scan over equal parts of the batch, and one call for the remainder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.trees import tree_flatten, tree_unflatten


def in_chunks(mapped: Callable[[list[Any]], tuple[Any, list[int | None]]], leaves: Sequence[Any],
              axes: Sequence[int | None], size: int, chunk: int) -> Any:
    """The result of `mapped` for the whole batch, computed `chunk` examples at a time.

    Args:
      mapped: function from leaves with a part of the batch to a tree of results and the position
        of the batch axis in each of its leaves, None for a leaf without one.
      leaves, axes: the arguments, and the position of the batch axis in each.
      size: number of examples in the batch, larger than `chunk`.
      chunk: number of examples that are computed at a time.
    Returns: the tree of results, with batch axes where `mapped` says.
    """
    from ..lax.control_flow import scan  # most batches are mapped at once
    from ..lax.shape import slice_in_dim
    from ..numpy.manipulation import concatenate

    turns, whole = size // chunk, size // chunk * chunk
    places: list[int | None] = []
    tree: Any = None
    stacked = [_divided(x, a, turns, chunk) for x, a in zip(leaves, axes, strict=True)
               if a is not None]

    def turn(_: Any, parts: list[Any]) -> tuple[None, list[Any]]:
        nonlocal places, tree
        given = iter(parts)
        made, places = mapped([x if a is None else next(given)
                               for x, a in zip(leaves, axes, strict=True)])
        flat, tree = tree_flatten(made)
        return None, flat

    _, done = scan(turn, None, stacked)
    results = [y[0] if p is None else _joined(y, p) for y, p in zip(done, places, strict=True)]
    if whole < size:
        rest, _ = mapped([x if a is None else slice_in_dim(x, whole, size, axis=a)
                          for x, a in zip(leaves, axes, strict=True)])
        results = [y if p is None else concatenate([y, z], axis=p)
                   for y, z, p in zip(results, tree_flatten(rest)[0], places, strict=True)]
    return tree_unflatten(tree, results)


def _divided(x: Any, axis: int, turns: int, chunk: int) -> Any:
    """The first `turns * chunk` examples of `x`, with an axis of chunks in front."""
    from ..lax.shape import slice_in_dim
    from ..numpy.manipulation import moveaxis, reshape

    x = slice_in_dim(x, 0, turns * chunk, axis=axis)
    shape = x.shape
    return moveaxis(reshape(x, (*shape[:axis], turns, chunk, *shape[axis + 1:])), axis, 0)


def _joined(y: Any, axis: int) -> Any:
    """Chunks that are stacked along axis 0, joined to one batch at `axis`."""
    from ..numpy.manipulation import moveaxis, reshape

    y = moveaxis(y, 0, axis)
    shape = y.shape
    return reshape(y, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))


__all__ = ["in_chunks"]

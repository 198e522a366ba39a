"""The option `in_nzs` of `vjp` and `linearize`: which leaves of the primals are differentiated."""

from __future__ import annotations

from typing import Any

from ..base.trees import tree_flatten, tree_structure


def moving_leaves(name: str, in_nzs: Any, primals: tuple) -> tuple[Any, list[Any], list[bool]]:
    """The structure of the primals, their leaves, and for each leaf the bool at or above it.

    Raises: ValueError where `in_nzs` is no tree prefix, by the number of children, or has other
      leaves than bools.
    """
    leaves, tree = tree_flatten(primals)
    return tree, leaves, _marks(name, in_nzs, primals)


def _marks(name: str, marks: Any, part: Any) -> list[bool]:
    if isinstance(marks, bool):
        return [marks] * tree_structure(part).num_leaves
    if not isinstance(marks, (tuple, list, dict)):
        raise ValueError(f"{name}: in_nzs must be a tree of bools, got {marks!r} in it")
    below = list(marks.values()) if isinstance(marks, dict) else list(marks)
    inner, _ = tree_flatten(part, is_leaf=lambda x: x is not part)
    if len(below) != len(inner):
        raise ValueError(f"{name}: in_nzs must be a tree prefix of the primals: it has "
                         f"{len(below)} children where they have {len(inner)}")
    return [m for mark, child in zip(below, inner, strict=True)
            for m in _marks(name, mark, child)]


__all__ = ["moving_leaves"]

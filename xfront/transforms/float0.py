"""Leaves that are nodes of the tree inside a trace: float0 arrays, the gradients of integers, and
values of a library's own types (`high.py`).

float0 arrays have a shape and no elements, and the IR has no such dtype. Inside a trace each is a
node around bools of its shape, which are batched and stacked as usual. When the trace returns the
node, it becomes a float0 array again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from ..base.dtypes import float0
from ..base.trees import register_pytree_node, tree_flatten, tree_map, tree_unflatten
from ..tracing.tracer import Tracer


class Hidden:
    """The node for a float0 array in a tree that is flattened for a trace."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def is_float0(x: Any) -> bool:
    """Whether a leaf is a float0 array."""
    return isinstance(x, np.ndarray) and x.dtype == float0


HIDES: list[Any] = []
"""What says which classes' values become nodes too (`kind in it`), makes the nodes,
`it.node(x, carriers)`, and trees of tangents, `it.tangents(tree, dots)`; nothing before a library
has declared types of its own."""


def is_hidden(x: Any) -> bool:
    """Whether a leaf becomes a node."""
    return isinstance(x, np.ndarray) and x.dtype == float0 or bool(HIDES) and type(x) in HIDES[0]


def hidden(tree: Any, carriers: bool | None = None) -> Any:
    """The tree with float0 arrays and values of own types as nodes. `carriers` says whether nodes
    of own types get carriers for tangents; None means that they do if their values have them."""
    def node(x: Any) -> Any:
        if not is_hidden(x):
            return x
        return Hidden(x.shape) if isinstance(x, np.ndarray) else HIDES[0].node(x, carriers)

    return tree_map(node, tree)


def flat_values(tree: Any, carriers: bool | None = None) -> tuple[list[Any], Any]:
    """Leaves and structure of `hidden(tree, carriers)`."""
    leaves, structure = tree_flatten(tree)
    for x in leaves:
        if type(x) not in _USUAL and is_hidden(x):
            return tree_flatten(hidden(tree, carriers))
    return leaves, structure


def tangent_tree(tree: Any, dots: Sequence[Any]) -> Any:
    """The tree of tangents or cotangents of a tree with such nodes."""
    return HIDES[0].tangents(tree, dots) if HIDES else tree_unflatten(tree, dots)


_USUAL = frozenset((binding.ArrayImpl, Tracer, int, float, bool, complex))


def _children(x: Hidden) -> tuple[Sequence[Any], None]:
    return (np.zeros(x.shape, bool),), None


def _shown(_: None, children: Any) -> np.ndarray:
    return np.zeros(getattr(children[0], "shape", ()), float0)


register_pytree_node(Hidden, _children, _shown)

__all__ = ["Hidden", "flat_values", "hidden", "is_float0", "is_hidden"]

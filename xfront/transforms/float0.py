"""float0 arrays, the gradients of integers, on their way through traces.

They have a shape and no elements, and the IR has no such dtype. In a trace each is a node around
bools of its shape, which batch and stack as usual; outside, the node becomes a float0 array again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import float0
from ..tree_util import register_pytree_node, tree_map


class Hidden:
    """The node for a float0 array in a tree that is flattened for a trace."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def is_float0(x: Any) -> bool:
    """Whether a leaf is a float0 array."""
    return isinstance(x, np.ndarray) and x.dtype == float0


def hidden(tree: Any) -> Any:
    """The tree with float0 arrays as nodes."""
    return tree_map(lambda x: Hidden(x.shape) if is_float0(x) else x, tree)


def _children(x: Hidden) -> tuple[Sequence[Any], None]:
    return (np.zeros(x.shape, bool),), None


def _shown(_: None, children: Any) -> np.ndarray:
    return np.zeros(getattr(children[0], "shape", ()), float0)


register_pytree_node(Hidden, _children, _shown)

__all__ = ["Hidden", "hidden", "is_float0"]

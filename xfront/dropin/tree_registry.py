"""The registered tree classes, as libraries look them up in JAX's private table, and where trees
differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tree_errors import differences
from ..tree_util import is_tree_node


class _Registry:
    """`cls in registry`: whether trees know the class."""

    def __contains__(self, cls: Any) -> bool:
        return isinstance(cls, type) and is_tree_node(cls)


_registry = _Registry()


def prefix_errors(prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None
                  ) -> list[Callable[[str], ValueError]]:
    """The errors of a tree prefix: for each, a function from the argument's name to the error."""
    def error(i: int) -> Callable[[str], ValueError]:
        return lambda name: ValueError(list(differences(prefix, full, is_leaf, name))[i])

    return [error(i) for i, _ in enumerate(differences(prefix, full, is_leaf))]

"""The registered tree classes under the name of JAX's private table; errors about tree prefixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tree_errors import differences
from ..tree_util import is_tree_node


class _Registry:
    """A table that answers only `cls in registry`, whether a class is a node of trees."""

    def __contains__(self, cls: Any) -> bool:
        return isinstance(cls, type) and is_tree_node(cls)


_registry = _Registry()


def prefix_errors(prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None
                  ) -> list[Callable[[str], ValueError]]:
    """For each place where `prefix` is not a tree prefix of `full`, a function from the name of the
    argument to the error."""
    def error(i: int) -> Callable[[str], ValueError]:
        return lambda name: ValueError(list(differences(prefix, full, is_leaf, name))[i])

    return [error(i) for i, _ in enumerate(differences(prefix, full, is_leaf))]

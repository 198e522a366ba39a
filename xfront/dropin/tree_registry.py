"""The registered tree classes under the name of JAX's private table; errors about tree prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..base.tree_errors import differences
from ..base.trees import (
    PyTreeDef,
    default_registry,
    flatten_one_level,
    is_tree_node,
    tree_structure,
    tree_unflatten,
)


class _Entry(NamedTuple):
    """How nodes of a class are taken apart and put together: `to_iter(node)` gives the children and
    the aux data, `from_iter(aux, children)` a node."""

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


class _Registry:
    """A table that answers `cls in registry`, whether a class is a node of trees, and
    `registry[cls]`."""

    def __contains__(self, cls: Any) -> bool:
        return isinstance(cls, type) and is_tree_node(cls)

    def __getitem__(self, cls: Any) -> _Entry:
        if cls not in self:
            raise KeyError(cls)

        def from_iter(aux: Any, children: Iterable[Any]) -> Any:
            if cls is type(None):
                return None
            children = list(children)
            return tree_unflatten(PyTreeDef.from_node_data_and_children(
                default_registry, (cls, aux), [tree_structure(0) for _ in children]), children)

        return _Entry(flatten_one_level, from_iter)


_registry = _Registry()


def prefix_errors(prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None
                  ) -> list[Callable[[str], ValueError]]:
    """For each place where `prefix` is not a tree prefix of `full`, a function from the name of the
    argument to the error."""
    def error(i: int) -> Callable[[str], ValueError]:
        return lambda name: ValueError(list(differences(prefix, full, is_leaf, name))[i])

    return [error(i) for i, _ in enumerate(differences(prefix, full, is_leaf))]

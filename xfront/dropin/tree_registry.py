"""The registered tree classes, as libraries look them up in JAX's private table."""

from __future__ import annotations

from typing import Any

from ..tree_util import is_tree_node


class _Registry:
    """`cls in registry`: whether trees know the class."""

    def __contains__(self, cls: Any) -> bool:
        return isinstance(cls, type) and is_tree_node(cls)


_registry = _Registry()

"""The functions of `tree_util` under short names: `tree.map`, `tree.leaves`, …"""

from __future__ import annotations

import dataclasses
from typing import Any

from .base.on_demand import shown as _shown
from .base.trees import tree_all as all
from .base.trees import tree_broadcast as broadcast
from .base.trees import tree_flatten as flatten
from .base.trees import tree_flatten_with_path as flatten_with_path
from .base.trees import tree_leaves as leaves
from .base.trees import tree_leaves_with_path as leaves_with_path
from .base.trees import tree_map as map
from .base.trees import tree_map_with_path as map_with_path
from .base.trees import tree_reduce as reduce
from .base.trees import tree_reduce_associative as reduce_associative
from .base.trees import tree_structure as structure
from .base.trees import tree_transpose as transpose
from .base.trees import tree_unflatten as unflatten

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
    "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose",
    "unflatten",
]  # fmt: skip
__dir__ = _shown(globals())


def static(**kwargs: Any) -> Any:
    """A dataclass field that `tree_util.register_dataclass` makes part of the structure; arguments
    as for `dataclasses.field`.

    >>> from xfront import tree_util
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = static(default="dense")
    >>> leaves(Layer(1.0))
    [1.0]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)

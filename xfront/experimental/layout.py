"""Layouts of arrays in memory: `Layout`, and `Format`, a layout with a sharding.

`Array.format` gives both. Arrays and programs have the platform's own layouts; a request for
another layout is refused.
"""

from __future__ import annotations

from typing import Any

from ..base.on_demand import shown as _shown
from ..base.trees import broadcast_prefix, tree_flatten, tree_unflatten
from ..binding import default_sharding
from ..binding.tracebacks import front_door
from ..eager.constraint import checked
from ..tracing.tracer import Tracer
from ..values.formats import Format, Layout, check_layout


@front_door
def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The tree `x` after a check of the layouts of its arrays, inside a program or outside.

    Args:
      x: tree of arrays.
      layouts: a Layout, or a tree prefix of `x` of Layouts.
    Raises: ValueError where a layout does not fit its array; NotImplementedError for a layout that
      is not the platform's own; TypeError for anything else than a Layout.

    >>> layout.with_layout_constraint(jnp.ones((1, 2)), layout.Layout((0, 1)))
    Array([[1., 1.]], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    found = []
    for value, layout in zip(leaves, broadcast_prefix(layouts, x), strict=True):
        if not isinstance(layout, Layout):
            raise TypeError(f"with_layout_constraint: layouts must be a Layout, got {layout!r}")
        array = value if type(value) is Tracer else checked(value)
        check_layout("with_layout_constraint", layout, default_sharding(), array.shape, array.dtype)
        found.append(array)
    return tree_unflatten(tree, found)


__all__ = ["Format", "Layout", "with_layout_constraint"]
__dir__ = _shown(globals())

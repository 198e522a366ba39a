"""Functions with their own rule for batches."""

from collections.abc import Callable
from typing import Any

from .base.on_demand import shown as _shown
from .base.trees import tree_flatten, tree_map, tree_unflatten
from .lax.control_flow import map as one_by_one
from .transforms.custom_vmap import custom_vmap


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """A function whose batches are computed one example after the other, in a loop.

    Each of nested `vmap`s becomes a loop. Use it for functions that do not batch (a callback that
    takes one example) or whose batch needs too much memory.

    Args:
      f: a function of arrays and trees.

    >>> @custom_batching.sequential_vmap
    ... def total(x):
    ...     return x.sum()
    >>> xfront.vmap(total)(jnp.array([[1., 2.], [3., 4.]]))
    Array([3., 7.], dtype=float32)
    """
    made = custom_vmap(f)

    @made.def_vmap
    def rule(axis_size: int, in_batched: list, *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(in_batched)[0]

        def one(batched: list) -> Any:
            given = iter(batched)
            return made(*tree_unflatten(tree, [next(given) if f else x
                                               for x, f in zip(leaves, flags, strict=True)]))

        out = one_by_one(one, [x for x, f in zip(leaves, flags, strict=True) if f])
        return out, tree_map(lambda _: True, out)

    return made


__all__ = ["custom_vmap", "sequential_vmap"]
__dir__ = _shown(globals())

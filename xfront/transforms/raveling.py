"""Trees of arrays as one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.dtypes import from_numpy

from ..base.trees import PyTreeDef, tree_flatten, tree_unflatten
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager
from ..eager.operands import array_like, convert, operand, promote, strong
from ..tracing.trace import emit


@front_door
def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of a tree's arrays as one vector, and the function back to a tree.

    Args:
      pytree: a tree of arrays and numbers.
    Returns: a vector of the dtype to which the leaves promote (the default float where there is no
      leaf), and `unravel`, which makes such a tree from a vector of that size. Where all leaves
      have one dtype, the leaves of the new tree get the dtype of the given vector; otherwise the
      vector must have the dtype of the first result, and each leaf gets its own dtype back.
      `unravel` is hashable, and equal to that of another tree with the same structure, shapes and
      dtypes. It raises TypeError for a vector of another dtype, ValueError for another shape.
    Raises: TypeError for a leaf that is not an array or is a random key.

    >>> vector, unravel = ravel_pytree({"a": jnp.ones((2, 2)), "b": 3.0})
    >>> unravel(vector * 2)["b"]
    Array(6., dtype=float32)
    """
    leaves, tree = tree_flatten(pytree)
    flat = _joined([array_like("ravel_pytree", x) for x in leaves])
    shapes = tuple([tuple(np.shape(x)) for x in leaves])
    found = tuple(_dtypes(leaves))
    mixed = len(set(found)) > 1
    return flat, _Unravel(tree, shapes, found if mixed else None, flat.dtype)


@eager
def _joined(leaves: Any) -> Any:
    home = operand("ravel_pytree", 0.0).home
    if not leaves:
        return strong(home.lift(np.zeros(0)))
    parts = promote("ravel_pytree", *leaves)
    if parts[0].value.type.dtype.is_key:
        raise TypeError("ravel_pytree: random keys cannot be part of a vector; take them out of "
                        "the tree, or convert them with random.key_data")
    flat = [emit(ops.reshape, x, shape=(math.prod(x.shape),)) for x in parts]
    return strong(flat[0] if len(flat) == 1 else emit(ops.concatenate, *flat, dimension=0))


def _dtypes(leaves: list[Any]) -> list[np.dtype]:
    """The dtypes of the leaves; a Python number has the default dtype of its kind."""
    from ..base.dtypes import result_type  # late: with the classes of dtypes

    return [np.dtype(result_type(x)) for x in leaves]


@dataclass(frozen=True)
class _Unravel:
    """The function from a vector back to a tree."""

    tree: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...] | None
    dtype: np.dtype

    def __call__(self, arr: Any) -> Any:
        arr = array_like("unravel", arr)
        size = sum([math.prod(shape) for shape in self.shapes])
        shape, dtype = np.shape(arr), _dtypes([arr])[0]
        if self.dtypes is not None and dtype != self.dtype:
            raise TypeError(f"unravel function given array of dtype {dtype}, but expected dtype "
                            f"{self.dtype}")
        if shape != (size,):
            raise ValueError(f"unravel function given array of shape {shape}, but expected shape "
                             f"{(size,)}")
        parts = _parts(arr, self.shapes, self.dtypes or (dtype,) * len(self.shapes))
        return tree_unflatten(self.tree, parts)


@eager(static=("shapes", "dtypes"))
def _parts(arr: Any, shapes: Any, dtypes: Any) -> Any:
    x, made, start = operand("unravel", arr), [], 0
    for shape, numpy in zip(shapes, dtypes, strict=True):
        end, dtype = start + math.prod(shape), from_numpy(numpy)
        part = emit(ops.slice, x, starts=(start,), limits=(end,), strides=(1,))
        if x.value.type.dtype.is_complex and not dtype.is_complex:
            part = emit(ops.real, part)            # the imaginary part is zero: no warning
        made.append(strong(convert(emit(ops.reshape, part, shape=shape), dtype)))
        start = end
    return made


__all__ = ["ravel_pytree"]

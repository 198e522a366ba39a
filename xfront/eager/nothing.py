"""Calls of library functions with float0 arrays, the gradients of integers.

Such arrays have a shape and no elements. A function that only moves elements (reshapes, transposes,
joins) can take them: it is traced with bools of the same shapes, and its results are float0 arrays
of the shapes that this trace gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xfront_ir import dtypes
from xfront_ir.traits import MOVES
from xfront_ir.types import tensor

from ..base.dtypes import float0
from ..base.trees import tree_flatten, tree_unflatten
from ..binding import Array
from ..tracing.trace import trace_function
from ..tracing.tracer import Tracer


def _is_float0(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == float0


def moved(name: str, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
          ) -> tuple[Any, ...]:
    """The result of a call, in a tuple of one; an empty tuple if not all its arrays are float0.

    Raises: TypeError where the function does more than to move elements.
    """
    leaves, tree = tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if _is_float0(x)]
    if not places or any([type(x) is Tracer or isinstance(x, Array) for x in leaves]):
        return ()
    out_tree: Any = None

    def run(tracers: list[Tracer]) -> list[Any]:
        nonlocal out_tree
        for i, t in zip(places, tracers, strict=True):
            leaves[i] = t
        given, named = tree_unflatten(tree, leaves)
        flat, out_tree = tree_flatten(function(*given, **named))
        return flat

    types = [tensor(leaves[i].shape, dtypes.bool_) for i in places]
    made = trace_function(run, types, [False] * len(types), name=name, kind=name, staging=True)
    if any([MOVES not in op.definition.traits for op in made.function.ops]):
        raise TypeError(f"Called {name} with a float0 array. float0 arrays have a shape and no "
                        "elements: they can be reshaped, joined and moved, and nothing else")
    return (tree_unflatten(out_tree, [
        np.zeros(v.type.shape, float0) for v in made.function.returns]),)

"""gather and the scatters, with all the dimension numbers of XLA.

Source: StableHLO spec, `gather` and `scatter`; index vectors stand in the last axis of the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.literal import Literal

from ..base.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ModeLike,
    ScatterDimensionNumbers,
)
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import operand as tracer
from ..tracing.trace import emit
from .strict import ints, same_dtype, sizes, weakly

_WORDS = {GatherScatterMode.CLIP: "clip", GatherScatterMode.FILL_OR_DROP: "fill",
          GatherScatterMode.PROMISE_IN_BOUNDS: "promise_in_bounds",
          GatherScatterMode.ONE_HOT: "fill"}


def mode_word(mode: Any) -> str:
    """The mode as an attribute of the ops."""
    return _WORDS[GatherScatterMode.from_any(mode)]


def _indices(name: str, x: Any) -> Any:
    found = tracer(name, x)
    if not found.value.type.dtype.is_integer:
        raise ValueError(f"{name}: indices must be integers, got {found.value.type}")
    return found


# --- gather ---------------------------------------------------------------------------------

@eager(static=("dimension_numbers", "slice_sizes", "unique_indices", "indices_are_sorted", "mode",
               "fill_value"))
def gather(operand: ArrayLike, start_indices: ArrayLike, dimension_numbers: GatherDimensionNumbers,
           slice_sizes: Sequence[int], *, unique_indices: bool = False,
           indices_are_sorted: bool = False, mode: str | GatherScatterMode | None = None,
           fill_value: ArrayLike | None = None) -> Array:
    """Slices of the operand at the positions that index vectors name.

    Args:
      start_indices: integers; each vector along the last axis is the start of one slice.
      dimension_numbers: what the axes mean.
      slice_sizes: the size of a slice along each axis of the operand.
      unique_indices, indices_are_sorted: promises about the indices.
      mode: what happens to slices that lie partly outside; None, as "promise_in_bounds", promises
        that there are none: they are moved inside, and the derivative leaves them out.
      fill_value: the value of elements outside in mode "fill"; None for NaN, or for integers the
        least signed or the greatest unsigned one.
    Raises: TypeError where the dimension numbers do not match the shapes.

    >>> x, at = jnp.array([5., 6., 7.]), jnp.array([[2], [0]])
    >>> lax.gather(x, at, lax.GatherDimensionNumbers((), (0,), (0,)), (1,))
    Array([7., 5.], dtype=float32)
    """
    x, indices = tracer("gather", operand), _indices("gather", start_indices)
    numbers = GatherDimensionNumbers(*dimension_numbers)
    word = "promise_in_bounds" if mode is None else mode_word(mode)
    dtype = x.value.type.dtype
    fill = None
    if fill_value is not None and word == "fill":
        fill = Literal(np.asarray(fill_value).astype(dtype.numpy))
    made = emit(ops.gather, x, indices, offset_dims=ints("offset_dims", numbers.offset_dims),
                collapsed_slice_dims=ints("collapsed_slice_dims", numbers.collapsed_slice_dims),
                operand_batching_dims=ints("operand_batching_dims", numbers.operand_batching_dims),
                start_indices_batching_dims=ints("start_indices_batching_dims",
                                                 numbers.start_indices_batching_dims),
                start_index_map=ints("start_index_map", numbers.start_index_map),
                slice_sizes=sizes("slice_sizes", slice_sizes), mode=word, fill_value=fill,
                indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices))
    return weakly(made, x.weak)


# --- scatters -------------------------------------------------------------------------------

def _scatter(name: str, definition: Any, doc: str, gives: str) -> Callable[..., Any]:
    def body(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
             dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
             unique_indices: bool = False, mode: ModeLike = None) -> Array:
        x, values = same_dtype(name, operand, updates)
        return _emit_scatter(name, definition, x, _indices(name, scatter_indices), values,
                             dimension_numbers, indices_are_sorted, unique_indices, mode)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""{doc}

    Args:
      operand: an array.
      scatter_indices: integers; each vector along the last axis is the start of one update.
      updates: of the operand's dtype.
      dimension_numbers: a ScatterDimensionNumbers, what the axes mean.
      indices_are_sorted, unique_indices: promises about the indices.
      mode: for updates that do not lie inside; None leaves them out.
    Raises: TypeError where dtypes differ or the numbers do not fit.

    >>> x, at, new = jnp.array([5., 6., 7.]), jnp.array([[0], [2]]), jnp.array([2., 9.])
    >>> lax.{name}(x, at, new, lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array({gives}, dtype=float32)
    """
    return eager(static=("dimension_numbers", "indices_are_sorted", "unique_indices", "mode"))(body)


def _emit_scatter(name: str, definition: Any, x: Any, indices: Any, values: Any,
                  dimension_numbers: Any, is_sorted: bool, unique: bool, mode: Any) -> Any:
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    made = emit(definition, x, indices, values,
                update_window_dims=ints("update_window_dims", numbers.update_window_dims),
                inserted_window_dims=ints("inserted_window_dims", numbers.inserted_window_dims),
                operand_batching_dims=ints("operand_batching_dims", numbers.operand_batching_dims),
                scatter_indices_batching_dims=ints("scatter_indices_batching_dims",
                                                   numbers.scatter_indices_batching_dims),
                scatter_dims_to_operand_dims=ints("scatter_dims_to_operand_dims",
                                                  numbers.scatter_dims_to_operand_dims),
                mode=mode_word(mode), indices_are_sorted=bool(is_sorted),
                unique_indices=bool(unique))
    return weakly(made, x.weak)


scatter = _scatter("scatter", ops.scatter, "The operand with updates in place of slices; where two "
                                           "meet, either may win.", "[2., 6., 9.]")
scatter_add = _scatter("scatter_add", ops.scatter_add, "The operand with updates added to slices.",
                       "[ 7.,  6., 16.]")
scatter_mul = _scatter("scatter_mul", ops.scatter_mul, "The operand's slices times updates.",
                       "[10.,  6., 63.]")
scatter_min = _scatter("scatter_min", ops.scatter_min, "The smaller of slices and updates.",
                       "[2., 6., 7.]")
scatter_max = _scatter("scatter_max", ops.scatter_max, "The greater of slices and updates.",
                       "[5., 6., 9.]")


@eager(static=("dimension_numbers", "indices_are_sorted", "unique_indices", "mode"))
def scatter_sub(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with updates subtracted from slices; arguments as `scatter_add`.

    >>> x, at, new = jnp.array([5., 6.]), jnp.array([[1]]), jnp.array([2.])
    >>> lax.scatter_sub(x, at, new, lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([5., 4.], dtype=float32)
    """
    x, values = same_dtype("scatter_sub", operand, updates)
    indices = _indices("scatter_sub", scatter_indices)
    return _emit_scatter("scatter_sub", ops.scatter_add, x, indices,
                         emit(ops.neg, values), dimension_numbers, indices_are_sorted,
                         unique_indices, mode)


__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather",
    "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]  # fmt: skip

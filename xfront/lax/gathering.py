"""gather and the scatters, with all the dimension numbers of XLA.

Source: StableHLO spec, `gather` and `scatter`; index vectors stand in the last axis of the indices.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from xfront_ir import ops
from xfront_ir.literal import Literal

from ..arrays.dispatch import eager
from ..arrays.operands import operand as tracer
from ..tracing.trace import emit
from .shape import full
from .strict import ints, same_dtype, sizes, weakly


class GatherDimensionNumbers(NamedTuple):
    """Which axes a gather's indices, slices and result have in common.

    Fields:
      offset_dims: axes of the result along which a slice lies, ascending.
      collapsed_slice_dims: axes of the operand of slice size 1 that the result lacks, ascending.
      start_index_map: for each element of an index vector its axis of the operand.
      operand_batching_dims, start_indices_batching_dims: axes of operand and indices in step.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """As `GatherDimensionNumbers`, for updates in the place of the result."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """What happens to a slice that does not lie inside the operand.

    CLIP moves it until it does; FILL_OR_DROP gives a fill value, or leaves an update out;
    PROMISE_IN_BOUNDS promises that there is none. ONE_HOT is FILL_OR_DROP.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode of a mode, its name, or None, which is FILL_OR_DROP. Raises: ValueError."""
        if isinstance(s, GatherScatterMode):
            return s
        found = _MODES.get(s)
        if found is None:
            raise ValueError(f"{s!r} is no mode of gather and scatter; write one of "
                             f"{', '.join(map(repr, _MODES))}")
        return found


_MODES = {None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
          "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
          "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
          "one_hot": GatherScatterMode.ONE_HOT}
_WORDS = {GatherScatterMode.CLIP: "clip", GatherScatterMode.FILL_OR_DROP: "fill",
          GatherScatterMode.PROMISE_IN_BOUNDS: "promise_in_bounds",
          GatherScatterMode.ONE_HOT: "fill"}


def mode_word(mode: Any) -> str:
    """The mode as an attribute of the ops."""
    return _WORDS[GatherScatterMode.from_any(mode)]


def _indices(name: str, x: Any) -> Any:
    found = tracer(name, x)
    if not found.value.type.dtype.is_integer:
        raise TypeError(f"{name}: indices must be integers, got {found.value.type}")
    return found


# --- gather ---------------------------------------------------------------------------------

@eager(static=("dimension_numbers", "slice_sizes", "unique_indices", "indices_are_sorted", "mode",
               "fill_value"))
def gather(operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers,
           slice_sizes: Sequence[int], *, unique_indices: bool = False,
           indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None) -> Any:
    """Slices of the operand at the positions that index vectors name.

    Args:
      start_indices: integers; each vector along the last axis is the start of one slice.
      dimension_numbers: what the axes mean.
      slice_sizes: size of a slice along each axis of the operand.
      unique_indices, indices_are_sorted: promises about the indices.
      mode: for slices that do not lie inside; None means clip.
      fill_value: what fills; NaN, or the number furthest from use, where None.
    Raises: TypeError where the numbers do not fit.
    """
    x, indices = tracer("gather", operand), _indices("gather", start_indices)
    numbers = GatherDimensionNumbers(*dimension_numbers)
    word, dtype = "clip" if mode is None else mode_word(mode), x.value.type.dtype
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

def _scatter(name: str, definition: Any, doc: str) -> Callable[..., Any]:
    def body(operand: Any, scatter_indices: Any, updates: Any,
             dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
             unique_indices: bool = False, mode: Any = None) -> Any:
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
                                           "meet, either may win.")
scatter_add = _scatter("scatter_add", ops.scatter_add, "The operand with updates added to slices.")
scatter_mul = _scatter("scatter_mul", ops.scatter_mul, "The operand's slices times updates.")
scatter_min = _scatter("scatter_min", ops.scatter_min, "The smaller of slices and updates.")
scatter_max = _scatter("scatter_max", ops.scatter_max, "The greater of slices and updates.")


@eager(static=("dimension_numbers", "indices_are_sorted", "unique_indices", "mode"))
def scatter_sub(operand: Any, scatter_indices: Any, updates: Any,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: Any = None) -> Any:
    """The operand with updates subtracted from slices; arguments as `scatter_add`."""
    x, values = same_dtype("scatter_sub", operand, updates)
    indices = _indices("scatter_sub", scatter_indices)
    return _emit_scatter("scatter_sub", ops.scatter_add, x, indices,
                         emit(ops.neg, values), dimension_numbers, indices_are_sorted,
                         unique_indices, mode)


def scatter_apply(operand: Any, scatter_indices: Any, func: Callable[[Any], Any],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: Any = None) -> Any:
    """The operand with `func` applied to the elements of slices.

    Args:
      func: from one element to another of its dtype. It is applied to an element as often as
        slices hold it.
      update_shape: shape that updates would have.
      The others as `scatter`.
    """
    from ..numpy.creation import asarray  # numpy is written in this package
    from ..numpy.updates import apply_at

    x = asarray(operand)
    touched = scatter_add(full(x.shape, 0, np.int32), scatter_indices,
                          full(update_shape, 1, np.int32), dimension_numbers,
                          indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                          mode=mode)
    return apply_at(func, x, touched, unique_indices)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """The slices of `src` at several places of some of its axes.

    Args:
      idxs: one vector of indices an axis, of one length; they are taken modulo the axis's size.
      axes: the axes indexed, which the result lacks; places become its first axis.
    Raises: TypeError where the indices are no integer vectors of one length.
    """
    return _index_take(src, tuple(idxs), axes=tuple(int(a) for a in axes))


@eager(static=("axes",))
def _index_take(src: Any, idxs: Any, axes: tuple[int, ...]) -> Any:
    from .. import numpy as jnp  # numpy is written in this package

    x = tracer("index_take", src)
    columns = [jnp.asarray(i) for i in idxs]
    if len(columns) != len(axes) or any(
            c.ndim != 1 or c.shape != columns[0].shape or not jnp.issubdtype(c.dtype, jnp.integer)
            for c in columns):
        raise TypeError(f"index_take: takes {len(axes)} integer vectors of one length, got shapes "
                        f"{[c.shape for c in columns]}")
    axes = tuple([a % x.ndim for a in axes])
    places = jnp.stack([jnp.mod(c, x.shape[a]).astype(np.int32)
                        for c, a in zip(columns, axes, strict=True)], axis=1)
    one_each = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    numbers = GatherDimensionNumbers(tuple(range(1, x.ndim - len(axes) + 1)),
                                     tuple([axes[k] for k in order]), axes)
    return gather(x, places, numbers, one_each, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather",
    "index_take", "scatter", "scatter_add", "scatter_apply", "scatter_max", "scatter_min",
    "scatter_mul", "scatter_sub",
]  # fmt: skip

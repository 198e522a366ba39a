"""Dimension numbers of gathers, scatters and convolutions, and modes for out-of-bounds indices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias


class GatherDimensionNumbers(NamedTuple):
    """How the axes of a gather's operand, indices and result correspond.

    Fields:
      offset_dims: axes of the result along which a slice lies, in ascending order.
      collapsed_slice_dims: axes of the operand with slice size 1 that the result does not have, in
        ascending order.
      start_index_map: the axis of the operand for each element of an index vector.
      operand_batching_dims, start_indices_batching_dims: axes of operand and indices that run
        together.

    >>> rows = lax.GatherDimensionNumbers(
    ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> x = jnp.array([[1, 2], [3, 4], [5, 6]])
    >>> lax.gather(x, jnp.array([[2], [0]]), rows, slice_sizes=(1, 2))
    Array([[5, 6],
           [1, 2]], dtype=int32)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """How the axes of a scatter's operand, indices and updates correspond.

    The fields are those of `GatherDimensionNumbers`, with the updates in place of the result.

    >>> rows = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,),
    ...                                    scatter_dims_to_operand_dims=(0,))
    >>> lax.scatter_add(jnp.zeros((3, 2)), jnp.array([[2], [2]]), jnp.ones((2, 2)), rows)
    Array([[0., 0.],
           [0., 0.],
           [2., 2.]], dtype=float32)
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """The treatment of a slice that does not lie inside the operand.

    CLIP moves the slice inside; FILL_OR_DROP fills a gathered slice, or leaves an update out;
    PROMISE_IN_BOUNDS promises that no slice lies outside. ONE_HOT is the same as FILL_OR_DROP.

    >>> x = jnp.array([1., 2., 3.])
    >>> x.at[5].get(mode=lax.GatherScatterMode.CLIP)
    Array(3., dtype=float32)
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode `s` itself or with the name `s`; None means FILL_OR_DROP. Raises: ValueError."""
        if isinstance(s, GatherScatterMode):
            return s
        found = _MODES.get(s)
        if found is None:
            raise ValueError(f"{s!r} is not a mode of gather and scatter; it must be one of "
                             f"{', '.join(map(repr, _MODES))}")
        return found


_MODES = {None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
          "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
          "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
          "one_hot": GatherScatterMode.ONE_HOT}


ModeLike: TypeAlias = str | GatherScatterMode | None
"""How indices outside an array are treated."""


class ConvDimensionNumbers(NamedTuple):
    """Axes of input (batch, feature, *spatial), filter (output feature, input feature, *spatial)
    and result (batch, feature, *spatial).

    >>> shapes, layouts = ((1, 8, 8, 3), (5, 5, 3, 4)), ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_dimension_numbers(*shapes, layouts).rhs_spec
    (3, 2, 0, 1)
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


for _class in (ConvDimensionNumbers, GatherDimensionNumbers, GatherScatterMode,
               ScatterDimensionNumbers):
    _class.__module__ = "xfront.lax"

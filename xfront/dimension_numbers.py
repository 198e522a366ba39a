"""Dimension numbers of gathers, scatters and convolutions, and modes for out-of-bounds indices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple


class GatherDimensionNumbers(NamedTuple):
    """How the axes of a gather's operand, indices and result correspond.

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
    """As `GatherDimensionNumbers`, with a scatter's updates in place of a gather's result."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """What happens to a slice that does not lie inside the operand.

    CLIP moves the slice inside; FILL_OR_DROP gives a fill value, or leaves an update out;
    PROMISE_IN_BOUNDS promises that no slice lies outside. ONE_HOT is FILL_OR_DROP.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode `s` itself or of the name `s`; None is FILL_OR_DROP. Raises: ValueError."""
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


class ConvDimensionNumbers(NamedTuple):
    """Axes of input (batch, feature, *spatial), filter (output feature, input feature, *spatial)
    and result (batch, feature, *spatial)."""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


for _class in (ConvDimensionNumbers, GatherDimensionNumbers, GatherScatterMode,
               ScatterDimensionNumbers):
    _class.__module__ = "xfront.lax"

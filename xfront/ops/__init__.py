"""Reductions over segments: rows of an array with the same segment number are combined."""

from ..base.on_demand import shown as _shown
from .segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
__dir__ = _shown(globals())

"""Integrals of samples."""

from ..numpy.differences import trapezoid
from ..on_demand import shown as _shown

__all__ = ["trapezoid"]
__dir__ = _shown(globals())

"""Integrals of samples."""

from ..base.on_demand import shown as _shown
from ..numpy.differences import trapezoid

__all__ = ["trapezoid"]
__dir__ = _shown(globals())

"""Resizes images, by resampling along some axes with filters."""

from ..base.on_demand import shown as _shown
from .resizing import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = _shown(globals())

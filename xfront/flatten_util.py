"""Trees of arrays as one vector."""

from .base.on_demand import shown as _shown
from .transforms.raveling import ravel_pytree

__all__ = ["ravel_pytree"]
__dir__ = _shown(globals())

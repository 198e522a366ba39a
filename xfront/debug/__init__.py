"""Looking into traced programs: print and call back from within them."""

from ..callbacks import debug_callback as callback
from .printing import print

__all__ = ["callback", "print"]

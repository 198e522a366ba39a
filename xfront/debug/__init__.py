"""Functions that look into traced programs: they print, or call back to Python."""

from ..base.on_demand import shown as _shown
from ..lax.callbacks import debug_callback as callback
from .debugger import breakpoint
from .placement import inspect_array_sharding, visualize_array_sharding, visualize_sharding
from .printing import log, print

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "log", "print",
           "visualize_array_sharding", "visualize_sharding"]
__dir__ = _shown(globals())

"""Functions whose interface may still change."""

from ..callbacks import io_callback
from ..on_demand import shown as _shown

__all__ = ["io_callback"]
__dir__ = _shown(globals())

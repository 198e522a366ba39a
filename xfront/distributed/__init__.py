"""Programs of several processes: each calls `initialize` before its first use of a device."""

from ..base.on_demand import shown as _shown
from .membership import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
__dir__ = _shown(globals())

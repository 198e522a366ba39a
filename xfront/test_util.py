"""Checks of derivatives against central differences."""

from .base.on_demand import shown as _shown
from .debug.gradients import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
__dir__ = _shown(globals())

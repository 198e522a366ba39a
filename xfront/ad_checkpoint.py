"""`ad_checkpoint`: checkpointing, names for values that policies save, and saved residuals."""

from typing import TYPE_CHECKING
from typing import Any as _Any

from .base.on_demand import absent as _absent
from .base.on_demand import shown as _shown
from .transforms.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from .transforms.policies import Offloadable, Recompute, Saveable
from .transforms.residuals import print_saved_residuals, saved_residuals

if TYPE_CHECKING:
    name_p: _Any

checkpoint_name_fwd = checkpoint_name
"""Another name of `checkpoint_name`: values are named as they are computed, and not in the backward
pass."""


def __getattr__(name: str) -> _Any:
    """The primitive `name_p`, made on first use."""
    if name != "name_p":
        raise _absent(__name__, name, __dir__)
    from .eager.primitives import named

    return named(name)


__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name",
           "checkpoint_name_fwd", "checkpoint_policies", "name_p", "print_saved_residuals",
           "remat", "saved_residuals"]
__dir__ = _shown(globals())

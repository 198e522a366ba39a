"""`ad_checkpoint`: checkpointing, names for values that policies save, and saved residuals."""

from .on_demand import shown as _shown
from .transforms.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from .transforms.policies import Offloadable, Recompute, Saveable
from .transforms.residuals import print_saved_residuals, saved_residuals

__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name",
           "checkpoint_policies", "print_saved_residuals", "remat", "saved_residuals"]
__dir__ = _shown(globals())

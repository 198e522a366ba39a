"""Programs that leave the process: exported as versioned StableHLO, and called from bytes."""

from __future__ import annotations

from ..base.on_demand import shown as _shown
from .checks import DisabledSafetyCheck
from .dimensions import SymbolicScope, is_symbolic_dim, symbolic_dim_bounds
from .exported import (
    Exported,
    deserialize,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from .exporting import default_export_platform, export
from .shapes import symbolic_args_specs, symbolic_shape
from .trees import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = ["DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform",
           "deserialize", "export", "is_symbolic_dim",
           "maximum_supported_calling_convention_version",
           "minimum_supported_calling_convention_version", "register_namedtuple_serialization",
           "register_pytree_node_serialization", "symbolic_args_specs", "symbolic_dim_bounds",
           "symbolic_shape"]
__dir__ = _shown(globals())

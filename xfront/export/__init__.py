"""Programs that leave the process: exported as versioned StableHLO, and called from bytes."""

from __future__ import annotations

from ..on_demand import shown as _shown
from .checks import DisabledSafetyCheck
from .exported import (
    Exported,
    deserialize,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from .exporting import default_export_platform, export
from .trees import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = ["DisabledSafetyCheck", "Exported", "default_export_platform", "deserialize", "export",
           "maximum_supported_calling_convention_version",
           "minimum_supported_calling_convention_version", "register_namedtuple_serialization",
           "register_pytree_node_serialization"]
__dir__ = _shown(globals())

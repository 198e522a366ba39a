"""All ops by name: `ops.sin`. One module a family, each op whole in its module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..literal import literal
from ..opdef import REGISTRY, OpDef
from . import elementwise, shape

if TYPE_CHECKING:
    def __getattr__(name: str) -> OpDef: ...

__all__ = ["REGISTRY", "elementwise", "literal", "shape"]


def _collect() -> dict[str, Any]:
    return {name: definition for name, definition in REGISTRY.items()}


globals().update(_collect())

"""All ops by name: `ops.sin`. A module for each family defines its ops completely."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ..definition import REGISTRY, OpDef
from ..literal import literal

FAMILIES = ("bits", "collective", "compare", "control", "conv", "convert", "custom", "custom_vmap",
            "dot", "effects", "eigen", "elementwise", "exported", "ffi", "fft", "gathering",
            "indexing", "linalg", "linear_call", "platform_call", "random", "random_gamma",
            "reduce", "reduce_by_body", "refs", "shape", "shard_map", "sharding", "similarity",
            "sort", "special", "strong", "terms", "while_loop", "window")

for _family in FAMILIES:                          # by name: an op may have a family's name
    import_module(f"{__name__}.{_family}")

if TYPE_CHECKING:
    def __getattr__(name: str) -> OpDef: ...

__all__ = ["FAMILIES", "REGISTRY", "literal"]


def _collect() -> dict[str, Any]:
    """Ops under their names; a name that Python reserves gets an underscore: `ops.and_`."""
    return {f"{name}_" if iskeyword(name) else name: op for name, op in REGISTRY.items()}


globals().update(_collect())

"""NumPy row of `ops/shard_map.py`, for a mesh of one device: what that device computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import MissingRule
from ..opdef import Pending
from ..reference import Steps, reference


@reference("shard_map")
def _shard_map(attrs: Mapping[str, Any], types: Any, *operands: np.ndarray) -> Steps:
    mesh, held = attrs["mesh"], attrs["body"]
    if mesh.size != 1:
        raise MissingRule(f"shard_map: NumPy evaluates on one device, but the mesh {mesh} has "
                          f"{mesh.size}")
    return tuple((yield held.force() if isinstance(held, Pending) else held, operands))

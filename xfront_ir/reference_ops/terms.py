"""The NumPy row of `ops/terms.py`, for one device: a sum has one term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import MissingRule
from ..reference import reference


@reference("manual_cast")
def _manual_cast(attrs: Mapping[str, Any], types: Any, x: np.ndarray) -> np.ndarray:
    if attrs["mesh"].size_of(attrs["axes"]) != 1:
        raise MissingRule(f"NumPy evaluates on one device, but the mesh is {attrs['mesh']}")
    return x

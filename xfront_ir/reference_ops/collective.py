"""NumPy rows of `ops/collective.py`, for one participant: each sum has one term."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import MissingRule
from ..reference import reference


@reference("psum", "psum_invariant", "pcast", "pmax", "pmin")
def _of_one(attrs: Mapping[str, Any], types: Any, x: np.ndarray) -> np.ndarray:
    if math.prod(attrs["sizes"]) != 1:
        raise MissingRule(f"NumPy evaluates on one device, but the axes {attrs['axes']} have sizes "
                          f"{attrs['sizes']}")
    return x

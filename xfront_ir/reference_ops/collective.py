"""NumPy rows of `ops/collective.py`, for one participant: each sum has one term."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import MissingRule
from ..reference import reference


@reference("manual_cast")
def _held_alone(attrs: Mapping[str, Any], types: Any, x: np.ndarray) -> np.ndarray:
    if attrs["mesh"].size_of(attrs["axes"]) != 1:
        raise MissingRule(f"NumPy evaluates on one device, but the mesh is {attrs['mesh']}")
    return x


@reference("psum", "psum_invariant", "pcast", "pmax", "pmin")
def _of_one(attrs: Mapping[str, Any], types: Any, x: np.ndarray) -> np.ndarray:
    if math.prod(attrs["sizes"]) != 1:
        raise MissingRule(f"NumPy evaluates on one device, but the axes {attrs['axes']} have sizes "
                          f"{attrs['sizes']}")
    return x

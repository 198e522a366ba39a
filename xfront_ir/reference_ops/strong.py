"""NumPy rows of products with strong zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference
from .dot import wide


@reference("strong_mul")
def _strong_mul(attrs: Any, types: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.where((x == 0) | (y == 0), np.zeros_like(x), x * y)


@reference("strong_div")
def _strong_div(attrs: Any, types: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.where(x == 0, np.zeros_like(x), x / y)


@reference("strong_dot_general")
def _strong_dot_general(attrs: Any, types: Any, lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """All products are formed, with the contracted axes last, and then summed."""
    contract, batch = attrs["contract"], attrs["batch"]
    free = [[a for a in range(x.ndim) if a not in c and a not in k]
            for x, c, k in ((lhs, contract[0], batch[0]), (rhs, contract[1], batch[1]))]
    left = wide(lhs).transpose(*batch[0], *free[0], *contract[0])
    right = wide(rhs).transpose(*batch[1], *free[1], *contract[1])
    n = len(batch[0])
    left = np.expand_dims(left, tuple(range(n + len(free[0]), n + len(free[0]) + len(free[1]))))
    right = np.expand_dims(right, tuple(range(n, n + len(free[0]))))
    products = np.where((left == 0) | (right == 0), 0, left * right)
    k = len(contract[0])
    return products.sum(axis=tuple(range(products.ndim - k, products.ndim)))

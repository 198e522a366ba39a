"""NumPy row of `random_gamma`: Marsaglia and Tsang's method, one element at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..reference import reference
from .random import threefry
from .special import erf_inv

_MANTISSA = {"float16": (10, 16), "bfloat16": (7, 8), "float32": (23, 32), "float64": (52, 64)}


def _next(key: Any, i: int) -> Any:
    return threefry(key[0], key[1], np.uint32(0), np.uint32(i))


def _unit(key: Any, mantissa: int, width: int) -> float:
    upper, lower = (int(w) for w in _next(key, 0))
    raw = upper << 32 | lower if width == 64 else (upper ^ lower) & (1 << width) - 1
    return (raw >> width - mantissa) / 2 ** mantissa


def _sample(key: Any, a: float, log_space: bool, mantissa: int, width: int) -> float:
    if not 0 <= a < math.inf:
        return a if a == math.inf else math.nan
    key, of_boost = _next(key, 0), _next(key, 1)
    d = (a if a >= 1 else a + 1) - 1 / 3
    c = 1 / 3 / math.sqrt(d)
    low, x, v = -1 + 2.0 ** -(mantissa + 1), 0.0, 0.0
    while True:
        key, of_x, of_u = (_next(key, i) for i in range(3))
        v = 0.0
        while v <= 0:
            of_x, now = _next(of_x, 0), _next(of_x, 1)
            # the product and the sum are rounded to the dtype; so is the uniform number
            x = math.sqrt(2) * erf_inv(max(low, _unit(now, mantissa, width) * 2 + low))
            v = 1 + x * c
        u, cube = _unit(of_u, mantissa, width), v ** 3
        if u < 1 - 0.0331 * x ** 4 or u > 0 and (
                math.log(u) < x * x / 2 + d * (1 - cube + math.log(cube))) or u == 0:
            break
    rest = 1 - _unit(of_boost, mantissa, width)
    if a >= 1:
        return math.log(d) + math.log(cube) if log_space else d * cube
    boost = math.log(rest) / a if a else -math.inf
    return math.log(d) + math.log(cube) + boost if log_space else d * cube * math.exp(boost)


@reference("random_gamma")
def _random_gamma(attrs: Any, types: Any, keys: np.ndarray, a: np.ndarray) -> Any:
    bits = _MANTISSA[a.dtype.name]
    made = [_sample((k[0], k[1]), float(x), attrs["log_space"], *bits)
            for k, x in zip(keys.reshape(-1, 2), a.reshape(-1), strict=True)]
    return np.array(made, np.float64).reshape(a.shape).astype(a.dtype)

"""Where gradients are looked at: magnitudes from 1e-30 to 1e30, zeros, ties, ends of domains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

NAN = float("nan")
SIZES = (1e-30, 1e-20, 1e-10, 1e-5, 1e-3, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 3.7, 6.0, 10.0, 20.5,
         50.5, 100.0, 1e3, 1e4, 1e6, 1e10, 1e20, 1e30)
FEWER = (1e-30, 1e-10, 0.5, 1.0, 2.0, 3.0, 1e3, 1e10, 1e30)
FEWEST = (1e-30, 0.25, 1.0, 3.0, 1e10)
LENGTH = 4


def _signed(sizes: Sequence[float]) -> list[float]:
    return [0.0, *sizes, *[-size for size in sizes]]


def of_scalars(count: int) -> np.ndarray:
    """Points of a function of so many numbers, one a row: all pairs, all triples of fewer."""
    sizes = {1: SIZES, 2: FEWER, 3: FEWEST}[count]
    return np.array(list(itertools.product(_signed(sizes), repeat=count)))


def of_vectors(with_nan: bool = False) -> np.ndarray:
    """Vectors of `LENGTH`: of one magnitude, of many, with ties, zeros, and NaN if it is to be."""
    rng = np.random.default_rng(0)
    made = [rng.choice([-1, 1], LENGTH) * rng.uniform(0.5, 2, LENGTH) * size for size in SIZES]
    made += [np.full(LENGTH, value) for value in (0.0, 1.0, -2.0, 1e-30, 1e10)]
    made += [rng.choice(_signed(FEWER), LENGTH) for _ in range(24)]
    made += [np.array(v, float) for v in ([1, 1, 2, 2], [2, 1, 1, 0], [0, 0, 0, 3], [1, 2, 3, 4],
                                          [-1, 0, 1, 0], [0, 0, 1, 2], [1, 0, 0, -1])]
    if with_nan:
        for v in made[::3]:
            v[rng.integers(LENGTH)] = NAN
    return np.array(made)

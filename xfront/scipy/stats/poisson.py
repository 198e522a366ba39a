"""The Poisson distribution of mean mu.

Sources: `scipy.stats.poisson`; of the entropy of large mu R. Evans and J. Boersma, The entropy of a
Poisson distribution, SIAM Review 30 (1988), 314-317.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, log
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from ..special.entropies import xlogy_of
from .families import Family

_EXAMPLES = {
    "logpmf": "[1., 2.], 3. -> [-1.901, -1.496]",
    "pmf": "[1., 2.], 3. -> [0.149, 0.224]",
    "cdf": "[1., 2.], 3. -> [0.199, 0.423]",
    "entropy": "[1., 3.] -> [1.305, 1.931]",
}
_poisson = Family("poisson", "mu", placed="loc", low=0.0, valid=lambda mu: mu >= 0,
                  discrete=True, examples=_EXAMPLES)
_SUMMED = {32: (10.0, 48), 64: (100.0, 256)}
"""By bits of the dtype: the greatest mu for which the entropy is summed, and how many terms."""
_ASYMPTOTIC = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520, -1375 / 1008, -33953 / 5040,
               -57281 / 1440)


def _log_mass(k: Any, mu: Any) -> Any:
    return xlogy_of(k, mu) - emit(ops.lgamma, k + 1) - mu


def _below(k: Any, mu: Any) -> Any:
    return emit(ops.igammac, k + 1, mu)


def _entropy(mu: Any, loc: Any) -> Any:
    """The sum of -p log(p) for small mu, the asymptotic series for large; loc changes nothing."""
    dtype = mu.value.type.dtype
    most, count = _SUMMED[dtype.bits]
    positive, large = mu > 0, mu > most
    counts = np.arange(count, dtype=dtype.numpy)
    column = emit(ops.broadcast_in_dim, where(large, 1.0, where(positive, mu, 1.0)),
                  shape=(*mu.shape, count), dims=tuple(range(mu.ndim)))
    logs = np.array([math.lgamma(k + 1) for k in range(count)]).astype(dtype.numpy)
    steps = log(column) * counts - logs - column
    near = -emit(ops.reduce_sum, exp(steps) * steps, axes=(mu.ndim,))
    far = where(large, mu, most)
    inverse = 1.0 / far
    series = inverse * _ASYMPTOTIC[-1]
    for c in reversed(_ASYMPTOTIC[:-1]):
        series = (series + c) * inverse
    made = log(far * (2 * math.pi * math.e)) * 0.5 + series
    made = where(large, made, where(positive, near, 0.0))
    there = (mu >= 0) & (loc == loc)
    return where(there, made, math.nan)


logpmf, pmf = _poisson.densities(_log_mass)
cdf = _poisson.chance("cdf", _below)
entropy = Family("poisson", placed="loc", examples=_EXAMPLES).function("entropy", "mu", _entropy)

__all__ = ["cdf", "entropy", "logpmf", "pmf"]
__dir__ = _shown(globals())

"""The binomial distribution: how many of n trials succeed, each with probability p.

Source: `scipy.stats.binom`.
"""

from __future__ import annotations

from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import log1p
from ..special.entropies import xlog1py_of, xlogy_of
from ..special.gammas import betaln_of
from .families import Family, probability


def _valid(n: Any, p: Any) -> Any:
    return (n >= 0) & probability(p)


_EXAMPLES = {
    "logpmf": "[0., 1.], 3, 0.5 -> [-2.079, -0.981]",
    "pmf": "[0., 1.], 3, 0.5 -> [0.125, 0.375]",
}
_binom = Family("binom", "n p", placed="loc", low=0.0, high=lambda n, p: n, valid=_valid,
                discrete=True, examples=_EXAMPLES)


def log_choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return -(log1p(n) + betaln_of(n - k + 1, k + 1))


def _log_mass(k: Any, n: Any, p: Any) -> Any:
    powers = xlogy_of(k, p) + xlog1py_of(n - k, -p)
    return log_choices(n, k) + powers


logpmf, pmf = _binom.densities(_log_mass)

__all__ = ["logpmf", "pmf"]
__dir__ = _shown(globals())

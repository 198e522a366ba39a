"""The negative binomial distribution: failures before the n-th success, with probability p.

Source: `scipy.stats.nbinom`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import log
from ...tracing.trace import emit
from ..special.entropies import xlog1py_of
from ..special.gammas import lgamma_drop
from .families import Family, probability


def _valid(n: Any, p: Any) -> Any:
    return (n > 0) & probability(p)


_EXAMPLES = {
    "logpmf": "[0., 2.], 3, 0.4 -> [-2.749, -1.979]",
    "pmf": "[0., 2.], 3, 0.4 -> [0.064, 0.138]",
}
_nbinom = Family("nbinom", "n p", placed="loc", low=0.0, valid=_valid, discrete=True,
                 examples=_EXAMPLES)


def _log_mass(k: Any, n: Any, p: Any) -> Any:
    ways = -(lgamma_drop(n, k) + emit(ops.lgamma, k + 1))
    return ways + (n * log(p) + xlog1py_of(k, -p))


logpmf, pmf = _nbinom.densities(_log_mass)

__all__ = ["logpmf", "pmf"]
__dir__ = _shown(globals())

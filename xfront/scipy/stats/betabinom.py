"""The beta-binomial distribution: binomial, with a probability that is beta distributed.

Source: `scipy.stats.betabinom`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from ..special.gammas import betaln_of
from .binom import log_choices
from .families import Family, positive


def _valid(n: Any, a: Any, b: Any) -> Any:
    return (n >= 0) & positive(a, b)


_EXAMPLES = {
    "logpmf": "[0., 1.], 3, 2., 2. -> [-1.609, -1.204]",
    "pmf": "[0., 1.], 3, 2., 2. -> [0.2, 0.3]",
}
_betabinom = Family("betabinom", "n a b", placed="loc", low=0.0, high=lambda n, a, b: n,
                    valid=_valid, discrete=True, examples=_EXAMPLES)


def _log_mass(k: Any, n: Any, a: Any, b: Any) -> Any:
    share = betaln_of(k + a, n - k + b) - betaln_of(a, b)
    # with n = k = 0 both logarithms are the same, but a compiler rounds them differently
    share = share - where(n == 0, emit(ops.stop_gradient, share), 0.0)
    return log_choices(n, k) + share


logpmf, pmf = _betabinom.densities(_log_mass)

__all__ = ["logpmf", "pmf"]
__dir__ = _shown(globals())

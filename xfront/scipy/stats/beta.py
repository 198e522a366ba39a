"""The beta distribution of shapes a and b: density z^(a - 1) (1 - z)^(b - 1) / B(a, b).

z = (x - loc) / scale lies in [0, 1]. Sources: Abramowitz and Stegun 26.5; `scipy.stats.beta`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...tracing.trace import emit
from ..special.entropies import xlog1py_of, xlogy_of
from ..special.gammas import betaln_of
from .families import Family, log_of, positive

_EXAMPLES = {
    "logpdf": "[0.2, 0.5], 2., 2. -> [-0.041,  0.405]",
    "pdf": "[0.2, 0.5], 2., 2. -> [0.96, 1.5 ]",
    "cdf": "[0.2, 0.5], 2., 2. -> [0.104, 0.5  ]",
    "sf": "[0.2, 0.5], 2., 2. -> [0.896, 0.5  ]",
    "logcdf": "[0.2, 0.5], 2., 2. -> [-2.263, -0.693]",
    "logsf": "[0.2, 0.5], 2., 2. -> [-0.11 , -0.693]",
}
_beta = Family("beta", "a b", low=0.0, high=1.0, inside=0.5, valid=positive, examples=_EXAMPLES)


def _log_density(z: Any, a: Any, b: Any) -> Any:
    powers = xlogy_of(a - 1, z) + xlog1py_of(b - 1, -z)
    return powers - betaln_of(a, b)


def _below(z: Any, a: Any, b: Any) -> Any:
    return emit(ops.betainc, a, b, z)


def _above(z: Any, a: Any, b: Any) -> Any:
    return emit(ops.betainc, b, a, 1 - z)


logpdf, pdf = _beta.densities(_log_density)
cdf = _beta.chance("cdf", _below)
sf = _beta.chance("sf", _above)
logcdf = _beta.chance("logcdf", log_of(_below, _above))
logsf = _beta.chance("logsf", log_of(_above, _below))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

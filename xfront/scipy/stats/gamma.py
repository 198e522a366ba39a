"""The gamma distribution of shape a: density z^(a - 1) exp(-z) / gamma(a) for
z = (x - loc) / scale >= 0.

Sources: Abramowitz and Stegun 26.1; `scipy.stats.gamma`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...tracing.trace import emit
from .families import Family, log_of, positive

_EXAMPLES = {
    "logpdf": "[1., 2.], 2. -> [-1.   , -1.307]",
    "pdf": "[1., 2.], 2. -> [0.368, 0.271]",
    "cdf": "[1., 2.], 2. -> [0.264, 0.594]",
    "sf": "[1., 2.], 2. -> [0.736, 0.406]",
    "logcdf": "[1., 2.], 2. -> [-1.331, -0.521]",
    "logsf": "[1., 2.], 2. -> [-0.307, -0.901]",
}
_gamma = Family("gamma", "a", low=0.0, inside=1.0, valid=positive, examples=_EXAMPLES)


def _log_density(power: Any, z: Any, a: Any) -> Any:
    return power - z - emit(ops.lgamma, a)


def _below(z: Any, a: Any) -> Any:
    return emit(ops.igamma, a, z)


def _above(z: Any, a: Any) -> Any:
    return emit(ops.igammac, a, z)


logpdf, pdf = _gamma.densities(_log_density, power=lambda a: a - 1)
cdf = _gamma.chance("cdf", _below)
sf = _gamma.chance("sf", _above)
logcdf = _gamma.chance("logcdf", log_of(_below, _above))
logsf = _gamma.chance("logsf", log_of(_above, _below))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

"""The logistic distribution: density exp(-z) / (1 + exp(-z))^2, z = (x - loc) / scale.

Source: `scipy.stats.logistic`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, log, log1p
from ...tracing.trace import emit
from .families import Family, mirrored

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-1.386, -1.627]",
    "pdf": "[0., 1.] -> [0.25 , 0.197]",
    "cdf": "[0., 1.] -> [0.5  , 0.731]",
    "sf": "[0., 1.] -> [0.5  , 0.269]",
    "ppf": "[0.5, 0.75] -> [0.   , 1.099]",
    "isf": "[0.5, 0.25] -> [0.   , 1.099]",
}
_logistic = Family("logistic", examples=_EXAMPLES)


def _log_density(z: Any) -> Any:
    """From |z|, as the density is symmetric."""
    size = abs(z)
    return -(size + log1p(exp(-size)) * 2)


def _point_below(q: Any) -> Any:
    return log(q) - log1p(-q)


logpdf, pdf = _logistic.densities(_log_density)
cdf = _logistic.chance("cdf", lambda z: emit(ops.logistic, z))
sf = _logistic.chance("sf", lambda z: emit(ops.logistic, -z))
ppf = _logistic.quantile("ppf", _point_below, first="x")
isf = _logistic.quantile("isf", lambda q: mirrored(_point_below(q)), first="x")

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

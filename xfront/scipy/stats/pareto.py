"""The Pareto distribution of shape b: density b / z^(b + 1) for z = (x - loc) / scale >= 1.

Source: `scipy.stats.pareto`.
"""

from __future__ import annotations

from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, expm1, log, log1p
from .families import Family, log1mexp, positive

_EXAMPLES = {
    "logpdf": "[1.5, 3.], 3. -> [-0.523, -3.296]",
    "pdf": "[1.5, 3.], 3. -> [0.593, 0.037]",
    "cdf": "[1.5, 3.], 3. -> [0.704, 0.963]",
    "sf": "[1.5, 3.], 3. -> [0.296, 0.037]",
    "logcdf": "[1.5, 3.], 3. -> [-0.351, -0.038]",
    "logsf": "[1.5, 3.], 3. -> [-1.216, -3.296]",
    "ppf": "[0.25, 0.5], 3. -> [1.101, 1.26 ]",
}
_pareto = Family("pareto", "b", low=1.0, inside=2.0, valid=positive, examples=_EXAMPLES)


def _decay(z: Any, b: Any) -> Any:
    """b log(z), which is minus the logarithm of the probability of more than z."""
    return b * log(z)


def _point_below(q: Any, b: Any) -> Any:
    return exp(-log1p(-q) / b)


logpdf, pdf = _pareto.densities(
    lambda z, b: log(b) - (b + 1) * log(z))
cdf = _pareto.chance("cdf", lambda z, b: -expm1(-_decay(z, b)))
sf = _pareto.chance("sf", lambda z, b: exp(-_decay(z, b)))
logcdf = _pareto.chance("logcdf", lambda z, b: log1mexp(_decay(z, b)))
logsf = _pareto.chance("logsf", lambda z, b: -_decay(z, b))
ppf = _pareto.quantile("ppf", _point_below)

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

"""The exponential distribution: density exp(-z) for z = (x - loc) / scale >= 0.

Source: `scipy.stats.expon`.
"""

from __future__ import annotations

from ...base.on_demand import shown as _shown
from ...numpy.arithmetic import negative
from ...numpy.transcendental import exp, expm1, log1p
from .families import Family, log1mexp

_EXAMPLES = {
    "logpdf": "[0.5, 1.] -> [-0.5, -1. ]",
    "pdf": "[0.5, 1.] -> [0.607, 0.368]",
    "cdf": "[0.5, 1.] -> [0.393, 0.632]",
    "sf": "[0.5, 1.] -> [0.607, 0.368]",
    "logcdf": "[0.5, 1.] -> [-0.933, -0.459]",
    "logsf": "[0.5, 1.] -> [-0.5, -1. ]",
    "ppf": "[0.25, 0.5] -> [0.288, 0.693]",
}
_expon = Family("expon", low=0.0, inside=1.0, examples=_EXAMPLES)

logpdf, pdf = _expon.densities(negative)
cdf = _expon.chance("cdf", lambda z: -expm1(-z))
sf = _expon.chance("sf", lambda z: exp(-z))
logcdf = _expon.chance("logcdf", log1mexp)
logsf = _expon.chance("logsf", negative)
ppf = _expon.quantile("ppf", lambda q: -log1p(-q))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

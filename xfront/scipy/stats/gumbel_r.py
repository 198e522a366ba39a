"""The Gumbel distribution of maxima: density exp(-z - exp(-z)), z = (x - loc) / scale.

Source: `scipy.stats.gumbel_r`.
"""

from __future__ import annotations

from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, expm1, log
from .families import Family, log1mexp

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-1.   , -1.368]",
    "pdf": "[0., 1.] -> [0.368, 0.255]",
    "cdf": "[0., 1.] -> [0.368, 0.692]",
    "sf": "[0., 1.] -> [0.632, 0.308]",
    "logcdf": "[0., 1.] -> [-1.   , -0.368]",
    "logsf": "[0., 1.] -> [-0.459, -1.178]",
    "ppf": "[0.25, 0.5] -> [-0.327,  0.367]",
}
_gumbel = Family("gumbel_r", examples=_EXAMPLES)


def _rate(z: Any) -> Any:
    return exp(-z)


logpdf, pdf = _gumbel.densities(lambda z: -(z + _rate(z)))
cdf = _gumbel.chance("cdf", lambda z: exp(-_rate(z)))
sf = _gumbel.chance("sf", lambda z: -expm1(-_rate(z)))
logcdf = _gumbel.chance("logcdf", lambda z: -_rate(z))
logsf = _gumbel.chance("logsf", lambda z: log1mexp(_rate(z)))
ppf = _gumbel.quantile("ppf", lambda p: -log(-log(p)), "p")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

"""The Gumbel distribution of minima: density exp(z - exp(z)), z = (x - loc) / scale.

Source: `scipy.stats.gumbel_l`.
"""

from __future__ import annotations

from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, expm1, log, log1p
from .families import Family, log1mexp

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-1.   , -1.718]",
    "pdf": "[0., 1.] -> [0.368, 0.179]",
    "cdf": "[0., 1.] -> [0.632, 0.934]",
    "sf": "[0., 1.] -> [0.368, 0.066]",
    "logcdf": "[0., 1.] -> [-0.459, -0.068]",
    "logsf": "[0., 1.] -> [-1.   , -2.718]",
    "ppf": "[0.25, 0.5] -> [-1.246, -0.367]",
}
_gumbel = Family("gumbel_l", examples=_EXAMPLES)


def _rate(z: Any) -> Any:
    return exp(z)


logpdf, pdf = _gumbel.densities(lambda z: z - _rate(z))
cdf = _gumbel.chance("cdf", lambda z: -expm1(-_rate(z)))
sf = _gumbel.chance("sf", lambda z: exp(-_rate(z)))
logcdf = _gumbel.chance("logcdf", lambda z: log1mexp(_rate(z)))
logsf = _gumbel.chance("logsf", lambda z: -_rate(z))
ppf = _gumbel.quantile(
    "ppf", lambda p: log(-log1p(-p)), "p")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

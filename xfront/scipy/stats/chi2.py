"""The chi-squared distribution with df degrees of freedom, z = (x - loc) / scale >= 0.

It is the distribution of twice a gamma variable of shape df / 2.
Sources: Abramowitz and Stegun 26.4; `scipy.stats.chi2`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...tracing.trace import emit
from .families import Family, log_of, positive

_EXAMPLES = {
    "logpdf": "[1., 2.], 2. -> [-1.193, -1.693]",
    "pdf": "[1., 2.], 2. -> [0.303, 0.184]",
    "cdf": "[1., 2.], 2. -> [0.393, 0.632]",
    "sf": "[1., 2.], 2. -> [0.607, 0.368]",
    "logcdf": "[1., 2.], 2. -> [-0.933, -0.459]",
    "logsf": "[1., 2.], 2. -> [-0.5, -1. ]",
}
_chi2 = Family("chi2", "df", low=0.0, inside=1.0, valid=positive, examples=_EXAMPLES)


def _log_density(power: Any, z: Any, df: Any) -> Any:
    half, z = df * 0.5, z * 0.5
    made = power - z - emit(ops.lgamma, half)
    return made - half * math.log(2)


def _below(z: Any, df: Any) -> Any:
    return emit(ops.igamma, df * 0.5, z * 0.5)


def _above(z: Any, df: Any) -> Any:
    return emit(ops.igammac, df * 0.5, z * 0.5)


logpdf, pdf = _chi2.densities(_log_density, power=lambda df: df * 0.5 - 1)
cdf = _chi2.chance("cdf", _below)
sf = _chi2.chance("sf", _above)
logcdf = _chi2.chance("logcdf", log_of(_below, _above))
logsf = _chi2.chance("logsf", log_of(_above, _below))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

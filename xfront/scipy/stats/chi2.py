"""The chi-squared distribution with df degrees of freedom, z = (x - loc) / scale >= 0.

It is the distribution of twice a gamma variable of shape df / 2.
Sources: Abramowitz and Stegun 26.4; `scipy.stats.chi2`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...numpy.shorthand import mul, sub
from ...on_demand import shown as _shown
from ...tracing.trace import emit
from ..special.entropies import xlogy_of
from .families import Family, positive

_EXAMPLES = {
    "logpdf": "[1., 2.], 2. -> [-1.193, -1.693]",
    "pdf": "[1., 2.], 2. -> [0.303, 0.184]",
    "cdf": "[1., 2.], 2. -> [0.393, 0.632]",
    "sf": "[1., 2.], 2. -> [0.607, 0.368]",
    "logcdf": "[1., 2.], 2. -> [-0.933, -0.459]",
    "logsf": "[1., 2.], 2. -> [-0.5, -1. ]",
}
_chi2 = Family("chi2", "df", low=0.0, inside=1.0, valid=positive, examples=_EXAMPLES)


def _log_density(z: Any, df: Any) -> Any:
    half, z = mul(df, 0.5), mul(z, 0.5)
    made = sub(sub(xlogy_of(sub(half, 1), z), z), emit(ops.lgamma, half))
    return sub(made, math.log(2))


def _below(z: Any, df: Any) -> Any:
    return emit(ops.igamma, mul(df, 0.5), mul(z, 0.5))


def _above(z: Any, df: Any) -> Any:
    return emit(ops.igammac, mul(df, 0.5), mul(z, 0.5))


logpdf, pdf = _chi2.densities(_log_density)
cdf = _chi2.chance("cdf", _below)
sf = _chi2.chance("sf", _above)
logcdf = _chi2.chance("logcdf", lambda z, df: emit(ops.log, _below(z, df)))
logsf = _chi2.chance("logsf", lambda z, df: emit(ops.log, _above(z, df)))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

"""The normal distribution: density exp(-z^2 / 2) / sqrt(2 pi), z = (x - loc) / scale.

Sources: Abramowitz and Stegun 26.2; `scipy.stats.norm`.
"""

from __future__ import annotations

from ...on_demand import shown as _shown
from ..special.normal import log_density_of, log_ndtr_of, ndtr_of, ndtri_of
from .families import Family, negative

_norm = Family("norm")

logpdf, pdf = _norm.densities(log_density_of)
cdf = _norm.chance("cdf", ndtr_of)
sf = _norm.chance("sf", lambda z: ndtr_of(negative(z)))
logcdf = _norm.chance("logcdf", log_ndtr_of)
logsf = _norm.chance("logsf", lambda z: log_ndtr_of(negative(z)))
ppf = _norm.quantile("ppf", ndtri_of)
isf = _norm.quantile("isf", lambda q: negative(ndtri_of(q)))

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

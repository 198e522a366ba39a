"""The normal distribution: density exp(-z^2 / 2) / sqrt(2 pi), z = (x - loc) / scale.

Sources: Abramowitz and Stegun 26.2; `scipy.stats.norm`.
"""

from __future__ import annotations

from ...base.on_demand import shown as _shown
from ...eager.operands import strong
from ..special.normal import log_density_of, log_ndtr_of, ndtr_of, ndtri_of
from .families import Family, mirrored

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-0.919, -1.419]",
    "pdf": "[0., 1.] -> [0.399, 0.242]",
    "cdf": "[0., 1.] -> [0.5  , 0.841]",
    "sf": "[0., 1.] -> [0.5  , 0.159]",
    "logcdf": "[0., 1.] -> [-0.693, -0.173]",
    "logsf": "[0., 1.] -> [-0.693, -1.841]",
    "ppf": "[0.5, 0.75] -> [0.   , 0.674]",
    "isf": "[0.5, 0.25] -> [0.   , 0.674]",
}
_norm = Family("norm", examples=_EXAMPLES)

logpdf, pdf = _norm.densities(log_density_of)
cdf = _norm.chance("cdf", lambda z: strong(ndtr_of(z)))
sf = _norm.chance("sf", lambda z: strong(ndtr_of(-z)))
logcdf = _norm.chance("logcdf", lambda z: strong(log_ndtr_of(z)))
logsf = _norm.chance("logsf", lambda z: strong(log_ndtr_of(-z)))
ppf = _norm.quantile("ppf", lambda q: strong(ndtri_of(q)))
isf = _norm.quantile("isf", lambda q: strong(mirrored(ndtri_of(q))))

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

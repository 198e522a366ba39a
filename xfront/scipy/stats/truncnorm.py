"""The normal distribution between a and b, z = (x - loc) / scale: a and b bound z, not x.

Source: `scipy.stats.truncnorm`.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp, log1p
from ...numpy.ufuncs import where
from ..special.normal import log_density_of, log_ndtr_of, ndtr_of
from .families import Family, log1mexp

_EXAMPLES = {
    "logpdf": "[0.25, 0.5], 0., 1. -> [0.125, 0.031]",
    "pdf": "[0.25, 0.5], 0., 1. -> [1.133, 1.031]",
    "cdf": "[0.25, 0.5], 0., 1. -> [0.289, 0.561]",
    "sf": "[0.25, 0.5], 0., 1. -> [0.711, 0.439]",
    "logcdf": "[0.25, 0.5], 0., 1. -> [-1.241, -0.578]",
    "logsf": "[0.25, 0.5], 0., 1. -> [-0.341, -0.823]",
}
_truncnorm = Family("truncnorm", "a b", low=lambda a, b: a, high=lambda a, b: b,
                    valid=lambda a, b: a < b, examples=_EXAMPLES)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of a normal variable between a and b.

    An interval right of 0 is reflected, as tails are exact on the left.
    """
    right = a > 0
    a, b = where(right, -b, a), where(right, -a, b)
    across = b > 0
    rest = ndtr_of(where(across, a, -1.0)) + ndtr_of(where(across, -b, -1.0))
    low, high = where(across, -1.0, a), where(across, 0.0, b)
    empty = low == -math.inf
    whole = log_ndtr_of(where(high == -math.inf, -1.0, high))
    ratio = whole - log_ndtr_of(where(empty, -1.0, low))
    one_side = whole + where(empty, 0.0, log1mexp(where(empty, 1.0, ratio)))
    return where(across, log1p(-rest), one_side)


def _log_share(low: Any, high: Any, a: Any, b: Any) -> Any:
    return _log_mass(low, high) - _log_mass(a, b)


def _log_below(z: Any, a: Any, b: Any) -> Any:
    """The logarithm of the probability below z; near 1 it comes from the probability above."""
    made = _log_share(a, z, a, b)
    near = made > -0.1
    above = exp(_log_share(z, b, a, b))
    return where(near, log1p(-where(near, above, 0.0)), made)


def _log_above(z: Any, a: Any, b: Any) -> Any:
    return _log_below(-z, -b, -a)


logpdf, pdf = _truncnorm.densities(lambda z, a, b: log_density_of(z) - _log_mass(a, b))
logcdf = _truncnorm.chance("logcdf", _log_below)
logsf = _truncnorm.chance("logsf", _log_above)
cdf = _truncnorm.chance("cdf", lambda z, a, b: exp(_log_below(z, a, b)))
sf = _truncnorm.chance("sf", lambda z, a, b: exp(_log_above(z, a, b)))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

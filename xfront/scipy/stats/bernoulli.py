"""The Bernoulli distribution: 1 with probability p, else 0.

Source: `scipy.stats.bernoulli`.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.ufuncs import where
from ..special.entropies import xlog1py_of, xlogy_of
from .families import Family, probability

_EXAMPLES = {
    "logpmf": "[0., 1.], 0.25 -> [-0.288, -1.386]",
    "pmf": "[0., 1.], 0.25 -> [0.75, 0.25]",
    "cdf": "[0., 1.], 0.25 -> [0.75, 1.  ]",
    "ppf": "[0.5, 0.9], 0.25 -> [0., 1.]",
}
_with_loc = Family("bernoulli", "p", placed="loc", low=0.0, high=1.0, valid=probability,
                   discrete=True, examples=_EXAMPLES)
_fixed = Family("bernoulli", "p", placed="", low=0.0, high=1.0, valid=probability, discrete=True,
                examples=_EXAMPLES)


def _log_mass(k: Any, p: Any) -> Any:
    return xlogy_of(k, p) + xlog1py_of(1 - k, -p)


def _point_below(q: Any, p: Any) -> Any:
    right = probability(q) & probability(p)
    return where(right, where(q <= 1 - p, 0.0, 1.0), math.nan)


logpmf, pmf = _with_loc.densities(_log_mass)
cdf = _fixed.chance("cdf", lambda k, p: where(k < 1, 1 - p, 1.0))
ppf = _fixed.function("ppf", "q", _point_below)

__all__ = ["cdf", "logpmf", "pmf", "ppf"]
__dir__ = _shown(globals())

"""The Laplace distribution: density exp(-|z|) / 2, z = (x - loc) / scale.

Source: `scipy.stats.laplace`.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import exp
from ...numpy.ufuncs import where
from .families import Family

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-0.693, -1.693]",
    "pdf": "[0., 1.] -> [0.5  , 0.184]",
    "cdf": "[0., 1.] -> [0.5  , 0.816]",
}
_laplace = Family("laplace", examples=_EXAMPLES)


def _below(z: Any) -> Any:
    tail = exp(-abs(z)) * 0.5
    return where(z < 0, tail, 1 - tail)


logpdf, pdf = _laplace.densities(lambda z: -math.log(2) - abs(z))
cdf = _laplace.chance("cdf", _below)

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = _shown(globals())

"""Student's t distribution with df degrees of freedom, z = (x - loc) / scale.

The density is (1 + z^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1/2, df / 2)), and for df = inf that of
the normal distribution. Sources: Abramowitz and Stegun 26.7; `scipy.stats.t`.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.arithmetic import square
from ...numpy.transcendental import log, log1p
from ...numpy.ufuncs import where
from ..special.gammas import lgamma_drop
from ..special.normal import log_density_of
from .families import Family, positive

_EXAMPLES = {
    "logpdf": "[0., 1.], 5. -> [-0.969, -1.516]",
    "pdf": "[0., 1.], 5. -> [0.38, 0.22]",
}
_t = Family("t", "df", valid=positive, examples=_EXAMPLES)


def _log_density(z: Any, df: Any) -> Any:
    endless = df == math.inf
    df = where(endless, 1.0, df)
    half = df * 0.5
    made = -lgamma_drop(half, 0.5) - log(df * math.pi) * 0.5
    made = made - (half + 0.5) * log1p(square(z) / df)
    return where(endless, log_density_of(z), made)


logpdf, pdf = _t.densities(_log_density)

__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

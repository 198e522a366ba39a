"""The geometric distribution: how many trials the first success takes, with probability p each.

Source: `scipy.stats.geom`.
"""

from __future__ import annotations

from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import log
from ..special.entropies import xlog1py_of
from .families import Family, probability

_EXAMPLES = {
    "logpmf": "[1., 2.], 0.5 -> [-0.693, -1.386]",
    "pmf": "[1., 2.], 0.5 -> [0.5 , 0.25]",
}
_geom = Family("geom", "p", placed="loc", low=1.0, inside=1.0, valid=probability, discrete=True,
               examples=_EXAMPLES)


def _log_mass(k: Any, p: Any) -> Any:
    return xlog1py_of(k - 1, -p) + log(p)


logpmf, pmf = _geom.densities(_log_mass)

__all__ = ["logpmf", "pmf"]
__dir__ = _shown(globals())

"""The wrapped Cauchy distribution: density (1 - c^2) / (2 pi (1 + c^2 - 2 c cos(x))).

x lies in [0, 2 pi], c in (0, 1). Source: `scipy.stats.wrapcauchy`.
"""

from __future__ import annotations

import math
from typing import Any

from ...base.on_demand import shown as _shown
from ...numpy.arithmetic import square
from ...numpy.transcendental import log, sin
from .families import Family


def _between(c: Any) -> Any:
    return (c > 0) & (c < 1)


_EXAMPLES = {
    "logpdf": "[1., 2.], 0.5 -> [-1.783, -2.636]",
    "pdf": "[1., 2.], 0.5 -> [0.168, 0.072]",
}
_wrapcauchy = Family("wrapcauchy", "c", placed="", low=0.0, high=2 * math.pi, inside=1.0,
                     valid=_between, examples=_EXAMPLES)


def _log_density(x: Any, c: Any) -> Any:
    """From 1 + c^2 - 2 c cos(x) = (1 - c)^2 + 4 c sin(x / 2)^2."""
    bottom = square(1 - c) + c * 4 * square(sin(x * 0.5))
    top = (1 - c) * (c + 1)
    return log(top / bottom) - math.log(2 * math.pi)


logpdf, pdf = _wrapcauchy.densities(_log_density)

__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

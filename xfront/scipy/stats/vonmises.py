"""The von Mises distribution on the circle: density exp(kappa cos(x)) / (2 pi I0(kappa)).

Source: `scipy.stats.vonmises`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.arithmetic import square
from ...numpy.transcendental import log, sin
from ...tracing.trace import emit
from .families import Family

_EXAMPLES = {
    "logpdf": "[0., 1.], 2. -> [-0.662, -1.581]",
    "pdf": "[0., 1.], 2. -> [0.516, 0.206]",
}
_vonmises = Family("vonmises", "kappa", placed="", valid=lambda kappa: kappa >= 0,
                   examples=_EXAMPLES)


def _log_density(x: Any, kappa: Any) -> Any:
    """From cos(x) - 1 = -2 sin(x / 2)^2 and the Bessel function times exp(-kappa)."""
    drop = square(sin(x * 0.5)) * -2
    whole = emit(ops.bessel_i0e, kappa) * (2 * math.pi)
    return kappa * drop - log(whole)


logpdf, pdf = _vonmises.densities(_log_density)

__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

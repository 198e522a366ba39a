"""The generalised normal distribution: density beta exp(-|x|^beta) / (2 gamma(1 / beta)).

Source: `scipy.stats.gennorm`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.transcendental import log
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from .families import Family, positive

_EXAMPLES = {
    "logpdf": "[0., 1.], 2. -> [-0.572, -1.572]",
    "pdf": "[0., 1.], 2. -> [0.564, 0.208]",
    "cdf": "[0., 1.], 2. -> [0.5  , 0.921]",
}
_gennorm = Family("gennorm", "beta", placed="", inside=1.0, valid=positive, examples=_EXAMPLES)


def _power(x: Any, beta: Any) -> Any:
    """|x|^beta, with derivative 0 at 0."""
    size = abs(x)
    zero = size == 0
    return where(zero, 0.0, emit(ops.pow, where(zero, 1.0, size), beta))


def _log_density(x: Any, beta: Any) -> Any:
    made = log(beta * 0.5) - emit(ops.lgamma, 1.0 / beta)
    return made - _power(x, beta)


def _below(x: Any, beta: Any) -> Any:
    tail = emit(ops.igammac, 1.0 / beta, _power(x, beta)) * 0.5
    return where(x > 0, 1 - tail, tail)


logpdf, pdf = _gennorm.densities(_log_density)
cdf = _gennorm.chance("cdf", _below)

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = _shown(globals())

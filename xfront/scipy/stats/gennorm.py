"""The generalised normal distribution: density beta exp(-|x|^beta) / (2 gamma(1 / beta)).

Source: `scipy.stats.gennorm`.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.shorthand import choose, compare, div, mul, sub
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
    size = emit(ops.abs, x)
    zero = compare(ops.eq, size, 0)
    return choose(zero, 0.0, emit(ops.pow, choose(zero, 1.0, size), beta))


def _log_density(x: Any, beta: Any) -> Any:
    made = sub(emit(ops.log, mul(beta, 0.5)), emit(ops.lgamma, div(1.0, beta)))
    return sub(made, _power(x, beta))


def _below(x: Any, beta: Any) -> Any:
    tail = mul(emit(ops.igammac, div(1.0, beta), _power(x, beta)), 0.5)
    return choose(compare(ops.gt, x, 0), sub(1, tail), tail)


logpdf, pdf = _gennorm.densities(_log_density)
cdf = _gennorm.chance("cdf", _below)

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = _shown(globals())

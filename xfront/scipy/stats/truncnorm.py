"""The normal distribution between a and b, z = (x - loc) / scale: a and b bound z, not x.

Source: `scipy.stats.truncnorm`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.shorthand import add, choose, compare, sub
from ...tracing.trace import emit
from ..special.normal import log_density_of, log_ndtr_of, ndtr_of
from .families import Family, log1mexp, negative

_EXAMPLES = {
    "logpdf": "[0.25, 0.5], 0., 1. -> [0.125, 0.031]",
    "pdf": "[0.25, 0.5], 0., 1. -> [1.133, 1.031]",
    "cdf": "[0.25, 0.5], 0., 1. -> [0.289, 0.561]",
    "sf": "[0.25, 0.5], 0., 1. -> [0.711, 0.439]",
    "logcdf": "[0.25, 0.5], 0., 1. -> [-1.241, -0.578]",
    "logsf": "[0.25, 0.5], 0., 1. -> [-0.341, -0.823]",
}
_truncnorm = Family("truncnorm", "a b", low=lambda a, b: a, high=lambda a, b: b,
                    valid=lambda a, b: compare(ops.lt, a, b), examples=_EXAMPLES)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of a normal variable between a and b.

    An interval right of 0 is reflected, as tails are exact on the left.
    """
    right = compare(ops.gt, a, 0)
    a, b = choose(right, negative(b), a), choose(right, negative(a), b)
    across = compare(ops.gt, b, 0)
    rest = add(ndtr_of(choose(across, a, -1.0)), ndtr_of(choose(across, negative(b), -1.0)))
    low, high = choose(across, -1.0, a), choose(across, 0.0, b)
    empty = compare(ops.eq, low, -math.inf)
    whole = log_ndtr_of(choose(compare(ops.eq, high, -math.inf), -1.0, high))
    ratio = sub(whole, log_ndtr_of(choose(empty, -1.0, low)))
    one_side = add(whole, choose(empty, 0.0, log1mexp(choose(empty, 1.0, ratio))))
    return choose(across, emit(ops.log1p, negative(rest)), one_side)


def _log_share(low: Any, high: Any, a: Any, b: Any) -> Any:
    return sub(_log_mass(low, high), _log_mass(a, b))


def _log_below(z: Any, a: Any, b: Any) -> Any:
    """The logarithm of the probability below z; near 1 it comes from the probability above."""
    made = _log_share(a, z, a, b)
    near = compare(ops.gt, made, -0.1)
    above = emit(ops.exp, _log_share(z, b, a, b))
    return choose(near, emit(ops.log1p, negative(choose(near, above, 0.0))), made)


def _log_above(z: Any, a: Any, b: Any) -> Any:
    return _log_below(negative(z), negative(b), negative(a))


logpdf, pdf = _truncnorm.densities(lambda z, a, b: sub(log_density_of(z), _log_mass(a, b)))
logcdf = _truncnorm.chance("logcdf", _log_below)
logsf = _truncnorm.chance("logsf", _log_above)
cdf = _truncnorm.chance("cdf", lambda z, a, b: emit(ops.exp, _log_below(z, a, b)))
sf = _truncnorm.chance("sf", lambda z, a, b: emit(ops.exp, _log_above(z, a, b)))

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
__dir__ = _shown(globals())

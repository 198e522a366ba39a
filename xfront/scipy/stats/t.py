"""Student's t distribution with df degrees of freedom, z = (x - loc) / scale.

The density is (1 + z^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1/2, df / 2)), and for df = inf that of
the normal distribution. Sources: Abramowitz and Stegun 26.7; `scipy.stats.t`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.shorthand import add, choose, compare, div, mul, sub
from ...tracing.trace import emit
from ..special.gammas import lgamma_drop
from ..special.normal import log_density_of
from .families import Family, negative, positive

_EXAMPLES = {
    "logpdf": "[0., 1.], 5. -> [-0.969, -1.516]",
    "pdf": "[0., 1.], 5. -> [0.38, 0.22]",
}
_t = Family("t", "df", valid=positive, examples=_EXAMPLES)


def _log_density(z: Any, df: Any) -> Any:
    endless = compare(ops.eq, df, math.inf)
    df = choose(endless, 1.0, df)
    half = mul(df, 0.5)
    made = sub(negative(lgamma_drop(half, 0.5)), mul(emit(ops.log, mul(df, math.pi)), 0.5))
    made = sub(made, mul(add(half, 0.5), emit(ops.log1p, div(emit(ops.square, z), df))))
    return choose(endless, log_density_of(z), made)


logpdf, pdf = _t.densities(_log_density)

__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

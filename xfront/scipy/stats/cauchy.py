"""The Cauchy distribution: density 1 / (pi (1 + z^2)), z = (x - loc) / scale.

Source: `scipy.stats.cauchy`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...eager.operands import filled
from ...numpy.shorthand import add, choose, compare, div, mul, sub
from ...tracing.trace import emit
from .families import Family, mirrored, negative

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-1.145, -1.838]",
    "pdf": "[0., 1.] -> [0.318, 0.159]",
    "cdf": "[0., 1.] -> [0.5 , 0.75]",
    "sf": "[0., 1.] -> [0.5 , 0.25]",
    "logcdf": "[0., 1.] -> [-0.693, -0.288]",
    "logsf": "[0., 1.] -> [-0.693, -1.386]",
    "ppf": "[0.5, 0.75] -> [0., 1.]",
    "isf": "[0.5, 0.25] -> [0., 1.]",
}
_cauchy = Family("cauchy", examples=_EXAMPLES)


def _log_density(z: Any) -> Any:
    """For large z by 1 + z^2 = z^2 (1 + 1 / z^2), as squares overflow."""
    large = compare(ops.gt, emit(ops.abs, z), 1)
    near, far = choose(large, 1.0, z), choose(large, emit(ops.abs, z), 1.0)
    beyond = add(mul(emit(ops.log, far), 2), emit(ops.log1p, emit(ops.square, div(1.0, far))))
    return sub(-math.log(math.pi), choose(large, beyond, emit(ops.log1p, emit(ops.square, near))))


def _above(z: Any) -> Any:
    """Probability of more than z, exact in the tail."""
    return mul(emit(ops.atan2, filled(z.home, 1.0, z.value.type, z.weak), z), 1 / math.pi)


def _point_below(q: Any) -> Any:
    """tan(pi (q - 1/2)); by the cotangent in both tails."""
    q = emit(ops.abs, q)                       # -0 would give a tangent of the other sign
    low, high = compare(ops.lt, q, 0.25), compare(ops.gt, q, 0.75)
    tail = choose(low, q, choose(high, sub(1, q), 0.25))
    far = div(-1.0, emit(ops.tan, mul(tail, math.pi)))
    middle = choose(low, 0.5, choose(high, 0.5, q))
    near = emit(ops.tan, mul(sub(middle, 0.5), math.pi))
    return choose(low, far, choose(high, negative(far), near))


logpdf, pdf = _cauchy.densities(_log_density)
cdf = _cauchy.chance("cdf", lambda z: _above(negative(z)))
sf = _cauchy.chance("sf", _above)
logcdf = _cauchy.chance("logcdf", lambda z: emit(ops.log, _above(negative(z))))
logsf = _cauchy.chance("logsf", lambda z: emit(ops.log, _above(z)))
ppf = _cauchy.quantile("ppf", _point_below)
isf = _cauchy.quantile("isf", lambda q: mirrored(_point_below(q)))

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

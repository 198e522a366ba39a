"""The Cauchy distribution: density 1 / (pi (1 + z^2)), z = (x - loc) / scale.

Source: `scipy.stats.cauchy`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...eager.operands import filled
from ...numpy.arithmetic import square
from ...numpy.transcendental import log, log1p, tan
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from .families import Family, mirrored

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
    large = abs(z) > 1
    near, far = where(large, 1.0, z), where(large, abs(z), 1.0)
    beyond = log(far) * 2 + log1p(square(1.0 / far))
    return -math.log(math.pi) - where(large, beyond, log1p(square(near)))


def _above(z: Any) -> Any:
    """Probability of more than z, exact in the tail."""
    return emit(ops.atan2, filled(z.home, 1.0, z.value.type, z.weak), z) * (1 / math.pi)


def _point_below(q: Any) -> Any:
    """tan(pi (q - 1/2)); by the cotangent in both tails."""
    q = abs(q)                       # -0 would give a tangent of the other sign
    low, high = q < 0.25, q > 0.75
    tail = where(low, q, where(high, 1 - q, 0.25))
    far = -1.0 / tan(tail * math.pi)
    middle = where(low, 0.5, where(high, 0.5, q))
    near = tan((middle - 0.5) * math.pi)
    return where(low, far, where(high, -far, near))


logpdf, pdf = _cauchy.densities(_log_density)
cdf = _cauchy.chance("cdf", lambda z: _above(-z))
sf = _cauchy.chance("sf", _above)
logcdf = _cauchy.chance("logcdf", lambda z: log(_above(-z)))
logsf = _cauchy.chance("logsf", lambda z: log(_above(z)))
ppf = _cauchy.quantile("ppf", _point_below)
isf = _cauchy.quantile("isf", lambda q: mirrored(_point_below(q)))

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = _shown(globals())

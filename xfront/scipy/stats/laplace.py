"""The Laplace distribution: density exp(-|z|) / 2, z = (x - loc) / scale.

Source: `scipy.stats.laplace`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...numpy.shorthand import choose, compare, mul, sub
from ...tracing.trace import emit
from .families import Family, negative

_EXAMPLES = {
    "logpdf": "[0., 1.] -> [-0.693, -1.693]",
    "pdf": "[0., 1.] -> [0.5  , 0.184]",
    "cdf": "[0., 1.] -> [0.5  , 0.816]",
}
_laplace = Family("laplace", examples=_EXAMPLES)


def _below(z: Any) -> Any:
    tail = mul(emit(ops.exp, negative(emit(ops.abs, z))), 0.5)
    return choose(compare(ops.lt, z, 0), tail, sub(1, tail))


logpdf, pdf = _laplace.densities(lambda z: sub(-math.log(2), emit(ops.abs, z)))
cdf = _laplace.chance("cdf", _below)

__all__ = ["cdf", "logpdf", "pdf"]
__dir__ = _shown(globals())

"""The uniform distribution: density 1 for z = (x - loc) / scale in [0, 1].

Source: `scipy.stats.uniform`.
"""

from __future__ import annotations

from ...base.on_demand import shown as _shown
from .families import Family

_EXAMPLES = {
    "logpdf": "[0.25, 2.] -> [  0., -inf]",
    "pdf": "[0.25, 2.] -> [1., 0.]",
    "cdf": "[0.25, 2.] -> [0.25, 1.  ]",
    "ppf": "[0.25, 0.5] -> [0.25, 0.5 ]",
}
_uniform = Family("uniform", low=0.0, high=1.0, inside=0.5, examples=_EXAMPLES)

logpdf, pdf = _uniform.densities(lambda z: z - z)
cdf = _uniform.chance("cdf", lambda z: z)
ppf = _uniform.quantile("ppf", lambda q: q)

__all__ = ["cdf", "logpdf", "pdf", "ppf"]
__dir__ = _shown(globals())

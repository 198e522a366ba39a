"""Samples of the gamma distribution, with a key for each element.

Source of the sampler: Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS
26 (2000). Source of the derivative: Figurnov, Mohamed and Mnih, Implicit reparameterization
gradients (NeurIPS 2018): as `a` changes, the sample stays the quantile of the same probability.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Op
from ..errors import IRTypeError
from ..opdef import BOOL, define
from ..spreading import alike, spreads
from .elementwise import exp
from .families import batch_elementwise
from .formulas import Term, formula, where
from .special import digamma
from .special import random_gamma_grad as slope

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, NewTangents, Tangents, Types


def _infer(types: Types, attrs: Attrs) -> Types:
    key, a = types
    if key.dtype is not dtypes.key_fry or key.shape != a.shape or not a.dtype.is_float:
        raise IRTypeError(f"random_gamma takes key<fry> and floats of the same shape, got {key} "
                          f"and {a}")
    return (a,)


def _jvp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    t, a, x = tangents[1], op.operands[1], op.results[0]
    return (None if t is None else _tangent(b, t, a, x, log_space=op.attrs["log_space"]),)


@formula
def _tangent(t: Term, a: Term, x: Term, log_space: bool) -> Term:
    if not log_space:
        return t * slope(a, x)
    # for tiny x, the probability is x^a / (a gamma(a)) up to a factor 1 + O(x), which gives the
    # slope of log x where x itself has no digits or is too small for its dtype
    tiny = x < math.log(dtypes.epsilon(a.dtype))
    sample = exp(where(tiny, 0, x))
    usual = slope(a, sample) / sample
    small = (digamma(a + 1) - x) / a
    return t * where(tiny, small, usual)


random_gamma = define("random_gamma", attrs={"log_space": BOOL}, operands=2, infer=_infer, jvp=_jvp,
                      batch=batch_elementwise)
"""(keys, shapes a) -> samples of scale 1, or their logarithms. Small `a` need logarithms, since the
samples are too small for floats. NaN for negative `a`."""


spreads(alike, random_gamma)

"""Samples of the gamma distribution, each element from a key of its own.

Source of the sampler: Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS
26 (2000). Of the derivative: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients
(NeurIPS 2018): the sample moves with `a` as the quantile of the probability that it has.
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
    from ..rules import Attrs, Tangents, Types


def _infer(types: Types, attrs: Attrs) -> Types:
    key, a = types
    if key.dtype is not dtypes.key_fry or key.shape != a.shape or not a.dtype.is_float:
        raise IRTypeError("random_gamma: takes key<fry> and floats of one shape, got "
                          f"{key} and {a}")
    return (a,)


def _jvp(b: Builder, op: Op, tangents: Tangents) -> Tangents:
    t, a, x = tangents[1], op.operands[1], op.results[0]
    return (None if t is None else _tangent(b, t, a, x, log_space=op.attrs["log_space"]),)


@formula
def _tangent(t: Term, a: Term, x: Term, log_space: bool) -> Term:
    if not log_space:
        return t * slope(a, x)
    # below: x^a / (a gamma(a)) is the probability up to a factor 1 + O(x), so that the logarithm's
    # slope is known where x itself has no digits, or is too small for its dtype
    tiny = x < math.log(dtypes.epsilon(a.dtype))
    sample = exp(where(tiny, 0, x))
    usual = slope(a, sample) / sample
    small = (digamma(a + 1) - x) / a
    return t * where(tiny, small, usual)


random_gamma = define("random_gamma", attrs={"log_space": BOOL}, operands=2, infer=_infer, jvp=_jvp,
                      batch=batch_elementwise)
"""(keys, shapes a) to samples of scale 1, or their logarithms, which small `a` need: the samples
are below what floats hold. NaN for negative `a`."""


spreads(alike, random_gamma)

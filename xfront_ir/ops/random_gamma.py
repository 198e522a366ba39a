"""Samples of the gamma distribution, each element from a key of its own.

Source of the sampler: Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS
26 (2000). Of the derivative: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients
(NeurIPS 2018): the sample moves with `a` as the quantile of the probability that it has.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from .. import dtypes
from ..core import Op
from ..errors import IRTypeError
from ..opdef import BOOL, define
from .compare import lt
from .elementwise import add, div, exp, mul, select, sub
from .families import batch_elementwise, lit
from .special import digamma
from .special import random_gamma_grad as slope


def _infer(types: Any, attrs: Any) -> Any:
    key, a = types
    if key.dtype is not dtypes.key_fry or key.shape != a.shape or not a.dtype.is_float:
        raise IRTypeError("random_gamma: takes key<fry> and floats of one shape, got "
                          f"{key} and {a}")
    return (a,)


def _jvp(b: Any, op: Op, tangents: Any) -> Any:
    t, a, x = tangents[1], op.operands[1], op.results[0]
    if t is None:
        return (None,)
    if not op.attrs["log_space"]:
        return (b.emit(mul, t, b.emit(slope, a, x)),)
    # below: x^a / (a gamma(a)) is the probability up to a factor 1 + O(x), so that the logarithm's
    # slope is known where x itself has no digits, or is too small for its dtype
    least = math.log(float(ml_dtypes.finfo(a.type.dtype.numpy).eps))
    tiny = b.emit(lt, x, lit(b, x, least))
    sample = b.emit(exp, b.emit(select, tiny, lit(b, x, 0), x))
    usual = b.emit(div, b.emit(slope, a, sample), sample)
    small = b.emit(div, b.emit(sub, b.emit(digamma, b.emit(add, a, lit(b, a, 1))), x), a)
    return (b.emit(mul, t, b.emit(select, tiny, small, usual)),)


random_gamma = define("random_gamma", attrs={"log_space": BOOL}, operands=2, infer=_infer, jvp=_jvp,
                      batch=batch_elementwise)
"""(keys, shapes a) to samples of scale 1, or their logarithms, which small `a` need: the samples
are below what floats hold. NaN for negative `a`."""

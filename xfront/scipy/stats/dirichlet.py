"""The Dirichlet distribution of probabilities x: density prod(x^(alpha - 1)) / B(alpha).

Source: `scipy.stats.dirichlet`.
"""

from __future__ import annotations

import math
from typing import Any

from ml_dtypes import finfo

from xfront_ir import dtypes, ops

from ...base.on_demand import shown as _shown
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import convert, promote_inexact
from ...numpy.transcendental import exp
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from ..special.entropies import xlogy_of

_APART = 1e-6
"""How far from 1 the sum of probabilities may be."""


@eager
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density at x.

    Args:
      x: probabilities along the first axis, all of them or all but the last, which is then what is
        missing to 1; other axes are batches.
      alpha: vector of the concentrations.
    Returns: -inf where x are not probabilities that add up to 1 (as far as their dtype shows, and
      at least to six digits); NaN where alpha is not positive.
    Raises: ValueError where x and alpha differ in size.

    >>> stats.dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([2., 2.]))
    Array(0.118, dtype=float32)
    """
    return _log_density(x, alpha)


@eager
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density at x. Arguments as `logpdf`.

    >>> stats.dirichlet.pdf(jnp.array([0.25, 0.75]), jnp.array([2., 2.]))
    Array(1.125, dtype=float32)
    """
    return exp(_log_density(x, alpha))


def _log_density(x: Any, alpha: Any) -> Any:
    x, alpha = promote_inexact("dirichlet", x, alpha)
    dtype, weak = x.value.type.dtype, x.weak
    if dtype.is_complex:
        raise ValueError(f"dirichlet does not support complex-valued inputs, got {dtype}")
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must be one-dimensional, got shape {alpha.shape}")
    count = alpha.shape[0]
    if not x.ndim or x.shape[0] not in (count, count - 1):
        raise ValueError("dirichlet: x must have as many entries along its first axis as alpha, or "
                         f"one fewer, got shapes {x.shape} and {alpha.shape}")
    computed = dtypes.f32 if dtype.bits < 32 else dtype
    x, alpha = convert(x, computed), convert(alpha, computed)
    if x.shape[0] < count:
        last = 1 - emit(ops.reduce_sum, x, axes=(0,))
        last = emit(ops.reshape, last, shape=(1, *last.shape))
        x = emit(ops.concatenate, x, last, dimension=0)
    off = abs(emit(ops.reduce_sum, x, axes=(0,)) - 1)
    apart = max(_APART, 8 * float(finfo(dtype.numpy).eps))
    along = emit(ops.broadcast_in_dim, alpha - 1, shape=x.shape, dims=(0,))
    out = (off > apart) | (emit(ops.reduce_min, x, axes=(0,)) < 0)
    made = emit(ops.reduce_sum, xlogy_of(along, x), axes=(0,))
    whole = emit(ops.reduce_sum, emit(ops.lgamma, alpha), axes=(0,))
    whole = whole - emit(ops.lgamma, emit(ops.reduce_sum, alpha, axes=(0,)))
    made = where(out, -math.inf, made - whole)
    valid = emit(ops.reduce_min, alpha, axes=(0,)) > 0
    return convert(as_tracer(where(valid, made, math.nan)), dtype, weak)


__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

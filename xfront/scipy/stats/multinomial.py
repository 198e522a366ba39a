"""The multinomial distribution: how many of n trials have each of some outcomes.

Source: `scipy.stats.multinomial`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ...base.on_demand import shown as _shown
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import broadcast_shapes, broadcast_to, convert, operand
from ...numpy.transcendental import exp
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from ..special.entropies import xlogy_of
from .families import wide


@eager
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of the counts x among n trials.

    Args:
      x: integers, the outcomes along the last axis; axes before are batches.
      n: integers, which broadcast with those batches.
      p: probability of each outcome.
    Returns: -inf where the counts do not add up to n or one is negative.
    Raises: ValueError where x or n are not integers.

    >>> stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5]))
    Array(-0.981, dtype=float32)
    """
    return _log_mass(x, n, p)


@eager
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of the counts x among n trials. Arguments as `logpmf`.

    >>> stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5]))
    Array(0.375, dtype=float32)
    """
    return exp(_log_mass(x, n, p))


def _log_mass(x: Any, n: Any, p: Any) -> Any:
    x, n = operand("multinomial", x), operand("multinomial", n)
    kinds = [v.value.type.dtype for v in (x, n)]
    if not all([dtype.is_integer for dtype in kinds]):
        raise ValueError("multinomial: x and n must be of integer type, got "
                         f"{x.value.type} and {n.value.type}")
    counts = emit(ops.reduce_sum, x, axes=(x.ndim - 1,))
    fits = counts == n
    (x, p), dtype, weak = wide("multinomial", x, p)
    last = (x.ndim - 1,)
    inside = emit(ops.reduce_min, x, axes=last)
    parts = xlogy_of(x, p) - emit(ops.lgamma, x + 1)
    parts = where(x >= 0, parts, -math.inf)
    made = emit(ops.reduce_sum, parts, axes=last)
    total = emit(ops.lgamma, convert(n, x.value.type.dtype) + 1)
    shape = broadcast_shapes("multinomial", [made.shape, fits.shape])
    fits = broadcast_to(fits, shape) & broadcast_to(inside >= 0, shape)
    return convert(as_tracer(where(fits, made + total, -math.inf)), dtype, weak)


__all__ = ["logpmf", "pmf"]
__dir__ = _shown(globals())

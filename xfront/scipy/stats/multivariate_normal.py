"""The normal distribution of vectors, with a mean and a covariance matrix.

Sources: Abramowitz and Stegun 26.3; `scipy.stats.multivariate_normal`.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import dtypes, ops

from ...base.on_demand import shown as _shown
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import broadcast_shapes, broadcast_to, convert, promote_inexact
from ...lax import linalg
from ...numpy.arithmetic import sqrt, square
from ...numpy.transcendental import exp, log
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from .norm import logpdf as _logpdf_of_numbers


@eager(static=("allow_singular",))
def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: bool | None = None
           ) -> Array:
    """The logarithm of the density at x.

    Args:
      x: vectors along the last axis; axes before are batches, which broadcast with those of mean
        and cov. With numbers for mean and cov, each element of x is a point.
      mean: vectors, or a number that is each of their elements.
      cov: positive definite matrices in the last two axes, of which the lower triangle is read, or
        a number: the variance of each element.
      allow_singular: None, the only value.
    Returns: NaN where cov is not positive definite.
    Raises: ValueError where shapes do not match; NotImplementedError where allow_singular is given:
      add a small multiple of the identity to cov instead.

    >>> stats.multivariate_normal.logpdf(jnp.array([0., 1.]), jnp.zeros(2), jnp.eye(2))
    Array(-2.338, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular is not supported; "
                                  "leave it out, and add a small multiple of the identity to a cov "
                                  "that may be singular")
    return _log_density("multivariate_normal.logpdf", x, mean, cov)


@eager
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density at x. Arguments as `logpdf`.

    >>> stats.multivariate_normal.pdf(jnp.array([0., 1.]), jnp.zeros(2), jnp.eye(2))
    Array(0.097, dtype=float32)
    """
    return exp(_log_density("multivariate_normal.pdf", x, mean, cov))


def _log_density(name: str, x: Any, mean: Any, cov: Any) -> Any:
    x, mean, cov = promote_inexact(name, x, mean, cov)
    dtype, weak = x.value.type.dtype, x.weak
    if dtype.is_complex:
        raise ValueError(f"{name} does not support complex-valued inputs, got {dtype}")
    if not mean.ndim and not cov.ndim:
        return _logpdf_of_numbers(x, mean, sqrt(cov))
    shapes = f"x {x.shape}, mean {mean.shape} and cov {cov.shape}"
    n = mean.shape[-1] if mean.ndim else cov.shape[-1]
    if (not x.ndim or x.shape[-1] != n or cov.ndim == 1
            or cov.ndim and cov.shape[-2:] != (n, n)):
        raise ValueError(f"{name} got incompatible shapes: {shapes}; the last axis of x and mean "
                         "and the last two axes of cov must have the same size")
    wide = dtypes.f32 if dtype.bits < 32 else dtype
    off, cov = convert(x, wide) - convert(mean, wide), convert(cov, wide)
    if not cov.ndim:
        squares = emit(ops.reduce_sum, square(off), axes=(off.ndim - 1,))
        made = (-(squares / broadcast_to(cov, squares.shape)) - log(cov * (2 * math.pi)) * n) * 0.5
        return convert(made, dtype, weak)
    batch = broadcast_shapes(name, [off.shape[:-1], cov.shape[:-2]])
    factor = linalg.cholesky(cov)                # half of the slope is that of the upper triangle
    if cov.ndim == 2:                            # one factor solves all points at once
        rows = emit(ops.reshape, off, shape=(math.prod(batch), n))
        white = linalg.triangular_solve(factor, rows, lower=True, transpose_a=True)
        white = emit(ops.reshape, white, shape=(*batch, n))
    else:
        column = emit(ops.reshape, broadcast_to(off, (*batch, n)), shape=(*batch, n, 1))
        white = linalg.triangular_solve(broadcast_to(as_tracer(factor), (*batch, n, n)), column,
                                        left_side=True, lower=True)
        white = emit(ops.reshape, white, shape=(*batch, n))
    squares = emit(ops.reduce_sum, square(white), axes=(len(batch),))
    logs = log(_diagonal(factor))
    half_log = emit(ops.reduce_sum, logs, axes=(logs.ndim - 1,))
    made = squares * -0.5 - (half_log + 0.5 * n * math.log(2 * math.pi))
    return convert(made, dtype, weak)


def _diagonal(x: Any) -> Any:
    from ... import numpy as jnp

    return jnp.diagonal(x, axis1=-2, axis2=-1)


__all__ = ["logpdf", "pdf"]
__dir__ = _shown(globals())

"""Samplers of random vectors and matrices: multivariate_normal, orthogonal."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import convert, index_of, operand, promote_inexact, shape_of
from ..tracing.trace import emit
from ..tracing.tracer import as_tracer
from ..values.arguments import at_home
from .distributions import normal_dtype, normal_in
from .keys import typed_key
from .parameters import chosen_dtype, in_dtype, size_of

_METHODS = ("cholesky", "eigh", "svd")


@eager(static=("shape", "dtype", "method", "out_sharding"))
def multivariate_normal(key: ArrayLike, mean: ArrayLike, cov: ArrayLike,
                        shape: ShapeLike | None = None, dtype: DTypeLike | None = None,
                        method: str = "cholesky", *, out_sharding: ShardingLike = None) -> Array:
    """Normal vectors of a mean and a covariance.

    Args:
      key: a random key.
      mean: floats of shape (..., n).
      cov: floats of shape (..., n, n), symmetric and
        positive definite (semidefinite for "eigh" and "svd").
      shape: shape of the result without its last axis, to which the first axes of both broadcast.
      dtype: a float dtype; what the two promote to if None.
      method: how the covariance is factored: "cholesky" (fastest), "eigh" or "svd".
    Raises: ValueError for another method or dtype, and where the parameters do not broadcast to
      `shape`.

    >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2), (3,)).shape
    (3, 2)
    """
    at_home("multivariate_normal", out_sharding)
    name = "multivariate_normal"
    if method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(_METHODS)}, got {method!r}")
    for x, argument in ((mean, "mean"), (cov, "cov")):
        operand(name, x, argument)
    if dtype is None:
        mu, sigma = promote_inexact(name, mean, cov)
        made = chosen_dtype(name, mu.dtype, None, "float")
    else:
        made = chosen_dtype(name, dtype, None, "float")
        mu, sigma = (in_dtype(name, x, made) for x in (mean, cov))
    if mu.ndim < 1:
        raise ValueError(f"{name} requires mean.ndim >= 1, got mean.ndim == 0")
    n = mu.shape[-1]
    if sigma.ndim < 2 or sigma.shape[-2:] != (n, n):
        raise ValueError(f"{name} requires cov.shape == (..., n, n) for n={n}, but got cov.shape "
                         f"== {sigma.shape}")
    size = size_of(name, shape, mu.shape[:-1], sigma.shape[:-2])
    drawn = normal_in(typed_key(name, key), (*size, n), made)
    from ..numpy import einsum

    if made.bits < 32:                                     # narrow dtypes have no factorisations
        root = convert(_root(convert(sigma, dtypes.f32), method), made)
    else:
        root = _root(sigma, method)
    return mu + einsum("...ij,...j->...i", root, drawn, precision="highest")


def _root(sigma: Any, method: str) -> Any:
    """A matrix whose product with its transpose is sigma."""
    from ..numpy import linalg, maximum, sqrt

    if method == "cholesky":
        return linalg.cholesky(sigma)
    if method == "eigh":
        values, vectors = linalg.eigh(sigma)
        return vectors * sqrt(maximum(values, 0))[..., None, :]    # rounding may make some < 0
    vectors, values, _ = linalg.svd(sigma)
    return vectors * sqrt(values)[..., None, :]


@eager(static=("n", "shape", "dtype", "m", "out_sharding"))
def orthogonal(key: ArrayLike, n: int, shape: ShapeLike = (), dtype: DTypeLike | None = None,
               m: int | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Matrices drawn uniformly from the orthogonal (or unitary) ones; matrices that are not square
    have orthonormal rows or columns, whichever are fewer.

    Args:
      key: a random key.
      n: number of rows.
      shape: shape of the result without its last two axes.
      dtype: a float or complex dtype; the default float if None.
      m: number of columns, n if None.
    Raises: ValueError for another dtype, and where n or m is negative.
    Source: Mezzadri, How to generate random matrices from the classical compact groups (2007).

    >>> random.orthogonal(random.key(0), 2).shape
    (2, 2)
    """
    at_home("orthogonal", out_sharding)
    rows = index_of(n, "orthogonal: n")
    columns = rows if m is None else index_of(m, "orthogonal: m")
    if rows < 0 or columns < 0:
        raise ValueError(f"orthogonal: n and m must not be negative, got {n} and {m}")
    made, size = normal_dtype("orthogonal", dtype), shape_of(shape)
    from ..numpy import diagonal, linalg, swapaxes, where

    long, short = max(rows, columns), min(rows, columns)
    drawn = normal_in(typed_key("orthogonal", key), (*size, long, short), made)
    q, r = linalg.qr(convert(drawn, dtypes.f32) if made.bits < 32 else drawn)
    signs = diagonal(r, axis1=-2, axis2=-1)
    length = abs(signs)
    q = q * where(length == 0, 1, signs / where(length == 0, 1, length))[..., None, :]
    q = convert(as_tracer(q), made)
    if rows >= columns:
        return q
    return emit(ops.conj, swapaxes(q, -1, -2)) if made.is_complex else swapaxes(q, -1, -2)


__all__ = ["multivariate_normal", "orthogonal"]

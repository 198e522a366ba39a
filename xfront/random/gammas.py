"""Samplers of the gamma distribution and of those made from it: beta, Dirichlet, chi-squared, F, t.

A sample of the gamma distribution has a derivative in its shape parameter: that of the quantile at
its probability (implicit reparameterisation). Samples made from it are differentiated through it.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import ops
from xfront_ir.dtypes import DType, f32

from ..base.dtypes import TypePromotionError
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import broadcast_to, convert, index_of, operand, shape_of
from ..numpy.arithmetic import sqrt
from ..numpy.extremes import maximum
from ..numpy.normalizers import softmax
from ..numpy.transcendental import exp
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .approximate import is_approximate, log_gamma_in
from .bits import MANTISSA, rademacher, refuse_dtype
from .distributions import exponential_in, normal_in
from .generators import threefry_key
from .keys import typed_key
from .parameters import chosen_dtype, in_dtype, new_keys, parameters, size_of


def gamma_in(key: Tracer, a: Tracer, log_space: bool) -> Tracer:
    """Samples for an array of shape parameters, or their logarithms, each from a key of its own."""
    keys = emit(ops.random_split, threefry_key(key), shape=a.shape)
    return emit(ops.random_gamma, keys, a, log_space=log_space)


def _dtypes(name: str, dtype: Any) -> tuple[DType, DType]:
    """(dtype that a sampler was asked for, dtype to draw in): 8 bits are too few for the steps of
    rejection sampling."""
    asked = chosen_dtype(name, dtype, float, "float")
    if asked.bits < 16 and asked not in MANTISSA:
        refuse_dtype(asked)
    return asked, asked if asked.bits >= 16 else f32


def _shapes(name: str, a: Any, shape: Any, dtype: DType) -> Tracer:
    """The shape parameter broadcast to `shape`, and converted to `dtype` from any real dtype."""
    x = operand(name, a)
    own = x.value.type.dtype
    if own.is_key or own.is_complex:
        raise TypePromotionError(f"In arguments to {name}, cannot safely cast argument of type "
                                 f"{own.name} to {dtype.name}")
    x = convert(x, dtype)
    return broadcast_to(x, size_of(name, shape, x.shape))


@eager(static=("shape", "dtype", "method", "out_sharding"))
def gamma(key: ArrayLike, a: ArrayLike, shape: ShapeLike | None = None,
          dtype: DTypeLike | None = None, *, method: str = "exact",
          out_sharding: ShardingLike = None) -> Array:
    """Floats of the gamma distribution of shape `a` and scale 1.

    Args:
      key: a random key.
      a: positive floats. The result is 0 for 0, and NaN for negative numbers.
      shape: shape of the result, to which `a` broadcasts; its own if None.
      dtype: a float dtype; the default float if None.
      method: "exact"; or "approximate", which has no loop, and a small bias. The derivative in `a`
        is then that of the formula.
    Raises: ValueError for another dtype or method, and where the parameters do not broadcast to
      `shape`.
    Source: Marsaglia and Tsang (2000); for the approximate method see `approximate.py`. The stream
      is JAX's for threefry keys; for the exact method, keys of other generators give a threefry key
      first.

    Small `a` (below 0.1) give samples too small for their dtype: draw their logarithms, `loggamma`.

    >>> random.gamma(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("gamma", out_sharding)
    asked, made = _dtypes("gamma", dtype)
    one, a = typed_key("gamma", key), _shapes("gamma", a, shape, made)
    if is_approximate("gamma", method):
        return convert(as_tracer(exp(_approximate(one, a))), asked)
    return convert(gamma_in(one, a, False), asked)


def _approximate(key: Tracer, a: Tracer) -> Tracer:
    """Logarithms of samples, drawn in 32 bits or more."""
    return log_gamma_in(key, convert(a, f32) if a.value.type.dtype.bits < 32 else a)


def _log_gamma(name: str, method: str, key: Tracer, a: Tracer) -> Tracer:
    """Logarithms of samples by either method, in a's dtype."""
    if is_approximate(name, method):
        return convert(_approximate(key, a), a.value.type.dtype)
    return gamma_in(key, a, True)


@eager(static=("shape", "dtype", "method", "out_sharding"))
def loggamma(key: ArrayLike, a: ArrayLike, shape: ShapeLike | None = None,
             dtype: DTypeLike | None = None, *, method: str = "exact",
             out_sharding: ShardingLike = None) -> Array:
    """Logarithms of samples of the gamma distribution of shape `a`; arguments as in `gamma`.

    >>> random.loggamma(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("loggamma", out_sharding)
    asked, made = _dtypes("loggamma", dtype)
    one, a = typed_key("loggamma", key), _shapes("loggamma", a, shape, made)
    return convert(_log_gamma("loggamma", method, one, a), asked)


@eager(static=("shape", "dtype", "method", "out_sharding"))
def beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, shape: ShapeLike | None = None,
         dtype: DTypeLike | None = None, *, method: str = "exact",
         out_sharding: ShardingLike = None) -> Array:
    """Floats in [0, 1] of the beta distribution: x / (x + y), where x and y are gamma samples.

    Args:
      key: a random key.
      a, b: positive floats.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.
      method: as in `gamma`.
    Raises: ValueError for another dtype or method, and where the parameters do not broadcast to
      `shape`.

    >>> random.beta(random.key(0), 1., 2., (3,)).shape
    (3,)
    """
    at_home("beta", out_sharding)
    asked, made = _dtypes("beta", dtype)
    _, both = parameters("beta", shape, made, a, b)
    x, y = (_log_gamma("beta", method, k, p)
            for k, p in zip(new_keys(typed_key("beta", key)), both, strict=True))
    from ..lax import stop_gradient  # subtracting it from both has no effect

    most = stop_gradient(maximum(x, y))
    x, y = exp(x - most), exp(y - most)
    return convert(as_tracer(x / (x + y)), asked)


@eager(static=("shape", "dtype", "out_sharding"))
def dirichlet(key: ArrayLike, alpha: ArrayLike, shape: ShapeLike | None = None,
              dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Vectors of positive floats with sum 1, from the Dirichlet distribution.

    Args:
      key: a random key.
      alpha: positive floats of shape (..., n).
      shape: shape of the result without its last axis, to which alpha's first axes broadcast.
      dtype: a float dtype; the default float if None.
    Raises: ValueError for another dtype, where alpha is 0-d, and where the parameters do not
      broadcast to `shape`.

    >>> random.dirichlet(random.key(0), jnp.ones(3)).sum()
    Array(1., dtype=float32)
    """
    at_home("dirichlet", out_sharding)
    asked, made = _dtypes("dirichlet", dtype)
    x = operand("dirichlet", alpha)
    if not x.ndim:
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    size = size_of("dirichlet", shape, x.shape[:-1])
    logs = gamma_in(typed_key("dirichlet", key),
                    _shapes("dirichlet", x, (*size, x.shape[-1]), made), True)
    return convert(as_tracer(softmax(logs, axis=-1)), asked)


def _chi_squared(key: Tracer, df: Tracer, method: str = "exact") -> Any:
    return exp(_log_gamma("chisquare", method, key, as_tracer(df / 2))) * 2


@eager(static=("shape", "dtype", "method", "out_sharding"))
def chisquare(key: ArrayLike, df: ArrayLike, shape: ShapeLike | None = None,
              dtype: DTypeLike | None = None, *, method: str = "exact",
              out_sharding: ShardingLike = None) -> Array:
    """Floats of the chi-squared distribution of `df` degrees of freedom.

    Args:
      key: a random key.
      df: positive floats.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.
      method: as in `gamma`.

    >>> random.chisquare(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("chisquare", out_sharding)
    asked, made = _dtypes("chisquare", dtype)
    _, (degrees,) = parameters("chisquare", shape, made, df)
    return convert(_chi_squared(typed_key("chisquare", key), degrees, method), asked)


@eager(static=("shape", "dtype", "out_sharding"))
def f(key: ArrayLike, dfnum: ArrayLike, dfden: ArrayLike, shape: ShapeLike | None = None,
      dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Floats of the F distribution: the ratio of two chi-squared samples over their degrees.

    Args:
      key: a random key.
      dfnum, dfden: positive floats.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.

    >>> random.f(random.key(0), 2., 3., (2,)).shape
    (2,)
    """
    at_home("f", out_sharding)
    asked, made = _dtypes("f", dtype)
    _, (above, below) = parameters("f", shape, made, dfnum, dfden)
    of_below, of_above = new_keys(typed_key("f", key))
    x, y = _chi_squared(of_above, above) / above, _chi_squared(of_below, below) / below
    return convert(as_tracer(x / y), asked)


@eager(static=("shape", "dtype", "out_sharding"))
def t(key: ArrayLike, df: ArrayLike, shape: ShapeLike | None = None, dtype: DTypeLike | None = None,
      *, out_sharding: ShardingLike = None) -> Array:
    """Floats of Student's t distribution of `df` degrees of freedom.

    Args:
      key: a random key.
      df: positive floats.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.

    >>> random.t(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("t", out_sharding)
    asked, made = _dtypes("t", dtype)
    size, (degrees,) = parameters("t", shape, made, df)
    of_normal, of_gamma = new_keys(typed_key("t", key))
    half = degrees / 2
    drawn = normal_in(of_normal, size, made)
    spread = sqrt(half / gamma_in(of_gamma, as_tracer(half), False))
    return convert(as_tracer(drawn * spread), asked)


def _generalized_normal(key: Tracer, p: Tracer) -> Tracer:
    of_gamma, of_sign = new_keys(key)
    one = 1 / p
    size = emit(ops.pow, gamma_in(of_gamma, one, False), one)
    return rademacher(of_sign, p.shape, p.dtype) * size


@eager(static=("shape", "dtype", "out_sharding"))
def generalized_normal(key: ArrayLike, p: ArrayLike, shape: ShapeLike = (),
                       dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
                      ) -> Array:
    """Floats with density proportional to exp(-|x|^p).

    Args:
      key: a random key.
      p: positive floats.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.
    Raises: ValueError for another dtype, and where the parameters do not broadcast to `shape`.

    >>> random.generalized_normal(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("generalized_normal", out_sharding)
    asked, made = _dtypes("generalized_normal", dtype)
    _, (power,) = parameters("generalized_normal", shape_of(shape), made, p)
    return convert(_generalized_normal(typed_key("generalized_normal", key), power), asked)


@eager(static=("d", "shape", "dtype", "out_sharding"))
def ball(key: ArrayLike, d: int, p: ArrayLike = 2, shape: ShapeLike = (),
         dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Vectors uniform in the unit ball of the p-norm.

    Args:
      key: a random key.
      d: number of dimensions, an int.
      p: positive floats.
      shape: shape of the result without its last axis, which has size d; () means the shape of p.
      dtype: a float dtype; the default float if None.
    Source: Barthe, Guedon, Mendelson and Naor, Annals of Probability 33 (2005).

    >>> random.ball(random.key(0), 3, shape=(2,)).shape
    (2, 3)
    """
    at_home("ball", out_sharding)
    n = index_of(d, "ball: d")
    if n < 0:
        raise TypeError(f"ball: d must not be negative, got {n}")
    asked, made = _dtypes("ball", dtype)
    power = in_dtype("ball", p, made)
    size = size_of("ball", shape_of(shape) or None, power.shape)
    power = broadcast_to(power, size)
    of_normal, of_radius = new_keys(typed_key("ball", key))
    whole = emit(ops.broadcast_in_dim, power, shape=(*size, n), dims=tuple(range(len(size))))
    drawn = _generalized_normal(of_normal, whole)
    powers = emit(ops.pow, abs(drawn), whole)
    total = emit(ops.reduce_sum, powers, axes=(len(size),))
    radius = emit(ops.pow, total + exponential_in(of_radius, size, made), 1 / power)
    return convert(as_tracer(drawn / radius[..., None]), asked)


__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma",
           "t"]

"""Samplers of continuous distributions, by transforming uniform and normal numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.config import high_dynamic_range_gumbel
from ..base.dtypes import finfo, requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import broadcast_shapes, broadcast_to, shape_of
from ..numpy.arithmetic import sqrt
from ..numpy.extremes import maximum, minimum
from ..numpy.transcendental import exp, log, log1p, tan
from ..numpy.ufuncs import where
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..values.arguments import at_home
from .bits import MANTISSA, rademacher, uniform_in
from .keys import typed_key
from .parameters import chosen_dtype, constant, in_dtype, new_keys, parameters, tiny

# --- normal and its kin ---------------------------------------------------------------------------

def normal_in(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Tracer:
    """Standard normal floats or complex numbers."""
    if dtype.is_complex:
        real = dtypes.real_of(dtype)
        parts = [normal_in(k, shape, real) for k in new_keys(key)]
        return emit(ops.complex, *parts) / constant(math.sqrt(2), dtype, shape)
    low = np.nextafter(np.asarray(-1, dtype.numpy), np.asarray(0, dtype.numpy), dtype=dtype.numpy)
    drawn = uniform_in(key, shape, dtype, low, 1)
    return constant(math.sqrt(2), dtype, shape) * emit(ops.erf_inv, drawn)


def normal_dtype(name: str, dtype: Any) -> DType:
    """A float or complex dtype. Raises: ValueError for another kind."""
    found = from_numpy(requested_dtype(name, float if dtype is None else dtype))
    if not found.is_inexact:
        raise ValueError(f"dtype argument to `{name}` must be a float dtype or a complex dtype, "
                         f"got {found.numpy.name}")
    return found


@eager(static=("shape", "dtype", "out_sharding"))
def normal(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
           out_sharding: ShardingLike = None) -> Array:
    """Standard normal floats (complex numbers of unit variance for such a dtype) of a shape.

    Source: inverse of the cumulative distribution, sqrt(2) erf_inv(u), u uniform in (-1, 1).

    >>> random.normal(random.key(0), (2, 3)).shape
    (2, 3)
    """
    at_home("normal", out_sharding)
    return normal_in(typed_key("normal", key), shape_of(shape), normal_dtype("normal", dtype))


@eager(static=("shape", "dtype", "out_sharding"))
def truncated_normal(key: ArrayLike, lower: ArrayLike, upper: ArrayLike,
                     shape: ShapeLike | None = None, dtype: DTypeLike | None = None, *,
                     out_sharding: ShardingLike = None) -> Array:
    """Standard normal floats conditioned to lie in (lower, upper), which broadcast to `shape`.

    Source: inverse of the cumulative distribution, as in `normal`, between those of the bounds.

    >>> random.truncated_normal(random.key(0), -1., 1., (3,)).shape
    (3,)
    """
    at_home("truncated_normal", out_sharding)
    made = chosen_dtype("truncated_normal", dtype, float, "float")
    size, (low, high) = parameters("truncated_normal", shape, made, lower, upper)
    root = constant(math.sqrt(2), made, size)
    a, b = (emit(ops.erf, x / root) for x in (low, high))
    drawn = uniform_in(typed_key("truncated_normal", key), size, made, a, b)
    out = root * emit(ops.erf_inv, drawn)
    inside_low = emit(ops.nextafter, low, constant(np.inf, made, size))
    inside_high = emit(ops.nextafter, high, constant(-np.inf, made, size))
    return minimum(maximum(out, inside_low), inside_high)


@eager(static=("shape", "dtype", "out_sharding"))
def lognormal(key: ArrayLike, sigma: ArrayLike = 1.0, shape: ShapeLike | None = None,
              dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Floats (or complex numbers) whose logarithm is normal with mean 0 and deviation `sigma`.

    Args:
      key: a random key.
      sigma: floats.
      shape: shape of the result, to which sigma broadcasts; its own if None.
      dtype: a float or complex dtype; the default float if None.
    Raises: ValueError for another dtype, and where the parameters do not broadcast to `shape`.

    >>> random.lognormal(random.key(0), 1., (3,)).shape
    (3,)
    """
    at_home("lognormal", out_sharding)
    made = normal_dtype("lognormal", dtype)
    size, (deviation,) = parameters("lognormal", shape, dtypes.real_of(made), sigma)
    drawn = normal_in(typed_key("lognormal", key), size, made)
    return exp(drawn * deviation)


@eager(static=("shape", "dtype", "out_sharding"))
def maxwell(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
            out_sharding: ShardingLike = None) -> Array:
    """Floats of the Maxwell distribution of scale 1: lengths of standard normal 3-vectors.

    Args:
      key: a random key.
      shape: shape of the result.
      dtype: a float dtype; the default float if None.

    >>> random.maxwell(random.key(0), (3,)).shape
    (3,)
    """
    at_home("maxwell", out_sharding)
    made = chosen_dtype("maxwell", dtype, float, "float")
    return _lengths(typed_key("maxwell", key), shape_of(shape), made)


def _lengths(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Array:
    drawn = normal_in(key, (*shape, 3), dtype)
    return sqrt(emit(ops.reduce_sum, drawn * drawn, axes=(len(shape),)))


@eager(static=("shape", "dtype"))
def double_sided_maxwell(key: ArrayLike, loc: ArrayLike, scale: ArrayLike, shape: ShapeLike = (),
                         dtype: DTypeLike | None = None) -> Array:
    """Floats of the double-sided Maxwell distribution: loc + scale * sign * length of a 3-vector.

    Args:
      key: a random key.
      loc, scale: floats, broadcast together.
      shape: leading axes of the result, which the shape of the parameters follows.
      dtype: a float dtype; the default float if None.

    >>> random.double_sided_maxwell(random.key(0), 0., 1., (3,)).shape
    (3,)
    """
    made = chosen_dtype("double_sided_maxwell", dtype, float, "float")
    loc, scale = (in_dtype("double_sided_maxwell", x, made) for x in (loc, scale))
    size = (*shape_of(shape), *broadcast_shapes("double_sided_maxwell", [loc.shape, scale.shape]))
    lengths, signs = new_keys(typed_key("double_sided_maxwell", key))
    made_signs = rademacher(signs, size, made.numpy)
    return _lengths(lengths, size, made) * made_signs * broadcast_to(scale, size) + broadcast_to(
        loc, size)


@eager(static=("shape", "dtype", "out_sharding"))
def wald(key: ArrayLike, mean: ArrayLike, shape: ShapeLike | None = None,
         dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Floats of the Wald (inverse Gaussian) distribution of scale 1.

    Args:
      key: a random key.
      mean: positive floats.
      shape: shape of the result, to which the mean broadcasts.
      dtype: a float dtype; the default float if None.
    Source: Michael, Schucany and Haas, The American Statistician 30 (1976).

    >>> random.wald(random.key(0), 1., (3,)).shape
    (3,)
    """
    at_home("wald", out_sharding)
    made = chosen_dtype("wald", dtype, float, "float")
    size, (mu,) = parameters("wald", shape, made, mean)
    first, second = new_keys(typed_key("wald", key))
    y = normal_in(first, size, made)
    y = y * y
    z = uniform_in(second, size, made, 0, 1)
    x = mu + mu * mu * y / 2 - mu / 2 * sqrt(4 * mu * y + mu * mu * y * y)
    return where(z <= mu / (mu + x), x, mu * mu / x)


# --- inverses of cumulative distributions ---------------------------------------------------------

def check_mode(name: str, mode: Any) -> None:
    """Raises: ValueError for an unknown mode of `gumbel`."""
    if mode not in (None, "low", "high"):
        raise ValueError(f"{name}: mode must be 'low' or 'high', got {mode!r}")


def gumbel_noise(name: str, key: Tracer, shape: tuple[int, ...], dtype: DType,
                 mode: Any = None) -> Array:
    """Standard Gumbel floats. Raises: ValueError for an unknown mode."""
    check_mode(name, mode)
    if mode == "high" or mode is None and high_dynamic_range_gumbel.value:
        drawn = uniform_in(key, (2, *shape), dtype, tiny(dtype), 1)
        fine = drawn[1] * 2.0 ** -MANTISSA[dtype][0]
        drawn = fine - log1p(-drawn[0])
    else:
        drawn = -log(uniform_in(key, shape, dtype, tiny(dtype), 1))
    return -log(drawn)


@eager(static=("shape", "dtype", "mode", "out_sharding"))
def gumbel(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None,
           mode: str | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Standard Gumbel floats: -log(-log(u)).

    Args:
      key: a random key.
      shape: shape of the result.
      dtype: a float dtype; the default float if None.
      mode: "low" computes each number from one uniform number, so that for float32 it is at most
        16.6; "high" from two, which allows rarer maxima; None for "low", unless the option
        `jax_high_dynamic_range_gumbel` is on.
    Raises: ValueError for another mode or dtype.

    >>> random.gumbel(random.key(0), (3,)).shape
    (3,)
    """
    at_home("gumbel", out_sharding)
    return gumbel_noise("gumbel", typed_key("gumbel", key), shape_of(shape),
                        chosen_dtype("gumbel", dtype, float, "float"), mode)


def exponential_in(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Array:
    """Floats of the exponential distribution with rate 1."""
    drawn = uniform_in(key, shape, dtype, 0, 1)
    return -log1p(-drawn)


@eager(static=("shape", "dtype", "out_sharding"))
def exponential(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
                out_sharding: ShardingLike = None) -> Array:
    """Floats of the exponential distribution with rate 1: -log1p(-u).

    >>> random.exponential(random.key(0), (3,)).shape
    (3,)
    """
    at_home("exponential", out_sharding)
    return exponential_in(typed_key("exponential", key), shape_of(shape),
                          chosen_dtype("exponential", dtype, float, "float"))


@eager(static=("shape", "dtype", "out_sharding"))
def laplace(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
            out_sharding: ShardingLike = None) -> Array:
    """Floats of the Laplace distribution of scale 1: sign(u) log1p(-|u|), u uniform in (-1, 1).

    >>> random.laplace(random.key(0), (3,)).shape
    (3,)
    """
    at_home("laplace", out_sharding)
    made, size = chosen_dtype("laplace", dtype, float, "float"), shape_of(shape)
    u = uniform_in(typed_key("laplace", key), size, made, -1 + float(finfo(made.numpy).epsneg), 1)
    return emit(ops.sign, u) * log1p(-abs(u))


@eager(static=("shape", "dtype", "out_sharding"))
def logistic(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
             out_sharding: ShardingLike = None) -> Array:
    """Floats of the standard logistic distribution: log(u / (1 - u)).

    >>> random.logistic(random.key(0), (3,)).shape
    (3,)
    """
    at_home("logistic", out_sharding)
    made, size = chosen_dtype("logistic", dtype, float, "float"), shape_of(shape)
    u = uniform_in(typed_key("logistic", key), size, made, tiny(made), 1)
    return log(u) - log1p(-u)


@eager(static=("shape", "dtype", "out_sharding"))
def cauchy(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
           out_sharding: ShardingLike = None) -> Array:
    """Floats of the standard Cauchy distribution: tan(pi (u - 1/2)).

    >>> random.cauchy(random.key(0), (3,)).shape
    (3,)
    """
    at_home("cauchy", out_sharding)
    made, size = chosen_dtype("cauchy", dtype, float, "float"), shape_of(shape)
    u = uniform_in(typed_key("cauchy", key), size, made, float(finfo(made.numpy).eps), 1)
    return tan((u - 0.5) * math.pi)


@eager(static=("shape", "dtype", "out_sharding"))
def pareto(key: ArrayLike, b: ArrayLike, shape: ShapeLike | None = None,
           dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Floats of the Pareto distribution on [1, inf) with density b x^-(b+1).

    Args:
      key: a random key.
      b: positive floats.
      shape: shape of the result, to which b broadcasts.
      dtype: a float dtype; the default float if None.

    >>> random.pareto(random.key(0), 2., (3,)).shape
    (3,)
    """
    at_home("pareto", out_sharding)
    made = chosen_dtype("pareto", dtype, float, "float")
    size, (power,) = parameters("pareto", shape, made, b)
    return exp(exponential_in(typed_key("pareto", key), size, made) / power)


@eager(static=("shape", "dtype", "out_sharding"))
def rayleigh(key: ArrayLike, scale: ArrayLike, shape: ShapeLike | None = None,
             dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Floats of the Rayleigh distribution: scale sqrt(-2 log(u)), u uniform in (0, 1).

    Args:
      key: a random key.
      scale: floats.
      shape: shape of the result, to which the scale broadcasts.
      dtype: a float dtype; the default float if None.

    >>> random.rayleigh(random.key(0), 1., (3,)).shape
    (3,)
    """
    at_home("rayleigh", out_sharding)
    made = chosen_dtype("rayleigh", dtype, float, "float")
    size, (factor,) = parameters("rayleigh", shape, made, scale)
    u = uniform_in(typed_key("rayleigh", key), size, made, tiny(made), 1)
    return factor * sqrt(log(u) * -2)


@eager(static=("shape", "dtype"))
def weibull_min(key: ArrayLike, scale: ArrayLike, concentration: ArrayLike, shape: ShapeLike = (),
                dtype: DTypeLike | None = None) -> Array:
    """Floats of the Weibull distribution: scale (-log1p(-u))^(1 / concentration).

    Args:
      key: a random key.
      scale, concentration: positive floats.
      shape: shape of the result where the parameters broadcast to it. Where they have more axes,
        the result has their shape, and each element is drawn independently.
      dtype: a float dtype; the default float if None.

    >>> random.weibull_min(random.key(0), 1., 2., (3,)).shape
    (3,)
    """
    made = chosen_dtype("weibull_min", dtype, float, "float")
    scale, power = (in_dtype("weibull_min", x, made) for x in (scale, concentration))
    size = broadcast_shapes("weibull_min", [shape_of(shape), scale.shape, power.shape])
    drawn = exponential_in(typed_key("weibull_min", key), size, made)
    return emit(ops.pow, drawn, 1 / broadcast_to(power, size)) * broadcast_to(scale, size)


@eager(static=("shape", "dtype", "out_sharding"))
def triangular(key: ArrayLike, left: ArrayLike, mode: ArrayLike, right: ArrayLike,
               shape: ShapeLike | None = None, dtype: DTypeLike | None = None, *,
               out_sharding: ShardingLike = None) -> Array:
    """Floats in [left, right] whose density rises linearly up to `mode`, then falls linearly.

    Args:
      key: a random key.
      left, mode, right: floats, left <= mode <= right and left < right.
      shape: shape of the result, to which they broadcast.
      dtype: a float dtype; the default float if None.

    >>> random.triangular(random.key(0), 0., 1., 2., (3,)).shape
    (3,)
    """
    at_home("triangular", out_sharding)
    made = chosen_dtype("triangular", dtype, float, "float")
    size, (a, c, b) = parameters("triangular", shape, made, left, mode, right)
    u = uniform_in(typed_key("triangular", key), size, made, 0, 1)
    low = a + sqrt(u * (b - a) * (c - a))
    high = b - sqrt((1 - u) * (b - a) * (b - c))
    return where(u < (c - a) / (b - a), low, high)


__all__ = ["cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic",
           "lognormal", "maxwell", "normal", "pareto", "rayleigh", "triangular", "truncated_normal",
           "wald", "weibull_min"]

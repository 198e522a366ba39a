"""Samplers of counts: poisson, binomial, multinomial, geometric."""

from __future__ import annotations

from typing import Any

import numpy as np
from lowering import compat
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType

from ..base.dtypes import TypePromotionError, iinfo
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_to,
    convert,
    default_float,
    inexact_dtype,
    operand,
    promote_inexact,
    shape_of,
)
from ..numpy.arithmetic import sqrt
from ..numpy.extremes import minimum
from ..numpy.rounding import ceil, floor
from ..numpy.transcendental import log, log1p
from ..numpy.ufuncs import where
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .approximate import is_approximate, poisson_in
from .bits import uniform_in
from .keys import typed_key
from .parameters import chosen_dtype, constant, new_keys, size_of, tiny


def _log(x: Any) -> Any:
    return log(x)


def _uniform(key: Tracer, like: Tracer) -> Tracer:
    return uniform_in(key, like.shape, like.value.type.dtype, 0, 1)


def _while(test: Any, body: Any, *carry: Any) -> Any:
    """The final carry of a loop that has no derivative."""
    from ..lax import while_loop

    return while_loop(lambda c: test(*c), lambda c: body(*c), carry)


def _any(mask: Tracer) -> Tracer:
    return emit(ops.reduce_or, mask, axes=tuple(range(mask.ndim)))


def _within(x: Any, wanted: DType) -> Tracer:
    """Floats as integers of a dtype, clipped to its range."""
    info = iinfo(wanted.numpy)
    with np.errstate(over="ignore"):                       # narrow floats overflow earlier
        end = np.asarray(info.max, x.dtype)
    top = np.nextafter(end, np.zeros_like(end), dtype=x.dtype)
    beyond = x > float(top)
    made = convert(where(beyond, x * 0, x), wanted)
    return where(beyond, constant(info.max, wanted, x.shape), made)


# --- poisson --------------------------------------------------------------------------------------

def _poisson_few(key: Tracer, rate: Tracer) -> Tracer:
    """Knuth's method: how many uniform numbers have a product above exp(-rate)."""
    def body(count: Any, key: Any, log: Any) -> Any:
        key, sub = new_keys(key)
        counted = where(log > -rate, count + 1, count)
        return counted, key, log + _log(_uniform(sub, rate))

    zeros = constant(0, rate.value.type.dtype, rate.shape)
    return _while(lambda count, key, log: _any(log > -rate), body, zeros, key, zeros)[0] - 1


def _poisson_many(key: Tracer, rate: Tracer) -> Tracer:
    """Hormann's transformed rejection with squeeze (PTRS), for rates of at least 10."""
    log_rate = _log(rate)
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)

    def body(found: Any, done: Any, key: Any) -> Any:
        key, first, second = new_keys(key, 3)
        u, v = _uniform(first, rate) - 0.5, _uniform(second, rate)
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43)
        accepted = (us >= 0.07) & (v <= squeeze)
        refused = (k < 0) | ((us < 0.013) & (v > us))
        left = _log(v * inverse_alpha / (a / (us * us) + b))
        right = k * log_rate - rate - emit(ops.lgamma, k + 1)
        accepted = accepted | (~refused & (left <= right))
        return where(accepted, k, found), done | accepted, key

    none = constant(False, dtypes.bool_, rate.shape)
    return _while(lambda found, done, key: _any(~done), body, -(rate - rate) - 1, none,
                  key)[0]


@eager(static=("shape", "dtype", "method", "out_sharding"))
def poisson(key: ArrayLike, lam: ArrayLike, shape: ShapeLike | None = None,
            dtype: DTypeLike | None = None, *, method: str = "exact",
            out_sharding: ShardingLike = None) -> Array:
    """Integers of the Poisson distribution.

    Args:
      key: a random key.
      lam: the rates, floats. The result is 0 for a rate of 0, and -1 for negative rates and NaN.
      shape: shape of the result, to which the rate broadcasts; its own if None.
      dtype: an integer dtype, whose greatest number stands for all beyond; the default one if None.
      method: "exact"; or "approximate", which has no loop and is off by less than 1e-4 in total
        variation.
    Raises: ValueError for another dtype or method, and where the parameters do not broadcast to
      `shape`.
    Source: Knuth, The Art of Computer Programming, 3.4.1, for rates below 10; Hormann, The
      transformed rejection method for generating Poisson random variables (1993) above; for
      the approximate method see `approximate.py`.

    >>> random.poisson(random.key(0), 2., (3,)).dtype
    dtype('int32')
    """
    at_home("poisson", out_sharding)
    wanted = chosen_dtype("poisson", dtype, int, "int")
    x = operand("poisson", lam)
    if x.value.type.dtype.is_key or x.value.type.dtype.is_complex:
        raise TypePromotionError("In arguments to poisson, cannot safely cast argument of type "
                                 f"{x.value.type.dtype.name} to f32")
    size = size_of("poisson", shape, x.shape)
    one = typed_key("poisson", key)
    if is_approximate("poisson", method):
        rate = _steady(broadcast_to(convert(x, default_float()), size))
        made = _within(poisson_in(one, rate), wanted)
        return where(rate >= 0, made, convert(constant(-1, dtypes.i32, size), wanted))
    rate = _steady(broadcast_to(convert(x, dtypes.f32), size))
    few, legal = rate < 10, rate >= 0
    zero, many = constant(0, dtypes.f32, size), constant(_BIG_RATE, dtypes.f32, size)
    low = _poisson_few(one, where(few & legal, rate, zero))
    top = constant(2.0 ** 64, dtypes.f32, size)
    high = _poisson_many(one, where(few | ~legal, many, minimum(rate, top)))
    made = _within(where(few, low, high), wanted)
    made = where(rate == zero, 0, made)
    return where(legal, made, convert(constant(-1, dtypes.i32, size), wanted))


_BIG_RATE = 1e5
"""A rate that stands in for those that the method does not handle."""


def _steady(x: Tracer) -> Tracer:
    from ..lax import stop_gradient  # counts have no derivative in their parameters

    return stop_gradient(x)


# --- binomial -------------------------------------------------------------------------------------

def _binomial_few(key: Tracer, n: Tracer, p: Tracer) -> Tracer:
    """How many gaps between successes fit into n trials, for small n p.

    Source: Devroye, Non-Uniform Random Variate Generation, X.4.3.
    """
    log_failure = log1p(-p)

    def body(count: Any, trials: Any, key: Any) -> Any:
        sub, key = new_keys(key)
        gap = ceil(_log(_uniform(sub, n)) / log_failure)
        more = trials <= n
        return (where(more, count + 1, count),
                where(more, trials + gap, trials), key)

    zeros = constant(0, n.value.type.dtype, n.shape)
    return _while(lambda count, trials, key: _any(trials <= n), body, zeros, zeros, key)[0] - 1


def _stirling(k: Any) -> Tracer:
    """log(k!) less Stirling's formula."""
    table = [0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
             0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
             0.00925546218271273, 0.00833056343336287]
    square = (k + 1) * (k + 1)
    made = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    for i, value in enumerate(table):
        own = constant(i, k.value.type.dtype, k.shape)
        made = where(k == own, own * 0 + value, made)
    return as_tracer(made)


def _binomial_many(key: Tracer, n: Tracer, p: Tracer) -> Tracer:
    """Hormann's transformed rejection with squeeze (BTRS), for n p of at least 10."""
    deviation = sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = floor((n + 1) * p)

    def body(found: Any, done: Any, key: Any) -> Any:
        key, first, second = new_keys(key, 3)
        u, v = _uniform(first, n) - 0.5, _uniform(second, n)
        us = 0.5 - abs(u)
        k = floor((2 * a / us + b) * u + c)
        accepted = (us >= 0.07) & (v <= squeeze)
        refused = (k < 0) | (k > n)
        left = _log(v * alpha / (a / (us * us) + b))
        right = ((m + 0.5) * _log((m + 1) / (odds * (n - m + 1)))
                 + (n + 1) * _log((n - m + 1) / (n - k + 1))
                 + (k + 0.5) * _log(odds * (n - k + 1) / (k + 1))
                 + _stirling(m) + _stirling(n - m) - _stirling(k) - _stirling(n - k))
        accepted = accepted | (~refused & (left <= right))
        return where(accepted, k, found), done | accepted, key

    none = constant(False, dtypes.bool_, n.shape)
    return _while(lambda found, done, key: _any(~done), body, constant(-1, n.value.type.dtype,
                                                                        n.shape), none, key)[0]


def _binomial(key: Tracer, n: Tracer, p: Tracer) -> Tracer:
    """Counts as floats; NaN where n and p are not parameters of a binomial distribution."""
    flipped = p >= 0.5
    q = where(flipped, 1 - p, p)
    legal = (n >= 0) & (n < np.inf) & (p >= 0) & (p <= 1)
    few = n * q <= 10
    zeros = constant(0, n.value.type.dtype, n.shape)       # also where n is infinite or NaN
    low = _binomial_few(key, where(legal & few, n, zeros),
                        where(legal & few, q, zeros + 0.5))
    high = _binomial_many(key, where(legal & ~few, n, zeros + _BIG_N),
                          where(legal & ~few, q, zeros + 0.5))
    made = where(few, low, high)
    none = (n <= 0) | (q <= 0)
    made = where(none, 0, made)
    made = where(flipped, n - made, made)
    endless = (n == np.inf) & (p > 0) & (p <= 1)
    made, legal = where(endless, n, made), legal | endless
    return where(legal, made, constant(np.nan, n.value.type.dtype, n.shape))


_BIG_N = 1e4


@eager(static=("shape", "dtype"))
def binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, shape: ShapeLike | None = None,
             dtype: DTypeLike | None = None) -> Array:
    """Counts of successes among n trials of probability p, as floats.

    Args:
      key: a random key.
      n: numbers of trials, whole numbers of any numeric dtype.
      p: floats in [0, 1].
      shape: shape of the result, to which both broadcast.
      dtype: a float dtype; the default float if None. The counts are drawn in the float dtype of p,
        at 32 bits or more, and converted.
    Returns: floats; NaN where n is negative or p is outside [0, 1]; for infinite n inf, and NaN
      where p is 0.
    Raises: ValueError for another dtype, and where the parameters do not broadcast to `shape`.
    Source: Hormann, The generation of binomial random variates (1993) where n min(p, 1-p) is above
      10; Devroye (1986), X.4.3 below.

    >>> random.binomial(random.key(0), 5., jnp.array([0., 1.]))
    Array([0., 5.], dtype=float32)
    """
    made = chosen_dtype("binomial", dtype, float, "float")
    n, p = (operand("binomial", x) for x in (n, p))
    for x in (n, p):
        if x.value.type.dtype.is_key or x.value.type.dtype.is_complex:
            raise TypePromotionError("In arguments to binomial, cannot safely cast argument of "
                                     f"type {x.value.type.dtype.name} to {made.name}")
    size = size_of("binomial", shape, n.shape, p.shape)
    wide = inexact_dtype(p.value.type.dtype)
    wide = wide if wide.bits >= 32 else dtypes.f32
    n, p = (_steady(broadcast_to(convert(x, wide), size)) for x in (n, p))
    return convert(_binomial(typed_key("binomial", key), n, p), made)


@eager(static=("shape", "dtype", "unroll"))
def multinomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, *, shape: ShapeLike | None = None,
                dtype: DTypeLike | None = None, unroll: int | bool = 1) -> Array:
    """How often each category came up in n draws: vectors of counts with sum n.

    Args:
      key: a random key.
      n: numbers of draws.
      p: floats of shape (..., categories), probabilities or weights.
      shape: shape of the result without its last axis, to which n and the first axes of p
        broadcast. With jaxlib 0.10, whose JAX takes it so, the shape of the whole result.
      dtype: dtype of the result; the default float if None.
      unroll: as in `lax.scan`, over the categories.
    Raises: ValueError where p is 0-d or the shapes do not match.
    Source: each category is binomial given those before it.

    >>> random.multinomial(random.key(0), 5., jnp.array([0., 1.]))
    Array([0., 5.], dtype=float32)
    """
    from ..base.dtypes import requested_dtype
    from ..lax import scan
    from ..numpy import cumsum, flip, moveaxis

    weights = promote_inexact("multinomial", p)[0]
    if not weights.ndim:
        raise ValueError("multinomial: p must have an axis of categories, got a 0-d array")
    trials = operand("multinomial", n)
    categories = weights.shape[-1]
    if shape is not None and compat.API_OF_0_10:
        whole = size_of("multinomial", shape_of(shape), weights.shape)
        size = size_of("multinomial", whole[:-1], trials.shape)
    else:
        size = size_of("multinomial", shape, weights.shape[:-1], trials.shape)
        whole = (*size, categories)
    wanted = dtypes.from_numpy(requested_dtype("multinomial", float if dtype is None else dtype))
    made = weights.value.type.dtype
    made = made if made.bits >= 32 else dtypes.f32
    weights = moveaxis(_steady(broadcast_to(convert(weights, made), whole)), -1, 0)
    trials = _steady(broadcast_to(convert(trials, made), size))
    if not categories:
        return broadcast_to(constant(0, wanted), whole)
    left = flip(cumsum(flip(weights, 0), 0), 0)
    from .generators import split_key

    keys = split_key(typed_key("multinomial", key), (categories,))

    def draw(trials: Any, given: Any) -> Any:
        key, weight, left = given
        share = minimum(weight / left, 1)
        legal = left > 0
        count = _binomial(key, trials, where(legal, share, left * 0))
        return trials - count, count

    counts = scan(draw, trials, (keys, weights, left), unroll=unroll)[1]
    return convert(as_tracer(moveaxis(counts, 0, -1)), wanted)


# --- geometric ------------------------------------------------------------------------------------

@eager(static=("shape", "dtype", "out_sharding"))
def geometric(key: ArrayLike, p: ArrayLike, shape: ShapeLike | None = None,
              dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """The number of the first successful trial, from 1 on, where p is the probability of success.

    Args:
      key: a random key.
      p: probabilities of success, floats in (0, 1].
      shape: shape of the result, to which p broadcasts.
      dtype: an integer dtype, whose greatest number stands for all beyond; the default one if None.
    Raises: ValueError for another dtype, and where the parameters do not broadcast to `shape`.
    Source: floor(log(u) / log(1 - p)) + 1, u uniform in (0, 1).

    >>> random.geometric(random.key(0), 0.5, (3,)).shape
    (3,)
    """
    at_home("geometric", out_sharding)
    wanted = chosen_dtype("geometric", dtype, int, "int")
    x = promote_inexact("geometric", p)[0]
    if not x.value.type.dtype.is_float:
        raise ValueError(f"geometric: p must be a real float, got {x.value.type.dtype.name}")
    size = size_of("geometric", shape, x.shape)
    made = x.value.type.dtype
    u = uniform_in(typed_key("geometric", key), size, made, tiny(made), 1)
    p = _steady(broadcast_to(x, size))
    return _within(floor(_log(u) / log1p(-p)) + 1, wanted)


__all__ = ["binomial", "geometric", "multinomial", "poisson"]

"""Samplers without loops, `method="approximate"`: of the gamma distribution, with a small bias, and
of the Poisson distribution, off by less than 1e-4 in total variation.

A gamma sample is the cube of a polynomial in a normal number, for the parameter raised by 4, and
comes down by products of uniform numbers. A Poisson count is the quantile of a normal number: for
small rates the sum of probabilities is searched, for others an expansion gives a count, which is
right or off by one, and a normal approximation of the distribution decides.

Sources: Wilson and Hilferty (1931) for the cube; Cornish and Fisher (1938) for the quantile; Peizer
and Pratt, JASA 63 (1968), for the probabilities. Coefficients: those of JAX's streams.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from xfront_ir import ops

from ..numpy import abs, ceil, exp, log, maximum, sqrt, where
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .distributions import exponential_in, normal_in
from .parameters import new_keys, tiny

METHODS = ("exact", "approximate")


def is_approximate(name: str, method: str) -> bool:
    """Whether a sampler was asked for the method of this file. Raises: ValueError."""
    if method not in METHODS:
        raise ValueError(f"{name}: method must be 'exact' or 'approximate', got {method!r}")
    return method == "approximate"


def _horner(x: Any, coefficients: Any) -> Any:
    """The polynomial of these coefficients, the constant term first."""
    *rest, last = coefficients
    return functools.reduce(lambda made, c: made * x + c, rest[::-1], last)


# --- gamma ----------------------------------------------------------------------------------------

RAISED = 4

_ROOT = ((1.0, -0.2237368, -0.01513904), (0.4713941, 0.02607083, -0.008986007),
         (0.0001348028, 0.01128186, 0.02277679), (-0.008553069, -0.01153761, -0.01323293),
         (0.00312558, 0.005169654, -0.006950356), (-0.0008426812, 0.00253001, 0.001060438),
         (9.780499e-05, -0.001450117, 0.001565326))
"""The cube root of a sample over its parameter: for each power of the normal number over sqrt(2a) a
polynomial in 1 / (2a)."""


def log_gamma_in(key: Tracer, a: Tracer) -> Tracer:
    """Logarithms of gamma samples for an array of shape parameters of 32 bits or more; -inf for 0,
    NaN for negative ones."""
    of_normal, of_products = new_keys(key)
    size, dtype = a.shape, a.value.type.dtype
    raised = a + float(RAISED)
    double = 2.0 * raised
    inverse = 1.0 / double
    x = normal_in(of_normal, size, dtype) * emit(ops.rsqrt, as_tracer(double))
    root = _horner(x, [_horner(inverse, row) for row in _ROOT])
    logs = exponential_in(of_products, (RAISED, *size), dtype)
    whole = emit(ops.broadcast_in_dim, a, shape=logs.shape, dims=tuple(range(1, len(size) + 1)))
    whole = whole + emit(ops.iota, dtype=dtype, shape=logs.shape, dimension=0)
    down = emit(ops.reduce_sum, as_tracer(-logs / whole), axes=(0,))
    made = log(raised) + 3.0 * log(maximum(root, tiny(dtype))) + down
    made = where(a == 0.0, -np.inf, made)
    return as_tracer(where(a >= 0.0, made, np.nan))


# --- poisson --------------------------------------------------------------------------------------

FEW = 7.0
TERMS = 19


def poisson_in(key: Tracer, rate: Tracer) -> Tracer:
    """Counts as floats for an array of rates of 32 bits or more."""
    x = normal_in(key, rate.shape, rate.value.type.dtype)
    many = where(rate < np.inf, _many(x, rate), np.inf)
    return as_tracer(where(rate < FEW, _few(x, rate), many))


def _few(x: Any, rate: Any) -> Any:
    """The count for a small rate: how many cumulative probabilities are below that of the normal
    number."""
    scaled = x * math.sqrt(0.5)
    size = abs(scaled)
    tail = emit(ops.erfc, as_tracer(size))
    inner = 1.0 + emit(ops.erf, as_tracer(scaled))
    below = 0.5 * where(size < math.sqrt(0.5), inner, where(scaled > 0.0, 2.0 - tail, tail))
    share = exp(-rate)
    total, count = share, where(share < below, 1.0, 0.0)
    for k in range(1, TERMS):
        share = share * (rate / float(k))
        total = total + share
        count = count + where(total < below, 1.0, 0.0)
    return count


def _many(x: Any, rate: Any) -> Any:
    root, square = sqrt(rate), x * x
    guess = rate + root * x - 2 / 3 + square / 6.0 + x * (1.0 - square) / (72.0 * root)
    guess = ceil(guess + 0.6)
    count = guess + 1.0
    for at in (guess, guess - 1.0):
        count = count - where(_normal_of(at, rate) >= x, 1.0, 0.0)
    return maximum(count, 0.0)


_NEAR_1 = tuple([(-1) ** (k + 1) * 2 / (k * (k + 1)) for k in range(2, 11)])
"""(1 - s^2 + 2 s log(s)) / (1 - s)^2 by powers of s - 1, without the factor s - 1 of all."""


def _normal_of(count: Any, rate: Any) -> Any:
    """The normal number whose probability is that of at most `count`."""
    k = maximum(count, 0.0)
    ratio = (k + 0.5) / rate
    away = ratio - 1.0
    near = abs(away) < 0.25
    series = away * _horner(away, _NEAR_1)
    far, gap = where(near, 2.0, ratio), where(near, 1.0, away)
    whole = (1.0 - far * far + 2.0 * far * log(far)) / (gap * gap)
    shift = k - rate + 2 / 3 + 0.02 / (k + 1.0)
    made = shift * sqrt((1.0 + where(near, series, whole)) / rate)
    return where(count < 0.0, -np.inf, made)


__all__ = ["is_approximate", "log_gamma_in", "poisson_in"]

"""Spherical harmonics. Sources: NIST DLMF 14.30; `scipy.special.sph_harm_y`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.errors import ConcretizationTypeError
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import index_of, promote_inexact
from ...lax.control_flow import fori_loop
from ...lax.elementwise import complex as joined
from ...lax.strict import static_int
from ...numpy import broadcast_arrays, sqrt, where
from ...numpy.rounding import floor
from ...numpy.transcendental import cos, sin
from ...tracing.tracer import Tracer
from .parts import wide


def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: None = None,
               n_max: int | None = None) -> Array:
    """The spherical harmonics Y_n^m(theta, phi): orthonormal, with Condon and Shortley's phase.

    Args:
      n: degrees, nonnegative integers.
      m: orders, integers; of |m| above n the result is 0.
      theta: angles from the pole.
      phi: angles around it.
      diff_n: None, the only value.
      n_max: the highest degree; None for that of n, which must then be known. The result is NaN for
        higher degrees.
    Returns: complex numbers; the arguments broadcast.
    Raises: NotImplementedError where diff_n is given: use `jvp`; TypeError where n or m are no
      integers, and where n is traced and n_max is None.

    >>> special.sph_harm_y(jnp.array([1]), jnp.array([0]), jnp.array([0.5]), jnp.array([0.]))
    Array([0.429+0.j], dtype=complex64)
    """
    if diff_n is not None:
        raise NotImplementedError(f"sph_harm_y: diff_n is not supported, got {diff_n!r}; "
                                  "differentiate with xfront.jvp or xfront.grad")
    if n_max is None:
        if isinstance(n, Tracer):
            raise ConcretizationTypeError(n, "sph_harm_y must know the highest degree while "
                                          "tracing: pass n_max.")
        n_max = int(np.max(np.asarray(n), initial=0))
    return _harmonics(n, m, theta, phi, index_of(n_max, "n_max"))


@eager(static=("n_max",))
def _harmonics(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    (theta, phi), _ = wide("sph_harm_y", *promote_inexact("sph_harm_y", theta, phi))
    for name, x in (("n", n), ("m", m)):
        if not x.value.type.dtype.is_integer if isinstance(x, Tracer) else not isinstance(x, int):
            raise TypeError(f"sph_harm_y: {name} must be integers, got {x!r}")
    n, m, theta, phi = broadcast_arrays(n, m, theta, phi)
    degree, order = n.astype(theta.dtype), m.astype(theta.dtype)
    made = _legendre(degree, abs(order), theta, static_int("n_max", n_max))
    odd = order - 2 * floor(order * 0.5)
    made = where(order < 0, 1 - 2 * odd, 1.0) * made
    angle = order * phi
    return joined(made * cos(angle), made * sin(angle))


def _legendre(n: Any, m: Any, theta: Any, n_max: int) -> Any:
    """The associated Legendre functions at cos(theta), normalised over the sphere: from degree m
    upwards by their recurrence."""
    x, sine = cos(theta), sin(theta)
    one = x * 0 + 1

    def climb(k: Any, start: Any) -> Any:
        k = one * k
        return where(k <= m, -start * sine * sqrt((2 * k + 1) / (2 * k)), start)

    start = fori_loop(1, n_max + 1, climb, one * math.sqrt(0.25 / math.pi))

    def rise(k: Any, state: Any) -> Any:
        last, value, factor = state
        k = one * k
        grows = (k > m) & (k <= n)
        gap = where(grows, k * k - m * m, 1.0)
        step = sqrt((4 * k * k - 1) / gap)
        higher = step * (x * value - last / factor)
        return (where(grows, value, last), where(grows, higher, value),
                where(grows, step, factor))

    _, made, _ = fori_loop(1, n_max + 1, rise, (one * 0, start, one))
    return where(n > n_max, math.nan, where((m > n) | (n < 0), 0.0, made))


__all__ = ["sph_harm_y"]

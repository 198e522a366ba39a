"""Associated Legendre functions of all degrees and orders up to one. Source: NIST DLMF 14.10, 14.6.

P_l^m is w_m Q_l^m, where w_m is the power m of the sine and Q a polynomial: values and slopes come
from the recurrence in the degree, and w has a slope of its own, right at the poles too.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...lax.control_flow import scan
from ...lax.strict import static_int
from ...numpy import sqrt, stack, where
from ...transforms.autodiff import jvp
from ...transforms.custom_jvp import custom_jvp
from .parts import real


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions of the first kind, with Condon and Shortley's phase.

    Args:
      m, n: the highest order and degree, nonnegative and equal.
      z: one axis of float32 or float64; NaN for orders above 0 outside of [-1, 1].
      is_normalized: whether the functions of cos(theta) with exp(i m phi) are orthonormal on the
        sphere; else they are as `scipy.special.assoc_legendre_p_all` has them.
    Returns: the values by order, degree and element of z, of shape (m + 1, n + 1, len(z)).
    Raises: NotImplementedError where m and n differ; TypeError for other dtypes of z; ValueError
      where z does not have one axis.

    >>> special.lpmn_values(1, 1, jnp.array([0.6]), False)[:, :, 0]
    Array([[ 1. ,  0.6],
           [ 0. , -0.8]], dtype=float32)
    """
    return _values(_highest("lpmn_values", m, n), z, bool(is_normalized))


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of the first kind and their derivatives by z.

    Args:
      m, n, z: as for `lpmn_values`.
    Returns: the values, not normalised, and the derivatives, both as `lpmn_values` returns them.
    Raises: as `lpmn_values`.

    >>> special.lpmn(1, 1, jnp.array([0.6]))[1][:, :, 0]
    Array([[0.  , 1.  ],
           [0.  , 0.75]], dtype=float32)
    """
    highest = _highest("lpmn", m, n)
    return _with_slopes(highest, z)


def _highest(name: str, m: int, n: int) -> int:
    highest = static_int("m", m)
    if static_int("n", n) != highest:
        raise NotImplementedError(f"{name}: m and n must be equal, got {m} and {n}")
    if highest < 0:
        raise ValueError(f"{name}: m and n must not be negative, got {m}")
    return highest


@eager(static=("highest", "normalized"))
def _values(highest: int, z: Any, normalized: bool) -> Any:
    z = _checked("lpmn_values", z)
    return _recurrence(z, _sines(highest, z), highest, normalized)


@eager(static=("highest",))
def _with_slopes(highest: int, z: Any) -> Any:
    z = _checked("lpmn", z)
    places = np.arange(highest + 1)
    there = (places >= places[:, None])[..., None]

    def functions(z: Any) -> Any:
        without = _recurrence(z, z * 0 + np.ones((highest + 1, 1), z.dtype), highest, False)
        return where(there, _sines(highest, z)[:, None] * without, 0)

    return jvp(functions, (z,), (z * 0 + 1,))


def _checked(name: str, z: Any) -> Any:
    dtype = getattr(z, "dtype", None)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}: z must be float32 or float64, got {dtype or type(z).__name__}")
    z = real(name, z)
    if z.ndim != 1:
        raise ValueError(f"{name}: z must have one axis, got {z.value.type}")
    return z


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _sines(order: int, z: Any) -> Any:
    """The powers 0 to `order` of the sine, of whose angle z is the cosine."""
    sine = sqrt((1 - z) * (1 + z))
    made = [z * 0 + 1]
    for _ in range(order):
        made.append(made[-1] * sine)
    return stack(made)


@_sines.defjvp
def _sines_jvp(order: int, primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    powers = _sines(order, z)
    slopes = [z * 0, -z / powers[1]] if order else [z * 0]
    slopes += [-k * z * powers[k - 2] for k in range(2, order + 1)]
    return powers, stack(slopes) * dz


def _recurrence(z: Any, powers: Any, highest: int, normalized: bool) -> Any:
    """The functions for all orders at once, degree by degree, from the powers of the sine; with
    ones in place of these their quotients by them, which are polynomials of z."""
    orders = np.arange(highest + 1)[:, None]
    degrees = np.arange(highest + 1)[:, None, None]
    steps = [math.sqrt(0.25 / math.pi) if normalized else 1.0]
    for k in range(1, highest + 1):
        steps.append(-steps[-1] * (math.sqrt((2 * k + 1) / (2 * k)) if normalized else 2 * k - 1))
    dtype = z.dtype
    start = powers * np.array(steps)[:, None].astype(dtype)
    gap = np.where(degrees > orders, degrees - orders, 1).astype(float)
    if normalized:
        higher = np.sqrt((4.0 * degrees ** 2 - 1).clip(1) / (gap * (degrees + orders).clip(1)))
        lower = np.where(degrees > orders + 1, higher / np.roll(higher, 1, 0), 0)
    else:
        higher, lower = (2.0 * degrees - 1) / gap, (degrees + orders - 1.0).clip(0) / gap

    def rise(carry: Any, given: Any) -> Any:
        last, value = carry
        degree, up, down = given
        found = where(degree == orders, start, where(degree > orders, up * z * value - down * last,
                                                     0))
        return (value, found), found

    zeros = start * 0
    given = (degrees[:, 0, 0], higher.astype(dtype), lower.astype(dtype))
    return scan(rise, (zeros, zeros), given)[1].swapaxes(0, 1)


__all__ = ["lpmn", "lpmn_values"]

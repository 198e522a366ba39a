"""The Faddeeva function, and the scaled complement of erf.

Sources: NIST DLMF 7.2.3, 7.5 and 7.12; J. A. C. Weideman, Computation of the complex error
function, SIAM J. Numer. Anal. 31 (1994).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from xfront_ir import dtypes

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import convert, operand, strong
from ...lax.elementwise import complex as joined
from ...numpy import imag, real, rint, where
from ...numpy.rounding import floor
from ...numpy.transcendental import exp, expm1
from ...numpy.ufuncs import inexact
from . import coefficients as known
from .parts import chebyshev, wide, with_slopes

_ROOT_PI = math.sqrt(math.pi)


def _scaled_complement(x: Any) -> Any:
    below = x < 0
    made = erfcx_of_positive(where(below, -x, x))
    return where(below, 2 * _exp_of_square(where(below, x, 0.0)) - made, made)


def erfcx_of_positive(x: Any) -> Any:
    """`erfcx` of tracers that are not negative; its derivative is not exact."""
    far = x > 1e15                               # t rounds to 1, and the square may overflow
    z = where(far, 1.0, x)
    made = chebyshev((z - 3.75) / (z + 3.75), -1, 1, known.ERFCX) / (1 + 2 * z)
    return where(far, (1 / _ROOT_PI) / where(far, x, 1.0), made)


def _exp_of_square(x: Any) -> Any:
    """exp(x^2), with x^2 split into an exact part and the rest."""
    high = where(abs(x) < 64, rint(x * 16) / 16, 64.0)
    made = exp(high * high)
    rest = expm1((x - high) * (x + high))
    return where(made == math.inf, made, made + made * rest)


def falling_bell(x: Any) -> Any:
    """exp(-x^2 / 2). What rounding takes from the square is found by way of a number near x whose
    square is exact."""
    x = where(abs(x) > 40, 40.0, x)                # NaN stays
    half = 0.5 * x * x
    near = floor(x * 16 + 0.5) * (1 / 16)
    lost = (0.5 * near * near - half) + 0.5 * (x - near) * (x + near)
    return exp(-half) * (1 - lost)


def _slope_of_complement(y: Any, x: Any) -> Any:
    """2 x y - 2 / sqrt(pi); for large x, where it cancels, by its asymptotic series."""
    far = x > 8
    inverse = 1 / where(far, x, 8.0) ** 2
    series: Any = 1.0
    for k in range(13, 1, -1):
        series = 1 - (k - 0.5) * inverse * series
    return where(far, (-1 / _ROOT_PI) * inverse * series, 2 * where(far, 0.0, x) * y
                  - 2 / _ROOT_PI)


erfcx_of = with_slopes(_scaled_complement, _slope_of_complement)


@eager
def erfcx(x: ArrayLike) -> Array:
    """exp(x^2) erfc(x), in range for large x; also for complex numbers.

    >>> special.erfcx(jnp.array([0., 1.]))
    Array([1.   , 0.428], dtype=float32)
    """
    z = inexact(operand("erfcx", x))
    if z.value.type.dtype.is_complex:
        return strong(_faddeeva(z * 1j))
    (z,), back = wide("erfcx", z)
    return strong(back(erfcx_of(z)))


# --- complex numbers ------------------------------------------------------------------------

@functools.cache
def _weideman(count: int) -> tuple[float, np.ndarray]:
    """The length L and the coefficients of Weideman's expansion, the highest power first."""
    length = math.sqrt(count / math.sqrt(2))
    k = np.arange(-2 * count + 1, 2 * count)
    t = length * np.tan(k * np.pi / (4 * count))
    f = np.concatenate([[0.0], np.exp(-t * t) * (length ** 2 + t * t)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (4 * count)
    return length, a[count:0:-1]


def _upper(z: Any) -> Any:
    """w(z) for z in the upper half plane."""
    length, powers = _weideman(20 if z.dtype == np.complex64 else 64)
    turned = z * 1j
    bottom = 1 / (length - turned)
    unit = (length + turned) * bottom
    made = unit * 0 + float(powers[0])
    for c in powers[1:]:
        made = made * unit + float(c)
    return 2 * made * bottom * bottom + (1 / _ROOT_PI) * bottom


def _faddeeva(z: Any) -> Any:
    below = imag(z) < 0
    made = _upper(where(below, -z, z))
    on_line = imag(z) == 0                       # the sum loses the real part there
    made = where(on_line, joined(exp(-real(z) ** 2), imag(made)), made)
    return where(below, 2 * exp(-where(below, z, 0) ** 2) - made, made)


@eager
def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function exp(-z^2) erfc(-i z); complex, also for real numbers.

    >>> special.wofz(jnp.array([0.])).real
    Array([1.], dtype=float32)
    """
    z = inexact(operand("wofz", z))
    dtype = z.value.type.dtype
    if not dtype.is_complex:
        z = convert(z, dtypes.c128 if dtype.bits == 64 else dtypes.c64, z.weak)
    return strong(_faddeeva(z))


__all__ = ["erfcx", "wofz"]

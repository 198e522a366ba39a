"""Windows of a known number of samples: bartlett, blackman, hamming, hanning, kaiser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, default_float, index_of, operand
from ..tracing.trace import emit
from ..tracing.tracer import as_tracer
from .arithmetic import add, divide, multiply, sqrt, subtract
from .creation import empty, ones
from .transcendental import cos, exp
from .ufuncs import inexact, like, refuse


def _few(n: int) -> Any:
    """The window of no sample, or of one."""
    return empty(0) if n < 1 else ones(1)


@eager(static=("n", "factors"))
def _cosines(n: int, factors: Sequence[float]) -> Any:
    """The sum of factors times cosines of 0, 1, ... turns over the window."""
    angle = emit(ops.iota, dtype=default_float(), shape=(n,), dimension=0)
    angle = multiply(angle, 2 * math.pi / (n - 1))
    made = like(as_tracer(angle), float(factors[0]))
    for k, factor in enumerate(factors[1:], 1):
        turned = angle if k == 1 else multiply(angle, k)
        made = add(made, multiply(cos(turned), float(factor)))
    return made


def hanning(M: int) -> Array:
    """The Hann window: 0.5 - 0.5 cos(2 pi n / (M - 1)).

    Args:
      M: the number of samples, a known integer; the result is empty where it is not positive.
    Returns: floats of shape [M].
    Raises: TypeError where M is not an integer.
    Source: `numpy.hanning`.

    >>> jnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    n = index_of(M, "M")
    return _few(n) if n <= 1 else _cosines(n, (0.5, -0.5))


def hamming(M: int) -> Array:
    """The Hamming window: 0.54 - 0.46 cos(2 pi n / (M - 1)). See `hanning`.

    Source: `numpy.hamming`.

    >>> jnp.hamming(5)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    n = index_of(M, "M")
    return _few(n) if n <= 1 else _cosines(n, (0.54, -0.46))


def blackman(M: int) -> Array:
    """The Blackman window: 0.42 - 0.5 cos(t) + 0.08 cos(2 t), t = 2 pi n / (M - 1). See `hanning`.

    Source: `numpy.blackman`.

    >>> jnp.blackman(5)
    Array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    n = index_of(M, "M")
    return _few(n) if n <= 1 else _cosines(n, (0.42, -0.5, 0.08))


@eager(static=("n",))
def _bartlett(n: int) -> Any:
    place = emit(ops.iota, dtype=default_float(), shape=(n,), dimension=0)
    return subtract(1, abs(subtract(multiply(place, 2 / (n - 1)), 1)))


def bartlett(M: int) -> Array:
    """The triangular window that is 0 at both ends. See `hanning`. Source: `numpy.bartlett`.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    n = index_of(M, "M")
    return _few(n) if n <= 1 else _bartlett(n)


@eager(static=("n",))
def _kaiser(beta: Any, n: int) -> Any:
    beta = inexact(operand("kaiser", beta))
    if beta.value.type.dtype.is_complex:
        raise refuse("kaiser", beta, "real")
    beta = abs(convert(beta, default_float()))
    place = emit(ops.iota, dtype=default_float(), shape=(n,), dimension=0)
    share = subtract(multiply(place, 2 / (n - 1)), 1)
    size = multiply(beta, sqrt(multiply(add(1, share), subtract(1, share))))
    # both Bessel functions are divided by exp of their arguments, as they might overflow
    ratio = divide(emit(ops.bessel_i0e, size), emit(ops.bessel_i0e, beta))
    return multiply(ratio, exp(subtract(size, beta)))


def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window of shape parameter `beta`, a number. See `hanning`.

    Source: `numpy.kaiser`.

    >>> jnp.kaiser(5, 2.)
    Array([0.439, 0.835, 1.   , 0.835, 0.439], dtype=float32)
    """
    n = index_of(M, "M")
    return _few(n) if n <= 1 else _kaiser(beta, n)


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]

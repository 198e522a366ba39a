"""Helpers of special functions: how they take their arguments, and become public."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from numpy.polynomial.chebyshev import cheb2poly

import numpy as np
from xfront_ir import dtypes

from ...base.docstrings import with_example
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import broadcast_shapes, broadcast_to, convert, operand, promote_inexact
from ...numpy.ufuncs import inexact
from ...tracing.trace import emit
from ...tracing.tracer import Tracer
from ...transforms.custom_jvp import custom_jvp


def one(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    """A function of one argument that is one op; `shows` as in `with_example`."""
    def body(x: ArrayLike) -> Array:
        return emit(definition, real(name, x))

    return public(body, name, with_example(doc, f"special.{name}", shows))


def public(body: Callable[..., Any], name: str, doc: str) -> Any:
    """A body as the public function of this name."""
    body.__name__ = body.__qualname__ = name
    body.__code__ = body.__code__.replace(co_name=name)      # the name in frames
    body.__doc__ = doc
    return eager(body)


def real(name: str, x: Any) -> Any:
    """The float of a real argument. Raises: ValueError for a complex one."""
    x = inexact(operand(name, x))
    if x.value.type.dtype.is_complex:
        raise ValueError(f"{name} only takes real numbers, got {x.value.type}")
    return x


def together(name: str, *xs: Any) -> list[Any]:
    """Arguments of one float dtype and one shape."""
    made = promote_inexact(name, *xs)
    shape = broadcast_shapes(name, [x.shape for x in made])
    return [broadcast_to(x, shape) for x in made]


def wide(name: str, *xs: Any) -> tuple[list[Tracer], Callable[[Any], Any]]:
    """Real arguments in the same shape and one float dtype of 32 bits at least, and a function that
    converts results back to their own dtype. Raises: ValueError for complex numbers."""
    made = together(name, *xs)
    dtype, weak = made[0].value.type.dtype, made[0].weak
    if dtype.is_complex:
        raise ValueError(f"{name} only takes real numbers, got {made[0].value.type}")
    computed = dtypes.f32 if dtype.bits < 32 else dtype
    return [convert(x, computed, weak) for x in made], lambda y: convert(y, dtype, weak)


def with_slopes(body: Callable[..., Any], *slopes: Callable[..., Any] | None) -> Any:
    """A function of tracers with derivatives of its own.

    Args:
      body: returns one array of the shape of its arguments.
      slopes: for each argument the partial derivative, of the result and the arguments; None where
        the function is constant in it.
    """
    function = custom_jvp(body)

    def rule(primals: Any, tangents: Any) -> Any:
        made = function(*primals)
        shares = [slope(made, *primals) * tangent
                  for slope, tangent in zip(slopes, tangents, strict=True) if slope is not None]
        return made, functools.reduce(operator.add, shares)

    function.defjvp(rule)
    return function


def chebyshev(x: Any, low: float, high: float, coefficients: Sequence[float]) -> Any:
    """The series of these coefficients at x in [low, high], without terms below the precision of x.
    The coefficients fall fast, so Horner's rule on the powers is exact enough."""
    t = (x - 0.5 * (low + high)) * (2 / (high - low))
    least = 0.02 * float(np.finfo(x.dtype).eps) * abs(coefficients[0])
    powers = cheb2poly([c for c in coefficients if abs(c) > least])
    made = t * 0 + float(powers[-1])
    for c in powers[-2::-1]:
        made = made * t + float(c)
    return made

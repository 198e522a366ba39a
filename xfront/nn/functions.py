"""Activation functions, elementwise. Integers become floats where the function is not of integers.

Each works on an array of any shape, and its derivative is that of its formula; at a corner of the
formula, the docstring states it. Errors: TypeError for an argument that is not an array.
"""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import normalize_axis, operand, strong
from ..lax.shape import along
from ..numpy.arithmetic import sqrt, square
from ..numpy.extremes import maximum, minimum
from ..numpy.transcendental import exp, expm1, log, log1p, logaddexp
from ..numpy.ufuncs import inexact, where
from ..tracing.trace import emit


@eager
def identity(x: ArrayLike) -> Array:
    """x itself, as an array.

    >>> nn.identity(jnp.array([1., 2.]))
    Array([1., 2.], dtype=float32)
    """
    return operand("identity", x)


# --- rectifiers -----------------------------------------------------------------------------

@eager
def relu(x: ArrayLike) -> Array:
    """max(x, 0); derivative 0 at 0. Source: Nair and Hinton (2010).

    >>> nn.relu(jnp.array([-1., 0., 2.]))
    Array([0., 0., 2.], dtype=float32)
    """
    x = operand("relu", x)
    if x.value.type.dtype.is_complex:      # the greater by real part, then by imaginary part
        return maximum(x, x - x)
    return where(x > 0, x, _flat(x))


def _flat(x: Any) -> Any:
    """0 without a derivative; NaN where x is."""
    return where(x == x, 0, emit(ops.stop_gradient, x))


@eager
def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6); derivative 0 at 0 and 6. Source: Krizhevsky (2010).

    >>> nn.relu6(jnp.array([-1., 3., 9.]))
    Array([0., 3., 6.], dtype=float32)
    """
    return _relu6(operand("relu6", x))


def _relu6(x: Any) -> Any:
    bounded = where(x >= 6.0, 6.0, x)
    return where(x > 0, bounded, _flat(x))


@eager
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """x where x >= 0, else negative_slope * x. Source: Maas, Hannun and Ng (2013).

    >>> nn.leaky_relu(jnp.array([-1., 0., 2.]))
    Array([-0.01,  0.  ,  2.  ], dtype=float32)
    """
    x = operand("leaky_relu", x)
    return where(x >= 0, x, x * negative_slope)


@eager
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where x > 0, else alpha (exp(x) - 1). Source: arXiv:1511.07289.

    >>> nn.elu(jnp.array([-1., 0., 2.]))
    Array([-0.632,  0.   ,  2.   ], dtype=float32)
    """
    return _elu(operand("elu", x), alpha)


def _elu(x: Any, alpha: Any) -> Any:
    above = x > 0
    below = where(above, 0.0, x)                 # keeps an overflowing exp out of the derivative
    return where(above, x, expm1(below) * alpha)


@eager
def selu(x: ArrayLike) -> Array:
    """elu scaled so that it keeps mean 0 and variance 1. Source: arXiv:1706.02515.

    >>> nn.selu(jnp.array([-1., 0., 2.]))
    Array([-1.111,  0.   ,  2.101], dtype=float32)
    """
    scaled = _elu(operand("selu", x), 1.6732632423543772848170429916717)
    return scaled * 1.0507009873554804934193349852946


@eager
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where x > 0, else alpha (exp(x / alpha) - 1). Source: arXiv:1704.07483.

    >>> nn.celu(jnp.array([-1., 0., 2.]))
    Array([-0.632,  0.   ,  2.   ], dtype=float32)
    """
    x = operand("celu", x)
    above = x > 0
    below = where(above, 0.0, x) / alpha
    return where(above, x, expm1(below) * alpha)


# --- smooth rectifiers ----------------------------------------------------------------------

def softplus_of(x: Any) -> Any:
    """log(1 + exp(x)) of an inexact tracer, in range for any x."""
    if x.value.type.dtype.is_complex:
        return logaddexp(x, 0.0)
    # both branches are smooth at 0, where max(x, 0) and |x| have corners without derivatives
    below = x < 0
    bell = log1p(exp(where(below, x, -x)))
    return where(below, 0, x) + bell


@eager
def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)).

    >>> nn.softplus(jnp.array([0., 1.]))
    Array([0.693, 1.313], dtype=float32)
    """
    return softplus_of(inexact(operand("softplus", x)))


@eager
def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), exact for large negative x.

    >>> nn.log_sigmoid(jnp.array([0., 2.]))
    Array([-0.693, -0.127], dtype=float32)
    """
    return -softplus_of(-inexact(operand("log_sigmoid", x)))


@eager
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x^2 + b)) / 2. Source: arXiv:2112.11687.

    >>> nn.squareplus(jnp.array([0., 1.]))
    Array([1.   , 1.618], dtype=float32)
    """
    x = inexact(operand("squareplus", x))
    return (x + sqrt(square(x) + b)) * 0.5


@eager
def sparse_plus(x: ArrayLike) -> Array:
    """0 below -1, x above 1, (x + 1)^2 / 4 between.

    >>> nn.sparse_plus(jnp.array([-1., 0., 2.]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = operand("sparse_plus", x)
    middle = square(x + 1.0) / 4.0
    return where(x <= -1.0, 0.0, where(x >= 1.0, x, middle))


@eager
def mish(x: ArrayLike) -> Array:
    """x tanh(softplus(x)). Source: arXiv:1908.08681.

    >>> nn.mish(jnp.array([-1., 0., 2.]))
    Array([-0.303,  0.   ,  1.944], dtype=float32)
    """
    x = inexact(operand("mish", x))
    return x * emit(ops.tanh, softplus_of(x))


@eager(static=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x times the probability that a normal variable is below x. Source: arXiv:1606.08415.

    Args:
      approximate: whether to use x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) instead.

    >>> nn.gelu(jnp.array([-1., 0., 2.]))
    Array([-0.159,  0.   ,  1.955], dtype=float32)
    """
    x = strong(inexact(operand("gelu", x)))
    if not approximate:
        return x * 0.5 * emit(ops.erfc, x * -math.sqrt(0.5))
    if not x.value.type.dtype.is_complex:
        return emit(ops.gelu, x)
    factor = math.sqrt(2 / math.pi)
    inner = x * (square(x) * (factor * 0.044715) + factor)
    return x * ((emit(ops.tanh, inner) + 1.0) * 0.5)


@eager
def silu(x: ArrayLike) -> Array:
    """x sigmoid(x). Source: arXiv:1702.03118.

    >>> nn.silu(jnp.array([-1., 0., 2.]))
    Array([-0.269,  0.   ,  1.762], dtype=float32)
    """
    x = _float_only("silu", x)
    return x * emit(ops.logistic, x)


swish = silu


def _float_only(name: str, x: Any) -> Any:
    x = operand(name, x)
    if not x.value.type.dtype.is_inexact:
        raise TypeError(f"{name} takes floats and complex numbers, got {x.value.type}")
    return x


@eager(static=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis times the sigmoid of the second. Source: arXiv:1612.08083.

    Raises: ValueError where the axis has an odd size.

    >>> nn.glu(jnp.array([1., 2., 0., 0.]))
    Array([0.5, 1. ], dtype=float32)
    """
    x = operand("glu", x)
    a = normalize_axis("glu", axis, x.ndim)
    n = x.shape[a]
    if n % 2:
        raise ValueError(f"glu: axis {axis} of {x.value.type} must have an even size")
    return along(x, a, 0, n // 2) * emit(ops.logistic, along(x, a, n // 2, n))


# --- between two values ---------------------------------------------------------------------

@eager
def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)), for floats.

    >>> nn.sigmoid(jnp.array([0., 2.]))
    Array([0.5  , 0.881], dtype=float32)
    """
    return emit(ops.logistic, _float_only("sigmoid", x))


@eager
def tanh(x: ArrayLike) -> Array:
    """Hyperbolic tangent.

    >>> nn.tanh(jnp.array([0., 1.]))
    Array([0.   , 0.762], dtype=float32)
    """
    return emit(ops.tanh, inexact(operand("tanh", x)))


@eager
def soft_sign(x: ArrayLike) -> Array:
    """x / (1 + |x|).

    >>> nn.soft_sign(jnp.array([-1., 0., 3.]))
    Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = inexact(operand("soft_sign", x))
    return x / (abs(x) + 1)


@eager
def hard_tanh(x: ArrayLike) -> Array:
    """x between -1 and 1, and the nearer of these elsewhere.

    >>> nn.hard_tanh(jnp.array([-3., 0.5, 3.]))
    Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = operand("hard_tanh", x)
    return where(x > 1, 1, where(x < -1, -1, x))


@eager
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6.

    >>> nn.hard_sigmoid(jnp.array([-3., 0., 3.]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _relu6(operand("hard_sigmoid", x) + 3.0) / 6.0


@eager
def hard_silu(x: ArrayLike) -> Array:
    """x relu6(x + 3) / 6. Source: arXiv:1905.02244.

    >>> nn.hard_silu(jnp.array([-3., 0., 3.]))
    Array([-0.,  0.,  3.], dtype=float32)
    """
    x = operand("hard_silu", x)
    return x * (_relu6(x + 3.0) / 6.0)


hard_swish = hard_silu


@eager
def sparse_sigmoid(x: ArrayLike) -> Array:
    """(x + 1) / 2 between -1 and 1, 0 below, 1 above: the derivative of `sparse_plus`.

    >>> nn.sparse_sigmoid(jnp.array([-1., 0., 2.]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = operand("sparse_sigmoid", x)
    return minimum(maximum(x + 1.0, 0.0), 2.0) * 0.5


@eager
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)) for x > 0, exact for small and large x.

    Source: Maechler, "Accurately computing log(1 - exp(-|a|))" (2012).

    >>> nn.log1mexp(jnp.array([1., 2.]))
    Array([-0.459, -0.145], dtype=float32)
    """
    x = inexact(operand("log1mexp", x))
    minus = -x
    small = x < math.log(2.0)
    near = log(-expm1(where(small, minus, -1.0)))
    far = log1p(-exp(where(small, -1.0, minus)))
    return where(small, near, far)


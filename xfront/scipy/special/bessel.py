"""Bessel functions. Sources: NIST DLMF chapter 10; `scipy.special`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xfront_ir import ops

from ...base.docstrings import with_example
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...lax.strict import static_int
from ...numpy import concatenate, stack
from ...numpy.transcendental import exp
from ...tracing.trace import emit
from ...transforms.custom_jvp import custom_jvp
from .parts import one, public, real, wide

i0e = one("i0e", ops.bessel_i0e, "Modified Bessel function of order 0, times exp(-|x|).",
          "[0., 1.] -> [1.   , 0.466]")
i1e = one("i1e", ops.bessel_i1e, "Modified Bessel function of order 1, times exp(-|x|).",
          "[0., 1.] -> [0.   , 0.208]")


def _unscaled(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        x = real(name, x)
        size = x * emit(ops.sign, x)         # |x| with slope 0 at 0, as for the Bessel ops
        return exp(size) * emit(definition, x)

    return public(body, name, with_example(doc, f"special.{name}", shows))


i0 = _unscaled("i0", ops.bessel_i0e, "Modified Bessel function of order 0.",
               "[0., 1.] -> [1.   , 1.266]")
i1 = _unscaled("i1", ops.bessel_i1e, "Modified Bessel function of order 1.",
               "[0., 1.] -> [0.   , 0.565]")


@eager(static=("v", "n_iter"))
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders 0 to v, along a new first axis.

    Args:
      z: real numbers.
      v: the highest order.
      n_iter: the order from which they are computed downwards, at least v + 1. It must exceed |z|
        by 20 for single precision, by 40 for double.
    Raises: ValueError for complex z and a negative v or n_iter, TypeError where one is not an
      integer.
    Source: NIST DLMF 10.6.1, 10.12.4, and 3.6(iv) for the algorithm of Miller.

    >>> special.bessel_jn(jnp.array([1.]), v=1)[:, 0]
    Array([0.765, 0.44 ], dtype=float32)
    """
    (z,), back = wide("bessel_jn", z)
    top, steps = static_int("v", v), static_int("n_iter", n_iter)
    if top < 0 or steps < 0:
        raise ValueError(f"bessel_jn: v and n_iter must not be negative, got {top} and {steps}")
    return back(_orders(z, top, max(steps, top + 1)))


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _orders(z: Any, top: int, steps: int) -> Any:
    """J_0 to J_top by Miller's algorithm, which starts at J_steps, in ratios of neighbours."""
    ratios, ratio = [], z * 0                    # ratios of each order to the one below
    for k in range(steps, 0, -1):
        ratio = z / (2 * k - z * ratio)
        ratios.append(ratio)
    ratios.reverse()
    orders = [z * 0 + 1]
    for ratio in ratios:
        orders.append(orders[-1] * ratio)
    whole = orders[0]                            # 1 = J0 + 2 J2 + 2 J4 + ...
    for even in orders[2::2]:
        whole = whole + 2 * even
    return stack([order / whole for order in orders[:top + 1]])


@_orders.defjvp
def _orders_jvp(top: int, steps: int, primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    made = _orders(z, top + 1, max(steps, top + 2))
    below = concatenate([-made[1:2], made[:top]])
    return made[:top + 1], 0.5 * (below - made[1:]) * t


__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]

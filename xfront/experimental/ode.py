"""Ordinary differential equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..base.trees import tree_leaves, tree_map, tree_structure
from ..binding.tracebacks import front_door
from ..eager.operands import array_like, is_array_like
from ..lax.control_flow import scan, while_loop
from ..lax.shape import stop_gradient
from ..tracing.tracer import Tracer
from ..transforms.raveling import ravel_pytree
from ..transforms.vmap import vmap

# Dormand and Prince 1980, table 2 (RK5(4)7M); the middle of a step: Shampine 1986.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (35 / 384 - 5179 / 57600, 0.0, 500 / 1113 - 7571 / 16695, 125 / 192 - 393 / 640,
          -2187 / 6784 + 92097 / 339200, 11 / 84 - 187 / 2100, -1 / 40)
_MIDDLE = (6025192743 / 60171106304, 0.0, 51252292925 / 130801643196, -2691868925 / 90256659456,
           187940372067 / 3189068634112, -1776094331 / 39487288512, 11237099 / 470086768)


@front_door
def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8,
           atol: float = 1.4e-8, mxstep: Any = np.inf, hmax: Any = np.inf) -> Any:
    """The solution of `dy/dt = func(y, t, *args)` from `y0`, at the times `t`.

    The size of each step keeps its estimated error near `atol + rtol |y|`. Derivatives, in every
    mode, are those of the steps that were made; the sizes of steps count as constants.

    Args:
      func: function `func(y, t, *args)` that returns a tree like `y0`.
      y0: tree of float or complex arrays, the value at t[0]; integers are converted.
      t: times in ascending order, a vector of floats.
      args: further arguments of `func`, trees of arrays.
      rtol, atol: relative and absolute tolerance, scalars.
      mxstep: greatest number of steps from one time to the next, by default unlimited; where it
        does not suffice, the values are NaN from there on.
      hmax: greatest size of a step, by default unlimited.
    Returns: a tree like y0, with the times as a first axis of each leaf.
    Raises: TypeError where `func` returns another structure, where leaves of `args` are not arrays,
      or where the times are not a vector of floats; ValueError where known times do not ascend, or
      a tolerance is below 0.
    Source: Dormand and Prince 1980; the first step: Hairer, Nørsett and Wanner, Solving Ordinary
      Differential Equations I, 1993, II.4; values between: Shampine 1986.

    >>> ode.odeint(lambda y, t: -y, 1.0, jnp.array([0., 1., 2.]))
    Array([1.   , 0.368, 0.135], dtype=float32)
    """
    for leaf in tree_leaves(args):
        if not is_array_like(leaf):
            raise TypeError(f"odeint: the contents of *args must be arrays or scalars, got {leaf}")
    if rtol < 0 or atol < 0:
        raise ValueError(f"odeint: rtol and atol must not be negative, got {rtol} and {atol}")
    times = jnp.asarray(array_like("odeint", t, "t"))
    if times.ndim != 1 or not times.shape[0] or not jnp.issubdtype(times.dtype, jnp.floating):
        raise TypeError("odeint: t must be a vector of floats, got shape "
                        f"{times.shape} and dtype {times.dtype}")
    if not isinstance(times, Tracer) and not np.greater(np.asarray(times)[1:],
                                                        np.asarray(times)[:-1]).all():
        raise ValueError("odeint: t must be ascending; to integrate backwards in time, substitute "
                         "-t for t in func")

    def inexact(x: Any) -> Any:
        x = jnp.asarray(array_like("odeint", x, "y0"))
        return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)

    y0 = tree_map(inexact, y0)
    start, unravel = ravel_pytree(y0)
    if not start.size:
        return tree_map(lambda x: jnp.zeros((times.shape[0], *x.shape), x.dtype), y0)

    def slope(y: Any, at: Any) -> Any:
        made = func(unravel(y), at, *args)
        if tree_structure(made) != tree_structure(y0):
            raise TypeError("odeint: func must return a tree of the structure of y0, "
                            f"{tree_structure(y0)}, but returned {tree_structure(made)}")
        return ravel_pytree(made)[0].astype(y.dtype)

    values = _solved(slope, start, times, rtol, atol, mxstep, hmax)
    return vmap(unravel)(values)


def _size(error: Any, y0: Any, y1: Any, rtol: Any, atol: Any) -> Any:
    """The mean size of an error relative to the allowed one."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(error) / allowed)))


def _first(slope: Any, y: Any, f: Any, t: Any, rtol: Any, atol: Any) -> Any:
    """A size for the first step, from two slopes."""
    d0, d1 = _size(y, y, y, rtol, atol), _size(f, y, y, rtol, atol)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1)).astype(t.dtype)
    moved = slope(y + (h * f).astype(y.dtype), t + h)
    d2 = _size(moved - f, y, y, rtol, atol) / h
    most = jnp.maximum(d1, d2)
    after = jnp.where(most <= 1e-15, jnp.maximum(1e-6, h * 1e-3),
                      (0.01 / jnp.where(most <= 1e-15, 1, most)) ** 0.2)
    return jnp.minimum(100 * h, after).astype(t.dtype)


def _solved(slope: Any, y0: Any, times: Any, rtol: Any, atol: Any, mxstep: Any, hmax: Any) -> Any:
    dtype = y0.dtype

    def weighted(weights: Any, slopes: list[Any]) -> Any:
        return sum([w * k for w, k in zip(weights, slopes, strict=True) if w])

    def tried(y: Any, f: Any, t: Any, h: Any) -> Any:
        """The end of a step, its slope, the estimated error, and the middle."""
        end, slopes = y, [f]
        for at, weights in zip(_TIMES, _STAGES, strict=True):
            end = (y + h * weighted(weights, slopes)).astype(dtype)
            slopes.append(slope(end, t + h * at))
        return (end, slopes[-1], h * weighted(_ERROR, slopes),
                (y + h * weighted(_MIDDLE, slopes)).astype(dtype))

    def to(carry: Any, target: Any) -> Any:
        def unfinished(state: Any) -> Any:
            t, count = state[0], state[-1]
            return (t < target) & (count < mxstep) & (state[3] > 0)

        def step(state: Any) -> Any:
            t, y, f, h, old, count = state
            end, after, error, middle = tried(y, f, t, h)
            ratio = stop_gradient(_size(error, y, end, rtol, atol))
            accepted = ratio <= 1
            factor = jnp.clip(0.9 * jnp.where(ratio == 0, 1e-10, ratio) ** -0.2,
                              0.2, 10).astype(t.dtype)
            factor = jnp.where(jnp.isfinite(ratio), jnp.where(
                accepted, jnp.maximum(factor, 1), factor), 0.2)
            found = (t, y, f, t + h, end, after, middle)
            new = [jnp.where(accepted, a, b) for a, b in zip(found, old, strict=True)]
            smaller = jnp.minimum(h * factor, hmax).astype(t.dtype)
            stuck = t + smaller == t               # the step is smaller than rounding
            return (jnp.where(accepted, t + h, t), jnp.where(accepted, end, y),
                    jnp.where(accepted, after, f), jnp.where(stuck, 0, smaller), new, count + 1)

        t, y, f, h, old, _ = while_loop(unfinished, step, (*carry, 0))
        value = jnp.where(t >= target, _between(target, *old), np.nan)
        return (t, y, f, h, old), value

    start = times[0]
    f0 = slope(y0, start)
    h = stop_gradient(jnp.minimum(_first(slope, y0, f0, start, rtol, atol), hmax)
                      ).astype(times.dtype)
    old = [start, y0, f0, start, y0, f0, y0]
    _, values = scan(to, (start, y0, f0, h, old), times[1:])
    return jnp.concatenate([y0[None], values])


def _between(at: Any, t0: Any, y0: Any, f0: Any, t1: Any, y1: Any, f1: Any, middle: Any) -> Any:
    """The value of the quartic through both ends with their slopes, and through the middle."""
    h = t1 - t0
    x = (at - t0) / jnp.where(h == 0, 1, h)
    a = -2 * h * f0 + 2 * h * f1 - 8 * y0 - 8 * y1 + 16 * middle
    b = 5 * h * f0 - 3 * h * f1 + 18 * y0 + 14 * y1 - 32 * middle
    c = -4 * h * f0 + h * f1 - 11 * y0 - 5 * y1 + 16 * middle
    return ((((a * x + b) * x + c) * x + h * f0) * x + y0).astype(y0.dtype)


__all__ = ["odeint"]
__dir__ = _shown(globals())

"""Minima of functions.

A search is a loop that may be traced, mapped and differentiated in forward mode. For a minimum that
is differentiated through the equation it solves, there is `lax.custom_root`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.annotations import ArrayLike
from ..binding.tracebacks import front_door
from ..eager.operands import array_like, index_of
from ..lax.control_flow import cond, while_loop
from ..transforms.autodiff import value_and_grad


class OptimizeResults(NamedTuple):
    """What a search found.

    Args:
      x: the minimum.
      success: whether the gradient is small there.
      status: 0 for success, 1 where the iterations ran out, 3 where no step made the function
        smaller, 5 where the function or its gradient is not finite.
      fun, jac: value and gradient at x.
      hess_inv: an approximation of the inverse Hessian.
      nfev, njev, nit: the numbers of computed values and gradients, and of iterations.

    >>> found = optimize.minimize(lambda x: jnp.sum((x - 3) ** 2) + 1, jnp.zeros(2), method="BFGS")
    >>> int(found.status), found.fun
    (0, Array(1., dtype=float32))
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _Search(NamedTuple):
    """The state of the search."""

    x: Any
    f: Any
    g: Any
    inverse: Any
    calls: Any
    turns: Any
    failed: Any


class _Line(NamedTuple):
    """The state of the search along a line: the both ends of an interval with good points (the
    better end first), and the last point evaluated."""

    low: Any
    f_low: Any
    d_low: Any
    high: Any
    f_high: Any
    inside: Any           # the interval is known to contain good points
    t: Any
    f: Any
    g: Any
    done: Any
    calls: Any


_OPTIONS = ("maxiter", "norm", "gtol", "line_search_maxiter")


@front_door
def minimize(fun: Callable[..., Any], x0: ArrayLike, args: tuple = (), *, method: str,
             tol: float | None = None, options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A local minimum of a function of a vector.

    Args:
      fun: a function, `fun(x, *args)`, that returns a real scalar.
      x0: the point to start from, floats [n].
      method: "BFGS", the only one.
      tol: the norm of the gradient at which to stop, unless `options` has `gtol`.
      options: a dict of options of BFGS: `gtol`, this norm (1e-5), `norm`, its order (inf),
        `maxiter` (200 n) and `line_search_maxiter` (10).
    Returns: OptimizeResults, of arrays.
    Raises: ValueError for other methods; TypeError for other options, `args` that are not a tuple
      and another x0.
    Source: Nocedal and Wright, Numerical Optimization, 2006: algorithm 6.1, with the line search of
      algorithms 3.5 and 3.6; `scipy.optimize.minimize`.

    >>> found = optimize.minimize(lambda x: jnp.sum((x - 3) ** 2), jnp.zeros(2), method="BFGS")
    >>> found.success, found.x
    (Array(True, dtype=bool), Array([3., 3.], dtype=float32))
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {args!r}")
    if not isinstance(method, str) or method.lower() != "bfgs":
        raise ValueError(f"minimize: method must be 'BFGS', got {method!r}")
    given = {} if options is None else dict(options)
    for name in given:
        if name not in _OPTIONS:
            raise TypeError(f"minimize: options must be among {', '.join(_OPTIONS)}, got {name!r}")
    x = jnp.asarray(array_like("minimize", x0))
    if x.ndim != 1 or not jnp.issubdtype(x.dtype, jnp.floating):
        raise TypeError(f"minimize: x0 must be a vector of floats, got shape {x.shape} and dtype "
                        f"{x.dtype}; flatten_util.ravel_pytree makes a vector of a tree")
    limit = given.get("gtol", 1e-5 if tol is None else tol)
    turns = given.get("maxiter")
    turns = 200 * x.size if turns is None else index_of(turns, "minimize: maxiter")
    tries = index_of(given.get("line_search_maxiter", 10), "minimize: line_search_maxiter")
    order = given.get("norm", np.inf)
    return _bfgs(value_and_grad(lambda x: fun(x, *args)), x, limit, order, turns, tries)


def _bfgs(both: Callable[[Any], Any], x: Any, limit: Any, order: Any, turns: int, tries: int
          ) -> OptimizeResults:
    def small(g: Any) -> Any:
        return jnp.linalg.norm(g, ord=order) < limit

    def known(f: Any, g: Any) -> Any:
        return jnp.isfinite(f) & jnp.isfinite(g).all()

    def unfinished(s: _Search) -> Any:
        return ~small(s.g) & known(s.f, s.g) & (s.turns < turns) & ~s.failed

    def step(s: _Search) -> _Search:
        p = -_dot(s.inverse, s.g)
        # while nothing is known of the curvature, move by 1 at most
        first = jnp.where(s.turns == 0, jnp.minimum(1, 1 / jnp.linalg.norm(p)), 1).astype(x.dtype)
        line = _line(both, s.x, s.f, s.g, p, first, tries)
        change = line.t * p
        moved = s.x + change
        y = line.g - s.g
        rho = 1 / _dot(y, change)
        # the second Wolfe condition implies y^T s > 0; where that fails, keep the old inverse
        keep = ~(jnp.isfinite(rho) & (rho > 0))
        rho = jnp.where(keep, 0, rho)
        scale = jnp.where(s.turns == 0, 1 / (rho * _dot(y, y) + keep), 1)
        inverse = s.inverse * jnp.where(keep, 1, scale).astype(x.dtype)
        hy = _dot(inverse, y)
        update = ((1 + rho * _dot(y, hy)) * rho * jnp.outer(change, change)
                  - rho * (jnp.outer(hy, change) + jnp.outer(change, hy)))
        worse = ~(line.f <= s.f) | (line.t == 0)
        return _Search(moved, line.f, line.g, jnp.where(keep, s.inverse, inverse + update),
                       s.calls + line.calls, s.turns + 1, worse)

    f, g = both(x)
    start = _Search(x, f, g, jnp.eye(x.size, dtype=x.dtype), 1, 0, False)
    s = while_loop(unfinished, step, start)
    success, finite = small(s.g) & known(s.f, s.g), known(s.f, s.g)
    status = jnp.where(success, 0, jnp.where(~finite, 5, jnp.where(s.failed, 3, 1)))
    return OptimizeResults(s.x, success, status, s.f, s.g, s.inverse, s.calls, s.calls, s.turns)


def _dot(a: Any, b: Any) -> Any:
    """A product in the highest precision, whatever precision the user has set."""
    return jnp.matmul(a, b, precision="highest")


def _line(both: Callable[[Any], Any], x: Any, f0: Any, g0: Any, p: Any, first: Any, tries: int
          ) -> _Line:
    """A step along p that satisfies the strong Wolfe conditions, or the best one found.

    It doubles the step until an interval is known to hold good points. Then it evaluates the
    minimum of the parabola through the known values, or the interval's middle where that minimum
    is near an end.
    """
    d0 = _dot(g0, p)
    c1, c2 = 1e-4, 0.9

    def unfinished(s: _Line) -> Any:
        return ~s.done & (s.calls < tries)

    def step(s: _Line) -> _Line:
        width = s.high - s.low
        bend = 2 * (s.f_high - s.f_low - s.d_low * width)
        parabola = s.low - s.d_low * width * width / jnp.where(bend == 0, 1, bend)
        share = (parabola - s.low) / jnp.where(width == 0, 1, width)
        good = (bend > 0) & (share > 0.1) & (share < 0.9)
        t = jnp.where(s.inside, jnp.where(good, parabola, (s.low + s.high) / 2),
                      jnp.where(s.calls == 0, first, 2 * s.t)).astype(x.dtype)
        f, g = both(x + t * p)
        d = _dot(g, p)
        # a value that is not finite counts as too large: the step was too long
        bad = ~(f <= f0 + c1 * t * d0) | ~jnp.isfinite(d) | (f >= s.f_low) & (s.calls > 0)
        done = ~bad & (jnp.abs(d) <= -c2 * d0)
        # the new point is the better end, unless it is bad; the other end lies downhill from it
        turned = jnp.where(s.inside, d * width >= 0, d >= 0)
        high = jnp.where(bad, t, jnp.where(turned, s.low, s.high))
        f_high = jnp.where(bad, jnp.where(jnp.isfinite(f), f, jnp.inf), jnp.where(
            turned, s.f_low, s.f_high))
        return _Line(jnp.where(bad, s.low, t), jnp.where(bad, s.f_low, f),
                     jnp.where(bad, s.d_low, d), high, f_high, s.inside | bad | turned,
                     t, f, g, done, s.calls + 1)

    zero = jnp.zeros((), x.dtype)
    s = while_loop(unfinished, step, _Line(zero, f0, d0, zero, f0, False, zero, f0, g0, False, 0))
    best = jnp.where(s.done, s.t, s.low)
    again = ~s.done & (s.low != s.t)
    # the loop keeps the gradient of the last point
    f, g = cond(again, lambda: both(x + best * p), lambda: (s.f, s.g))
    return s._replace(t=best, f=f, g=g, calls=s.calls + again)


__all__ = ["OptimizeResults", "minimize"]
__dir__ = _shown(globals())

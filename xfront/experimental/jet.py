"""Taylor series through a function: `jet`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..base.trees import tree_flatten, tree_unflatten
from ..binding.tracebacks import front_door
from ..eager.operands import is_array_like
from ..transforms.autodiff import jvp
from ..transforms.jit import jit


@front_door
def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]],
        factorial_scaled: bool = True) -> tuple[Any, Any]:
    """The Taylor series of `fun(x(t))` at t = 0, from the Taylor series of its arguments x.

    It is computed by repeated differentiation with respect to t, so control flow and custom rules
    work. Each order makes the program about twice as large as the order before.

    Args:
      fun: a function of arrays that returns a tree of arrays.
      primals: sequence of the values x(0), an array for each argument of `fun`.
      series: sequence with the terms of each argument, equally many: the derivatives of x at 0,
        from the first on, arrays of the shape of x(0).
      factorial_scaled: whether terms are derivatives, as by default; otherwise they are the
        coefficients of powers of t, the derivatives over factorials.
    Returns: `fun(*primals)`, and a tree like it with a list of the terms in place of each leaf.
      The terms of integers and bools are zeros.
    Raises: ValueError where the numbers of terms or arguments differ; TypeError where a primal or a
      term is not an array.

    >>> jet.jet(lambda x: x ** 2, (3.0,), ([1.0, 0.0],))
    (Array(9., dtype=float32, weak_type=True), [Array(6., dtype=float32, weak_type=True), \
Array(2., dtype=float32, weak_type=True)])
    """
    primals, terms = list(primals), [list(given) for given in series]
    order = _order(primals, terms)
    scale = [1 / math.factorial(k + 1) if factorial_scaled else 1.0 for k in range(order)]
    out_tree: Any = None

    def value_and_terms(primals: list[Any], terms: list[list[Any]]
                        ) -> tuple[list[Any], list[list[Any]]]:
        def at(t: Any) -> list[Any]:
            nonlocal out_tree
            made = []
            for x, given in zip(primals, terms, strict=True):
                rest: Any = 0.0
                for term, by in zip(given[::-1], scale[::-1], strict=True):
                    rest = t * (term * by + rest)
                made.append(x + rest)
            leaves, out_tree = tree_flatten(fun(*made))
            return leaves

        def inexact(t: Any) -> list[Any]:
            return [x for x in map(jnp.asarray, at(t)) if jnp.issubdtype(x.dtype, np.inexact)]

        value = at(0.0) if order else tree_leaves_of(fun, primals)
        derivatives: Callable[[Any], list[list[Any]]] = lambda t: [inexact(t)]
        for _ in range(order):
            derivatives = _one_more(derivatives)
        found = iter(zip(*derivatives(0.0)[1:], strict=True)) if order else iter(())
        made = []
        for x in value:
            if not order:
                made.append([])
            elif jnp.issubdtype(jnp.asarray(x).dtype, np.inexact):
                made.append([d if factorial_scaled else d * (1 / math.factorial(k + 1))
                             for k, d in enumerate(next(found))])
            else:
                made.append([jnp.zeros(jnp.shape(x))] * order)
        return value, made

    def tree_leaves_of(fun: Callable[..., Any], primals: list[Any]) -> list[Any]:
        nonlocal out_tree
        leaves, out_tree = tree_flatten(fun(*primals))
        return leaves

    value, made = jit(value_and_terms)(primals, terms)
    return tree_unflatten(out_tree, value), tree_unflatten(out_tree, made)


def _one_more(derivatives: Callable[[Any], list[list[Any]]]) -> Callable[[Any], list[list[Any]]]:
    """The function `derivatives` of t, extended by the derivative of the next order."""
    def more(t: Any) -> list[list[Any]]:
        values, slopes = jvp(derivatives, (t,), (1.0,))
        return [*values, slopes[-1]]

    return more


def _order(primals: list[Any], terms: list[list[Any]]) -> int:
    """The number of terms of each series. Raises: TypeError, ValueError, as `jet`."""
    for i, given in enumerate(zip(primals, terms, strict=False)):
        if not all(map(is_array_like, (given[0], *given[1]))):
            raise TypeError(f"jet: primal value and terms at position {i} must be arrays, got "
                            f"{given[0]!r} and {given[1]!r}; pass the leaves of trees as separate "
                            "arguments")
    if len(primals) != len(terms) or len({len(given) for given in terms}) > 1:
        raise ValueError("jet: terms have inconsistent lengths for different arguments: "
                         f"{[len(given) for given in terms]} for {len(primals)}")
    return len(terms[0]) if terms else 0


jet2 = functools.partial(jet, factorial_scaled=False)
"""`jet` of terms that are coefficients of powers of t."""

__all__ = ["jet", "jet2"]
__dir__ = _shown(globals())

"""Solutions that are differentiated by the equation they solve, not by how they were found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import float0
from ..transforms.autodiff import jvp
from ..transforms.custom import closure_convert, custom_jvp
from ..tree_util import tree_map, tree_structure
from .elementwise import neg
from .shape import full_like


def custom_root(f: Callable[[Any], Any], initial_guess: Any,
                solve: Callable[[Callable[[Any], Any], Any], Any],
                tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
                has_aux: bool = False) -> Any:
    """The x with `f(x) = 0` that `solve` finds, with the derivative of the implicit function.

    Args:
      f: maps a tree of arrays to a tree of the same structure, shapes and dtypes; it may close over
        traced values, by which the solution is then differentiated.
      initial_guess: where `solve` starts; the solution does not depend on it.
      solve: `solve(f, initial_guess) -> x`, or `(x, aux)` with `has_aux`; is not differentiated.
      tangent_solve: `tangent_solve(g, y) -> v` with `g(v) = y` for a linear g; must itself be
        linear in y, and so able to be transposed, for reverse mode.
      has_aux: whether `solve` gives a pair whose second part is handed through.
    Returns: x, or `(x, aux)`.
    Raises: TypeError where f or `solve` gives another structure than the guess.
    Source: the implicit function theorem; df/dx dx = -df/da da.

    >>> xfront.grad(lambda a: lax.custom_root(lambda x: x ** 2 - a, 1.0, newton,
    ...                                       lambda g, y: y / g(1.0)))(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    wanted = tree_structure(initial_guess)
    closed, captured = closure_convert(f, initial_guess)

    def solution(result: Any) -> Any:
        if has_aux and (not isinstance(result, (tuple, list)) or len(result) != 2):
            raise TypeError("custom_root: with has_aux=True, solve returns a pair (x, aux), got "
                            f"{tree_structure(result)}")
        return result[0] if has_aux else result

    def check(what: str, tree: Any) -> None:
        if tree_structure(tree) != wanted:
            raise TypeError(f"custom_root: {what} has structure {tree_structure(tree)}, "
                            f"initial_guess has {wanted}")

    @custom_jvp
    def root(guess: Any, values: list) -> Any:
        def residual(x: Any) -> Any:
            made = closed(x, *values)
            check("the result of f", made)
            return made

        result = solve(residual, guess)
        check("the solution", solution(result))
        return result

    @root.defjvp
    def root_jvp(primals: tuple, tangents: tuple) -> tuple:
        (guess, values), (_, dots) = primals, tangents
        result = root(guess, values)
        x = solution(result)
        moved = jvp(lambda *values: closed(x, *values), values, dots)[1]
        dx = tangent_solve(lambda v: jvp(lambda x: closed(x, *values), (x,), (v,))[1],
                           tree_map(neg, moved))
        check("the result of tangent_solve", dx)
        return result, ((dx, tree_map(_zero, result[1])) if has_aux else dx)

    return root(initial_guess, captured)


def _zero(x: Any) -> Any:
    """The zero tangent of an array."""
    if np.issubdtype(x.dtype, np.inexact):
        return full_like(x, 0)
    return np.zeros(x.shape, float0)


__all__ = ["custom_root"]

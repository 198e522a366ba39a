"""Solutions that are differentiated through the equation they solve, not the way to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numpy as np
from xfront_ir import ops
from xfront_ir.ops.linear_call import transposed_matvec
from xfront_ir.passes.inline import inline_calls

from ..base.dtypes import float0
from ..base.trees import tree_flatten, tree_map, tree_structure, tree_unflatten
from ..running.programs import bind
from ..transforms.autodiff import jvp
from ..transforms.custom_jvp import custom_jvp
from ..transforms.custom_vjp import converted
from ..transforms.flat import Flat, as_operand, kind_of, trace_call
from .control_flow import join_captures, record_groups
from .elementwise import neg
from .shape import full_like

T = TypeVar("T")
Aux = TypeVar("Aux")


@overload
def custom_root(f: Callable[[T], T], initial_guess: T,
                solve: Callable[[Callable[[T], T], T], T],
                tangent_solve: Callable[[Callable[[T], T], T], T],
                has_aux: Literal[False] = False) -> T: ...
@overload
def custom_root(f: Callable[[T], T], initial_guess: T,
                solve: Callable[[Callable[[T], T], T], tuple[T, Aux]],
                tangent_solve: Callable[[Callable[[T], T], T], T],
                has_aux: Literal[True]) -> tuple[T, Aux]: ...
@overload
def custom_root(f: Callable[[T], T], initial_guess: T,
                solve: Callable[[Callable[[T], T], T], Any],
                tangent_solve: Callable[[Callable[[T], T], T], T],
                has_aux: bool) -> T | tuple[T, Any]: ...
def custom_root(f: Callable[[Any], Any], initial_guess: Any,
                solve: Callable[[Callable[[Any], Any], Any], Any],
                tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
                has_aux: bool = False) -> Any:
    """The x with `f(x) = 0` that `solve` finds, with the derivative of the implicit function.

    Args:
      f: maps a tree of arrays to a tree of the same structure, shapes and dtypes; it may close over
        traced values, with respect to which the solution is then differentiated.
      initial_guess: where `solve` starts; the solution does not depend on it.
      solve: `solve(f, initial_guess) -> x`, or `(x, aux)` with `has_aux`; is not differentiated,
        whatever it closes over, and is traced.
      tangent_solve: `tangent_solve(g, y) -> v` with `g(v) = y` for a linear g; must itself be
        linear in y, and so able to be transposed, for reverse mode.
      has_aux: whether `solve` returns a pair, whose second part is returned as it is.
    Returns: x, or `(x, aux)`.
    Raises: TypeError where the result of f or `solve` differs in structure from the guess;
      ValueError where `solve` returns no pair with `has_aux`.
    Source: the implicit function theorem; df/dx dx = -df/da da.

    >>> xfront.grad(lambda a: lax.custom_root(lambda x: x ** 2 - a, 1.0, newton,
    ...                                       lambda g, y: y / g(1.0)))(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    wanted = tree_structure(initial_guess)
    closed, captured = converted(f, (initial_guess,), lambda x: True)

    def solution(result: Any) -> Any:
        if has_aux and (not isinstance(result, (tuple, list)) or len(result) != 2):
            raise ValueError("custom_root: with has_aux=True, solve must return a pair (x, aux), "
                            f"got {tree_structure(result)}")
        return result[0] if has_aux else result

    def check(what: str, tree: Any) -> None:
        if tree_structure(tree) != wanted:
            raise TypeError(f"custom_root: {what} has structure {tree_structure(tree)}, but "
                            f"initial_guess has structure {wanted}")

    def solve_with(guess: Any, values: list) -> Any:
        def residual(x: Any) -> Any:
            made = closed(x, *values)
            check("the result of f", made)
            return made

        result = solve(residual, guess)
        check("the solution", solution(result))
        return result

    solved, held = converted(solve_with, (initial_guess, captured), lambda x: True)

    @custom_jvp
    def root(guess: Any, values: list, held: list) -> Any:
        return solved(guess, values, *held)

    @root.defjvp
    def root_jvp(primals: tuple, tangents: tuple) -> tuple:
        (guess, values, held), (_, dots, _) = primals, tangents
        result = root(guess, values, held)
        x = solution(result)
        moved = jvp(lambda *values: closed(x, *values), values, dots)[1]
        dx = tangent_solve(lambda v: jvp(lambda x: closed(x, *values), (x,), (v,))[1],
                           tree_map(neg, moved))
        check("the result of tangent_solve", dx)
        return result, ((dx, tree_map(_zero, result[1])) if has_aux else dx)

    return root(initial_guess, captured, held)


@overload
def custom_linear_solve(matvec: Callable[[T], T], b: T,
                        solve: Callable[[Callable[[T], T], T], T],
                        transpose_solve: Callable[[Callable[[T], T], T], T] | None = None,
                        symmetric: bool = False, has_aux: Literal[False] = False) -> T: ...
@overload
def custom_linear_solve(matvec: Callable[[T], T], b: T,
                        solve: Callable[[Callable[[T], T], T], tuple[T, Aux]],
                        transpose_solve: Callable[[Callable[[T], T], T], Any] | None = None,
                        symmetric: bool = False, *, has_aux: Literal[True]) -> tuple[T, Aux]: ...
@overload
def custom_linear_solve(matvec: Callable[[T], T], b: T,
                        solve: Callable[[Callable[[T], T], T], Any],
                        transpose_solve: Callable[[Callable[[T], T], T], Any] | None = None,
                        symmetric: bool = False, *, has_aux: bool) -> T | tuple[T, Any]: ...
def custom_linear_solve(matvec: Callable[[Any], Any], b: Any,
                        solve: Callable[[Callable[[Any], Any], Any], Any],
                        transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
                        symmetric: bool = False, has_aux: bool = False) -> Any:
    """The x with `matvec(x) = b` that `solve` finds, differentiated through the system.

    Args:
      matvec: a linear function from trees like `b` to trees like `b`; it may close over traced
        values, with respect to which the solution is then differentiated.
      b: the right side, a tree of float or complex arrays.
      solve: `solve(matvec, b) -> x`, or `(x, aux)` with `has_aux`; is not differentiated.
      transpose_solve: `transpose_solve(vecmat, ct) -> y`, as `solve` for the transposed system;
        needed for reverse mode, unless `symmetric`.
      symmetric: whether matvec is its own transpose, so that `solve` solves both systems.
      has_aux: whether both solvers return a pair, whose second part is returned as it is and has no
        derivative.
    Returns: x, with the structure and types of b, or `(x, aux)`.
    Raises: TypeError where the result of matvec or of a solver differs from b in structure or
      dtypes, ValueError where it does in shapes.
    Source: differentiate A x = b: A dx = db - dA x; the transpose of b -> x solves with A^T.

    >>> A = jnp.array([[2.0, 0.0], [0.0, 4.0]])
    >>> lax.custom_linear_solve(lambda x: A @ x, jnp.ones(2), lambda mv, b: b / jnp.diag(A))
    Array([0.5 , 0.25], dtype=float32)
    """
    leaves, tree = tree_flatten(b)
    kinds = [(kind_of("custom_linear_solve", x)[0], False) for x in leaves]
    n = len(kinds)
    for t, _ in kinds:
        if not t.is_inexact:
            raise TypeError(f"custom_linear_solve: b must be float or complex, got {t}")

    def checked(what: str, result: Any) -> list[Any]:
        flat, got = tree_flatten(result)
        if got != tree:
            raise TypeError(f"custom_linear_solve: the result of {what} has structure {got}, but b "
                            f"has structure {tree}")
        for i, (x, (t, _)) in enumerate(zip(flat, kinds, strict=True)):
            found = kind_of(what, x)[0]
            if found is not t:
                raise (TypeError if found.shape == t.shape else ValueError)(
                                f"custom_linear_solve: leaf {i} of the result of {what} has type "
                                f"{found}, but that leaf of b has type {t}")
        return flat

    def traced(what: str, call: Callable[[Any], Any]) -> Flat:
        return trace_call(lambda ts: call(tree_unflatten(tree, ts)), kinds, name=what,
                          kind="custom_linear_solve", staging=True)

    def solution(what: str, made: Any) -> tuple[list[Any], Any]:
        if has_aux and (not isinstance(made, (tuple, list)) or len(made) != 2):
            raise TypeError(f"custom_linear_solve: with has_aux=True, {what} must return a pair "
                            f"(x, aux), got {tree_structure(made)}")
        return (checked(what, made[0]), made[1]) if has_aux else (checked(what, made), None)

    product = traced("matvec", lambda x: checked("matvec", matvec(x)))
    solved = traced("solve", lambda b: solution("solve", solve(matvec, b)))
    bodies = [product, solved]
    if symmetric:
        transpose_solve = transpose_solve or solve
    if transpose_solve is not None:
        solver = transpose_solve
        vecmat = matvec if symmetric else _transposed(product, tree, n)
        bodies.append(traced("transpose_solve", lambda ct: solution(
            "transpose_solve", solver(vecmat, ct))[0]))
    captures, made = join_captures(bodies, [n] * len(bodies))
    results = record_groups(ops.custom_linear_solve, ([*map(as_operand, leaves)], captures),
                            solved.function.weak_returns, matvec=made[0], solve=made[1],
                            transpose_solve=made[2] if len(made) == 3 else None)
    x, aux = tree_unflatten(solved.out_tree, results)
    x = tree_unflatten(tree, x)
    return (x, aux) if has_aux else x


def _transposed(product: Flat, tree: Any, n: int) -> Callable[[Any], Any]:
    """The map y -> A^T y, for a traced map x -> A x."""
    back = transposed_matvec(inline_calls(product.function), n)

    def vecmat(y: Any) -> Any:
        flat, _ = tree_flatten(y)
        return tree_unflatten(tree, bind(back, [*map(as_operand, flat), *product.captures],
                                         name="vecmat"))

    return vecmat


def _zero(x: Any) -> Any:
    """The zero tangent of an array."""
    if np.issubdtype(x.dtype, np.inexact):
        return full_like(x, 0)
    return np.zeros(x.shape, float0)


__all__ = ["custom_linear_solve", "custom_root"]

"""Linear maps that come with their transpose, and solutions of linear systems.

    linear_call(*linear, *constants) {body, transposed, n_linear}
        body(linear, constants) -> results; transposed(results' cotangents, constants) -> cotangents
    custom_linear_solve(*b, *constants) {matvec, solve, transpose_solve, n}
        matvec(x, constants) -> A x; solve(b, constants) -> x and auxiliary results;
        transpose_solve(ct, constants) -> y with A^T y = ct, or None: then there is no transpose

The derivative of a solution follows from the system, not from the solver: A dx = db - dA x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import LINEAR
from ..errors import IRTypeError, MissingRule
from ..opdef import FUNCTION, INT, define, optional
from ..passes.bodies import Flags, jvp_to, linear_transpose, remembered, strong, vectorize
from ..placed_builder import PlacedBuilder
from ..regions import REST, Body, Regions, cut
from ..types import TensorType, plain
from .elementwise import sub
from .families import move_batch, sum_tangents

if TYPE_CHECKING:
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Values

Types = tuple[TensorType, ...]


def _check_types(name: str, what: str, wanted: Sequence[TensorType], got: Sequence[TensorType]
                 ) -> None:
    if plain(wanted) != plain(got):
        raise IRTypeError(f"{name}: {what} must be {', '.join(map(str, wanted))}, got "
                          f"{', '.join(map(str, got))}")


def _with_zeros(b: Builder, values: Sequence[Value], tangents: Sequence[Value | None]
                ) -> list[Value]:
    """The tangents, with zeros in place of None."""
    return [b.zeros(v.type) if t is None else t for v, t in zip(values, tangents, strict=True)]


def _in_front(b: Builder, values: Sequence[Value], positions: Sequence[int | None], size: int
              ) -> list[Value]:
    return [move_batch(b, v, p, 0, size) for v, p in zip(values, positions, strict=True)]


def _batched(body: Function, n: int, places: Sequence[int | None], axis: Any, out: int) -> Function:
    """A body over a batch. Its first n operands and its first `out` results have their batch axis
    in front; the later operands have theirs at `places`."""
    kept = (*(0,) * out, *(None,) * (len(body.returns) - out))
    return vectorize(body, (*(0,) * n, *places), axis, kept)[0]


# --- linear_call --------------------------------------------------------------------------------

MAP = Regions({"linear": "n_linear", "constants": REST}, {"results": REST},
              {"body": Body(("linear", "constants"), ("results",), "constants"),
               "transposed": Body(("results", "constants"), ("linear",), "constants")},
              value="body")


def _infer_linear_call(types: Types, attrs: Attrs) -> Types:
    body, transposed = attrs["body"], attrs["transposed"]
    linear, constants = MAP.split(attrs, types)
    results = body.return_types
    _check_types("linear_call", "parameters of the body", types, body.param_types)
    _check_types("linear_call", "parameters of the transpose", (*results, *constants),
                 transposed.param_types)
    _check_types("linear_call", "results of the transpose", linear, transposed.return_types)
    return results


def _jvp_linear_call(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The map applied to the tangents, plus the derivative of the body by the constants."""
    linear, constants = MAP.split(op.attrs, op.operands)
    moved, dots = MAP.split(op.attrs, tangents)
    totals: list[Value | None] = [None] * len(op.results)
    if any(t is not None for t in moved):
        totals = list(b.emit(linear_call, *_with_zeros(b, linear, moved), *constants, **op.attrs))
    by_constants = (*[False] * len(linear), *[t is not None for t in dots])
    if any(by_constants):
        out = tuple([v.type.is_inexact for v in op.results])
        pushed = jvp_to(op.attrs["body"], by_constants, out)
        made = b.inline(pushed, (*op.operands, *[t for t in dots if t is not None]))
        more = iter(cut(made, len(op.results))[1])
        totals = [sum_tangents(b, t, next(more)) if o else t
                  for t, o in zip(totals, out, strict=True)]
    return totals


def _transpose_linear_call(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                          ) -> NewTangents:
    attrs, (_, constants) = op.attrs, MAP.split(op.attrs, known)
    if LINEAR in constants:
        raise MissingRule("linear_call is linear in its linear operands only")
    made = MAP.emit(b.emit, linear_call, (_with_zeros(b, op.results, cotangents), constants),
                    body=attrs["transposed"], transposed=attrs["body"])
    return (*made, *[None] * len(constants))


def _batch_linear_call(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                       ) -> Batched:
    attrs, n_out = op.attrs, len(op.results)
    linear, constants = MAP.split(attrs, operands)
    of_linear, places = MAP.split(attrs, positions)
    n = len(linear)
    made = MAP.emit(b.emit, linear_call, (_in_front(b, linear, of_linear, axis[1]), constants),
                    body=_batched(attrs["body"], n, places, axis, n_out),
                    transposed=_batched(attrs["transposed"], n_out, places, axis, n))
    return made, (0,) * n_out


def _strong_linear_call(op: Op, linear: Flags) -> Any:
    attrs, of_results = op.attrs, (True,) * len(op.results)
    of_linear, of_constants = ((flag,) * len(group) for flag, group in
                               zip((True, False), MAP.split(attrs, linear), strict=True))
    body, _ = strong(attrs["body"], (*of_linear, *of_constants))
    transposed, _ = strong(attrs["transposed"], (*of_results, *of_constants))
    return op.definition, {**attrs, "body": body, "transposed": transposed}, of_results


linear_call = define("linear_call", attrs={"body": FUNCTION, "transposed": FUNCTION,
                                           "n_linear": INT},
                     infer=_infer_linear_call, single=False, jvp=_jvp_linear_call,
                     transpose=_transpose_linear_call, batch=_batch_linear_call,
                     strong=_strong_linear_call, regions=MAP)


# --- custom_linear_solve ------------------------------------------------------------------------

SYSTEM = Regions({"b": "n", "constants": REST}, {"solution": "n", "more": REST},
                 {"matvec": Body(("b", "constants"), ("b",), "constants"),
                  "solve": Body(("b", "constants"), ("solution", "more"), "constants"),
                  "transpose_solve": Body(("b", "constants"), ("solution",), "constants")},
                 value="solve")


def _infer_solve(types: Types, attrs: Attrs) -> Types:
    name, back = "custom_linear_solve", attrs.get("transpose_solve")
    for key in ("matvec", "solve", "transpose_solve"):
        if attrs.get(key) is not None:
            _check_types(name, f"parameters of {key}", types, attrs[key].param_types)
    rhs, _ = SYSTEM.split(attrs, types)
    solution, _ = SYSTEM.split_results(attrs, attrs["solve"].return_types)
    _check_types(name, "results of matvec", rhs, attrs["matvec"].return_types)
    _check_types(name, "solutions", rhs, solution)
    if back is not None:
        _check_types(name, "solutions of the transpose", rhs, back.return_types)
    return attrs["solve"].return_types


def _jvp_solve(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    attrs = op.attrs
    rhs, constants = SYSTEM.split(attrs, op.operands)
    moved, dots = SYSTEM.split(attrs, tangents)
    solution, more = SYSTEM.split_results(attrs, op.results)
    rhs, n = _with_zeros(b, rhs, moved), len(rhs)
    by_constants = (*[False] * n, *[t is not None for t in dots])
    if any(by_constants):
        pushed = jvp_to(attrs["matvec"], by_constants, (True,) * n)
        made = b.inline(pushed, (*solution, *constants, *[t for t in dots if t is not None]))
        rhs = [b.emit(sub, d, m) for d, m in zip(rhs, cut(made, n)[1], strict=True)]
    made = b.emit(custom_linear_solve, *rhs, *constants,
                  **{**attrs, "solve": _solution(attrs["solve"], n)})
    return (*made, *[None] * len(more))


def _solution(solve: Function, n: int) -> Function:
    """`solve` without its auxiliary results."""
    return solve if len(solve.returns) == n else remembered(
        solve, ("solution", n), lambda: solve.replace(returns=solve.returns[:n], weak_returns=()))


def _transpose_solve(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs, (rhs, constants) = op.attrs, SYSTEM.split(op.attrs, known)
    n = len(rhs)
    if attrs.get("transpose_solve") is None:
        raise IRTypeError("custom_linear_solve needs transpose_solve or symmetric=True for reverse "
                          "mode, but neither was given")
    if LINEAR in constants:
        raise MissingRule("the solution of a linear system is linear in b only")
    cts, _ = SYSTEM.split_results(attrs, _with_zeros(b, op.results, cotangents))
    made = SYSTEM.emit(b.emit, custom_linear_solve, (cts, constants),
                       matvec=transposed_matvec(attrs["matvec"], n), solve=attrs["transpose_solve"],
                       transpose_solve=_solution(attrs["solve"], n))
    return (*made, *[None] * len(constants))


def transposed_matvec(matvec: Function, n: int) -> Function:
    """The Function (y, constants) -> A^T y, from a Function (x, constants) -> A x."""
    def make() -> Function:
        x, constants = cut(matvec.params, n)
        linear = (*[True] * n, *[False] * len(constants))
        back, active = linear_transpose(matvec, linear, (True,) * n)
        b = PlacedBuilder(f"{matvec.name}_transpose")
        y, given = ([b.param(v.type) for v in group] for group in (matvec.returns, constants))
        made = iter(b.inline(back, (*given, *y)))
        return b.close([next(made) if a else b.zeros(v.type)
                        for v, a in zip(x, active, strict=True)])

    return remembered(matvec, ("transposed_matvec", n), make)


def _batch_solve(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    attrs = dict(op.attrs)
    rhs, constants = SYSTEM.split(attrs, operands)
    of_rhs, places = SYSTEM.split(attrs, positions)
    _, more = SYSTEM.split_results(attrs, op.results)
    n = len(rhs)
    for key in ("matvec", "transpose_solve"):
        if attrs.get(key) is not None:
            attrs[key] = _batched(attrs[key], n, places, axis, n)
    attrs["solve"], out = vectorize(attrs["solve"], (*(0,) * n, *places), axis,
                                    (*(0,) * n, *(None,) * len(more)))
    made = b.emit(custom_linear_solve, *_in_front(b, rhs, of_rhs, axis[1]), *constants, **attrs)
    return made, out


custom_linear_solve = define(
    "custom_linear_solve", attrs={"matvec": FUNCTION, "solve": FUNCTION,
                                  "transpose_solve": optional(FUNCTION), "n": INT},
    infer=_infer_solve, single=False, jvp=_jvp_solve, transpose=_transpose_solve,
    batch=_batch_solve, regions=SYSTEM)


__all__ = ["custom_linear_solve", "linear_call", "transposed_matvec"]

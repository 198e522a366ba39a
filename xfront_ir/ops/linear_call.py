"""Linear maps that come with their transpose, and solutions of linear systems.

    linear_call(*linear, *constants) {body, transposed, n_linear}
        body(linear, constants) -> results; transposed(results' cotangents, constants) -> cotangents
    custom_linear_solve(*b, *constants) {matvec, solve, transpose_solve, n}
        matvec(x, constants) -> A x; solve(b, constants) -> x and what else it gives;
        transpose_solve(ct, constants) -> y with A^T y = ct, or None: then there is no transpose

A solution is differentiated by the system, not by how it was found: A dx = db - dA x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import Builder
from ..core import Function, Op, Value
from ..errors import IRTypeError, MissingRule
from ..opdef import FUNCTION, INT, LINEAR, define, optional
from ..passes.bodies import Flags, jvp_to, linear_transpose, remembered, strong, vectorize
from ..types import TensorType
from .elementwise import sub
from .families import move_batch, sum_tangents, thread_last

Types = tuple[TensorType, ...]


def _check_types(name: str, what: str, wanted: Types, got: Types) -> None:
    if wanted != got:
        raise IRTypeError(f"{name}: {what} are {list(got)}, must be {list(wanted)}")


def _whole(b: Any, values: Sequence[Value], tangents: Sequence[Value | None]) -> list[Value]:
    """Tangents with zeros where there is none."""
    return [b.zeros(v.type) if t is None else t for v, t in zip(values, tangents, strict=True)]


def _in_front(b: Any, values: Sequence[Value], positions: Sequence[int | None], size: int
              ) -> list[Value]:
    return [move_batch(b, v, p, 0, size) for v, p in zip(values, positions, strict=True)]


def _batched(body: Function, n: int, places: Sequence[int | None], axis: Any, out: int) -> Function:
    """A body over a batch of its first n operands, which have it in front; so have `out` results,
    and all later ones where they are."""
    kept = (*(0,) * out, *(None,) * (len(body.returns) - out))
    return vectorize(body, (*(0,) * n, *places), axis, kept)[0]


# --- linear_call --------------------------------------------------------------------------------

def _infer_linear_call(types: Types, attrs: Any) -> Types:
    body, transposed, n = attrs["body"], attrs["transposed"], attrs["n_linear"]
    results = body.return_types
    _check_types("linear_call", "parameters of the body", types, body.param_types)
    _check_types("linear_call", "parameters of the transpose", (*results, *types[n:]),
                 transposed.param_types)
    _check_types("linear_call", "results of the transpose", types[:n], transposed.return_types)
    return results


def _jvp_linear_call(b: Any, op: Op, tangents: Any) -> Any:
    """The map of the tangents; and by its constants the derivative of its body."""
    n, body = op.attrs["n_linear"], op.attrs["body"]
    totals: list[Value | None] = [None] * len(op.results)
    if any(t is not None for t in tangents[:n]):
        moved = _whole(b, op.operands[:n], tangents[:n])
        totals = list(b.emit(linear_call, *moved, *op.operands[n:], **op.attrs))
    by_constants = (*[False] * n, *[t is not None for t in tangents[n:]])
    if any(by_constants):
        out = tuple([v.type.is_inexact for v in op.results])
        pushed = jvp_to(body, by_constants, out)
        dots = [t for t in tangents[n:] if t is not None]
        made = iter(b.inline(pushed, (*op.operands, *dots))[len(op.results):])
        totals = [sum_tangents(b, t, next(made)) if o else t
                  for t, o in zip(totals, out, strict=True)]
    return totals


def _transpose_linear_call(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    n, attrs = op.attrs["n_linear"], op.attrs
    constants = known[n:]
    if LINEAR in constants:
        raise MissingRule("linear_call is linear in its linear operands only")
    made = b.emit(linear_call, *_whole(b, op.results, cotangents), *constants,
                  body=attrs["transposed"], transposed=attrs["body"], n_linear=len(op.results))
    return (*made, *[None] * len(constants))


def _batch_linear_call(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    n, attrs, places = op.attrs["n_linear"], op.attrs, positions[op.attrs["n_linear"]:]
    n_out = len(op.results)
    made = b.emit(linear_call, *_in_front(b, operands[:n], positions[:n], axis[1]), *operands[n:],
                  body=_batched(attrs["body"], n, places, axis, n_out),
                  transposed=_batched(attrs["transposed"], n_out, places, axis, n), n_linear=n)
    return made, (0,) * n_out


def _strong_linear_call(op: Op, linear: Flags) -> Any:
    n, attrs = op.attrs["n_linear"], op.attrs
    constants = (False,) * (len(linear) - n)
    body, _ = strong(attrs["body"], (*(True,) * n, *constants))
    transposed, _ = strong(attrs["transposed"], (*(True,) * len(op.results), *constants))
    return op.definition, {**attrs, "body": body, "transposed": transposed}, (
        True,) * len(op.results)


linear_call = define("linear_call", attrs={"body": FUNCTION, "transposed": FUNCTION,
                                           "n_linear": INT},
                     infer=_infer_linear_call, single=False, jvp=_jvp_linear_call,
                     transpose=_transpose_linear_call, batch=_batch_linear_call,
                     strong=_strong_linear_call, thread=thread_last)


# --- custom_linear_solve ------------------------------------------------------------------------

def _infer_solve(types: Types, attrs: Any) -> Types:
    name, n, back = "custom_linear_solve", attrs["n"], attrs.get("transpose_solve")
    for key in ("matvec", "solve", "transpose_solve"):
        if attrs.get(key) is not None:
            _check_types(name, f"parameters of {key}", types, attrs[key].param_types)
    _check_types(name, "results of matvec", types[:n], attrs["matvec"].return_types)
    _check_types(name, "solutions", types[:n], attrs["solve"].return_types[:n])
    if back is not None:
        _check_types(name, "solutions of the transpose", types[:n], back.return_types)
    return attrs["solve"].return_types


def _jvp_solve(b: Any, op: Op, tangents: Any) -> Any:
    n, attrs = op.attrs["n"], op.attrs
    rhs = _whole(b, op.operands[:n], tangents[:n])
    by_constants = (*[False] * n, *[t is not None for t in tangents[n:]])
    if any(by_constants):
        pushed = jvp_to(attrs["matvec"], by_constants, (True,) * n)
        moved = b.inline(pushed, (*op.results[:n], *op.operands[n:],
                                  *[t for t in tangents[n:] if t is not None]))[n:]
        rhs = [b.emit(sub, d, m) for d, m in zip(rhs, moved, strict=True)]
    dots = b.emit(custom_linear_solve, *rhs, *op.operands[n:],
                  **{**attrs, "solve": _solution(attrs["solve"], n)})
    return (*dots, *[None] * (len(op.results) - n))


def _solution(solve: Function, n: int) -> Function:
    """`solve` without what it gives beside the solution."""
    return solve if len(solve.returns) == n else remembered(
        solve, ("solution", n), lambda: solve.replace(returns=solve.returns[:n], weak_returns=()))


def _transpose_solve(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    n, attrs, constants = op.attrs["n"], op.attrs, known[op.attrs["n"]:]
    if attrs.get("transpose_solve") is None:
        raise MissingRule("custom_linear_solve was not given a transpose_solve (nor that it is "
                          "symmetric), which reverse mode needs")
    if LINEAR in constants:
        raise MissingRule("the solution of a linear system is linear in b only")
    made = b.emit(custom_linear_solve, *_whole(b, op.results, cotangents)[:n], *constants,
                  matvec=transposed_matvec(attrs["matvec"], n), solve=attrs["transpose_solve"],
                  transpose_solve=_solution(attrs["solve"], n), n=n)
    return (*made, *[None] * len(constants))


def transposed_matvec(matvec: Function, n: int) -> Function:
    """(y, constants) -> A^T y, of a Function (x, constants) -> A x."""
    def make() -> Function:
        linear = tuple([i < n for i in range(len(matvec.params))])
        back, active = linear_transpose(matvec, linear, (True,) * n)
        b = Builder(f"{matvec.name}_transpose")
        y = [b.param(v.type) for v in matvec.returns]
        constants = [b.param(v.type) for v in matvec.params[n:]]
        made = iter(b.inline(back, (*constants, *y)))
        return b.close([next(made) if a else b.zeros(v.type)
                        for v, a in zip(matvec.params, active, strict=False)])

    return remembered(matvec, ("transposed_matvec", n), make)


def _batch_solve(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    n, attrs, places = op.attrs["n"], dict(op.attrs), positions[op.attrs["n"]:]
    for key in ("matvec", "transpose_solve"):
        if attrs.get(key) is not None:
            attrs[key] = _batched(attrs[key], n, places, axis, n)
    n_rest = len(op.results) - n
    attrs["solve"], out = vectorize(attrs["solve"], (*(0,) * n, *places), axis,
                                    (*(0,) * n, *(None,) * n_rest))
    made = b.emit(custom_linear_solve, *_in_front(b, operands[:n], positions[:n], axis[1]),
                  *operands[n:], **attrs)
    return made, out


custom_linear_solve = define(
    "custom_linear_solve", attrs={"matvec": FUNCTION, "solve": FUNCTION,
                                  "transpose_solve": optional(FUNCTION), "n": INT},
    infer=_infer_solve, single=False, jvp=_jvp_solve, transpose=_transpose_solve,
    batch=_batch_solve, thread=thread_last)


__all__ = ["custom_linear_solve", "linear_call", "transposed_matvec"]

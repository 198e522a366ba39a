"""Literals as parameters: one program for all their values.

    // abstract(indices = [1])
    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3], %0: f32[]) -> (f32[3]) {
      %0: f32[3] = literal 2.0                   %1: f32[3] = literal 2.0
      %1: f32[3] = mul(%x, %0)                   %2: f32[3] = mul(%x, %1)
      %2: f32[3] = literal 3.0                   %3: f32[3] = broadcast_in_dim(%0) ...
      %3: f32[3] = add(%1, %2)                   %4: f32[3] = add(%2, %3)
      return %3                                  return %4
    }                                          }

Literals of bodies are threaded as further operands through the ops that hold the bodies. Literals
are numbered in one place, `fingerprint.holders`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ..core import Function, Op, Value, remembered
from ..definition import lookup
from ..fingerprint import holders
from ..literal import literal
from ..opdef import Pending
from ..regions import add

Indices = tuple[int, ...]
Body = Function | Pending


def abstract(fn: Function, indices: Sequence[int]) -> Function:
    """The Function with some literals as trailing parameters.

    Args:
      fn: any Function.
      indices: ascending places in the order of `fingerprint.skeleton`: that of the ops, those of a
        body at the place of its op, once for each op that holds it.
    Returns: a Function with one more parameter for each index, in that order, of the literal's type
      before it is broadcast.
    """
    if not indices:
        return fn
    return remembered(fn, ("abstract", tuple(indices)), _abstract, fn, indices)


def _abstract(fn: Function, indices: Sequence[int]) -> Function:
    chosen = _by_op(fn, indices)
    fresh: list[Value] = []
    ops: list[Op] = []
    for op in fn.ops:
        parts = chosen.get(op)
        if parts is None or not any(parts):
            ops.append(op)
        elif op.definition is literal:
            fresh.append(Value(op.attrs["value"].type))
            ops.append(_broadcast(op, fresh[-1]))
        else:
            ops.append(_threaded(op, parts, fresh))
    weak = fn.weak_params and (*fn.weak_params, *[False] * len(fresh))
    names = fn.param_names and (*fn.param_names, *[""] * len(fresh))
    return fn.replace(params=(*fn.params, *fresh), ops=ops, weak_params=weak, param_names=names)


def _by_op(fn: Function, indices: Sequence[int]) -> dict[Op, list[Indices]]:
    """For each op that holds literals, which of them are chosen: for each body (or for the op
    itself), their numbers counted from the body's first."""
    found: dict[Op, list[Indices]] = {}
    at = 0
    for op, n in holders(fn):
        inside = indices[bisect_left(indices, at):bisect_left(indices, at + n)]
        found.setdefault(op, []).append(tuple([i - at for i in inside]))
        at += n
    return found


def _broadcast(op: Op, value: Value) -> Op:
    """An op that broadcasts `value` to the shape of a literal and takes the place of its op."""
    attrs = {"shape": op.attrs["shape"], "dims": tuple(range(value.type.ndim))}
    return Op(lookup("broadcast_in_dim"), (value,), attrs, op.results, op.loc)


def _threaded(op: Op, parts: Sequence[Indices], fresh: list[Value]) -> Op:
    """An op that takes some literals of its bodies as operands; these values join `fresh`."""
    functions: list[Body] = []
    extra: list[list[Value]] = []
    for one, indices in zip(op.definition.regions.held(op), parts, strict=True):
        made, types = _extended(one.function, indices)
        functions.append(made)
        extra.append([Value(t) for t in types])
        fresh.extend(extra[-1])
    return add(op, functions, extra)


def _extended(body: Body, indices: Indices) -> tuple[Any, list[Any]]:
    """The body with parameters for its literals, and their types."""
    function = body.function if isinstance(body, Pending) else body
    made = abstract(function, indices)
    types = [v.type for v in made.params[len(function.params):]]
    if isinstance(body, Pending):                # the parameters come last, as captures do
        return body.transform.pending(made, body.request), types
    return made, types

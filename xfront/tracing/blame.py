"""Finds the operation that made a NaN or an infinity: the program is run again, op by op.

Ops with bodies are run by their bodies: calls, branches, loops turn by turn. The location of the op
that is found is a line of the function that was traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import ops
from xfront_ir.core import Function, Op, forced
from xfront_ir.passes.pipeline import simplify

from ..arrays import binding
from ..arrays.placement import Placement, placement
from ..config import debug_infs, debug_nans
from .compiled import filled, to_array, unit_of
from .host import slots_in
from .watching import bad


class Blamed(Exception):
    """The error that names an op whose result is NaN or infinite."""

    def __init__(self, op: Op, what: str) -> None:
        super().__init__(what)
        self.op, self.what = op, what


def explain(name: str, function: Function, operands: Sequence[Any], located: bool) -> None:
    """Raise the FloatingPointError that names the operation, where running op by op finds it.

    Args:
      name, function, operands: the program and the arrays that it was called with.
      located: whether the Function was traced from the code that is running now.
    """
    if slots_in(simplify(function)) or any(
            [x.is_deleted() for x in operands if isinstance(x, binding.Array)]):
        return                                     # not to be run twice
    place = placement(operands, name)[0]
    if type(place) is not Placement:             # op by op on one device
        operands = [place.gathered(x) for x in operands]
        place = placement(operands, name)[0]
    try:
        evaluate(function, operands, place)
    except Blamed as found:
        op, what = found.op, found.what
        types = ", ".join([str(v.type) for v in op.operands])
        made = ", ".join([str(v.type) for v in op.results])
        where = f" at {op.loc.file}:{op.loc.line} ({op.loc.function})" if (
            located and op.loc is not None and op.loc.code is not None) else ""
        raise FloatingPointError(
            f"invalid value ({what}) encountered in {op.definition.name}({types}) -> "
            f"{made}{where}, in {name}; this error is raised because the option jax_debug_{what}s "
            "is set") from None


def evaluate(function: Function, operands: Sequence[Any], place: Placement) -> list[Any]:
    """The results of a Function, op by op. Raises: Blamed."""
    env = dict(zip(function.params, map(to_array, operands), strict=True))
    for op in function.ops:
        if op.definition is ops.literal:
            env[op.results[0]] = filled(op, place)
            continue
        results = _run(op, [env[v] for v in op.operands], place)
        for x in results:
            if (what := bad(x)) is not None:
                raise Blamed(op, what)
        env.update(zip(op.results, results, strict=True))
    return [env[v] for v in function.returns]


def _run(op: Op, operands: list[Any], place: Placement) -> list[Any]:
    regions = op.definition.regions
    if op.definition is ops.cond:
        (index,), given = regions.split(op.attrs, operands)
        branches = op.attrs["branches"]
        return evaluate(branches[min(max(int(index), 0), len(branches) - 1)], given, place)
    if op.definition is ops.scan:
        return _scan(op, operands, place)
    if op.definition is ops.while_:
        return _while(op, operands, place)
    body = op.attrs.get("body") and forced(op.attrs["body"])
    if body is not None and body.param_types == tuple(
            [v.type for v in op.operands]) and body.return_types == tuple(
            [v.type for v in op.results]):
        return evaluate(body, operands, place)
    with debug_nans(False), debug_infs(False):
        return unit_of(op, place).run(operands)


def _while(op: Op, operands: list[Any], place: Placement) -> list[Any]:
    test, body, carry = op.definition.regions.split(op.attrs, operands)
    while bool(evaluate(op.attrs["cond"], [*test, *carry], place)[0]):
        carry = evaluate(op.attrs["body"], [*body, *carry], place)
    return carry


def _scan(op: Op, operands: list[Any], place: Placement) -> list[Any]:
    a, regions = op.attrs, op.definition.regions
    consts, carry, xs = regions.split(a, operands)
    for i in reversed(range(a["length"])) if a["reverse"] else range(a["length"]):
        given = [*consts, *carry, *[x[i] for x in xs]]
        carry, _ = regions.split_returns("body", a, evaluate(a["body"], given, place))
    with debug_nans(False), debug_infs(False):     # no turn is to blame: run the loop as a whole
        return unit_of(op, place).run(operands)


__all__ = ["explain"]

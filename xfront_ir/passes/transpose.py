"""Transpose a linear Function: from cotangents of its results to cotangents of its inputs.

    // transpose(n_residuals = 1, active_ct = [true])
    func @f(%t: f32[3], %c: f32[3])            func @f(%c: f32[3], %ct: f32[3]) -> (f32[3]) {
        -> (f32[3]) {                            %0: f32[3] = mul(%ct, %c)
      %0: f32[3] = mul(%t, %c)                   return %0
      return %0                                }
    }

Ops that depend on residuals alone are kept in front; the others are walked backwards. A cotangent
that is zero is absent.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..builder import Builder
from ..core import Function, Op, Value, remembered
from ..definition import LINEAR, NONE, lookup
from ..errors import IRTypeError
from ..placed_builder import PlacedBuilder
from .dead_code import dead_code
from .jvp import Flags
from .scopes import Scoped


def transpose(linear: Function, n_residuals: int, active_ct: Flags) -> tuple[Function, Flags]:
    """The transpose of a linear Function.

    Args:
      linear: a Function of linear inputs, then `n_residuals` values it is not linear in.
      n_residuals: how many parameters at the end are residuals.
      active_ct: for each result, whether it has a cotangent (the others have zero).
    Returns: `(function, active_in)`. The function's parameters are the residuals, then the
      cotangents of the active results; its returns are the cotangents of the inputs with
      `active_in`. The others have cotangent zero.
    Raises: MissingRule; IRTypeError where a rule gives a cotangent of another type.
    """
    active_ct = tuple(active_ct)
    return remembered(linear, ("transpose", n_residuals, active_ct), _transpose, linear,
                      n_residuals, active_ct)


def _transpose(fn: Function, n_residuals: int, active_ct: Flags) -> tuple[Function, Flags]:
    n_inputs = len(fn.params) - n_residuals
    inputs, residuals = fn.params[:n_inputs], fn.params[n_inputs:]
    b = PlacedBuilder(fn.name)
    given = [Value(v.type.cotangent) if a else None
             for v, a in zip(fn.returns, active_ct, strict=True)]
    made = push_back(b, fn.ops, inputs, fn.returns, given)
    result = Function(f"{fn.name}_transpose",
                      (*residuals, *[ct for ct in given if ct is not None]), b.ops,
                      [ct for ct in made if ct is not None])
    return dead_code(result), tuple([ct is not None for ct in made])


def push_back(b: Builder, ops: Iterable[Op], inputs: Sequence[Value], outputs: Sequence[Value],
              given: Sequence[Value | None]) -> list[Value | None]:
    """Append to `b` the transpose of linear ops; values they are not linear in keep their identity.

    `given` are the cotangents of `outputs`; the cotangents of `inputs` are returned. None is zero.
    """
    linear = set(inputs)
    to_reverse: list[Op] = []
    for op in ops:
        if linear.isdisjoint(op.operands):
            b.ops.append(op)
        else:
            linear.update(op.results)
            to_reverse.append(op)

    cotangents: dict[Value, Value] = {}
    add, locs = lookup("add"), Scoped("transpose")
    for v, ct in zip(outputs, given, strict=True):
        if ct is not None and v in linear:
            old = cotangents.get(v)
            cotangents[v] = ct if old is None else b.emit(add, old, ct)
    pop, get, waiting = cotangents.pop, cotangents.get, cotangents.keys()
    for op in reversed(to_reverse):
        results = op.results
        if len(results) == 1:
            ct = pop(results[0], None)
            if ct is None:
                continue
            reached: tuple[Value | None, ...] = (ct,)
        elif waiting.isdisjoint(results):
            continue
        else:
            reached = tuple([pop(v, None) for v in results])
        b.loc = locs[op.loc]
        definition, operands = op.definition, op.operands
        rule = definition.transpose
        if rule is None or rule is NONE:
            rule = definition.rule("transpose")          # raises MissingRule
        known = tuple([LINEAR if v in linear else v for v in operands])
        for v, k, ct in zip(operands, known, rule(b, op, reached, known), strict=True):
            if ct is not None and k is LINEAR:
                if ct.type is not v.type or v.type.sharding is not None:
                    ct = _fitted(b, op, v, ct)
                old = get(v)
                cotangents[v] = ct if old is None else b.emit(add, old, ct)
    return [get(v) for v in inputs]


def _fitted(b: Builder, op: Op, v: Value, ct: Value) -> Value:
    """The cotangent, with the sharding that its primal's cotangents have. Raises: IRTypeError where
    it is of another type."""
    wanted = v.type.cotangent
    if ct.type is wanted:
        return ct
    if ct.type.plain is not wanted.plain:
        _refuse(op, v, ct)
    from ..ops.sharding import brought, lying  # ops stand beside passes, not under them

    return brought(b, ct, lying(wanted, ct.type))


def _refuse(op: Op, v: Value, ct: Value) -> None:
    where = f" at {op.loc}" if op.loc is not None else ""
    raise IRTypeError(f"the transpose of {op.definition.name}{where} returned a cotangent of type "
                      f"{ct.type} for an operand of type {v.type}")

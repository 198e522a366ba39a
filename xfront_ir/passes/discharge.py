"""Discharge: references become the values that they refer to.

    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3]) -> (f32[3]) {
      %r: ref<f32>[3] = new_ref(%x)
      %0: f32[3] = get(%r)                       %1: f32[3] = sin(%x)
      %1: f32[3] = sin(%0)
      %2: f32[3] = swap(%r, %1)
      %3: f32[3] = freeze(%r)                    return %1
      return %3                                }
    }

A parameter that is a reference becomes a parameter for its content at the start. The contents at
the end of those that were written are returned after the results. Definitions of ops with bodies
say how these carry contents through. The pass runs before any derivative is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Function, Op, Value, remembered, renamed
from ..dtypes import referred
from ..errors import IRValueError, MissingRule
from ..placed_builder import PlacedBuilder
from ..types import TensorType, tensor

Written = tuple[int, ...]


def content_type(type: TensorType) -> TensorType:
    """The type of the content of a reference of this type; other types stay as they are."""
    return tensor(type.shape, referred(type.dtype)) if type.dtype.is_ref else type


def holds_refs(fn: Function) -> bool:
    """Whether a parameter or a result of an op is a reference."""
    return any([v.type.dtype.is_ref for v in fn.params]) or any(
        [v.type.dtype.is_ref for op in fn.ops for v in op.results])


def discharge(fn: Function) -> tuple[Function, Written]:
    """The Function on contents, and the parameters whose contents it returns after its results.

    Raises: MissingRule where an op takes a reference and cannot; IRValueError where a reference is
      returned, or one is given twice to an op.
    """
    return remembered(fn, "discharge", _discharge, fn)


def discharge_to(fn: Function, written: Written) -> Function:
    """As `discharge`, with the contents of exactly these parameters returned."""
    made, own = discharge(fn)
    if own == written:
        return made
    n = len(fn.returns)
    last = dict(zip(own, made.returns[n:], strict=True))
    returns = (*made.returns[:n], *[last.get(i, made.params[i]) for i in written])
    return remembered(fn, ("discharge_to", written),
                      lambda: made.replace(returns=returns, weak_returns=()))


def _discharge(fn: Function) -> tuple[Function, Written]:
    if not holds_refs(fn):
        return fn, ()
    b = PlacedBuilder(fn.name)
    env: dict[Value, Value] = {}                 # for a reference, its content
    b.params = [Value(content_type(v.type)) if v.type.dtype.is_ref else v for v in fn.params]
    env.update(zip(fn.params, b.params, strict=True))
    written: set[Value] = set()
    for op in fn.ops:
        if not any([v.type.dtype.is_ref for v in (*op.operands, *op.results)]):
            b.ops.append(renamed(op, env))
            continue
        if op.definition.discharge is None:
            raise MissingRule(f"{op.definition.name} cannot take a reference, got one of type "
                              f"{next(v.type for v in op.operands if v.type.dtype.is_ref)}"
                              f"{'' if op.loc is None else f' (at {op.loc})'}; read the "
                              "reference first, ref[...]")
        b.loc = op.loc
        results, contents = op.definition.discharge(b, op, renamed(op, env).operands)
        env.update(zip(op.results, results, strict=True))
        for i, v in contents.items():
            env[op.operands[i]] = v
            written.add(op.operands[i])
    if any([v.type.dtype.is_ref for v in fn.returns]):
        raise IRValueError(f"@{fn.name} returns a reference; return what it refers to")
    which = tuple([i for i, v in enumerate(fn.params) if v in written])
    returns = [*[env.get(v, v) for v in fn.returns], *[env[fn.params[i]] for i in which]]
    weak = fn.weak_returns and (*fn.weak_returns, *[False] * len(which))
    return Function(fn.name, b.params, b.ops, returns, param_names=fn.param_names,
                    weak_params=fn.weak_params, weak_returns=weak), which


def refs_of(op: Op) -> tuple[int, ...]:
    """Places of the references among the operands of an op.

    Raises: IRValueError where one of them is there twice."""
    places = tuple([i for i, v in enumerate(op.operands) if v.type.dtype.is_ref])
    refuse_twice([op.operands[i] for i in places], op.definition.name)
    return places


def refuse_twice(refs: Sequence[Value], name: str) -> None:
    """Raise IRValueError where one reference is there twice."""
    if len({*refs}) != len(refs):
        raise IRValueError(f"{name} was given the same reference twice: only one reference to a "
                           "mutable array may be passed")

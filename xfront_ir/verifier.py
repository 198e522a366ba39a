"""Checks the invariants of the IR, on which every pass may rely and which it must preserve."""

from __future__ import annotations

from .analysis import functions, standing_bodies
from .core import Function, Op, Value
from .definition import REGISTRY
from .errors import IRError, VerifyError
from .opdef import infer_anyway
from .printer import print_op, value_names
from .types import TensorType, tensor


def verify(fn: Function) -> None:
    """Check `fn` and every body in it; transformations that are pending are not carried out.

    Each value is defined once and before it is read; nothing is read from outside; attributes
    keep to their schemas; result types are those of the type rules, which check the signatures
    of bodies; flags and names of parameters are as many as the parameters.
    Raises: VerifyError, which says in which function, at which op and why.
    """
    order = functions(fn, standing_bodies)
    for f in order:
        _verify_one(f)
    place = {f: i for i, f in enumerate(order)}        # bodies first: a cycle breaks that order
    for f, i in place.items():
        if any(place[body] >= i for body in standing_bodies(f)):
            raise VerifyError(f"@{f.name} is a body of itself")


def _verify_one(fn: Function) -> None:
    for what, held in (("param_names", fn.param_names), ("weak_params", fn.weak_params)):
        if len(held) not in (0, len(fn.params)):
            raise VerifyError(f"@{fn.name}: got {len(held)} {what} for {len(fn.params)} parameters")
    if len(fn.weak_returns) not in (0, len(fn.returns)):
        raise VerifyError(f"@{fn.name}: got {len(fn.weak_returns)} weak_returns for "
                          f"{len(fn.returns)} returns")
    defined: set[Value] = set()
    for i, v in enumerate(fn.params):
        _define(v, defined, f"@{fn.name}: parameter {i}")
    for number, op in enumerate(fn.ops):
        try:
            _verify_op(op, defined)
        except (VerifyError, IRError) as error:
            raise VerifyError(f"{_place(fn, number, op)}: {error}") from None
    for i, v in enumerate(fn.returns):
        if v not in defined:
            raise VerifyError(f"@{fn.name}: return {i} is a value that nothing in it defines")


def _verify_op(op: Op, defined: set[Value]) -> None:
    definition = op.definition
    if REGISTRY.get(definition.name) is not definition:
        raise VerifyError(f"{definition.name!r} is not in the registry of ops")
    for i, v in enumerate(op.operands):
        if v not in defined:
            raise VerifyError(f"operand {i} is not defined before this")
    try:
        types = infer_anyway(definition, tuple([v.type for v in op.operands]), op.attrs)
    except IRError:
        raise
    except Exception as error:
        raise VerifyError(f"the type rule cannot read this ({type(error).__name__}: {error})"
                          ) from None
    found = tuple([v.type for v in op.results])
    if len(types) != len(found):
        raise VerifyError(f"the op has {len(found)} results, but its type rule gives {len(types)}")
    if definition.single and len(found) != 1:
        raise VerifyError(f"the op has {len(found)} results, but its definition says one")
    for i, (v, wanted) in enumerate(zip(op.results, types, strict=True)):
        _define(v, defined, f"result {i}")
        if v.type.plain is not wanted.plain:
            raise VerifyError(f"result {i} is {v.type}, but its type rule gives {wanted}")


def _define(value: Value, defined: set[Value], what: str) -> None:
    if value in defined:
        raise VerifyError(f"{what} is a value that is defined twice")
    held = value.type
    if type(held) is not TensorType or tensor(
            held.shape, held.dtype).over(held.sharding) is not held:
        raise VerifyError(f"{what} has the type {held!r}, which `tensor` did not make")
    defined.add(value)


def _place(fn: Function, number: int, op: Op) -> str:
    where = f" at {op.loc}" if op.loc is not None else ""
    try:
        shown = print_op(op, value_names(fn))
    except Exception:              # an op so broken that it does not print is named alone
        shown = op.definition.name
    return f"@{fn.name}, op {number} `{shown}`{where}"

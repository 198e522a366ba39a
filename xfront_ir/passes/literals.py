"""Literals as parameters: one program for all their values.

    // abstract(indices = [1])
    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3], %0: f32[]) -> (f32[3]) {
      %0: f32[3] = literal 2.0                   %1: f32[3] = literal 2.0
      %1: f32[3] = mul(%x, %0)                   %2: f32[3] = mul(%x, %1)
      %2: f32[3] = literal 3.0                   %3: f32[3] = broadcast_in_dim(%0) ...
      %3: f32[3] = add(%1, %2)                   %4: f32[3] = add(%2, %3)
      return %3                                  return %4
    }                                          }

Those of bodies are threaded as further operands through the ops that hold the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import Function, Op, Value
from ..errors import IRTypeError
from ..literal import literal
from ..opdef import Pending, Request, lookup
from ..types import TensorType

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
    key = ("abstract", tuple(indices))
    found = fn.memo.get(key)
    if found is None:
        found = fn.memo[key] = _abstract(fn, set(indices))
    return found


def count(body: Body) -> int:
    """How many literals a body has, those of its bodies included."""
    fn = body.function if isinstance(body, Pending) else body
    found = fn.memo.get("n_literals")
    if found is None:
        found = 0
        for op in fn.ops:
            if op.definition is literal:
                found += 1
            elif op.definition.has_bodies:
                found += sum(map(count, _held(op)))
        fn.memo["n_literals"] = found
    return found


def _held(op: Op) -> list[Body]:
    """The bodies of an op in the order of its schema, pending ones as they are."""
    found: list[Body] = []
    for name in op.definition.body_attrs:
        held = op.attrs[name]
        found.extend(held if isinstance(held, tuple) else () if held is None else (held,))
    return found


def _abstract(fn: Function, wanted: set[int]) -> Function:
    ops: list[Op] = []
    fresh: list[Value] = []
    at = 0
    for op in fn.ops:
        if op.definition is literal:
            if at in wanted:
                value = Value(op.attrs["value"].type)
                fresh.append(value)
                ops.append(Op(lookup("broadcast_in_dim"), (value,), {
                    "shape": op.attrs["shape"],
                    "dims": tuple(range(value.type.ndim))}, op.results, op.loc))
            else:
                ops.append(op)
            at += 1
            continue
        if op.definition.has_bodies:
            parts = []
            for body in _held(op):
                n = count(body)
                parts.append(tuple([i - at for i in range(at, at + n) if i in wanted])
                             if n else ())
                at += n
            if any(parts):
                op = _threaded(op, parts, fresh)
        ops.append(op)
    weak = fn.weak_params and (*fn.weak_params, *[False] * len(fresh))
    names = fn.param_names and (*fn.param_names, *[""] * len(fresh))
    return fn.replace(params=(*fn.params, *fresh), ops=ops, weak_params=weak, param_names=names)


def _threaded(op: Op, parts: list[Indices], fresh: list[Value]) -> Op:
    rule = _THREADED.get(op.definition.name)
    if rule is None:
        raise IRTypeError(f"literals: {op.definition.name} does not say how its bodies take "
                          "further operands")
    operands, attrs = rule(op, parts, fresh)
    return Op(op.definition, tuple(operands), {**op.attrs, **attrs}, op.results, op.loc)


def _extended(body: Function, indices: Indices, fresh: list[Value]) -> tuple[Function, list[Value]]:
    """The body with parameters for its literals, and the outer values for these."""
    made = abstract(body, indices)
    values = [Value(v.type) for v in made.params[len(body.params):]]
    fresh.extend(values)
    return made, values


def _inserted(body: Function, n: int, at: int) -> Function:
    """`body` with its last n parameters moved to place `at`."""
    if not n:
        return body
    params = body.params
    rest, last = params[:-n], params[-n:]
    return body.replace(params=(*rest[:at], *last, *rest[at:]), param_names=(), weak_params=())


def _call(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    held = op.attrs["body"]
    if not isinstance(held, Pending):
        body, values = _extended(held, parts[0], fresh)
        return (*op.operands, *values), {"body": body}
    function, values = _extended(held.function, parts[0], fresh)
    body = held._transform.pending(function, held.request)   # type: ignore[attr-defined]
    return (*op.operands, *values), {"body": body}   # after tangents, as captures are


def _cond(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    made = [_extended(body, indices, fresh)
            for body, indices in zip(op.attrs["branches"], parts, strict=True)]
    every = [v for _, values in made for v in values]
    branches = []
    for original, (body, values) in zip(op.attrs["branches"], made, strict=True):
        n = len(original.params)
        own = dict(zip(values, body.params[n:], strict=True))
        branches.append(body.replace(
            params=(*body.params[:n], *[own[v] if v in own else Value(v.type) for v in every]),
            param_names=(), weak_params=()))
    return (*op.operands, *every), {"branches": tuple(branches)}


def _scan(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    n = op.attrs["n_consts"]
    body, values = _extended(op.attrs["body"], parts[0], fresh)
    return (*op.operands[:n], *values, *op.operands[n:]), {
        "body": _inserted(body, len(values), n), "n_consts": n + len(values)}


def _while(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    n, m = op.attrs["n_cond_consts"], op.attrs["n_body_consts"]
    test, for_test = _extended(op.attrs["cond"], parts[0], fresh)
    body, for_body = _extended(op.attrs["body"], parts[1], fresh)
    operands = op.operands
    return (*operands[:n], *for_test, *operands[n:n + m], *for_body, *operands[n + m:]), {
        "cond": _inserted(test, len(for_test), n), "n_cond_consts": n + len(for_test),
        "body": _inserted(body, len(for_body), m), "n_body_consts": m + len(for_body)}


def _checkpoint(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    body, values = _extended(op.attrs["body"], parts[0], fresh)
    return (*op.operands, *values), {"body": body}


def _custom(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    body, values = _extended(op.attrs["body"], parts[0], fresh)
    rule = WidenedRule(op.attrs["rule"], len(op.operands), tuple([v.type for v in values]))
    return (*op.operands, *values), {"body": body, "rule": rule}


def _bodies_alike(op: Op, parts: list[Indices], fresh: list[Value]) -> Any:
    """Bodies that all take the same constants after their own operands."""
    names = [name for name in op.definition.body_attrs if op.attrs[name] is not None]
    made = [_extended(op.attrs[name], indices, fresh)
            for name, indices in zip(names, parts, strict=True)]
    every = [v for _, values in made for v in values]
    attrs = {}
    for name, (body, values) in zip(names, made, strict=True):
        n = len(op.attrs[name].params)
        own = dict(zip(values, body.params[n:], strict=True))
        attrs[name] = body.replace(
            params=(*body.params[:n], *[own[v] if v in own else Value(v.type) for v in every]),
            param_names=(), weak_params=())
    return (*op.operands, *every), attrs


class WidenedRule:
    """A Deferred whose op has got further operands, which its rule does not know or read."""

    __slots__ = ("extra", "memo", "n_operands", "n_own", "name", "rule", "symbolic_zeros")

    def __init__(self, rule: Any, n_operands: int, extra: tuple[TensorType, ...]) -> None:
        self.rule, self.n_operands, self.extra = rule, n_operands, extra
        own = getattr(rule, "n_own", None)
        self.n_own = n_operands if own is None else own
        self.name = getattr(rule, "name", "rule")
        self.symbolic_zeros = getattr(rule, "symbolic_zeros", False)
        self.memo: dict[Request, Function] = {}

    def function(self, request: Request) -> Function:
        """The rule's Function with parameters for the further operands."""
        found = self.memo.get(request)
        if found is None:
            n, (types, *rest) = self.n_operands, request.details
            if request.role == "bwd":
                return self.rule.function(request)
            details = (types[:n], *[x[:n] if type(x) is tuple else x for x in rest])
            inner = self.rule.function(Request(request.role, *details))
            found = self.memo[request] = inner.replace(
                params=(*inner.params[:n], *[Value(t) for t in types[n:]], *inner.params[n:]),
                param_names=(), weak_params=())
        return found

    def fingerprint(self) -> bytes:
        """What tells the rule apart where programs are told apart."""
        return f"widened {self.n_operands} {self.extra}".encode() + rule_fingerprint(self.rule)


def rule_fingerprint(rule: Any) -> bytes:
    """The fingerprint of a Deferred; its identity where it gives none."""
    own = getattr(rule, "fingerprint", None)
    return str(id(rule)).encode() if own is None else own()


_THREADED: dict[str, Callable[[Op, list[Indices], list[Value]], Any]] = {
    "call": _call, "cond": _cond, "scan": _scan, "while": _while, "while_tangent": _scan,
    "checkpoint": _checkpoint,
    "custom_jvp": _custom, "custom_vjp": _custom, "custom_vmap": _custom,
    "linear_call": _bodies_alike, "custom_linear_solve": _bodies_alike}

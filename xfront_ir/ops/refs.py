"""References: arrays whose content changes, and how ops with bodies carry the contents.

    new_ref(x) -> ref              get(ref) -> content             freeze(ref) -> content
    swap(ref, x) -> old content    addupdate(ref, x)

They are no part of a program that runs: `passes/discharge.py` puts the contents in their place
before derivatives are taken, batches are formed or anything is lowered, so they have no such rules.
"""

from __future__ import annotations

from typing import Any

from ..core import Op, Value
from ..dtypes import ref_dtype
from ..errors import IRTypeError, MissingRule
from ..opdef import NONE, define, lookup
from ..passes.bodies import (
    body_of,
    content_type,
    discharge,
    discharge_to,
    refs_of,
    refuse_twice,
)
from .control import call, cond, scan
from .custom import checkpoint
from .while_loop import while_


def _infer_new(types: Any, attrs: Any) -> Any:
    (x,) = types
    if x.dtype.is_ref:
        raise IRTypeError(f"new_ref: takes an array, got a reference of type {x}")
    return (x.with_dtype(ref_dtype(x.dtype)),)


def _content(name: str, type: Any) -> Any:
    if not type.dtype.is_ref:
        raise IRTypeError(f"{name}: takes a reference, got {type}")
    return content_type(type)


def _infer_get(name: str) -> Any:
    return lambda types, attrs: (_content(name, types[0]),)


def _infer_swap(types: Any, attrs: Any) -> Any:
    content = _content("swap", types[0])
    if types[1] is not content:
        raise IRTypeError(f"swap: a reference of type {types[0]} holds {content}, got {types[1]}")
    return (content,)


def _infer_addupdate(types: Any, attrs: Any) -> Any:
    content = _content("addupdate", types[0])
    if types[1] is not content:
        raise IRTypeError(f"addupdate: a reference of type {types[0]} holds {content}, got "
                          f"{types[1]}")
    return ()


def _discharge_read(b: Any, op: Op, operands: Any) -> Any:
    return (operands[0],), {}


def _discharge_swap(b: Any, op: Op, operands: Any) -> Any:
    return (operands[0],), {0: operands[1]}


def _discharge_addupdate(b: Any, op: Op, operands: Any) -> Any:
    return (), {0: b.emit(lookup("add"), *operands)}


_NO_RULES: dict[str, Any] = dict(jvp=NONE, transpose=NONE, batch=NONE, family=__name__)

new_ref = define("new_ref", infer=_infer_new, operands=1, discharge=_discharge_read, **_NO_RULES)
get = define("get", infer=_infer_get("get"), operands=1, effects=True,
             discharge=_discharge_read, **_NO_RULES)
freeze = define("freeze", infer=_infer_get("freeze"), operands=1, effects=True,
                discharge=_discharge_read, **_NO_RULES)
swap = define("swap", infer=_infer_swap, operands=2, effects=True, discharge=_discharge_swap,
              **_NO_RULES)
addupdate = define("addupdate", infer=_infer_addupdate, operands=2, single=False, effects=True,
                   discharge=_discharge_addupdate, **_NO_RULES)


# --- through ops with bodies ------------------------------------------------------------------

def _of_body(name: str) -> Any:
    """The rule of an op whose body takes its operands and gives its results."""
    def rule(b: Any, op: Op, operands: Any) -> Any:
        refs_of(op)
        held = op.attrs[name]
        discharged = getattr(held, "discharged", None)
        if discharged is not None:               # a transformation to be carried out
            made, written, order = discharged()
        else:
            made, written = discharge(body_of(held))
            order = range(len(made.returns))
        found = b.emit(op.definition, *operands, **{**op.attrs, name: made})
        results, n = [found[i] for i in order], len(op.results)
        return results[:n], dict(zip(written, results[n:], strict=False))

    return rule


def _discharge_cond(b: Any, op: Op, operands: Any) -> Any:
    refs_of(op)
    branches = op.attrs["branches"]
    written = tuple(sorted({i for branch in branches for i in discharge(branch)[1]}))
    results = b.emit(op.definition, *operands,
                     branches=tuple([discharge_to(branch, written) for branch in branches]))
    n = len(op.results)
    return results[:n], {i + 1: v for i, v in zip(written, results[n:], strict=True)}


def _discharge_scan(b: Any, op: Op, operands: Any) -> Any:
    refs_of(op)
    attrs, n = op.attrs, op.attrs["n_consts"]
    m = n + attrs["n_carry"]
    body, written = discharge(attrs["body"])
    if any(i >= n for i in written):
        raise MissingRule("scan: a reference is neither carried nor scanned; the body reads and "
                          "writes one that it closes over")
    consts = [i for i in range(n) if i not in written]
    order = [*consts, *written, *range(n, len(body.params))]
    n_carry, k = attrs["n_carry"], len(written)
    returns = body.returns
    last = returns[len(returns) - k:] if k else ()
    made = body.replace(
        params=[body.params[i] for i in order], param_names=(), weak_params=(), weak_returns=(),
        returns=(*last, *returns[:n_carry], *returns[n_carry:len(returns) - k]))
    results = b.emit(op.definition, *[operands[i] for i in order], **{
        **attrs, "body": made, "n_consts": len(consts), "n_carry": m - n + k})
    return results[k:], dict(zip(written, results[:k], strict=True))


def _discharge_while(b: Any, op: Op, operands: Any) -> Any:
    attrs = op.attrs
    n, m = attrs["n_cond_consts"], attrs["n_cond_consts"] + attrs["n_body_consts"]
    for group in (op.operands[:n], op.operands[n:m]):
        refuse_twice([v for v in group if v.type.dtype.is_ref], "while")
    cond, asked = discharge(attrs["cond"])
    if asked:
        raise MissingRule("while: its condition writes to a reference; write in the body")
    body, written = discharge(attrs["body"])
    if any(i >= m - n for i in written):
        raise MissingRule("while: a reference is not carried; the body reads and writes one that "
                          "it closes over")
    carried = [n + i for i in written]           # places of the operands that become carries
    shared = {i: op.operands[i] for i in range(n)
              if op.operands[i] in [op.operands[c] for c in carried]}
    of_cond = [i for i in range(n) if i not in shared]
    of_body = [i for i in range(n, m) if i not in carried]
    k, n_carry = len(carried), len(op.operands) - m
    state = [cond.params[n:], body.params[m - n:]]
    seen = {op.operands[c]: Value(operands[c].type) for c in carried}
    for i, v in shared.items():                  # what the condition reads of what is written
        seen[v] = cond.params[i]
    new_cond = cond.replace(
        params=(*[cond.params[i] for i in of_cond], *[seen[op.operands[c]] for c in carried],
                *state[0]), param_names=(), weak_params=())
    returns = body.returns
    new_body = body.replace(
        params=(*[body.params[i - n] for i in of_body], *[body.params[c - n] for c in carried],
                *state[1]),
        returns=(*returns[n_carry:], *returns[:n_carry]), param_names=(), weak_params=(),
        weak_returns=())
    results = b.emit(op.definition, *[operands[i] for i in (*of_cond, *of_body, *carried)],
                     *operands[m:], **{
        **attrs, "cond": new_cond, "body": new_body, "n_cond_consts": len(of_cond),
        "n_body_consts": len(of_body)})
    return results[k:], dict(zip(carried, results[:k], strict=True))


for _op, _rule in ((call, _of_body("body")), (checkpoint, _of_body("body")),
                   (cond, _discharge_cond), (scan, _discharge_scan), (while_, _discharge_while)):
    _op.discharge = _rule

"""References: arrays whose content changes, and how ops with bodies carry the contents.

    new_ref(x) -> ref              get(ref) -> content             freeze(ref) -> content
    swap(ref, x) -> old content    addupdate(ref, x)

No program that runs has references: `passes/discharge.py` replaces them by their contents before
derivatives are taken, batches are formed or anything is lowered, so these ops have no such rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Function, Op, Value, forced
from ..definition import NONE, lookup
from ..dtypes import ref_dtype
from ..errors import IRTypeError, MissingRule
from ..opdef import define
from ..passes.bodies import (
    content_type,
    discharge,
    discharge_to,
    refs_of,
    refuse_twice,
)
from ..placed_builder import PlacedBuilder
from ..regions import Regions, cut
from ..spreading import alike, spreads
from .control import call, cond, scan
from .custom import checkpoint
from .while_loop import while_

if TYPE_CHECKING:
    from ..rules import Attrs, Discharge, Discharged, Infer, Types, Values


def _infer_new(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    if x.dtype.is_ref:
        raise IRTypeError(f"new_ref takes an array, got a reference of type {x}")
    return (x.with_dtype(ref_dtype(x.dtype)),)


def _content(name: str, type: Any) -> Any:
    if not type.dtype.is_ref:
        raise IRTypeError(f"{name} takes a reference, got {type}")
    return content_type(type)


def _infer_get(name: str) -> Infer:
    return lambda types, attrs: (_content(name, types[0]),)


def _infer_swap(types: Types, attrs: Attrs) -> Types:
    content = _content("swap", types[0])
    if types[1] is not content:
        raise IRTypeError(f"swap: a reference of type {types[0]} holds {content}, got {types[1]}")
    return (content,)


def _infer_addupdate(types: Types, attrs: Attrs) -> Types:
    content = _content("addupdate", types[0])
    if types[1] is not content:
        raise IRTypeError(f"addupdate: a reference of type {types[0]} holds {content}, got "
                          f"{types[1]}")
    return ()


def _discharge_read(b: Builder, op: Op, operands: Values) -> Discharged:
    return (operands[0],), {}


def _discharge_swap(b: Builder, op: Op, operands: Values) -> Discharged:
    return (operands[0],), {0: operands[1]}


def _discharge_addupdate(b: Builder, op: Op, operands: Values) -> Discharged:
    return (), {0: b.emit(lookup("add"), *operands)}


new_ref = define("new_ref", infer=_infer_new, operands=1, discharge=_discharge_read, jvp=NONE,
                 transpose=NONE, batch=NONE, family=__name__)
get = define("get", infer=_infer_get("get"), operands=1, effects=True,
             discharge=_discharge_read, jvp=NONE, transpose=NONE, batch=NONE, family=__name__)
freeze = define("freeze", infer=_infer_get("freeze"), operands=1, effects=True,
                discharge=_discharge_read, jvp=NONE, transpose=NONE, batch=NONE, family=__name__)
swap = define("swap", infer=_infer_swap, operands=2, effects=True, discharge=_discharge_swap,
              jvp=NONE, transpose=NONE, batch=NONE, family=__name__)
addupdate = define("addupdate", infer=_infer_addupdate, operands=2, single=False, effects=True,
                   discharge=_discharge_addupdate, jvp=NONE, transpose=NONE, batch=NONE,
                   family=__name__)


# --- through ops with bodies ------------------------------------------------------------------

def _of_body(name: str) -> Discharge:
    """The rule of an op whose body takes its operands and gives its results."""
    def rule(b: Builder, op: Op, operands: Values) -> Discharged:
        refs_of(op)
        held = op.attrs[name]
        discharged = getattr(held, "discharged", None)
        if discharged is not None:               # the body is a pending transformation
            made, written, order = discharged()
        else:
            made, written = discharge(forced(held))
            order = range(len(made.returns))
        found = b.emit(op.definition, *operands, **{**op.attrs, name: made})
        results, n = [found[i] for i in order], len(op.results)
        return results[:n], dict(zip(written, results[n:], strict=False))

    return rule


def _discharge_cond(b: Builder, op: Op, operands: Values) -> Discharged:
    refs_of(op)
    branches = op.attrs["branches"]
    written = tuple(sorted({i for branch in branches for i in discharge(branch)[1]}))
    results = b.emit(op.definition, *operands,
                     branches=tuple([discharge_to(branch, written) for branch in branches]))
    n = len(op.results)
    return results[:n], {i + 1: v for i, v in zip(written, results[n:], strict=True)}


def _outside(op: Op, places: Sequence[int], consts: Sequence[int]) -> None:
    """Refuse written references, at `places`, that the body does not close over."""
    if not set(places) <= set(consts):
        raise MissingRule(f"{op.definition.name}: a reference cannot be carried or scanned; let "
                          "the body close over the reference instead")


def _last_first(body: Function, params: Sequence[Value], n: int) -> Function:
    """`body` with these parameters, and with its last n returns moved before the others."""
    kept, last = cut(body.returns, len(body.returns) - n)
    return body.replace(params=params, returns=(*last, *kept), param_names=(), weak_params=(),
                        weak_returns=())


def _discharge_scan(b: Builder, op: Op, operands: Values) -> Discharged:
    refs_of(op)
    regions: Regions = op.definition.regions
    consts, carry, xs = regions.split(op.attrs, range(len(operands)))
    body, written = discharge(op.attrs["body"])
    _outside(op, written, consts)
    groups = [[i for i in consts if i not in written], [*written, *carry], xs]
    made = _last_first(body, [body.params[i] for group in groups for i in group], len(written))
    results = regions.emit(b.emit, op.definition, [[operands[i] for i in g] for g in groups],
                           **{**op.attrs, "body": made})
    contents, results = cut(results, len(written))
    return results, dict(zip(written, contents, strict=True))


def _discharge_while(b: Builder, op: Op, operands: Values) -> Discharged:
    regions: Regions = op.definition.regions
    of_cond, of_body, carry = regions.split(op.attrs, range(len(operands)))
    for places in (of_cond, of_body):            # condition and body may share references
        refuse_twice([op.operands[i] for i in places if op.operands[i].type.dtype.is_ref], "while")
    cond_, asked = discharge(op.attrs["cond"])
    if asked:
        whole, now = _asked_by_the_body(b, op, operands)
        results, contents = _discharge_while(b, whole, now)
        return results[:-1], {op.operands.index(whole.operands[i]): v for i, v in contents.items()}
    body, which = discharge(op.attrs["body"])
    written = [[*of_body, *carry][i] for i in which]
    _outside(op, written, of_body)
    in_cond = dict(zip([*of_cond, *carry], cond_.params, strict=True))
    in_body = dict(zip([*of_body, *carry], body.params, strict=True))
    shared = {op.operands[i]: i for i in of_cond}
    known = [shared.get(op.operands[i]) for i in written]
    seen = [Value(operands[i].type) if k is None else in_cond[k]
            for i, k in zip(written, known, strict=True)]
    groups = [[i for i in of_cond if i not in known], [i for i in of_body if i not in written],
              [*written, *carry]]
    made = _last_first(body, [in_body[i] for g in groups[1:] for i in g], len(written))
    test = cond_.replace(params=[*[in_cond[i] for i in groups[0]], *seen,
                                 *[in_cond[i] for i in carry]], param_names=(), weak_params=())
    results = regions.emit(b.emit, op.definition, [[operands[i] for i in g] for g in groups],
                           **{**op.attrs, "cond": test, "body": made})
    contents, results = cut(results, len(written))
    return results, dict(zip(written, contents, strict=True))


def _asked_by_the_body(b: Builder, op: Op, operands: Values) -> tuple[Op, list[Value]]:
    """For a `while` whose condition writes to references: a `while` whose body evaluates the
    condition of the next turn and carries the answer; and the operands of that `while`."""
    regions: Regions = op.definition.regions
    body, test = op.attrs["body"], op.attrs["cond"]
    of_cond, of_body, carry = regions.split(op.attrs, range(len(operands)))
    asked, which = discharge(test)
    answer, *contents = b.inline(asked, [operands[i] for i in (*of_cond, *carry)])
    now = dict(zip(op.operands, operands, strict=True))
    now.update(zip([op.operands[[*of_cond, *carry][i]] for i in which], contents, strict=True))
    inside = {op.operands[i]: Value(op.operands[i].type) for i in (*of_body, *of_cond)}
    state = [Value(op.operands[i].type) for i in carry]
    inner = PlacedBuilder(body.name)
    turned = inner.inline(body, [*[inside[op.operands[i]] for i in of_body], *state])
    again = inner.inline(test, [*[inside[op.operands[i]] for i in of_cond], *turned])
    said = Value(answer.type)
    made = {"body": Function(body.name, [*inside.values(), *state, said], inner.ops,
                             [*turned, *again]),
            "cond": Function(test.name, [*[Value(v.type) for v in state], said], [], [said])}
    first = Value(answer.type)
    groups = [[], [*inside], [*[op.operands[i] for i in carry], first]]
    whole = Op(op.definition, tuple([v for group in groups for v in group]),
               {**op.attrs, **made, **regions.sizes(groups)}, (*op.results, said), op.loc)
    return whole, [*[now[v] for v in inside], *[operands[i] for i in carry], answer]


for _op, _rule in ((call, _of_body("body")), (checkpoint, _of_body("body")),
                   (cond, _discharge_cond), (scan, _discharge_scan), (while_, _discharge_while)):
    _op.discharge = _rule


spreads(alike, new_ref, get, freeze, swap, addupdate)

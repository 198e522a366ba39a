"""The loop whose number of turns depends on values, and its derivatives.

    while(*cond_consts, *body_consts, *carry) {cond, body, n_cond_consts, n_body_consts, budget}
    while_tangent(*consts, *linear_consts, *carry, *linear, count) {body, n_consts,
                  n_linear_consts, n_carry, budget}
        body(consts, linear_consts, carry, linear) -> (carry, linear); results: linear

`linearize` divides a `while` into one that counts its turns and a `while_tangent`, the map of
tangents through `count` turns: linear in `linear_consts` and `linear`. It is lowered as a loop that
runs the carries again beside the tangents, and its transpose is `_reversal`: ordinary loops that
go through the turns backwards, and compute the carries that they need again from checkpoints. These
are at most `_slots` of them, however many turns there are, placed so that the fewest turns run
again. What comes out are plain loops, so that derivatives of higher order need nothing more.
`budget`, where given, is (how many checkpoints, how many bytes): both are kept to.

Sources: StableHLO spec, `while`; Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 26
(2000), for the places of the checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import dtypes
from ..builder import Builder
from ..core import Function, Op, Value
from ..errors import IRTypeError, MissingRule
from ..opdef import FUNCTION, INT, INTS, LINEAR, define, lookup, optional
from ..passes.bodies import (
    Flags,
    dead_code,
    divide,
    join,
    jvp,
    jvp_to,
    linear_transpose,
    loops,
    remembered,
    select,
    slice_of,
    strong,
    vectorize,
)
from ..types import I32, TensorType, tensor
from .control import (
    Types,
    _active,
    _check,
    _grouped,
    _grow,
    _settle,
    _spread,
    thread_consts,
)
from .families import last_at, move_batch, with_bodies
from .words import words_of, wrapped

CHECKPOINTS = 64
"""Reverse mode keeps the carries of at most so many turns."""

CHECKPOINT_BYTES = 2 ** 26
"""And fewer, but at least `FEWEST`, where they would be larger than this together."""

FEWEST = 8

Budget = tuple[int, int] | None


def _kept(attrs: Any) -> dict[str, Any]:
    """The budget of a loop, for loops made from it."""
    budget = attrs.get("budget")
    return {} if budget is None else {"budget": budget}


def _check_budget(name: str, attrs: Any) -> None:
    budget = attrs.get("budget")
    if budget is not None and (len(budget) != 2 or min(budget) < 1):
        raise IRTypeError(f"{name}: the budget is a number of checkpoints and one of bytes, both "
                          f"positive, got {budget}")


# --- while --------------------------------------------------------------------------------

def _parts(attrs: Any, values: Sequence[Any]) -> tuple[list, list, list]:
    n, m = attrs["n_cond_consts"], attrs["n_cond_consts"] + attrs["n_body_consts"]
    return list(values[:n]), list(values[n:m]), list(values[m:])


def _infer_while(types: Types, attrs: Any) -> Types:
    cond_consts, body_consts, carry = _parts(attrs, types)
    test, body = attrs["cond"], attrs["body"]
    _check("while", "parameter of the condition", (*cond_consts, *carry), test.param_types)
    if len(test.returns) != 1 or test.return_types[0] is not tensor((), dtypes.bool_):
        raise IRTypeError(f"while: the condition returns one bool, got {test.return_types}")
    _check("while", "parameter of the body", (*body_consts, *carry), body.param_types)
    _check("while", "carry", carry, body.return_types)
    _check_budget("while", attrs)
    return tuple(carry)


def _ignoring(fn: Function, extra: Types) -> Function:
    """`fn` with more parameters at the end that it does not read."""
    if not extra:
        return fn
    return remembered(fn, ("ignoring", extra), lambda: Function(
        fn.name, (*fn.params, *[Value(t) for t in extra]), fn.ops, fn.returns))


def _jvp_while(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    body = attrs["body"]
    cond_consts, body_consts, carry = _parts(attrs, operands)
    _, t_consts, t_carry = _parts(attrs, tangents)
    of_consts, of_carry = _active(t_consts), _active(t_carry)
    of_carry = _grow(of_carry, lambda flags: jvp(body, (*of_consts, *flags))[1])
    moved = jvp_to(body, (*of_consts, *of_carry), of_carry)
    t_carry = [b.zeros(v.type) if t is None and a else t
               for v, t, a in zip(carry, t_carry, of_carry, strict=True)]
    n_c, n, k = len(body_consts), len(body.params), sum(of_consts)
    params = (*moved.params[:n_c], *moved.params[n:n + k], *moved.params[n_c:n],
              *moved.params[n + k:])
    extra = tuple([t.type for t in t_carry if t is not None])
    made = b.emit(while_, *[v for group in (cond_consts, body_consts, t_consts, carry, t_carry)
                            for v in group if v is not None],
                  cond=_ignoring(attrs["cond"], extra),
                  body=_grouped(moved, ("while", n_c), params, moved.returns),
                  n_cond_consts=len(cond_consts), n_body_consts=n_c + k, **_kept(attrs))
    return made[:len(carry)], _spread(made[len(carry):], of_carry)


class _Divided(NamedTuple):
    """A while divided.

    `test`, `ahead`: the condition and body of the known carries, the number of turns after them.
    `side`: the body of the while_tangent.
    `of_consts`, `of_carry`: which constants of the body and carries are linear.
    `read_consts`, `read_carry`: which of the known ones `side` takes.
    """

    test: Function
    ahead: Function
    side: Function
    of_consts: Flags
    of_carry: Flags
    read_consts: Flags
    read_carry: Flags


def _divided(attrs: Any, linear: Flags) -> _Divided:
    test, body, n_cond = attrs["cond"], attrs["body"], attrs["n_cond_consts"]
    return remembered(body, ("divided", test, n_cond, linear), lambda: _divide_loop(attrs, linear))


def _divide_loop(attrs: Any, linear: Flags) -> _Divided:
    test, body = attrs["cond"], attrs["body"]
    of_cond, of_consts, of_carry = map(tuple, _parts(attrs, linear))
    of_carry = _grow(of_carry, lambda flags: divide(body, (*of_consts, *flags)).active_out)
    n_cond, n_consts = len(of_cond), len(of_consts)
    known = [not f for f in of_carry]

    tested = {v for op in test.ops for v in op.operands}.union(test.returns)
    depends = (*of_cond, *of_carry)
    if not tested.isdisjoint(select(test.params, depends)):
        raise MissingRule("it holds a loop whose number of turns depends on what it should be "
                          "linear in")
    known_test = Function(test.name, (*test.params[:n_cond], *select(test.params[n_cond:], known),
                                      Value(I32)), test.ops, test.returns)
    parts = divide(body, (*of_consts, *of_carry), of_carry)
    forward, n_known = parts.forward, sum(known)
    b = Builder(body.name)
    b.params = [*[Value(v.type) for v in forward.params], Value(I32)]
    made = b.inline(forward, b.params[:-1])[:n_known]
    counted = b.emit(lookup("add"), b.params[-1], b.full(I32, 1))
    ahead = dead_code(b.close([*made, counted]))

    n_given = n_consts - sum(of_consts)
    consts, carry = forward.params[:n_given], forward.params[n_given:]
    sources = parts.pick(forward.params, forward.returns)
    read_carry = (False,) * n_known
    while True:                                  # known carries that the linear ones depend on
        wanted = [*select(forward.returns[:n_known], read_carry), *sources]
        part = slice_of(forward, wanted, forward.params)
        used = {v for op in part.ops for v in op.operands}.union(wanted)
        grown = tuple([r or v in used for v, r in zip(carry, read_carry, strict=True)])
        if grown == read_carry:
            break
        read_carry = grown
    read_consts = tuple([v in used for v in consts])
    given = [*select(consts, read_consts), *select(carry, read_carry)]
    first = slice_of(forward, wanted, given)
    n, k, n_l = sum(read_consts), sum(read_carry), sum(of_consts)

    def turn(b: Any, *values: Value) -> list[Value]:
        l_consts, linear = values[n:n + n_l], values[n + n_l + k:]
        made = b.inline(first, (*values[:n], *values[n + n_l:n + n_l + k]))
        return [*made[:k], *b.inline(parts.linear, (*l_consts, *linear, *made[k:]))]

    linear_types = _types(parts.linear.params)
    side = _trace(body.name, (*_types(given[:n]), *linear_types[:n_l], *_types(given[n:]),
                              *linear_types[n_l:n_l + sum(of_carry)]), turn)
    return _Divided(known_test, ahead, side, of_consts, of_carry, read_consts, read_carry)


def _run_ahead(emit: Callable[..., Any], b: Any, attrs: Any, parts: _Divided, operands: Any
               ) -> tuple[list[Value], list[Value], list[Value], Value]:
    """Emit the loop of the known carries. Returns what they end as, the constants and the carries
    that the linear side starts from, and the number of turns."""
    cond_consts, body_consts, carry = _parts(attrs, operands)
    consts = select(body_consts, [not f for f in parts.of_consts])
    inits = select(carry, [not f for f in parts.of_carry])
    *known, count = emit(
        while_, *cond_consts, *consts, *inits, b.full(I32, 0), cond=parts.test, body=parts.ahead,
        n_cond_consts=len(cond_consts), n_body_consts=len(consts), **_kept(attrs))
    return known, select(consts, parts.read_consts), select(inits, parts.read_carry), count


def _split_while(b: Any, attrs: Any, operands: Any, linear: Flags) -> Any:
    parts = _divided(attrs, tuple(linear))
    known, consts, inits, count = _run_ahead(b.emit_forward, b, attrs, parts, operands)
    _, body_consts, carry = _parts(attrs, operands)
    l_consts = select(body_consts, parts.of_consts)
    made = b.emit_linear(while_tangent, *consts, *l_consts, *inits, *select(carry, parts.of_carry),
                         count, body=parts.side, n_consts=len(consts),
                         n_linear_consts=len(l_consts), n_carry=len(inits), **_kept(attrs))
    return join(parts.of_carry, made, known)


def _transpose_while(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    attrs = op.attrs
    parts = _divided(attrs, tuple([k is LINEAR for k in known]))
    _, consts, inits, count = _run_ahead(b.emit, b, attrs, parts, known)
    back = _transpose_turns(b, parts.side, consts, inits, count, sum(parts.of_consts),
                            select(cotangents, parts.of_carry), attrs.get("budget"))
    n_cond, n_known = attrs["n_cond_consts"], len(parts.of_consts) - sum(parts.of_consts)
    n = sum(parts.of_consts)
    return (*[None] * n_cond, *join(parts.of_consts, back[:n], [None] * n_known),
            *join(parts.of_carry, back[n:], [None] * (len(parts.of_carry) - len(back[n:]))))


def _batch_while(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    attrs, size = op.attrs, axis[1]
    test, body = attrs["cond"], attrs["body"]
    cond_consts, body_consts, carry = _parts(attrs, operands)
    of_cond, of_consts, of_carry = map(tuple, _parts(attrs, positions))
    settled = _settle(body, of_consts, list(of_carry), (), axis)
    moved, (of_test,) = vectorize(test, (*of_cond, *settled), axis)
    if of_test is None:
        carry = [v if q is None else move_batch(b, v, p, q, size)
                 for v, p, q in zip(carry, of_carry, settled, strict=True)]
        made = b.emit(while_, *cond_consts, *body_consts, *carry, **{
            **attrs, "cond": moved,
            "body": vectorize(body, (*of_consts, *settled), axis, settled)[0]})
        return made, settled

    front = (0,) * len(carry)                    # lanes that are done keep their values
    lanes, _ = vectorize(test, (*of_cond, *front), axis, (0,))
    carry = [move_batch(b, v, p, 0, size) for v, p in zip(carry, of_carry, strict=True)]
    made = b.emit(while_, *cond_consts, *cond_consts, *body_consts, *carry,
                  cond=_some_lane(lanes, size), body=_running(body, lanes, of_consts, len(of_cond),
                                                              axis),
                  n_cond_consts=len(cond_consts),
                  n_body_consts=len(cond_consts) + len(body_consts), **_kept(attrs))
    return made, front


def _some_lane(lanes: Function, size: int) -> Function:
    def make() -> Function:
        from . import lanes as parting  # start-up: few programs have lanes that part ways

        b = Builder(lanes.name)
        b.params = [Value(v.type) for v in lanes.params]
        (mask,) = b.inline(lanes, b.params)
        return b.close([parting.first_lane(b, mask, size)[1]])

    return remembered(lanes, ("some_lane", size), make)


def _running(body: Function, lanes: Function, of_consts: tuple, n_cond: int, axis: Any
             ) -> Function:
    """A turn of the lanes that still run. The others compute on the carries of the first that runs:
    on their own a loop of the body might not end, nor a coefficient of its derivative be finite."""
    def make() -> Function:
        from . import lanes as parting  # start-up: few programs have lanes that part ways

        n_consts, n_carry, size = len(of_consts), len(body.returns), axis[1]
        feeding = loops(body) or any([v.type.is_inexact for v in body.params])
        places = tuple([None if p is None else 0 for p in of_consts]) if feeding else of_consts
        turn, _ = vectorize(body, (*places, *(0,) * n_carry), axis, (0,) * n_carry)
        b = Builder(body.name)
        for v in lanes.params[:n_cond]:
            b.param(v.type)
        for v, p in zip(body.params, of_consts, strict=False):
            shape = v.type.shape
            b.param(v.type if p is None else v.type.with_shape((*shape[:p], size, *shape[p:])))
        for v in body.returns:
            b.param(v.type.with_shape((size, *v.type.shape)))
        cond_consts, consts = b.params[:n_cond], b.params[n_cond:n_cond + n_consts]
        carry = b.params[n_cond + n_consts:]
        (mask,) = b.inline(lanes, [*cond_consts, *carry])
        fed = [*consts, *carry]
        if feeding:
            first, _ = parting.first_lane(b, mask, size)
            fed = [parting.feed(b, mask, first, v, p, size)
                   for v, p in zip(fed, (*of_consts, *(0,) * n_carry), strict=True)]
        new = b.inline(turn, fed)
        return b.close([parting.choose(b, mask, v, old) for v, old in zip(new, carry, strict=True)])

    return remembered(body, ("running", lanes, of_consts, axis), make)


def _strong_while(op: Op, linear: Flags) -> Any:
    attrs, body = op.attrs, op.attrs["body"]
    _, consts, carry = map(tuple, _parts(attrs, linear))
    carry = _grow(carry, lambda flags: strong(body, (*consts, *flags))[1])
    made, _ = strong(body, (*consts, *carry))
    return op.definition, {**attrs, "body": made}, carry


def _thread_while(op: Op, bodies: Sequence[Function], extra: Sequence[Sequence[Value]]) -> Any:
    """Further constants of the test and of the body, each behind its own."""
    n, m, operands = op.attrs["n_cond_consts"], op.attrs["n_body_consts"], op.operands
    (test, body), (for_test, for_body) = bodies, extra
    moved = last_at(test, len(for_test), n), last_at(body, len(for_body), m)
    return (*operands[:n], *for_test, *operands[n:n + m], *for_body, *operands[n + m:]), {
        **with_bodies(op, moved), "n_cond_consts": n + len(for_test),
        "n_body_consts": m + len(for_body)}


while_ = define("while", attrs={"cond": FUNCTION, "body": FUNCTION, "n_cond_consts": INT,
                                "n_body_consts": INT, "budget": optional(INTS)},
                infer=_infer_while, single=False, own_primal=True, jvp=_jvp_while,
                split=_split_while, transpose=_transpose_while, batch=_batch_while,
                strong=_strong_while, thread=_thread_while)


# --- while_tangent --------------------------------------------------------------------------

def _tangent_parts(attrs: Any, values: Sequence[Any]) -> tuple[list, list, list, list, Any]:
    n, m = attrs["n_consts"], attrs["n_linear_consts"]
    k = n + m + attrs["n_carry"]
    return (list(values[:n]), list(values[n:n + m]), list(values[n + m:k]), list(values[k:-1]),
            values[-1])


def _infer_tangent(types: Types, attrs: Any) -> Types:
    body = attrs["body"]
    if not types or types[-1] is not I32:
        raise IRTypeError(f"while_tangent: the number of turns is i32[], got {types[-1:]}")
    *_, carry, linear, _ = _tangent_parts(attrs, types)
    _check("while_tangent", "parameter of the body", types[:-1], body.param_types)
    _check("while_tangent", "carry", (*carry, *linear), body.return_types)
    _check_budget("while_tangent", attrs)
    return tuple(linear)


def _trace(name: str, types: Sequence[TensorType], make: Callable[..., Sequence[Value]]
           ) -> Function:
    b = Builder(name)
    return b.close(make(b, *[b.param(t) for t in types]))


def _types(values: Sequence[Value]) -> Types:
    return tuple([v.type for v in values])


def _turns(b: Any, count: Value, body: Function, consts: Sequence[Value], carry: Sequence[Value],
           **kept: Any) -> tuple[Value, ...]:
    """`carry` after `count` turns of `body(consts, carry)`."""
    types, n = _types(carry), len(consts)

    def make() -> tuple[Function, Function]:
        def turn(b: Any, *values: Value) -> list[Value]:
            after = b.emit(lookup("add"), values[n], b.full(I32, 1))
            return [after, *b.inline(body, (*values[:n], *values[n + 1:]))]

        test = _trace("turns", (I32, I32, *types),
                      lambda b, count, i, *_: [b.emit(lookup("lt"), i, count)])
        return test, _trace(body.name, (*_types(consts), I32, *types), turn)

    test, turn = remembered(body, ("turns", n), make)
    return b.emit(while_, count, *consts, b.full(I32, 0), *carry, cond=test, body=turn,
                  n_cond_consts=1, n_body_consts=n, **kept)[1:]


def tangent_loop(types: Types, attrs: Any) -> Function:
    """What a while_tangent of such operands computes, as a Function of them: the loop that runs
    the carries and the tangents together."""
    body, n, k = attrs["body"], attrs["n_consts"] + attrs["n_linear_consts"], attrs["n_carry"]
    kept = _kept(attrs)
    return remembered(body, ("tangent_loop", n, *kept.values()), lambda: _trace(
        body.name, types, lambda b, *values: _turns(
            b, values[-1], body, values[:n], values[n:-1], **kept)[k:]))


def _jvp_tangent(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    consts, l_consts, carry, linear, count = _tangent_parts(attrs, operands)
    of_consts, d_consts, of_carry, d_linear, _ = _tangent_parts(attrs, tangents)
    if all(t is None for t in (*of_consts, *of_carry)):
        dots = [b.zeros(v.type) if t is None else t
                for v, t in zip((*l_consts, *linear), (*d_consts, *d_linear), strict=True)]
        n = len(l_consts)
        return (b.emit(while_tangent, *operands, **attrs),
                b.emit(while_tangent, *consts, *dots[:n], *carry, *dots[n:], count, **attrs))
    moved, out = jvp(tangent_loop(_types(operands), attrs), _active(tangents))
    made = b.inline(moved, (*operands, *[t for t in tangents if t is not None]))
    n = len(out)
    return made[:n], _spread(made[n:], out)


def _transpose_tangent(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    consts, l_consts, carry, linear, count = _tangent_parts(op.attrs, known)
    n = len(l_consts)
    back = _transpose_turns(b, op.attrs["body"], consts, carry, count, n, cotangents,
                            op.attrs.get("budget"))
    wanted = [ct if k is LINEAR else None
              for k, ct in zip((*l_consts, *linear), back, strict=True)]
    return (*[None] * len(consts), *wanted[:n], *[None] * len(carry), *wanted[n:], None)


def _batch_tangent(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    """Lanes that have had their turns keep their tangents; they run on the carries of the first
    that has not, where its coefficients are finite."""
    attrs, size, body = op.attrs, axis[1], op.attrs["body"]
    consts, l_consts, carry, linear, count = _tangent_parts(attrs, operands)
    *places, of_count = positions
    n = len(consts) + len(l_consts)
    before, of_carry = tuple(places[:n]), list(places[n:])
    values = [*carry, *linear]
    if of_count is None:
        settled = _settle(body, before, of_carry, (), axis)
        values = [v if q is None else move_batch(b, v, p, q, size)
                  for v, p, q in zip(values, of_carry, settled, strict=True)]
        moved, _ = vectorize(body, (*before, *settled), axis, settled)
        k = len(carry)
        return b.emit(while_tangent, *consts, *l_consts, *values, count,
                      **{**attrs, "body": moved}), settled[k:]

    values = [move_batch(b, v, p, 0, size) for v, p in zip(values, of_carry, strict=True)]
    limit = b.emit(lookup("reduce_max"), count, axes=(0,))
    made = b.emit(while_tangent, count, *consts, *l_consts, b.full(I32, 0), *values, limit,
                  body=_some_turns(body, attrs, before, axis), n_consts=1 + len(consts),
                  n_linear_consts=len(l_consts), n_carry=1 + len(carry), **_kept(attrs))
    return made, (0,) * len(linear)


def _some_turns(body: Function, attrs: Any, before: tuple, axis: Any) -> Function:
    """A turn of the lanes whose count (the first constant) is above the turn (first carry)."""
    size, n_consts, n_carry = axis[1], attrs["n_consts"], attrs["n_carry"]

    def make() -> Function:
        from . import lanes as parting  # start-up: few programs have lanes that part ways

        front = tuple([p if p is None or i >= n_consts else 0 for i, p in enumerate(before)])
        n_all = len(body.returns)
        turn, _ = vectorize(body, (*front, *(0,) * n_all), axis, (0,) * n_all)
        lanes = tensor((size,), dtypes.i32)
        n = len(before)
        outside = [t if p is None else t.with_shape((*t.shape[:p], size, *t.shape[p:]))
                   for t, p in zip(body.param_types[:n], before, strict=True)]
        carried = [t.with_shape((size, *t.shape)) for t in body.return_types]

        def run(b: Any, counts: Value, *values: Value) -> list[Value]:
            outer, i, old = values[:n], values[n], values[n + 1:]
            at = b.emit(lookup("broadcast_in_dim"), i, shape=(size,), dims=())
            mask = b.emit(lookup("lt"), at, counts)
            first, _ = parting.first_lane(b, mask, size)
            fed = [parting.feed(b, mask, first, v, p, size)
                   for v, p in zip(outer[:n_consts], before, strict=False)]
            state = [parting.feed(b, mask, first, v, 0, size) for v in old[:n_carry]]
            new = b.inline(turn, (*fed, *outer[n_consts:], *state, *old[n_carry:]))
            return [b.emit(lookup("add"), i, b.full(I32, 1)),
                    *[parting.choose(b, mask, v, o) for v, o in zip(new, old, strict=True)]]

        return _trace(body.name, (lanes, *outside, I32, *carried), run)

    return remembered(body, ("some_turns", n_consts, n_carry, before, axis), make)


def _strong_tangent(op: Op, linear: Flags) -> Any:
    attrs = op.attrs
    n, m, k = attrs["n_consts"], attrs["n_linear_consts"], attrs["n_carry"]
    n_linear = len(linear) - 1 - n - m - k
    flags = (*(False,) * n, *(True,) * m, *(False,) * k, *(True,) * n_linear)
    made, _ = strong(attrs["body"], flags)
    return op.definition, {**attrs, "body": made}, (True,) * n_linear


while_tangent = define("while_tangent", attrs={"body": FUNCTION, "n_consts": INT,
                                               "n_linear_consts": INT, "n_carry": INT,
                                               "budget": optional(INTS)},
                       infer=_infer_tangent, single=False, own_primal=True, jvp=_jvp_tangent,
                       transpose=_transpose_tangent, batch=_batch_tangent,
                       strong=_strong_tangent, thread=thread_consts)


# --- its transpose ------------------------------------------------------------------------------

def _transpose_turns(b: Any, body: Function, consts: Sequence[Value], carry: Sequence[Value],
                     count: Value, n_linear_consts: int, cotangents: Sequence[Value | None],
                     budget: Budget) -> list[Value | None]:
    """Cotangents of the linear constants and of the linear carries of `count` turns."""
    n_c, n_k, n_l = len(consts), len(carry), n_linear_consts
    linear = (*(False,) * n_c, *(True,) * n_l, *(False,) * n_k, *(True,) * len(cotangents))

    def active_in(carried: Flags) -> Flags:
        return linear_transpose(body, linear, (*(False,) * n_k, *carried))[1]

    carried = _grow(_active(cotangents), lambda flags: active_in(flags)[n_l:])
    summed = active_in(carried)[:n_l]
    back = remembered(body, ("reversal", n_c, n_k, n_l, carried, budget),
                      lambda: _reversal(body, linear, n_c, n_k, n_l, carried, budget))
    types = body.return_types[n_k:]
    cts = [b.zeros(t) if ct is None else ct
           for t, ct, a in zip(types, cotangents, carried, strict=True) if a]
    made = b.inline(back, (*consts, *carry, count, *cts))
    k = sum(carried)
    return [*_spread(made[k:], summed), *_spread(made[:k], carried)]


def _reversal(body: Function, linear: Flags, n_c: int, n_k: int, n_l: int, carried: Flags,
              budget: Budget) -> Function:
    """The loop over the turns, last first: of constants, carries at the start, the number of
    turns and cotangents; it returns cotangents, then those of the linear constants."""
    back, active = linear_transpose(body, linear, (*(False,) * n_k, *carried))
    summed, passed = active[:n_l], active[n_l:]
    consts, linear_types = body.param_types[:n_c], body.param_types[n_c:n_c + n_l]
    state, types = body.return_types[:n_k], body.return_types[n_k:]
    ct_types, sum_types = select(types, carried), select(linear_types, summed)
    k = len(ct_types)
    stack = _Checkpoints(body, linear, n_c, n_k, budget) if state else None
    held = stack.types if stack is not None else ()
    h = len(held)

    def turn(b: Any, *values: Value) -> list[Value]:
        given, (t, *rest) = values[:n_c], values[n_c:]
        kept, cts, sums = rest[:h], rest[h:h + k], rest[h + k:]
        at: list[Value] = []
        if stack is not None:
            kept, at = stack.pop(b, given, t, kept)
        made = b.inline(back, (*given, *at, *cts))
        n = sum(summed)
        moved = _spread(made[n:], passed)
        after = [b.zeros(t) if ct is None else ct
                 for t, ct, a in zip(types, moved, carried, strict=True) if a]
        totals = [b.emit(lookup("add"), s, ct) for s, ct in zip(sums, made[:n], strict=True)]
        return [b.emit(lookup("sub"), t, b.full(I32, 1)), *kept, *after, *totals]

    carry_types = (I32, *held, *ct_types, *sum_types)
    test = _trace("left", carry_types,
                  lambda b, t, *_: [b.emit(lookup("ge"), t, b.full(I32, 0))])
    step = _trace(back.name, (*consts, *carry_types), turn)

    def run(b: Any, *values: Value) -> Sequence[Value]:
        given, inits, count, cts = (values[:n_c], values[n_c:n_c + n_k], values[n_c + n_k],
                                    values[n_c + n_k + 1:])
        last = b.emit(lookup("sub"), count, b.full(I32, 1))
        kept = stack.start(b, inits) if stack is not None else ()
        made = b.emit(while_, *given, last, *kept, *cts, *map(b.zeros, sum_types), cond=test,
                      body=step, n_cond_consts=0, n_body_consts=n_c,
                      **_kept({"budget": budget}))
        return made[1 + h:]

    return _trace(f"{body.name}_reverse", (*consts, *state, I32, *ct_types), run)


class _Checkpoints:
    """A stack of carries: how many stand on it (less one), their turns, and their words.

    There is one row more than slots: the topmost takes the carries of the turn that is asked for,
    from where nothing more is run.
    """

    __slots__ = ("ahead", "consts", "n_slots", "state", "types")

    def __init__(self, body: Function, linear: Flags, n_c: int, n_k: int, budget: Budget) -> None:
        out = (*(False,) * n_k, *(True,) * (len(body.returns) - n_k))
        forward = divide(body, linear, out).forward
        self.ahead = dead_code(forward.replace(returns=forward.returns[:n_k]))
        self.consts, self.state = body.param_types[:n_c], body.return_types[:n_k]
        self.n_slots = n = _slots(self.state, budget)
        rows = [tensor((*t.shape, *t.dtype.physical), dtypes.u32) if t.dtype.is_key else t
                for t in self.state]
        self.types = (I32, tensor((n + 1,), dtypes.i32),
                      *[t.with_shape((n + 1, *t.shape)) for t in rows])

    def start(self, b: Any, inits: Sequence[Value]) -> list[Value]:
        """The stack that holds the carries of turn 0."""
        top, turns, *rows = [b.zeros(t) for t in self.types]
        return [top, turns, *[_write(b, r, top, words_of(b, v))
                              for r, v in zip(rows, inits, strict=True)]]

    def pop(self, b: Any, consts: Sequence[Value], t: Value, kept: Sequence[Value]
            ) -> tuple[list[Value], list[Value]]:
        """The stack without what it held for turn t or after, and the carries before turn t."""
        n = len(self.consts)

        def test(b: Any, t: Value, top: Value, turns: Value, *_: Value) -> list[Value]:
            return [b.emit(lookup("lt"), _read(b, turns, top), t)]

        def advance(b: Any, *values: Value) -> list[Value]:
            given, (t, top, turns, *rows) = values[:n], values[n:]
            here = _read(b, turns, top)
            one = b.full(I32, 1)
            left = b.emit(lookup("add"), b.emit(lookup("sub"), t, here), one)
            free = b.emit(lookup("sub"), b.full(I32, self.n_slots), top)
            count = _stride(b, left, free)
            reached = _turns(b, count, self.ahead, given, self._top(b, rows, top))
            top = b.emit(lookup("add"), top, one)
            turns = _write(b, turns, top, b.emit(lookup("add"), here, count))
            return [top, turns, *[_write(b, r, top, words_of(b, v))
                                  for r, v in zip(rows, reached, strict=True)]]

        found = _trace("behind", (I32, *self.types), test)
        step = _trace("advance", (*self.consts, I32, *self.types), advance)
        top, *rest = b.emit(while_, t, *consts, t, *kept, cond=found, body=step, n_cond_consts=1,
                            n_body_consts=n + 1)
        at = self._top(b, rest[1:], top)
        return [b.emit(lookup("sub"), top, b.full(I32, 1)), *rest], at

    def _top(self, b: Any, rows: Sequence[Value], top: Value) -> list[Value]:
        return [wrapped(b, _read(b, r, top), t) for r, t in zip(rows, self.state, strict=True)]


def _slots(state: Types, budget: Budget = None) -> int:
    """How many checkpoints of such carries are kept: at least one, or `FEWEST` with no budget."""
    size = max(sum([t.size * t.dtype.bits // 8 for t in state]), 1)
    if budget is None:
        return max(FEWEST, min(CHECKPOINTS, CHECKPOINT_BYTES // size))
    count, most = budget
    return max(1, min(count, most // size))


def _read(b: Any, rows: Value, at: Value) -> Value:
    """Row `at`."""
    shape = rows.type.shape
    starts = [at, *[b.full(I32, 0) for _ in shape[1:]]]
    row = b.emit(lookup("dynamic_slice"), rows, *starts, sizes=(1, *shape[1:]))
    return b.emit(lookup("reshape"), row, shape=shape[1:])


def _write(b: Any, rows: Value, at: Value, value: Value) -> Value:
    """`rows` with `value` as row `at`."""
    shape = rows.type.shape
    row = b.emit(lookup("reshape"), value, shape=(1, *shape[1:]))
    return b.emit(lookup("dynamic_update_slice"), rows, row, at,
                  *[b.full(I32, 0) for _ in shape[1:]])


def _stride(b: Any, left: Value, free: Value) -> Value:
    """How many turns to run on before the next checkpoint, with `left` turns to reverse from here
    (two or more) and `free` checkpoints for them, that of here included.

    With s checkpoints and each turn run at most r times more, binomial(s + r, s) turns can be
    reversed. With r the least that serves, that number for r - 1 is how far to go. It is computed
    in floats: near the best is good enough, so long as the last free checkpoint goes all the way.
    """
    f32 = tensor((), dtypes.f32)

    def more(b: Any, s: Value, r: Value, reach: Value, before: Value) -> list[Value]:
        r = b.emit(lookup("add"), r, b.full(f32, 1))
        grown = b.emit(lookup("div"), b.emit(lookup("mul"), reach, b.emit(lookup("add"), s, r)), r)
        return [r, grown, reach]

    target, s = [b.emit(lookup("convert"), v, dtype=dtypes.f32) for v in (left, free)]
    one, last = b.full(f32, 1), b.emit(lookup("sub"), left, b.full(I32, 1))
    test = _trace("short", (f32, f32, f32, f32), lambda b, target, r, reach, before: [
        b.emit(lookup("lt"), reach, target)])
    _, _, before = b.emit(while_, target, s, b.full(f32, 0), one, one, cond=test,
                          body=_trace("reach", (f32, f32, f32, f32), more), n_cond_consts=1,
                          n_body_consts=1)
    far = b.emit(lookup("min"), b.emit(lookup("convert"), before, dtype=dtypes.i32), last)
    return b.emit(lookup("select"), b.emit(lookup("le"), free, b.full(I32, 1)), last, far)

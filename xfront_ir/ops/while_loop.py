"""The loop whose number of turns depends on values, and its derivatives.

    while(*cond_consts, *body_consts, *carry) {cond, body, n_cond_consts, n_body_consts, budget}
    while_tangent(*consts, *linear_consts, *carry, *linear, count) {body, n_consts,
                  n_linear_consts, n_carry, budget}
        body(consts, linear_consts, carry, linear) -> (carry, linear); results: linear

`linearize` divides a `while` into one that counts its turns and a `while_tangent`, the map of
tangents through `count` turns: linear in `linear_consts` and `linear`. It is lowered as a loop that
runs the carries again beside the tangents, and its transpose is `_reversal`: ordinary loops that
go through the turns backwards, and compute the carries that they need again from checkpoints. There
are at most `_slots` checkpoints, however many turns there are, placed so that the fewest turns run
again. The results are plain loops, so that derivatives of higher order need nothing more.
`budget`, where given, is (number of checkpoints, bytes); a loop exceeds neither.

Sources: StableHLO spec, `while`; Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 26
(2000), for the places of the checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import dtypes
from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import LINEAR, lookup
from ..errors import IRTypeError, MissingRule
from ..opdef import FUNCTION, INT, INTS, define, optional
from ..passes.bodies import (
    Flags,
    batched,
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
from ..placed_builder import PlacedBuilder
from ..regions import REST, Body, Regions, cut
from ..types import I32, TensorType, tensor
from .control import (
    Types,
    check_types,
    grown_flags,
    has_tangent,
    regrouped,
    steady_places,
    widest,
    with_nones,
)
from .families import move_batch
from .formulas import Term, formula, where
from .sharding import summed_as
from .words import words_of, wrapped

if TYPE_CHECKING:
    from ..passes.varying import Varying
    from ..rules import (
        Attrs,
        Axis,
        Batched,
        NewTangents,
        Positions,
        Tangents,
        Values,
        Varied,
        WithTangents,
    )
    from ..split_builder import SplitBuilder

CHECKPOINTS = 64
"""Reverse mode keeps the carries of at most this many turns."""

CHECKPOINT_BYTES = 2 ** 26
"""It keeps fewer, but at least `FEWEST`, where the carries would take more bytes than this."""

FEWEST = 8

Budget = tuple[int, int] | None
Places = tuple[int | None, ...]


def _kept(attrs: Any) -> dict[str, Any]:
    """The budget of a loop as an attribute, for loops made from it."""
    budget = attrs.get("budget")
    return {} if budget is None else {"budget": budget}


def _check_budget(name: str, attrs: Any) -> None:
    budget = attrs.get("budget")
    if budget is not None and (len(budget) != 2 or min(budget) < 1):
        raise IRTypeError(f"{name}: the budget must be a number of checkpoints and a number of "
                          f"bytes, both positive, got {budget}")


# --- while --------------------------------------------------------------------------------

WHILE = Regions({"cond_consts": "n_cond_consts", "body_consts": "n_body_consts", "carry": REST},
                {"carry": REST},
                {"cond": Body(("cond_consts", "carry"), (), "cond_consts"),
                 "body": Body(("body_consts", "carry"), ("carry",), "body_consts")},
                is_loop=True, turns=lambda attrs: None, may_not_end=True, free=True)


def _infer_while(types: Types, attrs: Attrs) -> Types:
    cond_consts, body_consts, carry = WHILE.split(attrs, types)
    test, body = attrs["cond"], attrs["body"]
    check_types("while", "parameter of the condition", (*cond_consts, *carry), test.param_types)
    if len(test.returns) != 1 or test.return_types[0].plain is not tensor((), dtypes.bool_):
        raise IRTypeError("while: the condition must return one scalar bool, got "
                          f"{', '.join(map(str, test.return_types))}")
    check_types("while", "parameter of the body", (*body_consts, *carry), body.param_types)
    check_types("while", "carry", carry, body.return_types)
    _check_budget("while", attrs)
    return tuple(carry)


def _ignoring(fn: Function, extra: Types) -> Function:
    """`fn` with more parameters at the end that it does not read."""
    if not extra:
        return fn
    return remembered(fn, ("ignoring", extra), lambda: Function(
        fn.name, (*fn.params, *[Value(t) for t in extra]), fn.ops, fn.returns))


def _jvp_while(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    body = attrs["body"]
    cond_consts, body_consts, carry = WHILE.split(attrs, operands)
    _, t_consts, t_carry = WHILE.split(attrs, tangents)
    of_consts, of_carry = has_tangent(t_consts), has_tangent(t_carry)
    of_carry = grown_flags(of_carry, lambda flags: jvp(body, (*of_consts, *flags))[1])
    moved = jvp_to(body, (*of_consts, *of_carry), of_carry)
    t_carry = [b.zeros(v.type) if t is None and a else t
               for v, t, a in zip(carry, t_carry, of_carry, strict=True)]
    p_consts, p_carry, d_consts, d_carry = cut(moved.params, len(body_consts), len(carry),
                                               sum(of_consts))
    dots, carried = ([t for t in group if t is not None] for group in (t_consts, t_carry))
    made = WHILE.emit(
        b.emit, while_, (cond_consts, [*body_consts, *dots], [*carry, *carried]),
        cond=_ignoring(attrs["cond"], _types(carried)),
        body=regrouped(moved, ("while", len(body_consts)),
                      (*p_consts, *d_consts, *p_carry, *d_carry), moved.returns), **_kept(attrs))
    results, moving = cut(made, len(carry))
    return results, with_nones(moving, of_carry)


class _Divided(NamedTuple):
    """The parts of a divided while.

    `test`, `ahead`: condition and body of the loop of known carries and a last carry, the count.
    `side`: the body of the while_tangent.
    `of_consts`, `of_carry`: which constants of the body and which carries are linear.
    `read_consts`, `read_carry`: which known constants and which known carries `side` takes.
    """

    test: Function
    ahead: Function
    side: Function
    of_consts: Flags
    of_carry: Flags
    read_consts: Flags
    read_carry: Flags


def _divided(attrs: Any, linear: Flags) -> _Divided:
    test, body, sizes = attrs["cond"], attrs["body"], map(len, WHILE.split(attrs, linear))
    return remembered(body, ("divided", test, *sizes, linear), lambda: _divide_loop(attrs, linear))


def _divide_loop(attrs: Any, linear: Flags) -> _Divided:
    test, body = attrs["cond"], attrs["body"]
    of_cond, of_consts, of_carry = map(tuple, WHILE.split(attrs, linear))
    of_carry = grown_flags(of_carry, lambda flags: divide(body, (*of_consts, *flags)).active_out)
    known = [not f for f in of_carry]
    t_consts, t_carry = WHILE.split_params("cond", attrs, test.params)

    tested = {v for op in test.ops for v in op.operands}.union(test.returns)
    depends = (*of_cond, *of_carry)
    if not tested.isdisjoint(select(test.params, depends)):
        raise MissingRule("the function has a loop whose number of iterations depends on the input "
                          "that it should be linear in")
    known_test = Function(test.name, (*t_consts, *select(t_carry, known), Value(I32)), test.ops,
                          test.returns)
    parts = divide(body, (*of_consts, *of_carry), of_carry)
    forward = parts.forward
    consts, carry = cut(forward.params, len(of_consts) - sum(of_consts))
    after, _ = cut(forward.returns, len(carry))

    def counting(b: Builder, given: list[Value], count: list[Value]) -> list[Value]:
        made, _ = cut(b.inline(forward, given), len(carry))
        return [*made, b.emit(lookup("add"), *count, b.full(I32, 1))]

    ahead = dead_code(_trace(body.name, (_types(forward.params), (I32,)), counting))

    sources = parts.pick(forward.params, forward.returns)
    read_carry = (False,) * len(carry)
    while True:                                  # known carries that the linear ones depend on
        wanted = [*select(after, read_carry), *sources]
        part = slice_of(forward, wanted, forward.params)
        used = {v for op in part.ops for v in op.operands}.union(wanted)
        grown = tuple([r or v in used for v, r in zip(carry, read_carry, strict=True)])
        if grown == read_carry:
            break
        read_carry = grown
    read_consts = tuple([v in used for v in consts])
    r_consts, r_carry = select(consts, read_consts), select(carry, read_carry)
    first = slice_of(forward, wanted, [*r_consts, *r_carry])
    l_consts, l_carry, _ = cut(parts.linear.params, sum(of_consts), sum(of_carry))

    def turn(b: Builder, *groups: list[Value]) -> list[Value]:
        consts, l_consts, carry, linear = groups
        made, residuals = cut(b.inline(first, (*consts, *carry)), len(carry))
        return [*made, *b.inline(parts.linear, (*l_consts, *linear, *residuals))]

    side = _trace(body.name, tuple(map(_types, (r_consts, l_consts, r_carry, l_carry))), turn)
    return _Divided(known_test, ahead, side, of_consts, of_carry, read_consts, read_carry)


def _run_ahead(emit: Callable[..., Any], b: Builder, attrs: Any, parts: _Divided, operands: Values
               ) -> tuple[list[Value], list[Value], list[Value], Value]:
    """Emit the loop of the known carries. Returns their final values, the constants and the initial
    carries that the linear side takes, and the number of turns."""
    cond_consts, body_consts, carry = WHILE.split(attrs, operands)
    consts = select(body_consts, [not f for f in parts.of_consts])
    inits = select(carry, [not f for f in parts.of_carry])
    *known, count = WHILE.emit(emit, while_, (cond_consts, consts, [*inits, b.full(I32, 0)]),
                               cond=parts.test, body=parts.ahead, **_kept(attrs))
    return known, select(consts, parts.read_consts), select(inits, parts.read_carry), count


def _split_while(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    parts = _divided(attrs, tuple(linear))
    known, consts, inits, count = _run_ahead(b.emit, b, attrs, parts, operands)
    _, body_consts, carry = WHILE.split(attrs, operands)
    l_consts = select(body_consts, parts.of_consts)
    made = TANGENT.emit(b.emit_linear, while_tangent, (
        consts, l_consts, inits, select(carry, parts.of_carry), [count]), body=parts.side,
        **_kept(attrs))
    return join(parts.of_carry, made, known)


def _transpose_while(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs = op.attrs
    parts = _divided(attrs, tuple([k is LINEAR for k in known]))
    _, consts, inits, count = _run_ahead(b.emit, b, attrs, parts, known)
    back = _transpose_turns(b, parts.side, consts, inits, count, sum(parts.of_consts),
                            select(cotangents, parts.of_carry), attrs.get("budget"))
    cond_consts, _, _ = WHILE.split(attrs, known)
    of_consts, of_carry = cut(back, sum(parts.of_consts))
    return (*[None] * len(cond_consts), *with_nones(of_consts, parts.of_consts),
            *with_nones(of_carry, parts.of_carry))


def _batch_while(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    attrs, size = op.attrs, axis[1]
    test, body = attrs["cond"], attrs["body"]
    cond_consts, body_consts, carry = WHILE.split(attrs, operands)
    of_cond, of_consts, of_carry = map(tuple, WHILE.split(attrs, positions))
    steady = steady_places(body, of_consts, list(of_carry), (), axis)
    moved, (of_test,) = vectorize(test, (*of_cond, *steady), axis)
    if of_test is None:
        carry = [v if q is None else move_batch(b, v, p, q, size)
                 for v, p, q in zip(carry, of_carry, steady, strict=True)]
        made = WHILE.emit(b.emit, while_, (cond_consts, body_consts, carry), **{
            **attrs, "cond": moved,
            "body": vectorize(body, (*of_consts, *steady), axis, steady)[0]})
        return made, steady

    front = (0,) * len(carry)                    # lanes that are done keep their values
    lanes, _ = vectorize(test, (*of_cond, *front), axis, (0,))
    wide = [move_batch(b, v, p, 0, size) for v, p in zip(carry, of_carry, strict=True)]
    made = WHILE.emit(b.emit, while_, (cond_consts, [*cond_consts, *body_consts], wide),
                      cond=_some_lane(lanes),
                      body=_running(body, lanes, of_consts, len(of_cond), axis), **_kept(attrs))
    same = [p is None and x is y for p, x, y in zip(
        of_carry, body.params[len(of_consts):], body.returns, strict=True)]
    return ([v if s else x for s, v, x in zip(same, carry, made, strict=True)],
            tuple([None if s else 0 for s in same]))


def _some_lane(lanes: Function) -> Function:
    def test(b: Builder, given: list[Value]) -> list[Value]:
        (mask,) = b.inline(lanes, given)
        return [b.emit(lookup("reduce_or"), mask, axes=(0,))]

    return remembered(lanes, "some_lane",
                      lambda: _trace(lanes.name, (lanes.param_types,), test))


def _running(body: Function, lanes: Function, of_consts: Positions, n_cond: int, axis: Any
             ) -> Function:
    """A turn of the lanes that still run. The other lanes compute on the carries of the first lane
    that runs: on their own carries a loop in the body might not end, and a coefficient of its
    derivative might be infinite. Where the body is light, lanes that are done compute on their own
    carries, as constants to derivatives."""
    def make() -> Function:
        from . import lanes as parting  # start-up: few programs have lanes that part ways

        size, front = axis[1], (0,) * len(body.returns)
        all_places = (*of_consts, *front)
        light = parting.is_light(body, body.params, all_places, size)
        feeding = loops(body) or any([v.type.is_inexact for v in body.params])
        places = tuple([0 if p is not None or (light and v.type.is_inexact) else None
                        for v, p in zip(body.params, of_consts, strict=False)])
        turn, _ = vectorize(body, (*(places if feeding else of_consts), *front), axis, front)
        given, _ = cut(body.param_types, len(of_consts))

        def run(b: Builder, *groups: list[Value]) -> list[Value]:
            cond_consts, consts, carry = groups
            (mask,) = b.inline(lanes, [*cond_consts, *carry])
            fed = [*consts, *carry]
            if light and feeding:
                fed = [parting.hold(b, mask, v, p, size)
                       for v, p in zip(fed, all_places, strict=True)]
            elif feeding:
                first, _ = parting.first_lane(b, mask, size)
                fed = [parting.feed(b, mask, first, v, p, size)
                       for v, p in zip(fed, all_places, strict=True)]
            return [parting.choose(b, mask, v, old)
                    for v, old in zip(b.inline(turn, fed), carry, strict=True)]

        return _trace(body.name, (
            cut(lanes.param_types, n_cond)[0],
            [batched(t, p, size) for t, p in zip(given, of_consts, strict=True)],
            [batched(t, 0, size) for t in body.return_types]), run)

    return remembered(body, ("running", lanes, of_consts, axis), make)


def _strong_while(op: Op, linear: Flags) -> Any:
    attrs, body = op.attrs, op.attrs["body"]
    _, consts, carry = map(tuple, WHILE.split(attrs, linear))
    carry = grown_flags(carry, lambda flags: strong(body, (*consts, *flags))[1])
    made, _ = strong(body, (*consts, *carry))
    return op.definition, {**attrs, "body": made}, carry


def _varying_while(v: Varying, op: Op, operands: Values) -> Varied:
    """The condition decides the number of turns, so carries vary over all axes over which it does,
    and what the body reads is cast to before the loop: a cast in the body would sum cotangents in
    turns that only some devices take.
    """
    attrs = op.attrs
    of_cond, of_body, inits = WHILE.split(attrs, operands)
    cond_consts, carry = ([v.of(x) for x in group] for group in (of_cond, inits))
    while True:
        body_consts = [v.of(x) for x in of_body]
        carry = widest(v, attrs["body"], body_consts, carry, ())
        (chosen,) = v.body(attrs["cond"], (*cond_consts, *carry))[1]
        of_body = [v.cast(x, chosen) for x in of_body]
        if all([chosen <= s for s in carry]) and body_consts == [v.of(x) for x in of_body]:
            break
        carry = [s | chosen for s in carry]
    body = v.body(attrs["body"], (*body_consts, *carry), carry)[0]
    test = v.body(attrs["cond"], (*cond_consts, *carry))[0]
    inits = [v.cast(x, s) for x, s in zip(inits, carry, strict=True)]
    return WHILE.emit(v.b.emit, while_, (of_cond, of_body, inits), **{**attrs, "body": body,
                                                            "cond": test}), carry


while_ = define("while", attrs={"cond": FUNCTION, "body": FUNCTION, "n_cond_consts": INT,
                                "n_body_consts": INT, "budget": optional(INTS)},
                infer=_infer_while, single=False, own_primal=True, jvp=_jvp_while,
                split=_split_while, transpose=_transpose_while, batch=_batch_while,
                strong=_strong_while, regions=WHILE, varying=_varying_while)


# --- while_tangent --------------------------------------------------------------------------

TANGENT = Regions({"consts": "n_consts", "linear_consts": "n_linear_consts", "carry": "n_carry",
                   "linear": REST, "count": 1}, {"linear": REST},
                  {"body": Body(("consts", "linear_consts", "carry", "linear"),
                                ("carry", "linear"), "consts")},
                  is_loop=True, turns=lambda attrs: None)
"""The regions are not free: the operands are those of the loop whose derivative this is."""


def _infer_tangent(types: Types, attrs: Attrs) -> Types:
    body = attrs["body"]
    if not types or types[-1] is not I32:
        raise IRTypeError("while_tangent: the number of iterations must be i32[], got "
                          f"{types[-1:]}")
    *given, _ = TANGENT.split(attrs, types)
    _, _, carry, linear = given
    check_types("while_tangent", "parameter of the body", [t for group in given for t in group],
           body.param_types)
    check_types("while_tangent", "carry", (*carry, *linear), body.return_types)
    _check_budget("while_tangent", attrs)
    return tuple(linear)


def _trace(name: str, groups: Sequence[Sequence[TensorType]],
           make: Callable[..., Sequence[Value]]) -> Function:
    """The Function whose results `make(b, *groups)` returns."""
    b = PlacedBuilder(name)
    return b.close(make(b, *[[b.param(t) for t in types] for types in groups]))


def _more_turns(b: Builder, count: list[Value], at: list[Value], carry: list[Value]
                ) -> list[Value]:
    return [b.emit(lookup("lt"), *at, *count)]


def _any_left(b: Builder, left: list[Value], *rest: list[Value]) -> list[Value]:
    return [b.emit(lookup("ge"), *left, b.full(I32, 0))]


def _too_short(b: Builder, target: list[Value], carry: list[Value]) -> list[Value]:
    return [b.emit(lookup("lt"), carry[1], *target)]


def _types(values: Sequence[Value]) -> Types:
    return tuple([v.type for v in values])


def _turns(b: Builder, count: Value, body: Function, consts: Sequence[Value],
           carry: Sequence[Value],
           **kept: Any) -> list[Value]:
    """`carry` after `count` turns of `body(consts, carry)`."""
    types = _types(carry)

    def make() -> tuple[Function, Function]:
        def turn(b: Builder, consts: list[Value], at: list[Value], carry: list[Value]
                 ) -> list[Value]:
            after = b.emit(lookup("add"), *at, b.full(I32, 1))
            return [after, *b.inline(body, (*consts, *carry))]

        test = _trace("turns", ((I32,), (I32,), types), _more_turns)
        return test, _trace(body.name, (_types(consts), (I32,), types), turn)

    test, turn = remembered(body, ("turns", len(consts)), make)
    _, *made = WHILE.emit(b.emit, while_, ([count], consts, [b.full(I32, 0), *carry]), cond=test,
                          body=turn, **kept)
    return made


def tangent_loop(types: Types, attrs: Attrs) -> Function:
    """The Function that a while_tangent of such operands computes: the loop that runs the carries
    and the tangents together."""
    body, kept, groups = attrs["body"], _kept(attrs), TANGENT.split(attrs, types)

    def run(b: Builder, *groups: list[Value]) -> list[Value]:
        consts, l_consts, carry, linear, (count,) = groups
        made = _turns(b, count, body, [*consts, *l_consts], [*carry, *linear], **kept)
        return cut(made, len(carry))[1]

    return remembered(body, ("tangent_loop", *map(len, groups), *kept.values()),
                      lambda: _trace(body.name, groups, run))


def _jvp_tangent(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    consts, l_consts, carry, linear, count = TANGENT.split(attrs, operands)
    of_consts, d_consts, of_carry, d_linear, _ = TANGENT.split(attrs, tangents)
    if all(t is None for t in (*of_consts, *of_carry)):
        dots = [[b.zeros(v.type) if t is None else t for v, t in zip(values, group, strict=True)]
                for values, group in ((l_consts, d_consts), (linear, d_linear))]
        return (b.emit(while_tangent, *operands, **attrs),
                TANGENT.emit(b.emit, while_tangent, (consts, dots[0], carry, dots[1], count),
                             **attrs))
    moved, out = jvp(tangent_loop(_types(operands), attrs), has_tangent(tangents))
    made = b.inline(moved, (*operands, *[t for t in tangents if t is not None]))
    results, d_results = cut(made, len(out))
    return results, with_nones(d_results, out)


def _transpose_tangent(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    consts, l_consts, carry, linear, (count,) = TANGENT.split(op.attrs, known)
    back = _transpose_turns(b, op.attrs["body"], consts, carry, count, len(l_consts), cotangents,
                            op.attrs.get("budget"))
    wanted = [ct if k is LINEAR else None
              for k, ct in zip((*l_consts, *linear), back, strict=True)]
    of_consts, of_linear = cut(wanted, len(l_consts))
    return (*[None] * len(consts), *of_consts, *[None] * len(carry), *of_linear, None)


def _batch_tangent(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    """Lanes that have had their turns keep their tangents. They run on the carries of the first
    lane that still has turns left, where the coefficients are finite."""
    attrs, size, body = op.attrs, axis[1], op.attrs["body"]
    consts, l_consts, carry, linear, (count,) = TANGENT.split(attrs, operands)
    p_consts, p_l_consts, p_carry, p_linear, (of_count,) = TANGENT.split(attrs, positions)
    before, of_carry = (*p_consts, *p_l_consts), [*p_carry, *p_linear]
    values = [*carry, *linear]
    if of_count is None:
        steady = steady_places(body, before, of_carry, (), axis)
        values = [v if q is None else move_batch(b, v, p, q, size)
                  for v, p, q in zip(values, of_carry, steady, strict=True)]
        moved, _ = vectorize(body, (*before, *steady), axis, steady)
        made = TANGENT.emit(b.emit, while_tangent, (
            consts, l_consts, *cut(values, len(carry)), [count]), **{**attrs, "body": moved})
        return made, cut(steady, len(carry))[1]

    values = [move_batch(b, v, p, 0, size) for v, p in zip(values, of_carry, strict=True)]
    carry, linear = cut(values, len(carry))
    limit = b.emit(lookup("reduce_max"), count, axes=(0,))
    made = TANGENT.emit(b.emit, while_tangent, (
        [count, *consts], l_consts, [b.full(I32, 0), *carry], linear, [limit]),
        body=_some_turns(body, attrs, tuple(p_consts), tuple(p_l_consts), axis), **_kept(attrs))
    return made, (0,) * len(linear)


def _some_turns(body: Function, attrs: Any, of_consts: Places, of_linear: Places, axis: Any
                ) -> Function:
    """A turn of the lanes whose count (the first constant) exceeds the turn (the first carry)."""
    size, types = axis[1], TANGENT.split_params("body", attrs, body.param_types)
    of_state = [(0,) * len(group) for group in types[2:]]

    def make() -> Function:
        from . import lanes as parting  # start-up: few programs have lanes that part ways

        at_front, steady = [None if p is None else 0 for p in of_consts], (0,) * len(body.returns)
        turn, _ = vectorize(body, (*at_front, *of_linear, *steady), axis, steady)
        lanes = tensor((size,), dtypes.i32)

        def run(b: Builder, *groups: list[Value]) -> list[Value]:
            counts, consts, l_consts, (i,), carry, linear = groups
            at = b.emit(lookup("broadcast_in_dim"), i, shape=(size,), dims=())
            mask = b.emit(lookup("lt"), at, *counts)
            first, _ = parting.first_lane(b, mask, size)
            fed = [parting.feed(b, mask, first, v, p, size)
                   for v, p in zip(consts, of_consts, strict=True)]
            state = [parting.feed(b, mask, first, v, 0, size) for v in carry]
            new = b.inline(turn, (*fed, *l_consts, *state, *linear))
            return [b.emit(lookup("add"), i, b.full(I32, 1)),
                    *[parting.choose(b, mask, v, o)
                      for v, o in zip(new, (*carry, *linear), strict=True)]]

        consts, l_consts, carry, linear = (
            [batched(t, p, size) for t, p in zip(group, places, strict=True)]
            for group, places in zip(types, (of_consts, of_linear, *of_state), strict=True))
        return _trace(body.name, ((lanes,), consts, l_consts, (I32,), carry, linear), run)

    key = ("some_turns", *map(len, types), of_consts, of_linear, axis)
    return remembered(body, key, make)


def _strong_tangent(op: Op, linear: Flags) -> Any:
    consts, l_consts, carry, rest, _ = TANGENT.split(op.attrs, linear)
    flags = (*[False] * len(consts), *[True] * len(l_consts), *[False] * len(carry),
             *[True] * len(rest))
    made, _ = strong(op.attrs["body"], flags)
    return op.definition, {**op.attrs, "body": made}, (True,) * len(rest)


while_tangent = define("while_tangent", attrs={"body": FUNCTION, "n_consts": INT,
                                               "n_linear_consts": INT, "n_carry": INT,
                                               "budget": optional(INTS)},
                       infer=_infer_tangent, single=False, own_primal=True, jvp=_jvp_tangent,
                       transpose=_transpose_tangent, batch=_batch_tangent,
                       strong=_strong_tangent, regions=TANGENT)


# --- its transpose ------------------------------------------------------------------------------

class _Sizes(NamedTuple):
    """How many constants, linear constants and carries the body of a loop takes."""

    consts: int
    linear_consts: int
    carry: int


def _transpose_turns(b: Builder, body: Function, consts: Sequence[Value], carry: Sequence[Value],
                     count: Value, n_linear_consts: int, cotangents: Sequence[Value | None],
                     budget: Budget) -> list[Value | None]:
    """The cotangents of the linear constants and of the linear carries over `count` turns."""
    sizes = _Sizes(len(consts), n_linear_consts, len(carry))
    carried = grown_flags(has_tangent(cotangents), lambda flags: _received(body, sizes, flags)[2])
    back = remembered(body, ("reversal", sizes, carried, budget),
                      lambda: _reversal(body, sizes, carried, budget))
    _, types = cut(body.return_types, sizes.carry)
    cts = [b.zeros(t.cotangent) if ct is None else ct
           for t, ct, a in zip(types, cotangents, carried, strict=True) if a]
    made, sums = cut(b.inline(back, (*consts, *carry, count, *cts)), sum(carried))
    return [*with_nones(sums, _received(body, sizes, carried)[1]), *with_nones(made, carried)]


def _received(body: Function, sizes: _Sizes, carried: Flags
              ) -> tuple[Function, list[bool], list[bool]]:
    """The transpose of a turn where the linear carries in `carried` have cotangents, and which
    linear constants and which linear carries get one."""
    linear = (*[False] * sizes.consts, *[True] * sizes.linear_consts, *[False] * sizes.carry,
              *[True] * len(carried))
    back, active = linear_transpose(body, linear, (*[False] * sizes.carry, *carried))
    of_consts, of_carry = cut(active, sizes.linear_consts)
    return back, of_consts, of_carry


def _reversal(body: Function, sizes: _Sizes, carried: Flags, budget: Budget) -> Function:
    """The loop over the turns, last first. It takes constants, carries at the start, the number of
    turns and cotangents; it returns cotangents of the carries, then those of the linear constants.
    """
    back, summed, passed = _received(body, sizes, carried)
    consts, linear_types, state, _ = cut(body.param_types, sizes.consts, sizes.linear_consts,
                                         sizes.carry)
    _, types = cut(body.return_types, sizes.carry)
    ct_types, sum_types = ([t.cotangent for t in select(*group)] for group in
                           ((types, carried), (linear_types, summed)))
    stack = _Checkpoints(body, sizes, budget) if state else None
    held = stack.types if stack is not None else ()

    def turn(b: Builder, *groups: list[Value]) -> list[Value]:
        given, (t,), kept, cts, sums = groups
        at: list[Value] = []
        if stack is not None:
            kept, at = stack.pop(b, given, t, kept)
        of_sums, moved = cut(b.inline(back, (*given, *at, *cts)), sum(summed))
        after = [b.zeros(t.cotangent) if ct is None else ct
                 for t, ct, a in zip(types, with_nones(moved, passed), carried, strict=True) if a]
        totals = [b.emit(lookup("add"), s, ct) for s, ct in zip(sums, of_sums, strict=True)]
        return [b.emit(lookup("sub"), t, b.full(I32, 1)), *kept, *after, *totals]

    carry_types = ((I32,), held, ct_types, sum_types)
    test = _trace("left", carry_types, _any_left)
    step = _trace(back.name, (consts, *carry_types), turn)

    def run(b: Builder, *groups: list[Value]) -> Sequence[Value]:
        given, inits, (count,), cts = groups
        last = b.emit(lookup("sub"), count, b.full(I32, 1))
        kept = stack.start(b, inits) if stack is not None else []
        carry = ([last], kept, cts, [*map(b.zeros, sum_types)])
        made = WHILE.emit(b.emit, while_, ((), given, [v for group in carry for v in group]),
                          cond=test, body=step, **_kept({"budget": budget}))
        return cut(made, 1 + len(kept))[1]

    return _trace(f"{body.name}_reverse", (consts, state, (I32,), ct_types), run)


class _Checkpoints:
    """A stack of carries: the index of its top row, the turn of each row, and the carries as rows.

    There is one row more than slots: the last takes the carries of the turn that `pop` gives, which
    is not run on from.
    """

    __slots__ = ("ahead", "consts", "n_slots", "state", "types")

    def __init__(self, body: Function, sizes: _Sizes, budget: Budget) -> None:
        state, linear = cut(body.return_types, sizes.carry)
        of_state, of_linear = (False,) * len(state), (True,) * len(linear)
        forward = divide(body, (*[False] * sizes.consts, *[True] * sizes.linear_consts, *of_state,
                                *of_linear), (*of_state, *of_linear)).forward
        self.ahead = dead_code(forward.replace(returns=cut(forward.returns, len(state))[0]))
        self.consts, self.state = cut(body.param_types, sizes.consts)[0], tuple(state)
        self.n_slots = n = _slots(self.state, budget)
        rows = [tensor((*t.shape, *t.dtype.physical), dtypes.u32) if t.dtype.is_key else t
                for t in self.state]
        self.types = (I32, tensor((n + 1,), dtypes.i32),
                      *[t.stacked(n + 1) if t.is_manual else t.with_shape((n + 1, *t.shape))
                        for t in rows])         # elsewhere rows of sums are kept as their values

    def start(self, b: Builder, inits: Sequence[Value]) -> list[Value]:
        """The stack that holds only the carries before turn 0."""
        top, turns, *rows = [b.zeros(t) for t in self.types]
        return [top, turns, *[_write(b, r, top, words_of(b, v))
                              for r, v in zip(rows, inits, strict=True)]]

    def pop(self, b: Builder, consts: Sequence[Value], t: Value, kept: Sequence[Value]
            ) -> tuple[list[Value], list[Value]]:
        """The stack without its rows for turn t and later, and the carries before turn t."""
        def test(b: Builder, t: list[Value], top: list[Value], turns: list[Value], *_: Any
                 ) -> list[Value]:
            return [b.emit(lookup("lt"), _read(b, *turns, *top), *t)]

        def advance(b: Builder, *groups: list[Value]) -> list[Value]:
            given, (t,), (top,), (turns,), rows = groups
            here = _read(b, turns, top)
            one = b.full(I32, 1)
            left = _left(b, t, here, one)
            free = b.emit(lookup("sub"), b.full(I32, self.n_slots), top)
            count = _stride(b, left, free)
            reached = _turns(b, count, self.ahead, given, self._top(b, rows, top))
            top = b.emit(lookup("add"), top, one)
            turns = _write(b, turns, top, b.emit(lookup("add"), here, count))
            return [top, turns, *[_write(b, r, top, words_of(b, v))
                                  for r, v in zip(rows, reached, strict=True)]]

        of_top, of_turns, *of_rows = self.types
        stack = ((I32,), (of_top,), (of_turns,), of_rows)
        found = _trace("behind", stack, test)
        step = _trace("advance", (self.consts, *stack), advance)
        top, turns, *rows = WHILE.emit(b.emit, while_, ([t], [*consts, t], kept), cond=found,
                                       body=step)
        at = self._top(b, rows, top)
        return [b.emit(lookup("sub"), top, b.full(I32, 1)), turns, *rows], at

    def _top(self, b: Builder, rows: Sequence[Value], top: Value) -> list[Value]:
        return [summed_as(b, wrapped(b, _read(b, r, top), t), t)
                for r, t in zip(rows, self.state, strict=True)]


_left = formula(lambda t, here, one: t - here + one)


def _slots(state: Types, budget: Budget = None) -> int:
    """The number of checkpoints of such carries: at least one, or `FEWEST` without a budget."""
    size = max(sum([t.size * t.dtype.bits // 8 for t in state]), 1)
    if budget is None:
        return max(FEWEST, min(CHECKPOINTS, CHECKPOINT_BYTES // size))
    count, most = budget
    return max(1, min(count, most // size))


def _read(b: Builder, rows: Value, at: Value) -> Value:
    """Row `at`."""
    shape = rows.type.shape
    starts = [at, *[b.full(I32, 0) for _ in shape[1:]]]
    row = b.emit(lookup("dynamic_slice"), rows, *starts, sizes=(1, *shape[1:]))
    return b.emit(lookup("reshape"), row, shape=shape[1:])


def _write(b: Builder, rows: Value, at: Value, value: Value) -> Value:
    """`rows` with `value` as row `at`."""
    shape = rows.type.shape
    row = b.emit(lookup("reshape"), value, shape=(1, *shape[1:]))
    return b.emit(lookup("dynamic_update_slice"), rows, row, at,
                  *[b.full(I32, 0) for _ in shape[1:]])


def _stride(b: Builder, left: Value, free: Value) -> Value:
    """How many turns to run before the next checkpoint, with `left` turns to reverse from here (two
    or more) and `free` checkpoints for them, the one here included.

    With s checkpoints and each turn run again at most r times, binomial(s + r, s) turns can be
    reversed. For the least r that suffices, the distance is this number for r - 1. It is computed
    in floats: nearly the best distance will do, so long as the last free checkpoint goes all the
    way.
    """
    f32 = tensor((), dtypes.f32)

    def more(b: Builder, consts: list[Value], carry: list[Value]) -> list[Value]:
        (s,), (r, reach, _) = consts, carry
        return [*_further(b, s, r, reach), reach]

    target, s = [b.emit(lookup("convert"), v, dtype=dtypes.f32) for v in (left, free)]
    one, last = b.full(f32, 1), b.emit(lookup("sub"), left, b.full(I32, 1))
    carry = (f32, f32, f32)
    test = _trace("short", ((f32,), carry), _too_short)
    _, _, before = WHILE.emit(b.emit, while_, ([target], [s], [b.full(f32, 0), one, one]),
                              cond=test, body=_trace("reach", ((f32,), carry), more))
    return _nearest(b, before, last, free)


@formula
def _further(s: Term, r: Term, reach: Term) -> tuple[Term, Term]:
    r = r + 1
    return r, reach * (s + r) / r


@formula
def _nearest(before: Term, last: Term, free: Term) -> Term:
    far = lookup("min")(before.to(dtypes.i32), last)
    return where(free <= 1, last, far)

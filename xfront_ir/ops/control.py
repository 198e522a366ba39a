"""Control flow: call, cond, scan; `while_loop.py` holds while.

Their rules work on their bodies through the passes in `passes/bodies.py`. Predicates that differ by
lane are handled in `lanes.py`. Operands of loops stand in groups, and so do the parameters of their
bodies:

    call(*operands) {body, name}
    composite(*operands) {body, name, attributes, version}
    xla_metadata_call(*operands) {body, name, attributes, of_derivatives}
    cond(index, *operands) {branches}                    index: bool (two branches) or i32, clamped
    scan(*consts, *carry, *xs) {body, n_consts, n_carry, length, reverse, unroll}
        body(consts, carry, x slices) -> (carry, y slices); results: carry, stacked ys

Sources: StableHLO spec, `case` and `while`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..builder import Builder
from ..core import Function, Op, Value, forced
from ..definition import LINEAR, OpDef, lookup
from ..errors import IRTypeError
from ..opdef import BODY, BOOL, FUNCTION, FUNCTIONS, INT, STR, define
from ..passes.bodies import (
    NOWHERE,
    Flags,
    Linearized,
    divide,
    has_effects,
    invariants,
    join,
    jvp,
    jvp_to,
    like_body,
    linearize,
    remembered,
    select,
    slice_of,
    strong,
    strong_body,
    transpose_to,
    unzip,
    vectorize,
)
from ..placed_builder import PlacedBuilder
from ..regions import ALL, REST, Body, Regions, cut
from ..split_builder import SplitBuilder
from ..spreading import refuse_other_sums
from ..types import TensorType
from .families import move_batch
from .words import zeros_of

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

Types = tuple[TensorType, ...]
Slots = tuple[int, ...]


def has_tangent(tangents: Sequence[Value | None]) -> Flags:
    return tuple([t is not None for t in tangents])


def check_types(name: str, what: str, wanted: Sequence[TensorType], got: Sequence[TensorType]
                ) -> None:
    if len(wanted) != len(got):
        raise IRTypeError(f"{name}: {what}: expected {len(wanted)}, got {len(got)}")
    for i, (w, g) in enumerate(zip(wanted, got, strict=True)):
        if w is not g:
            if w.plain is not g.plain:
                raise IRTypeError(f"{name}: {what} {i} must be {w}, got {g}")
            refuse_other_sums(name, f"{what} {i}", (w,), (g,))


def with_nones(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values at the places whose flag is set, None at the others."""
    given = iter(values)
    return [next(given) if f else None for f in flags]


def _known(marks: Sequence[Any]) -> tuple[Flags, list[Value]]:
    """Which operands are linear, by `known` of a transpose rule, and the values of the others."""
    linear = tuple([k is LINEAR for k in marks])
    return linear, [k for k in marks if k is not LINEAR]


# --- call ---------------------------------------------------------------------------------

def _infer_call(types: Types, attrs: Attrs, name: str = "call") -> Types:
    body = attrs["body"]
    params = body.param_types
    check_types(name, f"operand of @{attrs['name']}", params, types)
    return body.return_types


def _jvp_call(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    body = forced(attrs["body"])
    moved, active_out = jvp(body, has_tangent(tangents))
    kind, named = _caller(attrs)
    made = b.emit(kind, *operands, *[t for t in tangents if t is not None], body=moved, **named)
    n = len(body.returns)
    return made[:n], with_nones(made[n:], active_out)


def _split_call(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    parts = divide(forced(attrs["body"]), linear)
    tangents, known = unzip(operands, linear)
    returned: tuple[Value, ...] = ()
    if parts.forward.returns or has_effects(parts.forward):
        kind, named = _caller(attrs)
        returned = b.emit(kind, *known, body=parts.forward, **named)
    made: tuple[Value, ...] = ()
    if parts.linear.returns:
        kind, named = _caller(attrs, is_derivative=True)
        made = b.emit_linear(kind, *tangents, *parts.pick(known, returned), body=parts.linear,
                             **named)
    return join(parts.active_out, made, returned[:parts.n_out])


def _transpose_call(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    linear, values = _known(known)
    back, active_in = transpose_to(forced(op.attrs["body"]), linear, has_tangent(cotangents))
    kind, named = _caller(op.attrs)
    made = b.emit(kind, *values, *[ct for ct in cotangents if ct is not None], body=back, **named)
    return join(linear, with_nones(made, active_in), [None] * len(values))


def _batch_call(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    body, out = vectorize(forced(op.attrs["body"]), positions, axis)
    kind, named = _caller(op.attrs)
    return b.emit(kind, *operands, body=body, **named), out


def _caller(attrs: Attrs, is_derivative: bool = False) -> tuple[OpDef, dict[str, Any]]:
    """The op that calls a transformed body in place of a call, and its attributes without the body:
    an `xla_metadata_call` for one of these, else a `call`."""
    name, of_derivatives = attrs["name"], attrs.get("of_derivatives", "")
    attributes = of_derivatives if is_derivative else attrs.get("attributes", "")
    if not attributes or "of_derivatives" not in attrs:
        return call, {"name": name}
    return xla_metadata_call, {"name": name, "attributes": attributes,
                               "of_derivatives": of_derivatives}


def _varying_call(v: Varying, op: Op, operands: Values) -> Varied:
    """A pending body stays pending, on the Function with casts, since its transformation must see
    these."""
    body = op.attrs["body"]
    if isinstance(body, Function):
        return like_body(v, op, operands)
    rules, request = body.transform, body.request
    own = rules.own_sets(request, [v.of(x) for x in operands])
    made, results = v.body(body.function, own, without=rules.binds(request))
    wanted, out = rules.all_sets(request, body.function, own, results)
    operands = [v.cast(x, s) for x, s in zip(operands, wanted, strict=True)]
    return v.b.emit(call, *operands, body=rules.pending(made, request), name=op.attrs["name"]), out


call = define("call", attrs={"body": BODY, "name": STR}, infer=_infer_call, single=False,
              own_primal=True, jvp=_jvp_call, split=_split_call, transpose=_transpose_call,
              batch=_batch_call, strong=strong_body, regions=Regions(
                  {"operands": REST}, {"results": REST}, {"body": ALL}, value="body", is_call=True,
                  free=True), varying=_varying_call)


# --- composite ----------------------------------------------------------------------------

composite = define("composite", attrs={"body": FUNCTION, "name": STR, "attributes": STR,
                                       "version": INT},
                   infer=partial(_infer_call, name="composite"), single=False, own_primal=True,
                   jvp=_jvp_call, split=_split_call, transpose=_transpose_call,
                   batch=_batch_call, strong=strong_body, regions=Regions(
                       {"operands": REST}, {"results": REST},
                       {"body": Body(("operands",), ("results",))}), varying=like_body,
                   family=__name__)
"""What `body` computes, by a name that a compiler may know; `attributes` is MLIR's text of a
dictionary. Its derivatives and batches are calls of those of the body, which have no such name.
Source: StableHLO spec, `composite`."""


xla_metadata_call = define(
    "xla_metadata_call", attrs={"body": FUNCTION, "name": STR, "attributes": STR,
                                "of_derivatives": STR},
    infer=partial(_infer_call, name="xla_metadata_call"), single=False, own_primal=True,
    jvp=_jvp_call, split=_split_call, transpose=_transpose_call, batch=_batch_call,
    strong=strong_body, regions=Regions(
        {"operands": REST}, {"results": REST}, {"body": Body(("operands",), ("results",))}),
    varying=like_body, family=__name__)
"""What `body` computes, with attributes for XLA, which brings them to the ops inside: MLIR's text
of a dictionary of strings. The linear part of a derivative has those of `of_derivatives`, and is a
`call` where there are none."""


# --- cond ---------------------------------------------------------------------------------

COND = Regions({"index": 1, "operands": REST}, {"results": REST}, {"branches": ALL},
               is_choice=True, free=True)


def _infer_cond(types: Types, attrs: Attrs) -> Types:
    branches, (index, operands) = attrs["branches"], COND.split(attrs, types)
    if not index or index[0].shape or index[0].dtype not in (dtypes.bool_, dtypes.i32):
        raise IRTypeError(f"cond: the index must be a scalar bool or i32, got {tuple(index)}")
    if index[0].dtype is dtypes.bool_ and len(branches) != 2:
        raise IRTypeError(f"cond: a bool index chooses between two branches, got {len(branches)}")
    if not branches:
        raise IRTypeError("cond takes at least one branch")
    for i, branch in enumerate(branches):
        check_types("cond", f"parameter of branch {i}", operands, branch.param_types)
        check_types("cond", f"result of branch {i}", branches[0].return_types, branch.return_types)
    return branches[0].return_types


def _any_of(flags: Sequence[Flags]) -> Flags:
    return tuple([any(column) for column in zip(*flags, strict=True)])


def _jvp_cond(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    (index,), values = COND.split(attrs, operands)
    active, branches = has_tangent(COND.split(attrs, tangents)[1]), attrs["branches"]
    moving = [t for t in tangents if t is not None]
    if isinstance(b, SplitBuilder) and b.tangents.isdisjoint(operands):
        parts, out = _alike(lambda branch, out: linearize(branch, active, out=out), branches)
        results, made = _divided(b, index, parts, values, moving)
        return results, with_nones(made, out)
    out = _any_of([jvp(branch, active)[1] for branch in branches])
    made = b.emit(cond, *operands, *moving,
                  branches=tuple([jvp_to(branch, active, out) for branch in branches]))
    n = len(out)
    return made[:n], with_nones(made[n:], out)


def _split_cond(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    (index,), values = COND.split(attrs, operands)
    (of_index,), of_values = COND.split(attrs, linear)
    if of_index:
        raise IRTypeError("cond: the index cannot be linear")
    flags = tuple(of_values)
    parts, out = _alike(lambda branch, out: divide(branch, flags, out), attrs["branches"])
    tangents, known = unzip(values, flags)
    returned, made = _divided(b, index, parts, known, tangents)
    return join(out, made, returned)


def _alike(make: Callable[[Function, Flags | None], Linearized], branches: Sequence[Function]
           ) -> tuple[list[Linearized], Flags]:
    """The divided branches. A result that is linear in one branch is linear in all."""
    out = _any_of([make(branch, None).active_out for branch in branches])
    return [make(branch, out) for branch in branches], out


def _divided(b: SplitBuilder, index: Value, parts: Sequence[Linearized], known: Sequence[Value],
             tangents: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
    """Emit a cond on each side, and give the results of both. Branches share slots of equal type
    for their residuals."""
    n_known = parts[0].n_out
    slots: list[TensorType] = []                 # one for each saved value of some branch
    taken: list[list[int]] = []                  # for each branch: slot of each saved value
    for part in parts:
        free = dict(enumerate(slots))
        mine: list[int] = []
        for t in part.forward.return_types[n_known:]:
            slot = next((i for i, s in free.items() if s is t), None)
            if slot is None:
                slot = len(slots)
                slots.append(t)
            free.pop(slot, None)
            mine.append(slot)
        taken.append(mine)
    returned: tuple[Value, ...] = ()
    if n_known or slots or any(has_effects(part.forward) for part in parts):
        forward = tuple([_fill_slots(part.forward, n_known, tuple(mine), tuple(slots))
                         for part, mine in zip(parts, taken, strict=True)])
        returned = b.emit(cond, index, *known, branches=forward)
    if not any(parts[0].active_out):
        return returned[:n_known], ()
    shared = tuple([i for i in range(len(known))
                    if any(("param", i) in part.residuals for part in parts)])
    read = tuple([i for i in range(len(returned))
                  if i >= n_known or any(("out", i) in part.residuals for part in parts)])
    carried = [*[known[i] for i in shared], *[returned[i] for i in read]]
    types = tuple([v.type for v in carried])
    made = b.emit_linear(
        cond, index, *tangents, *carried,
        branches=tuple([_read_slots(part, len(tangents), shared, read, types, tuple(mine))
                        for part, mine in zip(parts, taken, strict=True)]))
    return returned[:n_known], made


def _fill_slots(forward: Function, n_known: int, mine: Slots, slots: Types) -> Function:
    """`forward` with its saved values at their slots, and zeros at the slots of other branches."""
    def make() -> Function:
        b = PlacedBuilder(forward.name)
        b.ops = list(forward.ops)
        saved = dict(zip(mine, forward.returns[n_known:], strict=True))
        return Function(forward.name, forward.params, b.ops, (
            *forward.returns[:n_known],
            *[saved[i] if i in saved else zeros_of(b, t) for i, t in enumerate(slots)]))

    return remembered(forward, ("fill_slots", mine, slots), make)


def _read_slots(part: Any, n_linear: int, shared: Slots, read: Slots, types: Types, mine: Slots
                ) -> Function:
    """The linear side of one branch. Its parameters are tangents, shared operands, and the values
    that the forward cond returned at `read`."""
    def make() -> Function:
        linear = part.linear
        carried = [Value(t) for t in types]
        operand = dict(zip(shared, carried, strict=False))
        result = dict(zip(read, carried[len(shared):], strict=True))
        residuals = [operand[i] if kind == "param" else result[i] if kind == "out"
                     else result[part.n_out + mine[i]] for kind, i in part.residuals]
        b = PlacedBuilder(linear.name)
        b.params = [*[Value(v.type) for v in linear.params[:n_linear]], *carried]
        return b.close(b.inline(linear, (*b.params[:n_linear], *residuals)))

    return remembered(part.linear, ("read_slots", shared, read, types, mine), make)


def _transpose_cond(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    ((index,), others), branches = COND.split(op.attrs, known), op.attrs["branches"]
    linear, values = _known(others)
    active_ct = has_tangent(cotangents)
    active_in = _any_of([transpose_to(branch, linear, active_ct)[1] for branch in branches])
    made = b.emit(cond, index, *values, *[ct for ct in cotangents if ct is not None],
                  branches=tuple([transpose_to(branch, linear, active_ct, active_in)[0]
                                  for branch in branches]))
    return None, *join(linear, with_nones(made, active_in), [None] * len(values))


def _batch_cond(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (index,), values = COND.split(op.attrs, operands)
    ((of_index,), places), branches = COND.split(op.attrs, positions), op.attrs["branches"]
    if of_index is not None:
        from .lanes import choose_by_lane  # start-up: few programs have a predicate a lane

        same = [_handed_through(branches, k, places) for k in range(len(op.results))]
        flags = tuple([i is None for i in same])
        made, out = choose_by_lane(b, cond, [_giving(f, flags) for f in branches], index, values,
                                   places, axis)
        return (join(flags, made, [values[i] for i in same if i is not None]),
                join(flags, out, [None] * (len(flags) - len(out))))
    natural = [vectorize(branch, places, axis)[1] for branch in branches]
    out = tuple([next((p for p in column if p is not None), None)
                 for column in zip(*natural, strict=True)])
    made = tuple([vectorize(branch, places, axis, out)[0] for branch in branches])
    return b.emit(cond, *operands, branches=made), out


def _handed_through(branches: Sequence[Function], k: int, places: Sequence[int | None]
                    ) -> int | None:
    """The unbatched operand that every branch returns as result k; None if there is none."""
    found = {next((i for i, p in enumerate(f.params) if p is f.returns[k]), None) for f in branches}
    i = found.pop()
    return i if not found and i is not None and places[i] is None else None


def _giving(branch: Function, flags: Flags) -> Function:
    """A branch with only the results that are flagged."""
    if all(flags):
        return branch
    return remembered(branch, ("giving", flags), lambda: branch.replace(
        returns=select(branch.returns, flags), weak_returns=()))


def _strong_cond(op: Op, linear: Flags) -> Any:
    of_index, of_values = COND.split(op.attrs, linear)
    made = [strong(branch, tuple(of_values)) for branch in op.attrs["branches"]]
    flags = (*of_index,) * len(op.results)
    out = _any_of([flags, *[f for _, f in made]])
    return op.definition, {**op.attrs, "branches": tuple([branch for branch, _ in made])}, out


def _varying_cond(v: Varying, op: Op, operands: Values) -> Varied:
    """Results vary over the axes over which those of any branch vary, or the index.

    Devices along the axes of the index take different branches. Values are cast to vary over these
    before the op: a cast in a branch would sum cotangents in the branches of some devices alone.
    """
    index, *values = operands
    chosen, branches = v.of(index), op.attrs["branches"]
    values = [v.cast(x, chosen) for x in values]
    sets = [v.of(x) for x in values]
    each = [v.body(branch, sets)[1] for branch in branches]
    out = [chosen.union(*found) for found in zip(*each, strict=True)]
    made = tuple([v.body(branch, sets, out)[0] for branch in branches])
    return v.b.emit(cond, index, *values, branches=made), out


cond = define("cond", attrs={"branches": FUNCTIONS}, infer=_infer_cond, single=False,
              own_primal=True, jvp=_jvp_cond, split=_split_cond, transpose=_transpose_cond,
              batch=_batch_cond, strong=_strong_cond, regions=COND, varying=_varying_cond)


# --- loops: common helpers -----------------------------------------------------------------

def grown_flags(carry: Flags, step: Callable[[Flags], Sequence[bool]]) -> Flags:
    """The smallest set of carries that includes `carry` and that `step` does not enlarge."""
    while True:
        grown = tuple([a or c for a, c in zip(carry, step(carry), strict=True)])
        if grown == carry:
            return carry
        carry = grown


def regrouped(fn: Function, key: Any, params: Sequence[Value], returns: Sequence[Value]
              ) -> Function:
    """`fn` with its parameters and returns in another order."""
    return remembered(fn, key, lambda: Function(fn.name, params, fn.ops, returns))


def widest(v: Any, body: Function, consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any]
           ) -> list[Any]:
    """The smallest sets of axes for a loop's carries that a turn does not enlarge."""
    while True:
        found = v.body(body, (*consts, *carry, *xs))[1]
        grown = [a | c for a, c in zip(carry, found, strict=False)]
        if grown == carry:
            return grown
        carry = grown


# --- scan ---------------------------------------------------------------------------------

SCAN = Regions({"consts": "n_consts", "carry": "n_carry", "xs": REST},
               {"carry": "n_carry", "ys": REST},
               {"body": Body(("consts", "carry", "xs"), ("carry", "ys"), "consts")},
               is_loop=True, turns=lambda attrs: attrs["length"], free=True)


def _infer_scan(types: Types, attrs: Attrs) -> Types:
    body, length = attrs["body"], attrs["length"]
    consts, carry, xs = SCAN.split(attrs, types)
    if length < 0:
        raise IRTypeError(f"scan: the length must not be negative, got {length}")
    for t in xs:
        if not t.shape or t.shape[0] != length:
            raise IRTypeError(f"scan: scanned operands must have a leading axis of size {length}, "
                              f"got {t}")
    slices = [t.without(0) for t in xs]
    check_types("scan", "operand", body.param_types, (*consts, *carry, *slices))
    after, rows = SCAN.split_returns("body", attrs, body.return_types)
    check_types("scan", "carry", carry, after)
    return (*carry, *[t.stacked(length) for t in rows])


def _settled_carry(attrs: Any, active: Sequence[bool], out_of: Callable[[Flags], Flags]
                   ) -> tuple[Flags, Flags]:
    """Flags of the operands and results of a scan. The flagged carries are the smallest set that
    includes the active ones and that a turn does not enlarge. `out_of` maps flags of the body's
    parameters to flags of its returns."""
    of_consts, of_carry, of_xs = SCAN.split(attrs, active)

    def step(carry: Flags) -> Sequence[bool]:
        return SCAN.split_returns("body", attrs, out_of((*of_consts, *carry, *of_xs)))[0]

    of_carry = grown_flags(tuple(of_carry), step)
    flags = (*of_consts, *of_carry, *of_xs)
    return flags, (*of_carry, *SCAN.split_returns("body", attrs, out_of(flags))[1])


def _jvp_scan(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    body = attrs["body"]
    active, out = _settled_carry(attrs, has_tangent(tangents), lambda flags: jvp(body, flags)[1])
    moved = jvp_to(body, active, out)
    primal, dots = cut(moved.params, len(body.params))
    results, dots_out = cut(moved.returns, len(body.returns))
    params = _in_pairs(SCAN.split(attrs, primal), SCAN.split(attrs, with_nones(dots, active)))
    returns = _in_pairs(SCAN.split_results(attrs, results),
                        SCAN.split_results(attrs, with_nones(dots_out, out)))
    _, carry, _ = values = SCAN.split(attrs, operands)
    t_consts, t_carry, t_xs = SCAN.split(attrs, tangents)
    t_carry = [b.zeros(v.type) if t is None and a else t
               for v, t, a in zip(carry, t_carry, SCAN.split(attrs, active)[1], strict=True)]
    inner = regrouped(moved, ("scan", *map(len, values)), [v for group in params for v in group],
                     [v for group in returns for v in group])
    made = SCAN.emit(b.emit, scan, _in_pairs(values, (t_consts, t_carry, t_xs)),
                     **{**attrs, "body": inner})
    flags = SCAN.split_results(attrs, out)
    parts = cut(made, *[n for group in flags for n in (len(group), sum(group))])
    return [*parts[0], *parts[2]], with_nones([*parts[1], *parts[3]], out)


def _in_pairs(groups: Sequence[Sequence[Any]], tangents: Sequence[Sequence[Any]]
              ) -> list[list[Any]]:
    """Each group followed by those of its tangents that are not None."""
    return [[*group, *[t for t in dots if t is not None]]
            for group, dots in zip(groups, tangents, strict=True)]


def _split_scan(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    """The known part runs first and stacks the values of each turn that the linear part reads.
    Values that are the same in every turn are computed once, outside; scanned operands are scanned
    again."""
    body = attrs["body"]
    flags, out = _settled_carry(attrs, linear, lambda flags: divide(body, flags).active_out)
    parts = divide(body, flags, out)
    forward = parts.forward
    (l_consts, consts), (l_carry, carry), (l_xs, xs) = [
        unzip(values, of) for values, of in
        zip(SCAN.split(attrs, operands), SCAN.split(attrs, flags), strict=True)]
    f_consts, _, f_xs = cut(forward.params, len(consts), len(carry))
    known, _ = cut(forward.returns, parts.n_out)

    same = invariants(forward, [v in set(f_consts) for v in forward.params])
    source = parts.pick(forward.params, forward.returns)
    hoisted = [v for v in dict.fromkeys(source) if v in same]
    outer = dict(zip(hoisted, b.inline(slice_of(forward, hoisted, f_consts), consts),
                     strict=True)) if hoisted else {}
    scanned = dict(zip(f_xs, xs, strict=True))
    of_carry, of_rows = cut(known, len(carry))
    stacked = {v: i + len(of_carry) for i, v in enumerate(of_rows)}
    saved = [v for v in dict.fromkeys(source)
             if v not in outer and v not in scanned and v not in stacked]
    returned: tuple[Value, ...] = ()
    if known or saved or has_effects(forward):
        ahead = forward.replace(returns=(*known, *saved))
        returned = SCAN.emit(b.emit, scan, (consts, carry, xs), **{**attrs, "body": ahead})
    if not any(out):
        return returned
    stacked.update({v: i + len(known) for i, v in enumerate(saved)})

    side = parts.linear
    s_consts, s_carry, s_xs, residuals = cut(side.params, len(l_consts), len(l_carry), len(l_xs))
    res_consts, res_xs = unzip(residuals, [v in outer for v in source])
    grouped = Function(side.name, (*s_consts, *res_consts, *s_carry, *s_xs, *res_xs), side.ops,
                       side.returns)
    rows = [scanned[v] if v in scanned else returned[stacked[v]] for v in source if v not in outer]
    made = SCAN.emit(
        b.emit_linear, scan, ([*l_consts, *[outer[v] for v in source if v in outer]], l_carry,
                              [*l_xs, *rows]), **{**attrs, "body": grouped})
    return join(out, made, returned[:len(known)])


def _transpose_scan(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    """A scan in the other direction; cotangents of constants add up in its carry."""
    attrs, body = op.attrs, op.attrs["body"]
    marks = SCAN.split(attrs, known)
    of_consts, of_init, of_xs = (tuple([m is LINEAR for m in group]) for group in marks)
    types, carry_types, _ = SCAN.split(attrs, body.param_types)
    for t in carry_types:
        if not (t.is_inexact or t.dtype.is_integer):
            raise IRTypeError(f"scan: a linear scan cannot carry a value of type {t}; split the "
                              "scan first")
    linear = (*of_consts, *[True] * len(carry_types), *of_xs)
    (ct_carry, ct_ys), n = SCAN.split_results(attrs, cotangents), len(carry_types)
    of_ys = has_tangent(ct_ys)

    def received(carry: Flags) -> list[list[bool]]:
        """Which linear constants, which carries and which linear slices get a cotangent."""
        return cut(transpose_to(body, linear, (*carry, *of_ys))[1], sum(of_consts), n)

    carried = grown_flags(has_tangent(ct_carry), lambda carry: received(carry)[1])
    summed, _, into_xs = received(carried)
    back, _ = transpose_to(body, linear, (*carried, *of_ys), (*summed, *carried, *into_xs))
    consts, known_xs = ([m for m in group if m is not LINEAR] for group in (marks[0], marks[2]))

    def make() -> Function:                      # known consts, carry, sums, cts of ys, known xs
        p_consts, p_xs, p_carry, p_ys = cut(back.params, len(consts), len(known_xs), sum(carried))
        inner = PlacedBuilder(back.name)
        inner.ops = list(back.ops)
        of_sums, of_carry, of_rows = cut(back.returns, sum(summed), sum(carried))
        totals = [Value(v.type) for v in of_sums]
        added = [inner.emit(lookup("add"), total, ct)
                 for total, ct in zip(totals, of_sums, strict=True)]
        return Function(back.name, (*p_consts, *p_carry, *totals, *p_ys, *p_xs), inner.ops,
                        (*of_carry, *added, *of_rows))

    key = ("scan", sum(of_consts), tuple(map(len, marks)), carried, tuple(summed))
    turned = remembered(back, key, make)
    starts = [b.zeros(t.cotangent) if ct is None else ct
              for t, ct, c in zip(carry_types, ct_carry, carried, strict=True) if c]
    sums = [b.zeros(t.cotangent) for t in select(select(types, of_consts), summed)]
    made = SCAN.emit(b.emit, scan, (consts, [*starts, *sums],
                                    [*[ct for ct in ct_ys if ct is not None], *known_xs]),
                     **{**attrs, "body": turned, "reverse": not attrs["reverse"]})
    of_starts, of_sums, of_rows = cut(made, len(starts), len(sums))
    per_init = [ct if lin else None
                for ct, lin in zip(with_nones(of_starts, carried), of_init, strict=True)]
    return (*join(of_consts, with_nones(of_sums, summed), [None] * len(consts)), *per_init,
            *join(of_xs, with_nones(of_rows, into_xs), [None] * len(known_xs)))


def steady_places(body: Function, before: Positions, places: Sequence[int | None],
                   after: Positions, axis: Any) -> tuple[int | None, ...]:
    """Batch positions of the carries that stay the same after a turn of the vectorised body."""
    while True:
        out = vectorize(body, (*before, *places, *after), axis)[1]
        grown = [q if p is None else p for p, q in zip(places, out, strict=False)]
        if grown == places:
            return tuple(places)
        places = grown


def _batch_scan(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    attrs, body, size = op.attrs, op.attrs["body"], axis[1]
    consts, carry, xs = SCAN.split(attrs, operands)
    of_consts, of_carry, of_xs = SCAN.split(attrs, positions)
    xs = [v if p != 0 else move_batch(b, v, 0, 1, size)     # the scanned axis stays in front
          for v, p in zip(xs, of_xs, strict=True)]
    slices = tuple([None if p is None else max(p - 1, 0) for p in of_xs])
    steady = steady_places(body, tuple(of_consts), of_carry, slices, axis)
    carry = [v if q is None else move_batch(b, v, p, q, size)
             for v, p, q in zip(carry, of_carry, steady, strict=True)]
    _, free = cut((None,) * len(body.returns), len(carry))
    moved, out = vectorize(body, (*of_consts, *steady, *slices), axis, (*steady, *free))
    made = SCAN.emit(b.emit, scan, (consts, carry, xs), **{**attrs, "body": moved})
    _, of_ys = SCAN.split_returns("body", attrs, out)
    return made, (*steady, *[None if p is None else p + 1 for p in of_ys])


def _strong_scan(op: Op, linear: Flags) -> Any:
    body = op.attrs["body"]
    flags, out = _settled_carry(op.attrs, linear, lambda flags: strong(body, flags)[1])
    return op.definition, {**op.attrs, "body": strong(body, flags)[0]}, out


def _varying_scan(v: Varying, op: Op, operands: Values) -> Varied:
    attrs = op.attrs
    consts, carry, xs = SCAN.split(attrs, [v.of(x) for x in operands])
    carry = widest(v, attrs["body"], consts, carry, xs)
    body, out = v.body(attrs["body"], (*consts, *carry, *xs),
                       (*carry, *[NOWHERE] * (len(op.results) - len(carry))))
    own, inits, rows = SCAN.split(attrs, operands)
    inits = [v.cast(x, s) for x, s in zip(inits, carry, strict=True)]
    return SCAN.emit(v.b.emit, scan, (own, inits, rows), **{**attrs, "body": body}), out


scan = define("scan", attrs={"body": FUNCTION, "n_consts": INT, "n_carry": INT, "length": INT,
                             "reverse": BOOL, "unroll": INT},
              infer=_infer_scan, single=False, own_primal=True, jvp=_jvp_scan, split=_split_scan,
              transpose=_transpose_scan, batch=_batch_scan, strong=_strong_scan, regions=SCAN,
              varying=_varying_scan)

"""Control flow: call, cond, scan; `while_loop.py` holds while.

Their rules work on their bodies through the passes; `bodies` is the door. What becomes of a
predicate that differs by lane is in `lanes.py`. Operands of loops stand in groups, and so do the
parameters of their bodies:

    call(*operands) {body, name}
    cond(index, *operands) {branches}                    index: bool (two branches) or i32, clamped
    scan(*consts, *carry, *xs) {body, n_consts, n_carry, length, reverse, unroll}
        body(consts, carry, x slices) -> (carry, y slices); results: carry, stacked ys

Sources: StableHLO spec, `case` and `while`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..builder import Builder, SplitBuilder
from ..core import Function, Op, Value
from ..errors import IRTypeError
from ..opdef import (
    BODY,
    BOOL,
    FUNCTION,
    FUNCTIONS,
    INT,
    LINEAR,
    STR,
    define,
    lookup,
)
from ..passes.bodies import (
    Flags,
    Linearized,
    body_of,
    divide,
    invariants,
    is_effectful,
    join,
    jvp,
    jvp_to,
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
from ..types import TensorType
from .families import last_at, move_batch, thread_last, with_bodies
from .words import zeros_of

Types = tuple[TensorType, ...]


def _active(tangents: Sequence[Value | None]) -> Flags:
    return tuple([t is not None for t in tangents])


def _check(name: str, what: str, wanted: Sequence[TensorType], got: Sequence[TensorType]) -> None:
    if len(wanted) != len(got):
        raise IRTypeError(f"{name}: {what}: {len(wanted)} wanted, {len(got)} given")
    for i, (w, g) in enumerate(zip(wanted, got, strict=True)):
        if w is not g:
            raise IRTypeError(f"{name}: {what} {i} is {w}, got {g}")


def _spread(values: Sequence[Value], flags: Sequence[bool]) -> list[Value | None]:
    """The values at the places whose flag is set, None at the others."""
    given = iter(values)
    return [next(given) if f else None for f in flags]


def _known(marks: Sequence[Any]) -> tuple[Flags, list[Value]]:
    """From `known` of a transpose rule: which operands are linear, and the values of the others."""
    linear = tuple([k is LINEAR for k in marks])
    return linear, [k for k in marks if k is not LINEAR]


# --- call ---------------------------------------------------------------------------------

def _infer_call(types: Types, attrs: Any) -> Types:
    body = attrs["body"]
    params = body.param_types
    _check("call", f"operand of @{attrs['name']}", params, types)
    return body.return_types


def _jvp_call(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    body = body_of(attrs["body"])
    moved, active_out = jvp(body, _active(tangents))
    made = b.emit(call, *operands, *[t for t in tangents if t is not None], body=moved,
                  name=attrs["name"])
    n = len(body.returns)
    return made[:n], _spread(made[n:], active_out)


def _split_call(b: Any, attrs: Any, operands: Any, linear: Flags) -> Any:
    parts = divide(body_of(attrs["body"]), linear)
    tangents, known = unzip(operands, linear)
    returned: tuple[Value, ...] = ()
    if parts.forward.returns or is_effectful(parts.forward):
        returned = b.emit_forward(call, *known, body=parts.forward, name=attrs["name"])
    made: tuple[Value, ...] = ()
    if parts.linear.returns:
        made = b.emit_linear(call, *tangents, *parts.pick(known, returned), body=parts.linear,
                             name=attrs["name"])
    return join(parts.active_out, made, returned[:parts.n_out])


def _transpose_call(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    linear, values = _known(known)
    back, active_in = transpose_to(body_of(op.attrs["body"]), linear, _active(cotangents))
    made = b.emit(call, *values, *[ct for ct in cotangents if ct is not None], body=back,
                  name=op.attrs["name"])
    return join(linear, _spread(made, active_in), [None] * len(values))


def _batch_call(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    body, out = vectorize(body_of(op.attrs["body"]), positions, axis)
    return b.emit(call, *operands, body=body, name=op.attrs["name"]), out


call = define("call", attrs={"body": BODY, "name": STR}, infer=_infer_call, single=False,
              own_primal=True, jvp=_jvp_call, split=_split_call, transpose=_transpose_call,
              batch=_batch_call, strong=strong_body("body"), thread=thread_last)


# --- cond ---------------------------------------------------------------------------------

def _infer_cond(types: Types, attrs: Any) -> Types:
    branches = attrs["branches"]
    if not types or types[0].shape or types[0].dtype not in (dtypes.bool_, dtypes.i32):
        raise IRTypeError(f"cond: the index must be a scalar bool or i32, got {types[:1]}")
    if types[0].dtype is dtypes.bool_ and len(branches) != 2:
        raise IRTypeError(f"cond: a bool chooses between two branches, got {len(branches)}")
    if not branches:
        raise IRTypeError("cond: takes at least one branch")
    for i, branch in enumerate(branches):
        _check("cond", f"parameter of branch {i}", types[1:], branch.param_types)
        _check("cond", f"result of branch {i}", branches[0].return_types, branch.return_types)
    return branches[0].return_types


def _any_of(flags: Sequence[Flags]) -> Flags:
    return tuple([any(column) for column in zip(*flags, strict=True)])


def _jvp_cond(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    active, branches = _active(tangents[1:]), attrs["branches"]
    moving = [t for t in tangents if t is not None]
    if isinstance(b, SplitBuilder) and b.tangents.isdisjoint(operands):
        parts, out = _alike(lambda branch, out: linearize(branch, active, out=out), branches)
        results, made = _divided(b, operands[0], parts, operands[1:], moving)
        return results, _spread(made, out)
    out = _any_of([jvp(branch, active)[1] for branch in branches])
    made = b.emit(cond, *operands, *moving,
                  branches=tuple([jvp_to(branch, active, out) for branch in branches]))
    n = len(out)
    return made[:n], _spread(made[n:], out)


def _split_cond(b: Any, attrs: Any, operands: Any, linear: Flags) -> Any:
    if linear[0]:
        raise IRTypeError("cond: the index cannot be linear")
    flags = linear[1:]
    parts, out = _alike(lambda branch, out: divide(branch, flags, out), attrs["branches"])
    tangents, known = unzip(operands[1:], flags)
    returned, made = _divided(b, operands[0], parts, known, tangents)
    return join(out, made, returned)


def _alike(make: Callable[[Function, Flags | None], Linearized], branches: Sequence[Function]
           ) -> tuple[list[Linearized], Flags]:
    """The branches divided, all of them with the linear results of any."""
    out = _any_of([make(branch, None).active_out for branch in branches])
    return [make(branch, out) for branch in branches], out


def _divided(b: Any, index: Value, parts: Sequence[Linearized], known: Sequence[Value],
             tangents: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
    """A cond on either side, and the results of both; residuals of all branches share slots of
    equal type."""
    n_known = parts[0].n_out
    slots: list[TensorType] = []                 # one for each saved value of some branch
    taken = []                                   # for each branch: slot of each saved value
    for part in parts:
        free = dict(enumerate(slots))
        mine = []
        for t in part.forward.return_types[n_known:]:
            slot = next((i for i, s in free.items() if s is t), None)
            if slot is None:
                slot = len(slots)
                slots.append(t)
            free.pop(slot, None)
            mine.append(slot)
        taken.append(mine)
    returned: tuple[Value, ...] = ()
    if n_known or slots or any(is_effectful(part.forward) for part in parts):
        forward = tuple([_fill_slots(part.forward, n_known, tuple(mine), tuple(slots))
                         for part, mine in zip(parts, taken, strict=True)])
        returned = b.emit_forward(cond, index, *known, branches=forward)
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


def _fill_slots(forward: Function, n_known: int, mine: tuple, slots: Types) -> Function:
    """`forward` with its saved values at their slots, zeros at those of other branches."""
    def make() -> Function:
        b = Builder(forward.name)
        b.ops = list(forward.ops)
        saved = dict(zip(mine, forward.returns[n_known:], strict=True))
        return Function(forward.name, forward.params, b.ops, (
            *forward.returns[:n_known],
            *[saved[i] if i in saved else zeros_of(b, t) for i, t in enumerate(slots)]))

    return remembered(forward, ("fill_slots", mine, slots), make)


def _read_slots(part: Any, n_linear: int, shared: tuple, read: tuple, types: Types, mine: tuple
                ) -> Function:
    """The linear side of one branch: tangents, shared operands, what forward returned at `read`."""
    def make() -> Function:
        linear = part.linear
        carried = [Value(t) for t in types]
        operand = dict(zip(shared, carried, strict=False))
        result = dict(zip(read, carried[len(shared):], strict=True))
        residuals = [operand[i] if kind == "param" else result[i] if kind == "out"
                     else result[part.n_out + mine[i]] for kind, i in part.residuals]
        b = Builder(linear.name)
        b.params = [*[Value(v.type) for v in linear.params[:n_linear]], *carried]
        return b.close(b.inline(linear, (*b.params[:n_linear], *residuals)))

    return remembered(part.linear, ("read_slots", shared, read, types, mine), make)


def _transpose_cond(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    (index, *others), branches = known, op.attrs["branches"]
    linear, values = _known(others)
    active_ct = _active(cotangents)
    active_in = _any_of([transpose_to(branch, linear, active_ct)[1] for branch in branches])
    made = b.emit(cond, index, *values, *[ct for ct in cotangents if ct is not None],
                  branches=tuple([transpose_to(branch, linear, active_ct, active_in)[0]
                                  for branch in branches]))
    return None, *join(linear, _spread(made, active_in), [None] * len(values))


def _batch_cond(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    (index, *values), (of_index, *places), branches = operands, positions, op.attrs["branches"]
    if of_index is not None:
        from .lanes import choose_by_lane  # start-up: few programs have a predicate a lane

        return choose_by_lane(b, cond, branches, index, values, places, axis)
    natural = [vectorize(branch, places, axis)[1] for branch in branches]
    out = tuple([next((p for p in column if p is not None), None)
                 for column in zip(*natural, strict=True)])
    made = tuple([vectorize(branch, places, axis, out)[0] for branch in branches])
    return b.emit(cond, *operands, branches=made), out


def _strong_cond(op: Op, linear: Flags) -> Any:
    made = [strong(branch, linear[1:]) for branch in op.attrs["branches"]]
    flags = (linear[0],) * len(op.results)
    out = _any_of([flags, *[f for _, f in made]])
    return op.definition, {**op.attrs, "branches": tuple([branch for branch, _ in made])}, out


cond = define("cond", attrs={"branches": FUNCTIONS}, infer=_infer_cond, single=False,
              own_primal=True, jvp=_jvp_cond, split=_split_cond, transpose=_transpose_cond,
              batch=_batch_cond, strong=_strong_cond, thread=thread_last)


# --- loops: what is common -----------------------------------------------------------------

def _grow(carry: Flags, step: Any) -> Flags:
    """The least flags of carries, at least `carry`, that `step` maps to no more."""
    while True:
        grown = tuple([a or c for a, c in zip(carry, step(carry), strict=True)])
        if grown == carry:
            return carry
        carry = grown


def _grouped(fn: Function, key: Any, params: Sequence[Value], returns: Sequence[Value]) -> Function:
    """`fn` with its parameters and returns in another order."""
    return remembered(fn, key, lambda: Function(fn.name, params, fn.ops, returns))


# --- scan ---------------------------------------------------------------------------------

def _groups(attrs: Any, values: Sequence[Any]) -> tuple[list, list, list]:
    n, m = attrs["n_consts"], attrs["n_consts"] + attrs["n_carry"]
    return list(values[:n]), list(values[n:m]), list(values[m:])


def _infer_scan(types: Types, attrs: Any) -> Types:
    body, length = attrs["body"], attrs["length"]
    consts, carry, xs = _groups(attrs, types)
    if length < 0:
        raise IRTypeError(f"scan: the length must not be negative, got {length}")
    for t in xs:
        if not t.shape or t.shape[0] != length:
            raise IRTypeError(f"scan: scanned operands have length {length} in front, got {t}")
    slices = [t.with_shape(t.shape[1:]) for t in xs]
    _check("scan", "operand", body.param_types, (*consts, *carry, *slices))
    n = len(carry)
    _check("scan", "carry", carry, body.return_types[:n])
    return (*carry, *[t.with_shape((length, *t.shape)) for t in body.return_types[n:]])


def _jvp_scan(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    body, n_carry = attrs["body"], attrs["n_carry"]
    of_consts, of_carry, of_xs = map(_active, _groups(attrs, tangents))

    def step(carry: Flags) -> Flags:
        return jvp(body, (*of_consts, *carry, *of_xs))[1][:n_carry]

    of_carry = _grow(of_carry, step)
    active = (*of_consts, *of_carry, *of_xs)
    out = (*of_carry, *jvp(body, active)[1][n_carry:])
    moved = jvp_to(body, active, out)
    n_params, n_returns = len(body.params), len(body.returns)
    primal, dots = moved.params[:n_params], _spread(moved.params[n_params:], active)
    results, dots_out = moved.returns[:n_returns], _spread(moved.returns[n_returns:], out)
    pairs = list(zip(_groups(attrs, primal), _groups(attrs, dots), strict=True))
    params = [v for group, dot in pairs for v in (*group, *[t for t in dot if t is not None])]
    returns = [*results[:n_carry], *select(dots_out[:n_carry], of_carry),
               *results[n_carry:], *select(dots_out[n_carry:], out[n_carry:])]
    consts, carry, xs = _groups(attrs, operands)
    t_consts, t_carry, t_xs = _groups(attrs, tangents)
    t_carry = [b.zeros(v.type) if t is None and a else t
               for v, t, a in zip(carry, t_carry, of_carry, strict=True)]
    made = b.emit(scan, *[v for group in (consts, t_consts, carry, t_carry, xs, t_xs)
                          for v in group if v is not None],
                  **{**attrs, "body": _grouped(moved, ("scan", n_carry), params, returns),
                     "n_consts": len(consts) + sum(of_consts), "n_carry": n_carry + sum(of_carry)})
    k, ys = n_carry + sum(of_carry), n_returns - n_carry
    return ([*made[:n_carry], *made[k:k + ys]],
            _spread([*made[n_carry:k], *made[k + ys:]], out))


def _split_scan(b: Any, attrs: Any, operands: Any, linear: Flags) -> Any:
    """The known part runs first and stacks what the linear one reads of each turn; what is the
    same in every turn is computed once, outside, and what was scanned is scanned again."""
    body, n_carry = attrs["body"], attrs["n_carry"]
    of_consts, of_carry, of_xs = map(tuple, _groups(attrs, linear))

    def step(carry: Flags) -> Flags:
        return divide(body, (*of_consts, *carry, *of_xs)).active_out[:n_carry]

    of_carry = _grow(of_carry, step)
    flags = (*of_consts, *of_carry, *of_xs)
    out = (*of_carry, *divide(body, flags).active_out[n_carry:])
    parts = divide(body, flags, out)
    forward = parts.forward
    groups = _groups(attrs, operands)
    l_consts, consts = unzip(groups[0], of_consts)
    l_carry, carry = unzip(groups[1], of_carry)
    l_xs, xs = unzip(groups[2], of_xs)
    n_c, n_k, n_known = len(consts), len(carry), parts.n_out

    same = invariants(forward, [i < n_c for i in range(len(forward.params))])
    source = parts.pick(forward.params, forward.returns)
    hoisted = [v for v in dict.fromkeys(source) if v in same]
    outer = dict(zip(hoisted, b.inline(slice_of(forward, hoisted, forward.params[:n_c]), consts),
                     strict=True)) if hoisted else {}
    scanned = dict(zip(forward.params[n_c + n_k:], xs, strict=True))
    stacked = {v: n_k + i for i, v in enumerate(forward.returns[n_k:n_known])}
    saved = [v for v in dict.fromkeys(source)
             if v not in outer and v not in scanned and v not in stacked]
    returned: tuple[Value, ...] = ()
    if n_known or saved or is_effectful(forward):
        ahead = forward.replace(returns=(*forward.returns[:n_known], *saved))
        returned = b.emit_forward(scan, *consts, *carry, *xs, **{
            **attrs, "body": ahead, "n_consts": n_c, "n_carry": n_k})
    if not any(out):
        return returned
    stacked.update({v: n_known + i for i, v in enumerate(saved)})

    side, n_linear = parts.linear, sum(flags)
    params = side.params[:n_linear]
    constant = [v in outer for v in source]
    res_consts, res_xs = unzip(side.params[n_linear:], constant)
    i, j = len(l_consts), len(l_consts) + len(l_carry)
    grouped = Function(side.name, (*params[:i], *res_consts, *params[i:j], *params[j:], *res_xs),
                       side.ops, side.returns)
    made = b.emit_linear(
        scan, *l_consts, *[outer[v] for v in source if v in outer], *l_carry, *l_xs,
        *[scanned[v] if v in scanned else returned[stacked[v]] for v in source if v not in outer],
        **{**attrs, "body": grouped, "n_consts": i + len(res_consts), "n_carry": len(l_carry)})
    return join(out, made, returned[:n_known])


def _transpose_scan(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    """Turns in the other order; cotangents of constants add up in the carry."""
    attrs, body, n_carry = op.attrs, op.attrs["body"], op.attrs["n_carry"]
    marks = _groups(attrs, known)
    of_consts, of_init, of_xs = (tuple([m is LINEAR for m in group]) for group in marks)
    of_carry = (True,) * n_carry
    for t in body.param_types[len(of_consts):len(of_consts) + n_carry]:
        if not t.is_inexact:
            raise IRTypeError(f"scan: a linear scan cannot carry {t}; divide it first")
    linear = (*of_consts, *of_carry, *of_xs)
    ct_carry, ct_ys = list(cotangents[:n_carry]), list(cotangents[n_carry:])
    of_ys = _active(ct_ys)
    n_c = sum(of_consts)

    def step(carry: Flags) -> Flags:
        return transpose_to(body, linear, (*carry, *of_ys))[1][n_c:n_c + n_carry]

    carried = _grow(_active(ct_carry), step)
    back, active_in = transpose_to(body, linear, (*carried, *of_ys))
    summed, into_xs = active_in[:n_c], active_in[n_c + n_carry:]
    back, _ = transpose_to(body, linear, (*carried, *of_ys), (*summed, *carried, *into_xs))

    def make() -> Function:                      # known consts, carry, sums, cts of ys, known xs
        k_consts, k_xs = len(of_consts) - n_c, len(of_xs) - sum(of_xs)
        params = back.params
        consts, known_xs = params[:k_consts], params[k_consts:k_consts + k_xs]
        cts = params[k_consts + k_xs:]
        n = sum(carried)
        inner = Builder(back.name)
        inner.ops, made = list(back.ops), back.returns
        k = sum(summed)
        totals = [Value(v.type) for v in made[:k]]
        added = [inner.emit(lookup("add"), total, ct)
                 for total, ct in zip(totals, made[:k], strict=True)]
        return Function(back.name, (*consts, *cts[:n], *totals, *cts[n:], *known_xs), inner.ops,
                        (*made[k:k + n], *added, *made[k + n:]))

    turned = remembered(back, ("scan", n_c, tuple(map(len, marks)), carried, summed), make)
    consts = [m for m in marks[0] if m is not LINEAR]
    known_xs = [m for m in marks[2] if m is not LINEAR]
    starts = [b.zeros(v.type) if ct is None else ct
              for v, ct, c in zip(op.results, ct_carry, carried, strict=False) if c]
    const_types = [v.type for v in select(op.operands[:len(of_consts)], of_consts)]
    sums = [b.zeros(t) for t, s in zip(const_types, summed, strict=True) if s]
    made = b.emit(scan, *consts, *starts, *sums, *[ct for ct in ct_ys if ct is not None],
                  *known_xs, **{**attrs, "body": turned, "n_consts": len(consts),
                                "n_carry": len(starts) + len(sums),
                                "reverse": not attrs["reverse"]})
    n, k = len(starts), len(sums)
    per_const = join(of_consts, _spread(made[n:n + k], summed), [None] * len(consts))
    per_init = [ct if lin else None
                for ct, lin in zip(_spread(made[:n], carried), of_init, strict=True)]
    return (*per_const, *per_init,
            *join(of_xs, _spread(made[n + k:], into_xs), [None] * len(known_xs)))


def _settle(body: Function, before: tuple, places: list, after: tuple, axis: Any
            ) -> tuple[int | None, ...]:
    """Positions of the carries that a vectorised body maps to batched ones exactly there."""
    while True:
        out = vectorize(body, (*before, *places, *after), axis)[1]
        grown = [q if p is None else p for p, q in zip(places, out, strict=False)]
        if grown == places:
            return tuple(places)
        places = grown


def _batch_scan(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    attrs, body, n_carry, size = op.attrs, op.attrs["body"], op.attrs["n_carry"], axis[1]
    consts, carry, xs = _groups(attrs, operands)
    of_consts, of_carry, of_xs = _groups(attrs, positions)
    xs = [v if p != 0 else move_batch(b, v, 0, 1, size)     # the scanned axis stays in front
          for v, p in zip(xs, of_xs, strict=True)]
    slices = tuple([None if p is None else max(p - 1, 0) for p in of_xs])
    settled = _settle(body, tuple(of_consts), list(of_carry), slices, axis)
    carry = [v if q is None else move_batch(b, v, p, q, size)
             for v, p, q in zip(carry, of_carry, settled, strict=True)]
    n_ys = len(body.returns) - n_carry
    moved, out = vectorize(body, (*of_consts, *settled, *slices), axis,
                           (*settled, *(None,) * n_ys))
    made = b.emit(scan, *consts, *carry, *xs, **{**attrs, "body": moved})
    return made, (*settled, *[None if p is None else p + 1 for p in out[n_carry:]])


def _strong_scan(op: Op, linear: Flags) -> Any:
    attrs, body, n_carry = op.attrs, op.attrs["body"], op.attrs["n_carry"]
    consts, carry, xs = map(tuple, _groups(attrs, linear))
    carry = _grow(carry, lambda flags: strong(body, (*consts, *flags, *xs))[1][:n_carry])
    made, out = strong(body, (*consts, *carry, *xs))
    return op.definition, {**attrs, "body": made}, (*carry, *out[n_carry:])


def thread_consts(op: Op, bodies: Sequence[Function], extra: Sequence[Sequence[Value]]) -> Any:
    """`thread` of a loop with one body: further constants, behind its own."""
    (body,), (values,), n = bodies, extra, op.attrs["n_consts"]
    return (*op.operands[:n], *values, *op.operands[n:]), {
        **with_bodies(op, [last_at(body, len(values), n)]), "n_consts": n + len(values)}


scan = define("scan", attrs={"body": FUNCTION, "n_consts": INT, "n_carry": INT, "length": INT,
                             "reverse": BOOL, "unroll": INT},
              infer=_infer_scan, single=False, own_primal=True, jvp=_jvp_scan, split=_split_scan,
              transpose=_transpose_scan, batch=_batch_scan, strong=_strong_scan,
              thread=thread_consts)

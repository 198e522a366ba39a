"""Bypass: values that only pass through an op with bodies no longer enter it, and neither do values
that nobody reads.

    %0, %1 = scan(%w, %c, %d, %xs) {           %0 = scan(%w, %d, %c, %xs) {
        n_consts = 1, n_carry = 2,                 n_consts = 2, n_carry = 1,
        body = func(%w, %c, %d, %x) {              body = func(%w, %d, %c, %x) {
          ...  return %2, %d }}                      ...  return %2 }}
    return %0, %1                              return %0, %d

The pass drops results, carries, operands and scanned values that nothing reads. It forwards results
that are operands, carries that every turn leaves as they are, and operands and results that occur
twice.
"""

from __future__ import annotations

from ..analysis import op_has_effects
from ..core import Function, Op, Value, remembered, renamed
from ..definition import lookup
from ..regions import (
    ByGroup,
    Held,
    Regions,
    fix,
    keep,
    operands_read,
    returning,
    select,
    unchanged,
    values_read,
)
from .common_subexpressions import common_subexpressions
from .dead_code import dead_code

Changed = tuple[Op, dict[Value, Value], list[Op]]
Flags = dict[str, list[bool]]
Found = tuple[Flags, dict[Value, Value], list[Op]]


def bypass(fn: Function) -> Function:
    """The Function whose ops with bodies carry only the values that they change and others read."""
    if not any([op.definition.has_bodies and op.definition.regions.free for op in fn.ops]):
        return fn
    while True:
        once = _forward(fn)
        if once is fn:
            return fn
        fn = once


def _forward(fn: Function) -> Function:
    read = {v for op in fn.ops for v in op.operands}.union(fn.returns)
    env: dict[Value, Value] = {}
    ops: list[Op] = []
    changed = False
    for op in fn.ops:
        if env:
            op = renamed(op, env)
        regions = op.definition.regions
        found = _around(op, read) if regions is not None and regions.free else None
        if found is None:
            ops.append(op)
            continue
        changed = True
        made, moved, before = found
        ops.extend(before)
        if made.results or op_has_effects(made):
            ops.append(made)
        env.update(moved)
    if not changed:
        return fn
    return fn.replace(ops=ops, returns=[env.get(v, v) for v in fn.returns])


def _around(op: Op, read: set[Value]) -> Changed | None:
    """The op without values that only pass through it or that nobody reads; the values that replace
    the results it lost; and the ops that compute these. None if the op does not change."""
    regions: Regions = op.definition.regions
    held = regions.held(op)
    if not all([isinstance(one.function, Function) for one in held]):
        return None                                      # a transformation not yet carried out
    groups = ByGroup(op, held)
    if regions.is_loop and any(fixed := unchanged(groups)):
        init, results = groups.operands["carry"], groups.results["carry"]
        moved = dict(zip(select(results, fixed), select(init, fixed), strict=True))
        return fix(op, fixed), moved, []
    stay, moved, before = (_of_turns if regions.is_loop else _of_bodies)(groups, read)
    if regions.is_loop:
        stay["carry"] = _needed(groups, stay, read)
    functions: list[Function] = []
    repeats = False
    seen: dict[Value, Value] = {}
    for v in op.operands:
        repeats = repeats or v in seen
        seen[v] = v
    for one, params in zip(held, groups.params, strict=True):
        narrowed = returning(op, one, stay)
        if repeats and (twice := _twice(groups, params)) and not op_has_effects(op):
            narrowed = remembered(narrowed, ("joined", *twice.items()), _joined, narrowed, twice)
        functions.append(remembered(narrowed, "without dead code", dead_code, narrowed))
    used = operands_read(groups, functions)
    if regions.is_loop:
        used["carry"] = stay["carry"]
    if all(map(all, stay.values())) and all(map(all, used.values())):
        return None
    return keep(op, used, stay, functions), moved, before


def _twice(groups: ByGroup, params: dict[str, list[Value]]) -> dict[Value, Value]:
    """For each parameter of a body whose operand occurs earlier in the same group, the parameter of
    that earlier operand. Carries are left out, because they differ after the first turn."""
    joined: dict[Value, Value] = {}
    for name, values in params.items():
        if groups.op.definition.regions.is_loop and name == "carry":
            continue
        first: dict[Value, Value] = {}
        for v, operand in zip(values, groups.operands[name], strict=True):
            if first.setdefault(operand, v) is not v:
                joined[v] = first[operand]
    return joined


def _joined(body: Function, names: dict[Value, Value]) -> Function:
    """The body with values replaced as `names` says, and without ops that are then duplicates."""
    return common_subexpressions(body.replace(
        ops=[renamed(op, names) for op in body.ops],
        returns=[names.get(v, v) for v in body.returns]))


def _of_bodies(groups: ByGroup, read: set[Value]) -> Found:
    """The values that pass through bodies whose returns are the op's results: operands that every
    body returns at the same place, and results that every body returns twice."""
    op, held = groups.op, groups.held
    stay: list[bool] = []
    moved: dict[Value, Value] = {}
    places = [dict(reversed([*zip(one.function.params, _fed(groups, one), strict=True)]))
              for one in held]
    seen: dict[tuple[Value, ...], Value] = {}
    for j, result in enumerate(op.results):
        returned = tuple([one.function.returns[j] for one in held])
        through = {at.get(v) for at, v in zip(places, returned, strict=True)}
        first = seen.setdefault(returned, result)
        if len(through) == 1 and (operand := next(iter(through))) is not None:
            moved[result] = operand
            stay.append(False)
        elif first is not result and result in read:
            moved[result] = first
            stay.append(False)
        else:
            stay.append(result in read)
    for j, result in enumerate(op.results):      # a result that stands for another one is read
        stay[j] = stay[j] or (result in moved.values() and result not in moved)
    regions: Regions = op.definition.regions
    return dict(zip(regions.results, regions.split_results(op.attrs, stay), strict=True)), moved, []


def _fed(groups: ByGroup, one: Held) -> list[Value]:
    """The operands that the parameters of a body stand for."""
    return [v for name in one.body.takes for v in groups.operands[name]]


def _of_turns(groups: ByGroup, read: set[Value]) -> Found:
    """The values that pass through the turns of a loop: stacked results that are scanned operands,
    that have the same constant in every row, or that occur twice."""
    moved: dict[Value, Value] = {}
    before: list[Op] = []
    operands, results = groups.operands, groups.results
    stay = {name: [True] * len(values) for name, values in results.items()}
    for one, params, returns in zip(groups.held, groups.params, groups.returns, strict=True):
        if "ys" not in returns:
            continue
        rows = dict(zip(params["xs"], operands["xs"], strict=True))
        same = dict(zip(params[one.body.grows], operands[one.body.grows], strict=True))
        first: dict[Value, Value] = {}
        for v, result in zip(returns["ys"], results["ys"], strict=True):
            if v in rows:
                moved[result] = rows[v]
            elif v in same and result in read:
                before.append(Op(lookup("broadcast_in_dim"), (same[v],), {
                    "shape": result.type.shape, "dims": tuple(range(1, result.type.ndim))},
                    (whole := Value(result.type),), groups.op.loc))
                moved[result] = whole
            elif result in read and v in first:
                moved[result] = first[v]
            elif result in read:
                first[v] = result
        stay["ys"] = [result in read and result not in moved for result in results["ys"]]
    return stay, moved, before


def _needed(groups: ByGroup, stay: Flags, read: set[Value]) -> list[bool]:
    """For each carry, whether it is read after the loop or by its test, or whether other results in
    `stay`, effects or needed carries depend on it."""
    needed = [v in read for v in groups.results["carry"]]
    for one, params in zip(groups.held, groups.params, strict=True):
        if not one.body.gives:
            tested = values_read(one.function)
            needed = [n or v in tested for n, v in zip(needed, params["carry"], strict=True)]
    if all(needed):
        return needed
    for one, params, returned in zip(groups.held, groups.params, groups.returns, strict=True):
        if not one.body.gives:
            continue
        carry = params["carry"]
        others = [v for name, values in returned.items() if name != "carry"
                  for v in select(values, stay[name])]
        while True:
            live = {*select(returned["carry"], needed), *others}
            for inner in reversed(one.function.ops):
                if not live.isdisjoint(inner.results) or op_has_effects(inner):
                    live.update(inner.operands)
            grown = [n or v in live for n, v in zip(needed, carry, strict=True)]
            if grown == needed:
                break
            needed = grown
    return needed

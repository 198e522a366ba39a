"""If-conversion: a cond whose branches are light becomes the ops of all branches and a choice.

    %0 = cond(%p, %x) {branches = [@no, @yes]}     %0 = mul(%x, 0.5)        // no
                                                   %1 = sin(%x)             // yes
                                                   %2 = select_n(%p, %0, %1)

A separate branch costs a device more than a little arithmetic: operands and results are copied, and
nothing in it merges with the ops before and after it. The values are the same. Derivatives have
already been taken, so no cotangent reaches the values of the branch not taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder
from ..core import Function, Op, Value, remembered, renamed
from ..definition import lookup
from ..placed_builder import PlacedBuilder
from ..traits import CHEAP, ELEMENTWISE, MOVES

DEAR = 16
"""The cost of an op that is not cheap, per element, in cheap ops."""

MOST_OPS = 32
MOST_WORK = 1 << 14
"""The limit for all branches together: the sum of elements times cost."""


def if_conversion(fn: Function) -> Function:
    """The Function with conds of light branches computed whole."""
    if not any([op.definition.has_bodies and _is_choice(op) for op in fn.ops]):
        return fn
    b = PlacedBuilder(fn.name)
    env: dict[Value, Value] = {}
    changed = False
    for op in fn.ops:
        if env:
            op = renamed(op, env)
        if _is_choice(op) and _is_light(branches := _branches(op)):
            changed = True
            _convert(b, op, branches, env)
        else:
            b.ops.append(op)
    if not changed:
        return fn
    return fn.replace(ops=b.ops, returns=[env.get(v, v) for v in fn.returns])


def _is_choice(op: Op) -> bool:
    regions = op.definition.regions
    return regions is not None and regions.is_choice


def _branches(op: Op) -> list[Function]:
    return [one.function for one in op.definition.regions.held(op)]


def _convert(b: Builder, op: Op, branches: Sequence[Function], env: dict[Value, Value]) -> None:
    (index,), operands = op.definition.regions.split(op.attrs, op.operands)
    b.loc = op.loc
    made = [b.inline(branch, operands) for branch in branches]
    select_n = lookup("select_n")
    for result, *cases in zip(op.results, *made, strict=True):
        if all([v is cases[0] for v in cases]):
            env[result] = cases[0]
        else:
            b.ops.append(Op(select_n, (index, *cases), {}, (result,), op.loc))


def _is_light(branches: Sequence[Function]) -> bool:
    return sum([_work(branch) for branch in branches]) <= MOST_WORK


def _work(branch: Function) -> int:
    """The cost of a branch; more than `MOST_WORK` where it must stay a branch."""
    return remembered(branch, "work", _measured, branch)


def _measured(branch: Function) -> int:
    if len(branch.ops) > MOST_OPS:
        return MOST_WORK + 1
    total = sum([v.type.size for v in branch.returns])
    for op in branch.ops:
        definition = op.definition
        traits, is_cheap = definition.traits, CHEAP in definition.traits
        if (ELEMENTWISE not in traits and not (is_cheap and MOVES in traits)) \
                or not definition.single or definition.has_bodies or definition.effects is not None:
            return MOST_WORK + 1
        if op.operands:
            total += op.results[0].type.size * (1 if is_cheap else DEAR)
    return total

"""Forms: what the CPU gets for an op in place of its plain rule, and under which condition.

    # arrays that the plain rule reduces one element at a time
    @form(ops.argmax, when=lambda op: op.operands[0].type.shape[op.attrs["axis"]] >= 32)
    def argmax(b, op, x):
        ...

A form writes the op as other ops of the IR; of several, the first whose condition holds is taken.
They live in this folder under the file names of the rules, and a file is imported when the first op
of its family is lowered. `XFRONT_CPU_FORMS=0` leaves every op to its plain rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from lowering import context
from lowering.context import Rule, RuleContext
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.opdef import OpDef
from xfront_ir.ops.convert import fence
from xfront_ir.types import TensorType

Condition = Callable[[Op], bool]
Form = Callable[..., Any]

FORMS: dict[OpDef, list[tuple[Condition, Form]]] = {}
IN_LOOPS: set[Form] = set()
READS_CONSTANTS: set[OpDef] = set()
SIMPLE: dict[OpDef, str] = {}
RULES: dict[OpDef, Rule] = {}
"""As those of the context, for ops met so far: forms are asked first."""


def form(definition: OpDef, when: Condition, constants: bool = False, in_loops: bool = False
         ) -> Callable[[Form], Form]:
    """Decorator: `fn(b, op, *operands) -> value(s)` for `definition` where `when(op)` holds.

    Inside its form an op takes its plain rule, and what `ops.fence` gives is computed once. With
    `constants`, ops of the definition come with an attribute of that name: for each operand its
    number where it is filled with one, `...` where it is another constant, None where the program
    computes it. With `in_loops` the form is for the bodies of loops alone.
    """
    def register(fn: Form) -> Form:
        FORMS.setdefault(definition, []).append((when, fn))
        if constants:
            READS_CONSTANTS.add(definition)
        if in_loops:
            IN_LOOPS.add(fn)
        return fn

    return register


def find_rule(definition: OpDef) -> Rule:
    """The rule of an op seen for the first time: its forms, then its plain rule."""
    plain = context.RULES.get(definition) or context._find_rule(definition)
    family = definition.family.rpartition("/")[2].removesuffix(".py")
    if definition.family.startswith("xfront_ir/ops/"):
        try:
            import_module(f"lowering.cpu.{family}")
        except ModuleNotFoundError as e:
            if e.name != f"lowering.cpu.{family}":
                raise
    forms = FORMS.get(definition)
    if forms is None:
        if definition in context.SIMPLE:
            SIMPLE[definition] = context.SIMPLE[definition]
        found = plain
    else:
        found = _choosing(forms, plain)
    RULES[definition] = found
    return found


def chosen(op: Op, in_loop: bool = False) -> Form | None:
    """The form that an op takes; None where it takes the plain rule."""
    find_rule(op.definition)
    return next((fn for when, fn in FORMS.get(op.definition, ())
                 if (in_loop or fn not in IN_LOOPS) and when(op)), None)


def _choosing(forms: list[tuple[Condition, Form]], plain: Rule) -> Rule:
    inside: set[RuleContext] = set()

    def lower(ctx: RuleContext, op: Op, *operands: Any) -> Any:
        if ctx in inside:
            return plain(ctx, op, *operands)
        asked = op
        if op.definition in READS_CONSTANTS:
            attrs = {**op.attrs, "constants": tuple([_constant(ctx, v) for v in operands])}
            asked = Op(op.definition, op.operands, attrs, op.results, op.loc)
        for when, fn in forms:
            if (ctx.loops or fn not in IN_LOOPS) and when(asked):
                if ctx.module is not None:
                    ctx.module.built.forms.append((op, fn))
                types = tuple(v.type for v in op.operands)
                body, fenced = _written(fn, op.definition, types, tuple(asked.attrs.items()))
                inside.add(ctx)
                outside, ctx.fenced = ctx.fenced, fenced
                try:
                    return ctx.inline(body, operands)
                finally:
                    inside.discard(ctx)
                    ctx.fenced = outside
        return plain(ctx, op, *operands)

    return lower


def _constant(ctx: RuleContext, value: Any, depth: int = 4) -> Any:
    """What an MLIR value is known to be, as `form` says."""
    made = value.owner
    if isinstance(made, ctx.ir.Block):
        return None
    made = made.operation
    if made.name == "stablehlo.constant":
        data = made.attributes["value"]
        return data.get_splat_value().value if data.is_splat else ...
    operands = made.operands
    if not depth or not len(operands) or len(made.regions) or any(
            _constant(ctx, v, depth - 1) is None for v in operands):
        return None
    return ...


@lru_cache(maxsize=512)
def _written(fn: Form, definition: OpDef, types: tuple[TensorType, ...], attrs: tuple
             ) -> tuple[Function, frozenset[Value]]:
    """The body of a form and what is fenced there."""
    b = Builder(definition.name)
    operands = tuple(b.param(t) for t in types)
    made = fn(b, Op(definition, operands, dict(attrs), ()), *operands)
    body = b.close(list(made) if isinstance(made, (list, tuple)) else [made])
    return body, frozenset(op.results[0] for op in body.ops if op.definition is fence)

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

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from lowering import context
from lowering.context import Rule, RuleContext
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op
from xfront_ir.opdef import OpDef
from xfront_ir.types import TensorType

Condition = Callable[[Op], bool]
Form = Callable[..., Any]
Place = Callable[[RuleContext, Sequence[Any]], bool]
Reads = Callable[[RuleContext, Op, Sequence[Any]], "list[tuple[Any, TensorType]] | None"]
"""MLIR values with their types."""

FORMS: dict[OpDef, list[tuple[Condition, Form]]] = {}
ONLY: dict[Form, Place] = {}
READS: dict[Form, Reads] = {}
READS_CONSTANTS: set[OpDef] = set()
SIMPLE: dict[OpDef, str] = {}
RULES: dict[OpDef, Rule] = {}
"""As those of the context, for ops met so far: forms are asked first."""


def form(definition: OpDef, when: Condition, constants: bool = False,
         only: Place | None = None, reads: Reads | None = None) -> Callable[[Form], Form]:
    """Decorator: `fn(b, op, *operands) -> value(s)` for `definition` where `when(op)` holds.

    What a form writes of its own op takes the plain rule, and what `ops.fence` gives is computed
    once. With `constants`, ops of the definition come with an attribute of that name: for each
    operand its number where it is filled with one, `...` where it is another constant, None where
    the program computes it. A form with `only` is for some places alone: `in_loops`, `in_programs`,
    which leaves out what is compiled operation by operation, or `near_memory`. One with `reads`
    gets what that finds of how the operands are made, after them; where it finds nothing, the form
    is not taken.
    """
    def register(fn: Form) -> Form:
        FORMS.setdefault(definition, []).append((when, fn))
        if constants:
            READS_CONSTANTS.add(definition)
        if only is not None:
            ONLY[fn] = only
        if reads is not None:
            READS[fn] = reads
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


def in_loops(ctx: RuleContext, operands: Sequence[Any]) -> bool:
    """Whether what is lowered belongs to the body of a loop."""
    return ctx.loops > 0


def in_programs(ctx: RuleContext, operands: Sequence[Any]) -> bool:
    """Whether it belongs to a program, where it may be merged with what reads it."""
    return ctx.module is not None and ctx.module.has_fences


def near_memory(ctx: RuleContext, operands: Sequence[Any]) -> bool:
    """Whether few operations compute the operands: a form may repeat them in the code."""
    return all(_count(ctx, v, 8) < 8 for v in operands)


_IN_MEMORY = frozenset(("func.call", "stablehlo.convolution", "stablehlo.custom_call",
                        "stablehlo.dot_general", "stablehlo.gather", "stablehlo.sort",
                        "stablehlo.while", "stablehlo.optimization_barrier"))


def _count(ctx: RuleContext, value: Any, most: int) -> int:
    """How many operations that XLA merges compute a value, counted as often as they are read."""
    made = value.owner
    if isinstance(made, ctx.ir.Block) or made.operation.name in _IN_MEMORY:
        return 0
    counted = 1
    for operand in made.operation.operands:
        if counted >= most:
            return most
        counted += _count(ctx, operand, most - counted)
    return counted


def chosen(op: Op, place: Place | Reads = near_memory) -> Form | None:
    """The form that an op takes at such a place; None where it takes the plain rule."""
    find_rule(op.definition)
    return next((fn for when, fn in FORMS.get(op.definition, ())
                 if ONLY.get(fn, READS.get(fn, place)) is place and when(op)), None)


_NOTHING: frozenset[Op] = frozenset()


def _choosing(forms: list[tuple[Condition, Form]], plain: Rule) -> Rule:
    written: dict[RuleContext, frozenset[Op]] = {}

    def lower(ctx: RuleContext, op: Op, *operands: Any) -> Any:
        before = written.get(ctx, _NOTHING)
        if op in before:
            return plain(ctx, op, *operands)
        asked = op
        if op.definition in READS_CONSTANTS:
            asked = Op(op.definition, op.operands, _Asked(op.attrs, ctx, operands), op.results,
                       op.loc)
        for when, fn in forms:
            if when(asked) and (fn not in ONLY or ONLY[fn](ctx, operands)):
                read = READS[fn](ctx, op, operands) if fn in READS else ()
                if read is None:
                    continue
                if ctx.module is not None:
                    ctx.module.built.forms.append((op, fn))
                types = (*[v.type for v in op.operands], *[t for _, t in read])
                body, own = _written(fn, op.definition, types, tuple(asked.attrs.items()))
                written[ctx] = before | own
                outside, ctx.fences = ctx.fences, True
                try:
                    return ctx.inline(body, [*operands, *[v for v, _ in read]])
                finally:
                    ctx.fences = outside
                    if before:
                        written[ctx] = before
                    else:
                        del written[ctx]
        return plain(ctx, op, *operands)

    return lower


class _Asked(dict):
    """Attributes with `constants`, which are looked for when a condition first asks."""

    __slots__ = ("ctx", "operands")

    def __init__(self, attrs: dict[str, Any], ctx: RuleContext, operands: Sequence[Any]) -> None:
        super().__init__(attrs)
        self.ctx, self.operands = ctx, operands

    def __missing__(self, name: str) -> Any:
        if name != "constants":
            raise KeyError(name)
        found = self[name] = tuple([_constant(self.ctx, v) for v in self.operands])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict that has the constants."""
        return self[name] if name == "constants" or name in self else default


def _constant(ctx: RuleContext, value: Any, depth: int = 4) -> Any:
    """What an MLIR value is known to be, as `form` says."""
    made = value.owner
    if isinstance(made, ctx.ir.Block):
        return None
    made = made.operation
    if made.name == "stablehlo.constant":
        if isinstance(value.type.element_type, ctx.ir.ComplexType):
            return ...                  # jaxlib reads no complex attributes
        data = made.attributes["value"]
        return data.get_splat_value().value if data.is_splat else ...
    operands = made.operands
    if not depth or not len(operands) or len(made.regions) or any(
            _constant(ctx, v, depth - 1) is None for v in operands):
        return None
    return ...


@lru_cache(maxsize=512)
def _written(fn: Form, definition: OpDef, types: tuple[TensorType, ...], attrs: tuple
             ) -> tuple[Function, frozenset[Op]]:
    """The body of a form, what it has of its own definition beyond the op's bodies."""
    b = Builder(definition.name)
    operands = tuple(b.param(t) for t in types)
    op = Op(definition, operands, dict(attrs), ())
    made = fn(b, op, *operands)
    body = b.close(list(made) if isinstance(made, (list, tuple)) else [made])
    own = _ops_inside(body.ops, definition)
    if definition.has_bodies:
        own -= _ops_inside([op], definition)
    return body, frozenset(own)


def _ops_inside(found: Sequence[Op], definition: OpDef) -> set[Op]:
    """Those of a definition among ops and in their bodies."""
    inside = {op for op in found if op.definition is definition}
    for op in found:
        for name in op.definition.body_attrs if op.definition.has_bodies else ():
            held = op.attrs[name]
            for body in held if isinstance(held, tuple) else (held,):
                if isinstance(body, Function):
                    inside |= _ops_inside(body.ops, definition)
    return inside

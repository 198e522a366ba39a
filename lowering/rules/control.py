"""Lowering of control flow: cond as `if` or `case`, scan as `while`.

Constants from outside that a body reads are written again inside it; all other values from outside
are operands of the loop. Ordered effects thread a token through branches and turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lowering.context import RuleContext, inlined, rule
from xfront_ir import dtypes, ops
from xfront_ir.analysis import axis_names
from xfront_ir.core import Function, Op
from xfront_ir.regions import cut
from xfront_ir.types import I32, TensorType, scalar

inlined(ops.call, "body")


class Outside:
    """The values from outside that a region reads. Constants are written again inside it; all
    others are passed in, each once."""

    __slots__ = ("constants", "numbers", "passed")

    def __init__(self, ctx: RuleContext, values: Sequence[Any]) -> None:
        self.constants = [ctx.constant_of(v) for v in values]
        given = [v for v, c in zip(values, self.constants, strict=True) if c is None]
        self.passed = list(dict.fromkeys(given))
        at = {v: i for i, v in enumerate(self.passed)}
        self.numbers = [at[v] for v in given]

    def inside(self, ctx: RuleContext, given: Sequence[Any]) -> list[Any]:
        """The values as a region sees them, where `given` are the values passed in."""
        rest = iter(self.numbers)
        return [given[next(rest)] if c is None else ctx.constant_again(c) for c in self.constants]


def open_token(ctx: RuleContext) -> Any:
    """The token that the next ordered effect waits for."""
    if ctx.token is None:
        ctx.token = ctx.create("stablehlo.create_token", [], [ctx.token_type])
    return ctx.token


# --- composite ----------------------------------------------------------------------------

@rule(ops.composite)
def _composite(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    """A composite whose decomposition is a function of the module. If its ops have ordered effects
    or read axes of the mesh around them, they are written in place instead."""
    body, a = op.attrs["body"], op.attrs
    if ctx.module is None or ctx.is_ordered(body) or axis_names(body):
        return ctx.inline(body, operands)
    return ctx.create("stablehlo.composite", operands, op.results, name=ctx.string(a["name"]),
                      composite_attributes=ctx.attr(a["attributes"]), version=ctx.i32(a["version"]),
                      decomposition=ctx.ir.FlatSymbolRefAttr.get(ctx.module.symbol(body)))


@rule(ops.xla_metadata_call)
def _xla_metadata_call(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    """A call of a function of the module, with attributes; or its ops in place, as `composite`."""
    body = op.attrs["body"]
    if ctx.module is None or ctx.is_ordered(body) or axis_names(body):
        return ctx.inline(body, operands)
    return ctx.create("func.call", operands, op.results, **{
        "callee": ctx.ir.FlatSymbolRefAttr.get(ctx.module.symbol(body)),
        "mhlo.frontend_attributes": ctx.attr(op.attrs["attributes"])})


# --- cond ---------------------------------------------------------------------------------

@rule(ops.cond)
def _cond(ctx: RuleContext, op: Op, index: Any, *operands: Any) -> Any:
    branches: tuple[Function, ...] = op.attrs["branches"]
    if len(branches) == 1:
        return ctx.body(branches[0], operands)
    outside = Outside(ctx, operands)
    ordered = any(map(ctx.is_ordered, branches))
    token = open_token(ctx) if ordered else None

    def region(branch: Function) -> Callable[..., Any]:
        def fill(ctx: RuleContext) -> Any:
            ctx.token = token
            made = ctx.body(branch, outside.inside(ctx, outside.passed))
            return [*made, ctx.token] if ordered else made

        return fill

    regions = [region(branch) for branch in branches]
    name = "stablehlo.case"
    if op.operands[0].type.dtype is not dtypes.bool_:   # `case` takes the last branch for -1
        index = ctx.create("stablehlo.maximum", [index, ctx.constant(0, I32)], [I32])
    elif ctx.num_partitions > 1:       # Shardy brings no shardings through an `if`, and ends the
        index = ctx.create("stablehlo.convert", [index], [I32])      # process where they are sums
    else:
        name = "stablehlo.if"
        regions.reverse()                           # its first region is the one for True
    types = [*[v.type for v in op.results], *([ctx.token_type] if ordered else [])]
    made = _as_list(ctx.create(name, [index], types, regions))
    if ordered:
        ctx.token = made.pop()
    return made


# --- loops --------------------------------------------------------------------------------

def _as_list(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def loop(ctx: RuleContext, inits: Sequence[Any], types: Sequence[Any],
          test: Callable[..., Any], turn: Callable[..., list[Any]], ordered: bool) -> list[Any]:
    """A `while` whose regions are `test(*values) -> bool` and `turn(*values) -> values`."""
    inits, types = list(inits), list(types)
    if ordered:
        inits.append(open_token(ctx))
        types.append(ctx.token_type)

    def cond_region(ctx: RuleContext, *values: Any) -> Any:
        return test(ctx, *(values[:-1] if ordered else values))

    def body_region(ctx: RuleContext, *values: Any) -> Any:
        if not ordered:
            return turn(ctx, *values)
        ctx.token = values[-1]
        made = turn(ctx, *values[:-1])
        return [*made, ctx.token]

    made = _as_list(ctx.create("stablehlo.while", inits, types, (cond_region, body_region), types))
    if ordered:
        ctx.token = made.pop()
    return made


# --- scan ---------------------------------------------------------------------------------

@rule(ops.scan)
def _scan(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    attrs, length, regions = op.attrs, op.attrs["length"], op.definition.regions
    consts, carry, xs = regions.split(attrs, operands)
    scan = _Scan(op)
    xs = scan.totals(ctx, xs, scan.x_types)
    unroll = max(1, attrs["unroll"])
    turns = length // unroll
    if turns <= 1:
        return scan.unrolled(ctx, consts, carry, xs)
    ys = [ctx.constant(0, t) for t in scan.y_types]
    outside = Outside(ctx, consts)
    sizes = len(outside.passed), len(carry), len(xs)
    counter = scalar(dtypes.i32 if length < 2 ** 31 else dtypes.i64)

    def test(ctx: RuleContext, at: Any, *values: Any) -> Any:
        return ctx.create("stablehlo.compare", [at, ctx.constant(turns * unroll, counter)],
                          [scalar(dtypes.bool_)],
                          comparison_direction=ctx.attr("#stablehlo<comparison_direction LT>"),
                          compare_type=ctx.attr("#stablehlo<comparison_type SIGNED>"))

    def turn(ctx: RuleContext, at: Any, *values: Any) -> list[Any]:
        given, carry, xs, ys = cut(values, *sizes)
        inner = outside.inside(ctx, given)
        for u in range(unroll):
            place = scan.place(ctx, at, u, counter)
            carry, ys = scan.step(ctx, inner, carry, xs, ys, place, counter)
        after = ctx.create("stablehlo.add", [at, ctx.constant(unroll, counter)], [counter])
        return [after, *given, *carry, *xs, *ys]

    inits = [ctx.constant(0, counter), *outside.passed, *carry, *xs, *ys]
    types = [counter, *[v.type for v in inits[1:]]]
    _, *made = loop(ctx, inits, types, test, turn, ctx.is_ordered(attrs["body"]))
    _, carry, _, ys = cut(made, *sizes)
    for time in range(turns * unroll, length):
        place = ctx.constant(length - 1 - time if attrs["reverse"] else time, counter)
        carry, ys = scan.step(ctx, consts, carry, xs, ys, place, counter)
    return [*carry, *scan.totals(ctx, ys, scan.y_types)]


class _Scan:
    """The parts of a scan that are the same in every turn. Rows of unreduced values are summed
    before they are read or written, because XLA does not know that a stack of them is unreduced."""

    __slots__ = ("body", "has_terms", "length", "reverse", "split_returns", "x_types", "y_types")

    def __init__(self, op: Op) -> None:
        attrs, regions = op.attrs, op.definition.regions
        self.body, self.length, self.reverse = attrs["body"], attrs["length"], attrs["reverse"]
        self.x_types = [v.type for v in regions.groups(op)["xs"]]
        self.y_types = [v.type for v in regions.results_by_group(op)["ys"]]
        self.split_returns = partial(regions.split_returns, "body", attrs)
        self.has_terms = any([t.sharding is not None and t.sharding.spec.unreduced != ()
                              for t in (*self.x_types, *self.y_types)])

    def totals(self, ctx: RuleContext, stacks: Sequence[Any], types: Sequence[TensorType]
               ) -> Sequence[Any]:
        """The stacks, summed if they are unreduced."""
        if not self.has_terms:
            return stacks
        return [ctx.total(stack, t) for stack, t in zip(stacks, types, strict=True)]

    def rows(self, ctx: RuleContext, rows: Sequence[Any], types: Sequence[TensorType]
             ) -> Sequence[Any]:
        """The rows of stacks of these types, summed if they are unreduced."""
        if not self.has_terms:
            return rows
        return [ctx.total(row, t.without(0)) for row, t in zip(rows, types, strict=True)]

    def place(self, ctx: RuleContext, at: Any, u: int, counter: TensorType) -> Any:
        """The row that turn `at + u` reads and writes."""
        if self.reverse:
            return ctx.create("stablehlo.subtract",
                              [ctx.constant(self.length - 1 - u, counter), at], [counter])
        return at if u == 0 else ctx.create("stablehlo.add", [at, ctx.constant(u, counter)],
                                            [counter])

    def step(self, ctx: RuleContext, consts: Sequence[Any], carry: Sequence[Any],
             xs: Sequence[Any], ys: Sequence[Any], place: Any, counter: TensorType
             ) -> tuple[list[Any], list[Any]]:
        """The carries and the stacked results after one turn."""
        zero = ctx.constant(0, counter) if xs or ys else None
        slices = self.rows(ctx, [_slice(ctx, x, t, place, zero) for x, t in
                                 zip(xs, self.x_types, strict=True)], self.x_types)
        after, rows = self.split_returns(ctx.body(self.body, [*consts, *carry, *slices]))
        rows = self.rows(ctx, rows, self.y_types)
        written = [_write(ctx, stack, y, t, place, zero) for stack, y, t in
                   zip(ys, rows, self.y_types, strict=True)]
        return after, written

    def unrolled(self, ctx: RuleContext, consts: Sequence[Any], carry: list[Any],
                 xs: Sequence[Any]) -> list[Any]:
        """The results of the scan, with all turns written out one after the other."""
        rows: list[list[Any]] = [[] for _ in self.y_types]
        for time in range(self.length):
            at = self.length - 1 - time if self.reverse else time
            slices = self.rows(ctx, [_static_slice(ctx, x, t, at) for x, t in
                                     zip(xs, self.x_types, strict=True)], self.x_types)
            carry, made = self.split_returns(ctx.body(self.body, [*consts, *carry, *slices]))
            made = self.rows(ctx, made, self.y_types)
            for row, y, t in zip(rows, made, self.y_types, strict=True):
                row.append(ctx.create("stablehlo.reshape", [y], [t.with_shape((1, *t.shape[1:]))]))
        ys = [_stack(ctx, row[::-1] if self.reverse else row, t)
              for row, t in zip(rows, self.y_types, strict=True)]
        return [*carry, *self.totals(ctx, ys, self.y_types)]


def _slice(ctx: RuleContext, x: Any, t: TensorType, place: Any, zero: Any) -> Any:
    """Row `place` of x."""
    sizes = (1, *t.shape[1:], *t.dtype.physical)
    row = ctx.create("stablehlo.dynamic_slice", [x, place, *[zero] * (len(sizes) - 1)],
                     [t.with_shape((1, *t.shape[1:]))], slice_sizes=ctx.int_array(sizes))
    return ctx.create("stablehlo.reshape", [row], [t.with_shape(t.shape[1:])])


def _static_slice(ctx: RuleContext, x: Any, t: TensorType, at: int) -> Any:
    physical = (*t.shape, *t.dtype.physical)
    starts = (at, *(0,) * (len(physical) - 1))
    if physical[0] > 1:
        x = ctx.create("stablehlo.slice", [x], [t.with_shape((1, *t.shape[1:]))],
                       start_indices=ctx.int_array(starts),
                       limit_indices=ctx.int_array((at + 1, *physical[1:])),
                       strides=ctx.int_array((1,) * len(physical)))
    return ctx.create("stablehlo.reshape", [x], [t.with_shape(t.shape[1:])])


def _write(ctx: RuleContext, stack: Any, y: Any, t: TensorType, place: Any, zero: Any) -> Any:
    """`stack` with y as its row `place`."""
    row = ctx.create("stablehlo.reshape", [y], [t.with_shape((1, *t.shape[1:]))])
    rank = t.ndim + len(t.dtype.physical)
    return ctx.create("stablehlo.dynamic_update_slice", [stack, row, place, *[zero] * (rank - 1)],
                      [t])


def _stack(ctx: RuleContext, rows: list[Any], t: TensorType) -> Any:
    if not rows:
        return ctx.constant(np.zeros((), t.dtype.numpy), t)
    if len(rows) == 1:
        return rows[0]
    return ctx.create("stablehlo.concatenate", rows, [t], dimension=ctx.i64(0))

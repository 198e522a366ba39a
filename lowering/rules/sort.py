"""Lowering of sort and top_k."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.context import RuleContext, rule
from lowering.rules.compare import compare, comparison_kind
from lowering.rules.narrow import converted, widened
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.ops.sort import sort
from xfront_ir.types import BOOL, TensorType, scalar


@rule(sort)
def _sort(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    types = [widened(v.type) for v in op.operands]
    operands = tuple([converted(ctx, x, v.type, t)
                      for x, v, t in zip(operands, op.operands, types, strict=True)])
    elements = [scalar(t.dtype) for t in types]
    n_keys = op.attrs["n_keys"]

    def before(ctx: RuleContext, *pairs: Any) -> Any:
        """Whether the first element of each pair sorts first: the first key that differs decides.
        """
        keys = []
        for element, x, y in list(zip(elements, pairs[::2], pairs[1::2], strict=True))[:n_keys]:
            keys.extend(_ordered(ctx, element, x, y))
        first = None
        for element, x, y in reversed(keys):
            kind = "TOTALORDER" if element.dtype.is_float else comparison_kind(element.dtype)
            less = compare(ctx, "LT", x, y, BOOL, kind)
            if first is not None:
                same = compare(ctx, "EQ", x, y, BOOL, kind)
                tie = ctx.create("stablehlo.and", [same, first], [BOOL])
                less = ctx.create("stablehlo.or", [less, tie], [BOOL])
            first = less
        return first

    made = ctx.create("stablehlo.sort", operands, types, [before],
                      [e for element in elements for e in (element, element)],
                      dimension=ctx.i64(op.attrs["dimension"]),
                      is_stable=ctx.bool(op.attrs["stable"]))
    found = made if isinstance(made, list) else [made]
    return [converted(ctx, x, t, v.type) for x, t, v in zip(found, types, op.results, strict=True)]


def _ordered(ctx: RuleContext, element: TensorType, x: Any, y: Any) -> list[Any]:
    """The keys (type, x, y) whose plain or total order is the order of the elements x and y."""
    if element.dtype.is_complex:
        part = scalar(dtypes.real_of(element.dtype))
        made = []
        for name in ("stablehlo.real", "stablehlo.imag"):
            made.extend(_ordered(ctx, part, *(ctx.create(name, [v], [part]) for v in (x, y))))
        return made
    if element.dtype.is_float:
        if element.dtype.bits <= 8:      # its NaN may have the bits of a negative zero
            element = scalar(dtypes.f32)
            x, y = (ctx.create("stablehlo.convert", [v], [element]) for v in (x, y))
        x, y = _canonical(ctx, element, x), _canonical(ctx, element, y)
    return [(element, x, y)]


def _canonical(ctx: RuleContext, element: TensorType, x: Any) -> Any:
    """`x` with one zero and one NaN, so that the total order is numeric, with NaN last."""
    zero, nan = ctx.constant(0, element), ctx.constant(np.nan, element)
    is_zero = compare(ctx, "EQ", x, zero, BOOL, "FLOAT")
    x = ctx.create("stablehlo.select", [is_zero, zero, x], [element])
    is_nan = compare(ctx, "NE", x, x, BOOL, "FLOAT")
    return ctx.create("stablehlo.select", [is_nan, nan, x], [element])


@rule(ops.top_k)
def _top_k(ctx: RuleContext, op: Op, x: Any) -> Any:
    (values, places), k, axis = (v.type for v in op.results), op.attrs["k"], op.attrs["axis"]
    of = op.operands[0].type
    if values.size == 0:
        return [ctx.constant(0, values), ctx.constant(0, places)]
    swapped = list(range(of.ndim))
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]

    def last(type: TensorType) -> TensorType:
        return type.with_shape(tuple(type.shape[d] for d in swapped))

    def swap(v: Any, type: TensorType) -> Any:
        return v if axis == of.ndim - 1 else ctx.create(
            "stablehlo.transpose", [v], [type], permutation=ctx.int_array(swapped))

    wide = last(of).with_dtype(_WIDER_KEYS.get(of.dtype, of.dtype))
    x = converted(ctx, swap(x, last(of)), last(of), wide)
    found, at = ctx.create("chlo.top_k", [x], [last(values).with_dtype(wide.dtype), last(places)],
                           k=ctx.i64(k))
    found = converted(ctx, found, last(values).with_dtype(wide.dtype), last(values))
    return [swap(v, type) for v, type in zip((found, at), (values, places), strict=True)]


_WIDER_KEYS = {dtype: dtypes.f32 if dtype.is_float else dtypes.i8 for dtype in
               dtypes.BY_NAME.values() if dtype.bits <= 8 and dtype.is_float or dtype.bits < 8}
"""The dtypes that are converted before `top_k`: XLA cannot pair elements of less than a byte with
an index, and it orders NaN by its sign."""

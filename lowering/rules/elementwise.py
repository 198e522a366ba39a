"""Lowering of arithmetic, exponential, trigonometric and complex ops, and of selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from lowering.context import RuleContext, rule, table
from lowering.rules.compare import compare
from lowering.rules.complexes import of_complex, size
from lowering.rules.expressions import Writer
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.ops.formulas import Term, where
from xfront_ir.types import TensorType

table({
    ops.add: "stablehlo.add", ops.sub: "stablehlo.subtract", ops.mul: "stablehlo.multiply",
    ops.div: "stablehlo.divide", ops.rem: "stablehlo.remainder", ops.neg: "stablehlo.negate",
    ops.pow: "stablehlo.power", ops.rsqrt: "stablehlo.rsqrt",
    ops.logistic: "stablehlo.logistic", ops.floor: "stablehlo.floor", ops.ceil: "stablehlo.ceil",
    ops.is_finite: "stablehlo.is_finite", ops.atan2: "stablehlo.atan2",
    ops.real: "stablehlo.real", ops.imag: "stablehlo.imag",
    ops.complex: "stablehlo.complex", ops.clamp: "stablehlo.clamp",
})


def _of_both(definition: OpDef, of_floats: str) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        type = op.results[0].type
        if type.dtype.is_complex:
            return of_complex(ctx, definition, x, type)
        return ctx.create(of_floats, [x], [type])


for _definition, _of_floats in {
        ops.sin: "stablehlo.sine", ops.cos: "stablehlo.cosine",
        ops.expm1: "stablehlo.exponential_minus_one", ops.exp: "stablehlo.exponential",
        ops.log: "stablehlo.log", ops.sqrt: "stablehlo.sqrt", ops.tan: "chlo.tan",
        ops.tanh: "stablehlo.tanh", ops.asin: "chlo.asin", ops.acos: "chlo.acos",
        ops.atan: "chlo.atan", ops.asinh: "chlo.asinh", ops.acosh: "chlo.acosh"}.items():
    _of_both(_definition, _of_floats)


@rule(ops.cbrt)
def _cbrt(ctx: RuleContext, op: Op, x: Any) -> Any:
    """`stablehlo.cbrt`, except that x itself is the result for subnormal x on CPU. There the C
    library's function runs with subnormal numbers flushed to zero, as XLA has set it, and returns
    wrong numbers for them, even of the wrong sign."""
    type = op.results[0].type
    plain = ctx.create("stablehlo.cbrt", [x], [type])
    if ctx.platform != "cpu" or type.dtype is dtypes.f16:
        return plain                             # each f16 is a normal f32
    writer = Writer(ctx)
    t = writer.term(type, x)
    least = float(ml_dtypes.finfo(type.dtype.numpy).smallest_normal)
    return writer.mlir(where(abs(t) < least, t, writer.term(type, plain)))


@rule(ops.log1p)
def _log1p(ctx: RuleContext, op: Op, x: Any) -> Any:
    """XLA's log1p of f64 is off by 128 ulp between -0.42 and -0.3. There the result is log(u) and a
    correction for the rounding of u = 1 + x; the maximum keeps XLA from simplifying u - 1 to x."""
    type = op.results[0].type
    if type.dtype.is_complex:
        return of_complex(ctx, ops.log1p, x, type)
    plain = ctx.create("stablehlo.log_plus_one", [x], [type])
    if type.dtype is not dtypes.f64:
        return plain
    writer = Writer(ctx)
    t = writer.term(type, x)
    u = ops.max(t + 1.0, 0.25)
    inside = (t > -0.5) & (t < -0.25)
    return writer.mlir(where(inside, ops.log(u) + (t - (u - 1.0)) / u, writer.term(type, plain)))


@rule(ops.log2)
def _log2(ctx: RuleContext, op: Op, x: Any) -> Any:
    """log(x) / log(2), with the factor in twice the precision."""
    type = op.results[0].type
    writer = Writer(ctx)
    t = writer.term(type, x)
    if not type.dtype.is_complex:
        made = _over_log_of_2(ops.log(t.to(dtypes.f32) if type.dtype.bits < 32 else t))
        return writer.mlir(made.to(type.dtype))
    made = ops.log(t)
    return writer.mlir(ops.complex(_over_log_of_2(ops.real(made)), _over_log_of_2(ops.imag(made))))


def _over_log_of_2(x: Term) -> Term:
    factor = 1 / math.log(2)
    high = float(np.asarray(factor, x.dtype.numpy))
    return where(ops.is_finite(x), x * high + x * (factor - high), x)


def _hyperbolic(definition: OpDef, formula: Callable[[Term], Term]) -> None:
    """Lower sinh or cosh by a formula in e^(x / 2), squared: x / 2 is exact, and e^(x / 2) does not
    overflow before the result does. XLA's own take e^(x - log 2), whose argument is rounded, and
    are off by 24 ulp in f32 and by 500 in f64."""
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        type = op.results[0].type
        if type.dtype.is_complex:
            return of_complex(ctx, definition, x, type)
        writer = Writer(ctx)
        t = writer.term(type, x)
        return writer.mlir(formula(t.to(dtypes.f32)).to(type.dtype) if type.dtype.bits < 32
                           else formula(t))


def _cosh(t: Term) -> Term:
    root = ops.exp(abs(t) * 0.5)
    return (root * 0.5) * root + (0.5 / root) / root


def _sinh(t: Term) -> Term:
    size = abs(t)
    root, above = ops.exp(size * 0.5), ops.expm1(size)
    far = (root * 0.5) * root - (0.5 / root) / root
    made = where(size < 1.0, (above + above / (above + 1.0)) * 0.5, far)
    return where(t == 0.0, t, where(t < 0.0, -made, made))


_hyperbolic(ops.cosh, _cosh)
_hyperbolic(ops.sinh, _sinh)


@rule(ops.atanh)
def _atanh(ctx: RuleContext, op: Op, x: Any) -> Any:
    """`chlo.atanh`, except that f64 is computed by `_log1p`: XLA's own atanh has the errors of its
    log1p."""
    type = op.results[0].type
    if type.dtype.is_complex:
        return of_complex(ctx, ops.atanh, x, type)
    if type.dtype is not dtypes.f64:
        return ctx.create("chlo.atanh", [x], [type])
    writer = Writer(ctx)
    t = writer.term(type, x)
    return writer.mlir((ops.log1p(t) - ops.log1p(-t)) * 0.5)


@rule(ops.abs)
def _abs(ctx: RuleContext, op: Op, x: Any) -> Any:
    type = op.results[0].type
    if op.operands[0].type.dtype.is_complex:
        return size(ctx, x, type)
    return ctx.create("stablehlo.abs", [x], [type])


@rule(ops.sign)
def _sign(ctx: RuleContext, op: Op, x: Any) -> Any:
    type = op.results[0].type
    if not type.dtype.is_unsigned:
        return ctx.create("stablehlo.sign", [x], [type])
    return ctx.create("stablehlo.minimum", [x, ctx.constant(1, type)], [type])


@rule(ops.square)
def _square(ctx: RuleContext, op: Op, x: Any) -> Any:
    type = op.results[0].type
    if type.dtype.is_complex:
        return ctx.create("chlo.square", [x], [type])
    return ctx.create("stablehlo.multiply", [x, x], [type])


@rule(ops.one_minus_square)
def _one_minus_square(ctx: RuleContext, op: Op, x: Any) -> Any:
    """(1 - x) * (1 + x): near 1 and -1 the factors are exact, where 1 - x * x would cancel."""
    type = op.results[0].type
    one = ctx.constant(1, type)
    factors = [ctx.create(name, [one, x], [type])
               for name in ("stablehlo.add", "stablehlo.subtract")]
    return ctx.create("stablehlo.multiply", factors, [type])


@rule(ops.integer_pow)
def _integer_pow(ctx: RuleContext, op: Op, x: Any) -> Any:
    """Repeated squaring: the squares for the 1 bits of the exponent are multiplied together."""
    n, type = op.attrs["exponent"], op.results[0].type
    power, rest = None, abs(n)
    while rest:
        if rest & 1:
            power = x if power is None else ctx.create("stablehlo.multiply", [power, x], [type])
        rest >>= 1
        if rest:
            x = ctx.create("stablehlo.multiply", [x, x], [type])
    if power is None:
        return ctx.constant(1, type)
    if n < 0:
        return ctx.create("stablehlo.divide", [ctx.constant(1, type), power], [type])
    return power


@rule(ops.exp2)
def _exp2(ctx: RuleContext, op: Op, x: Any) -> Any:
    """`pow(2, x)`. XLA's e^(x log 2) rounds its argument, so that 2^10 would not be 1024."""
    type = op.results[0].type
    if type.dtype.is_complex:
        scaled = ctx.create("stablehlo.multiply", [x, ctx.constant(math.log(2), type)], [type])
        return of_complex(ctx, ops.exp, scaled, type)
    return ctx.create("stablehlo.power", [ctx.constant(2, type), x], [type])


@rule(ops.round)
def _round(ctx: RuleContext, op: Op, x: Any) -> Any:
    ties = "even" if op.attrs["method"] == "to_nearest_even" else "afz"
    return ctx.create(f"stablehlo.round_nearest_{ties}", [x], op.results)


@rule(ops.conj)
def _conj(ctx: RuleContext, op: Op, x: Any) -> Any:
    writer = Writer(ctx)
    given = writer.term(op.operands[0].type, x)
    return writer.mlir(ops.complex(ops.real(given), -ops.imag(given)))


# --- choosing -----------------------------------------------------------------------------

@rule(ops.max)
def _max(ctx: RuleContext, op: Op, x: Any, y: Any) -> Any:
    type = op.results[0].type
    if ctx.module.has_reductions and type.dtype.is_float:
        return ctx.create("stablehlo.clamp", [y, x, _bound(ctx, dtypes.greatest, type)], [type])
    return extremum(ctx, "GT", x, y, type)


@rule(ops.min)
def _min(ctx: RuleContext, op: Op, x: Any, y: Any) -> Any:
    type = op.results[0].type
    if ctx.module.has_reductions and type.dtype.is_float:
        return ctx.create("stablehlo.clamp", [_bound(ctx, dtypes.least, type), x, y], [type])
    return extremum(ctx, "LT", x, y, type)


def _bound(ctx: RuleContext, end: Callable[[dtypes.DType], Any], type: TensorType) -> Any:
    """The bound that lets a clamp do what an extremum does: an infinity, if the dtype has any.

    Extrema of floats are written so beside reductions. XLA's CPU compiler has YNNPACK compute
    extrema in one loop with the reductions that read them or that they read, on all jaxlibs so far,
    and there the greater of NaN and a number is the number: the sum of `relu(x)` would be finite.
    XLA computes clamps itself, with NaN.
    """
    return ctx.constant(end(type.dtype), TensorType((), type.dtype))


def extremum(ctx: RuleContext, direction: str, x: Any, y: Any, type: TensorType) -> Any:
    """The greater (`GT`) or the lesser (`LT`). Complex numbers are compared by their real part,
    then by their imaginary part."""
    if not type.dtype.is_complex:
        name = "stablehlo.maximum" if direction == "GT" else "stablehlo.minimum"
        return ctx.create(name, [x, y], [type])
    part, mask = type.with_dtype(dtypes.real_of(type.dtype)), type.with_dtype(dtypes.bool_)

    def compared(which: str, a: Any, c: Any) -> Any:
        return compare(ctx, which, a, c, mask, "FLOAT")

    real, imag = ([ctx.create(f"stablehlo.{name}", [v], [part]) for v in (x, y)]
                  for name in ("real", "imag"))
    by_imag = compared(direction, *imag)
    first = ctx.create("stablehlo.select", [compared("EQ", *real), by_imag,
                                            compared(direction, *real)], [mask])
    first = ctx.create("stablehlo.or", [first, compared("NE", x, x)], [mask])    # x is NaN
    return ctx.create("stablehlo.select", [first, x, y], [type])


@rule(ops.select)
def _select(ctx: RuleContext, op: Op, predicate: Any, on_true: Any, on_false: Any) -> Any:
    result, chooser = op.results[0].type, op.operands[0].type
    predicate = for_words(ctx, predicate, chooser, result)
    return ctx.create("stablehlo.select", [predicate, on_true, on_false], [result])


def for_words(ctx: RuleContext, predicate: Any, type: TensorType, of: TensorType) -> Any:
    """A predicate for keys, broadcast to their words; a scalar predicate stays as it is."""
    words = of.dtype.physical
    if not words or not type.ndim:
        return predicate
    return ctx.create("stablehlo.broadcast_in_dim", [predicate],
                      [type.with_shape((*type.shape, *words))],
                      broadcast_dimensions=ctx.int_array(range(type.ndim)))


@rule(ops.select_n)
def _select_n(ctx: RuleContext, op: Op, which: Any, *cases: Any) -> Any:
    chooser, result = op.operands[0].type, op.results[0].type
    if chooser.dtype is dtypes.bool_:
        if len(cases) == 1:
            return cases[0]
        predicate = for_words(ctx, which, chooser, result)
        return ctx.create("stablehlo.select", [predicate, *cases[::-1]], [result])
    mask = chooser.with_dtype(dtypes.bool_)
    chosen = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        less = compare(ctx, "LE", which, ctx.constant(i, chooser), mask, "SIGNED")
        less = for_words(ctx, less, mask, result)
        chosen = ctx.create("stablehlo.select", [less, cases[i], chosen], [result])
    return chosen

"""Lowering of dot_general."""

from __future__ import annotations

from typing import Any

from lowering.context import Form, RuleContext, one_op
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.errors import IRTypeError

# Algorithm names, as in the StableHLO spec: types of lhs, rhs and the accumulator, pieces of lhs
# and rhs, number of primitive products, whether accumulation may be imprecise.
_ALGORITHMS = {
    "F16_F16_F16": ("f16", "f16", "f16", 1, 1, 1, False),
    "F16_F16_F32": ("f16", "f16", "f32", 1, 1, 1, False),
    "BF16_BF16_BF16": ("bf16", "bf16", "bf16", 1, 1, 1, False),
    "BF16_BF16_F32": ("bf16", "bf16", "f32", 1, 1, 1, False),
    "BF16_BF16_F32_X3": ("bf16", "bf16", "f32", 1, 1, 3, False),
    "BF16_BF16_F32_X6": ("bf16", "bf16", "f32", 1, 1, 6, False),
    "BF16_BF16_F32_X9": ("bf16", "bf16", "f32", 1, 1, 9, False),
    "TF32_TF32_F32": ("tf32", "tf32", "f32", 1, 1, 1, False),
    "TF32_TF32_F32_X3": ("tf32", "tf32", "f32", 1, 1, 3, False),
    "F32_F32_F32": ("f32", "f32", "f32", 1, 1, 1, False),
    "F64_F64_F64": ("f64", "f64", "f64", 1, 1, 1, False),
}
# For these algorithms the operands give the types.
_F8_ALGORITHMS = ("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
                  "ANY_F8_ANY_F8_ANY_FAST_ACCUM")


def precision_config(ctx: RuleContext, precision: Any) -> Any:
    """The attribute for a pair of precisions; with an algorithm it is the default pair."""
    pair = precision if type(precision) is tuple else ("default", "default")
    return ctx.attr("[" + ", ".join(f"#stablehlo<precision {p.upper()}>" for p in pair) + "]")


def _algorithm(ctx: RuleContext, name: str, op: Op) -> Any:
    known = _ALGORITHMS.get(name)
    if name in _F8_ALGORITHMS:
        if any([v.type.dtype.bits != 8 for v in op.operands]):
            raise IRTypeError(f"dot_general: the algorithm {name} multiplies floats of 8 bits, but "
                              f"was given {op.operands[0].type} and {op.operands[1].type}")
        lhs, rhs = (ctx.mlir.element(v.type.dtype) for v in op.operands)
        known = (lhs, rhs, "f32", 1, 1, 1, name.endswith("FAST_ACCUM"))   # all accumulate in f32
    if known is None:
        raise IRTypeError(f"dot_general: there is no algorithm called {name!r}; the known ones are "
                          f"{', '.join((*_F8_ALGORITHMS, *_ALGORITHMS))}")
    lhs, rhs, total, of_lhs, of_rhs, products, imprecise = known
    return ctx.attr(f"#stablehlo.dot_algorithm<lhs_precision_type = {lhs}, "
                    f"rhs_precision_type = {rhs}, accumulation_type = {total}, "
                    f"lhs_component_count = {of_lhs}, rhs_component_count = {of_rhs}, "
                    f"num_primitive_operations = {products}, "
                    f"allow_imprecise_accumulation = {'true' if imprecise else 'false'}>")


@one_op(ops.dot_general)
def _dot_general(ctx: RuleContext, op: Op) -> Form:
    a = op.attrs
    dims = {"lhs_batching_dimensions": a["batch"][0], "rhs_batching_dimensions": a["batch"][1],
            "lhs_contracting_dimensions": a["contract"][0],
            "rhs_contracting_dimensions": a["contract"][1]}
    listed = ", ".join(f"{name} = [{', '.join(map(str, of))}]" for name, of in dims.items())
    attrs = {"dot_dimension_numbers": ctx.attr(f"#stablehlo.dot<{listed}>")}
    precision = a.get("precision")
    if precision is not None:
        attrs["precision_config"] = precision_config(ctx, precision)
        if type(precision) is str:
            attrs["algorithm"] = _algorithm(ctx, precision, op)
    return "stablehlo.dot_general", attrs

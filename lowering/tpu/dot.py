"""Products of matrices on TPU."""

from __future__ import annotations

from lowering.forms.conditions import condition
from lowering.forms.refusals import refuse
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

ALGORITHMS = ("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")

AS_EXACT = {"F32_F32_F32": "BF16_BF16_F32_X6", "TF32_TF32_F32": "BF16_BF16_F32_X3"}
"""The fewest products of bfloat16 with at least as many bits: three of 8 bits have f32's 24, two
have more than the 11 of TF32."""


@condition
def _another_algorithm(op: Op) -> bool:
    """The algorithm of the product is one that TPUs do not have."""
    precision = op.attrs.get("precision")
    return type(precision) is str and precision not in (*ALGORITHMS, *AS_EXACT)


@condition
def _has_an_equal(op: Op) -> bool:
    """The algorithm of the product is one that can be replaced by products of bfloat16 that are as
    exact."""
    return op.attrs.get("precision") in AS_EXACT


@form(ops.dot_general, when=_has_an_equal)
def by_bfloat16(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The product with as many bits from products of bfloat16."""
    return b.emit(op.definition, x, y,
                  **{**op.attrs, "precision": AS_EXACT[op.attrs["precision"]]})


refuse(ops.dot_general, _another_algorithm, "tpu",
       f"a tpu has the algorithms {', '.join((*ALGORITHMS, *AS_EXACT))} alone; precision='highest' "
       "is its most exact product")

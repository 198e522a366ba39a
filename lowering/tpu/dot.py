"""Products of matrices on TPU."""

from __future__ import annotations

from lowering.forms.conditions import condition
from lowering.forms.refusals import refuse
from xfront_ir import ops
from xfront_ir.core import Op

ALGORITHMS = ("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")


@condition
def _another_algorithm(op: Op) -> bool:
    """By an algorithm that TPUs do not have."""
    precision = op.attrs.get("precision")
    return type(precision) is str and precision not in ALGORITHMS


refuse(ops.dot_general, _another_algorithm, "tpu",
       f"a tpu has the algorithms {', '.join(ALGORITHMS)} alone; precision='highest' is its most "
       "exact product")

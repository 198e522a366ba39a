"""Loops over scalars, with several turns in one."""

from __future__ import annotations

from lowering.forms.conditions import condition
from lowering.forms.registry import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.traits import CHEAP, ELEMENTWISE

from . import in_place  # noqa: F401  (it registers forms of this family)

TURNS = (8, 7, 6, 5, 4)
MOST_OPERATIONS = 64
"""The most operations in one turn. XLA does not make one kernel of a loop with a larger body."""

FEWEST_TURNS = 2 ** 13
"""With fewer turns, a thousand runs gain less time than the body takes longer to compile."""

MOST_RESULTS = 3
"""The most carries and stacks: each of them is computed again from the values at the turn's start.
"""


def _turns(op: Op) -> int:
    """The number of turns to write in one; 1 where none divides the length, for remaining turns
    would not be cheap."""
    body, length = op.attrs["body"], op.attrs["length"]
    most = MOST_OPERATIONS // max(len(body.ops), 1)
    return next((n for n in TURNS if n <= most and length % n == 0), 1)


@condition
def _scalar_loop(op: Op) -> bool:
    """Bodies of at most 16 cheap operations on scalars with up to 3 results, 2**13 turns or more,
    a multiple of 4 to 8."""
    body = op.attrs["body"]
    return (op.attrs["unroll"] <= 1 and op.attrs["length"] >= FEWEST_TURNS
            and len(op.results) <= MOST_RESULTS and _turns(op) > 1
            and all(v.type.ndim == 0 and not v.type.dtype.is_key for v in body.params)
            and all(_is_scalar(inner) for inner in body.ops))


def _is_scalar(op: Op) -> bool:
    """Whether XLA copies an op into its readers; other ops would be kernels of their own."""
    return {CHEAP, ELEMENTWISE} <= op.definition.traits and all(
        v.type.ndim == 0 for v in op.results)


# Bodies of at most 16 cheap operations on scalars, in 2**13 turns or more, a multiple of 4 to 8:
# the plain rule does one turn at a time.
@form(ops.scan, when=_scalar_loop, row="kernels.reduction: scan of scalars")
def scan(b: Builder, op: Op, *operands: Value) -> tuple[Value, ...]:
    """Several turns in one: operations that do not depend on the carry run beside those that do."""
    return b.emit(ops.scan, *operands, **{**op.attrs, "unroll": _turns(op)})

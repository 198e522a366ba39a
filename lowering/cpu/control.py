"""Loops over scalars: several turns in one."""

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
"""In one turn. Larger bodies leave the path on which a loop is one kernel."""

FEWEST_TURNS = 2 ** 13
"""A thousand runs of fewer gain less than the body takes longer to compile."""

MOST_RESULTS = 3
"""Carries and stacks: each is computed anew from what the turn began with."""


def _turns(op: Op) -> int:
    """How many turns go into one, 1 where they do not: what is left over would not be cheap."""
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
    """XLA copies these to who reads them; what it does not copy it computes in a kernel of its own.
    """
    return {CHEAP, ELEMENTWISE} <= op.definition.traits and all(
        v.type.ndim == 0 for v in op.results)


# Bodies of at most 16 cheap operations on scalars; 2**13 turns or more, a multiple of 4 to 8.
@form(ops.scan, when=_scalar_loop, row="kernels.reduction: scan of scalars")
def scan(b: Builder, op: Op, *operands: Value) -> tuple[Value, ...]:
    """Several turns in one: what does not wait for the carry is done beside it."""
    return b.emit(ops.scan, *operands, **{**op.attrs, "unroll": _turns(op)})

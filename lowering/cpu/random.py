"""Threefry that LLVM's vectoriser of jaxlib 0.12 analyses quickly.

Before the vectoriser works on a loop, it asks whether only the first lane of the loop's counter is
read, and follows sums and bitwise operations along every path (`onlyFirstLaneUsed`). Each of the 20
rounds doubles the paths, so that this takes 55 ms, more than the rest of compiling a small program.
It does not follow results of function calls, and an integer maximum is one. So the maximum of the
counters and a number is taken; the number is 0, but the compiler cannot know that. The bits are the
same.
"""

from __future__ import annotations

from lowering.forms.conditions import size
from lowering.forms.places import Place
from lowering.forms.registry import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term


def counted(place: Place, op: Op) -> bool:
    """The program computes the counters, which are not constants."""
    return place.constant(op.operands[3]) is None


# A single element is computed without a loop, and constants do not come from a loop's counter.
@form(ops.threefry2x32, when=size(2), only=counted, since=(0, 12),
      row="kernels.randomness: random.bits")
def threefry2x32(b: Builder, op: Op, k1: Value, k2: Value, upper: Value, lower: Value
                 ) -> list[Value]:
    """Take the maximum of each counter and 0, where the compiler cannot tell that this is 0."""
    counters = ops.max(Term(b, lower), _zero(Term(b, k2))).value
    return list(b.emit(ops.threefry2x32, k1, k2, upper, counters))


def _zero(x: Term) -> Term:
    """0 for any integer: the square of an odd one is 1 more than a multiple of 8, so the square's
    bits 0 and 2 are never both set."""
    square = x * x
    return square & ops.shift_right_logical(square, 2) & 1

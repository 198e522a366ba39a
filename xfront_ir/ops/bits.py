"""Elementwise ops on bits: logic, shifts, counts, neighbours and precision of floats.

Sources: StableHLO spec, sections of the same names; CHLO for `next_after` and `mulhi`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..definition import LINEAR_OP, NONE
from ..errors import IRTypeError
from ..opdef import INT, define
from ..traits import CHEAP, ELEMENTWISE, EXACT, LIGHT, MERGED, MIXES_BITS, mark
from .families import batch_elementwise, elementwise, is_float, is_integer, is_logical

if TYPE_CHECKING:
    from ..rules import Attrs, Types


def _logical(name: str, operands: int = 2) -> Any:
    return elementwise(name, operands=operands, allowed=is_logical, wanted="integer or bool",
                       family=__name__)


def _integer(name: str, operands: int) -> Any:
    return elementwise(name, operands=operands, allowed=is_integer, wanted="integer",
                       family=__name__)


and_ = _logical("and")
or_ = _logical("or")
xor = _logical("xor")
not_ = _logical("not", 1)

shift_left = _integer("shift_left", 2)             # a shift by the width or more gives 0
shift_right_arithmetic = _integer("shift_right_arithmetic", 2)     # by the width or more: all sign
shift_right_logical = _integer("shift_right_logical", 2)           # by the width or more: 0
popcnt = _integer("popcnt", 1)
clz = _integer("clz", 1)
mulhi = _integer("mulhi", 2)                       # upper half of the product in twice the width

nextafter = elementwise("nextafter", allowed=is_float, wanted="float", operands=2, jvp=NONE)


def _infer_reduce_precision(types: Types, attrs: Attrs) -> Types:
    if not types[0].dtype.is_float:
        raise IRTypeError(f"reduce_precision takes float operands, got {types[0]}")
    if attrs["exponent_bits"] < 1 or attrs["mantissa_bits"] < 0:
        raise IRTypeError("reduce_precision: exponent_bits must be at least 1 and mantissa_bits at "
                          f"least 0, got {attrs['exponent_bits']} and {attrs['mantissa_bits']}")
    return types


reduce_precision = define(
    "reduce_precision", infer=_infer_reduce_precision, operands=1, jvp=LINEAR_OP,
    attrs={"exponent_bits": INT, "mantissa_bits": INT}, batch=batch_elementwise,
    transpose=lambda b, op, cts, known: (b.emit(reduce_precision, cts[0], **op.attrs),))


# --- what passes ask ----------------------------------------------------------------------

mark({ELEMENTWISE, LIGHT, MERGED, MIXES_BITS}, and_, or_, xor, not_, shift_left,
     shift_right_arithmetic, shift_right_logical, popcnt, clz, mulhi, nextafter, reduce_precision)
mark({CHEAP}, and_, or_, xor, not_, shift_left, shift_right_arithmetic, shift_right_logical)
mark({EXACT}, and_, or_, xor, not_)

"""Rows of `ops/bits.py`."""

from __future__ import annotations

from xfront_ir import dtypes

from .row import BOOL, FLOATS, INTEGERS, Bad, Draw, Fixed, Row, Sample, elementwise

NOT_BITS = [Bad([("f32", (3,))] * 2, "integer or bool")]
NOT_INTEGERS = [Bad([("bool", (3,))] * 2, "takes integer operands")]
WHOLE = (-2**63, 2**63 - 1)
SPREAD = Fixed([0, 1, -1, 127, -128, 85, 2**31 - 1, -2**31, 2**62])

LOGIC = [
    *[elementwise(name, WHOLE, WHOLE, dtypes=(*INTEGERS, *BOOL), bad=NOT_BITS)
      for name in ("and", "or", "xor")],
    elementwise("not", WHOLE, dtypes=(*INTEGERS, *BOOL),
                bad=[Bad([("f32", (3,))], "integer or bool")]),
]

SHIFTS = [
    Row(name, [Sample([Draw((2, 9), *WHOLE), Draw((2, 9), 0, 12)]),
               Sample([Fixed([1, -1, -8, 3]), Fixed([0, 100, 64, 65])])],
        INTEGERS, NOT_INTEGERS)
    for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")]

COUNTS = [Row(name, [Sample([SPREAD]), Sample([Draw((2, 3), *WHOLE)]), Sample([Draw((0, 3))])],
              INTEGERS, [Bad([("f32", (3,))], "takes integer operands")])
          for name in ("popcnt", "clz")]

ROWS = [
    *LOGIC, *SHIFTS, *COUNTS,
    elementwise("mulhi", WHOLE, WHOLE, dtypes=INTEGERS, bad=NOT_INTEGERS),
    Row("nextafter", [Sample([Draw((2, 3)), Draw((2, 3))]),
                      Sample([Fixed([0.0, 1.0, 1.0, float("inf"), float("nan"), -0.0]),
                              Fixed([1.0, 2.0, 1.0, 0.0, 1.0, -1.0])])],
        (dtypes.f64, dtypes.f32, dtypes.bf16, dtypes.f16), differentiable=False,
        bad=[Bad([("i32", ())] * 2, "takes float operands")]),
    Row("reduce_precision",
        [Sample([Draw((2, 3))], {"exponent_bits": 11, "mantissa_bits": 52}),
         *[Sample([Fixed([1.1, -2.7, 3e5, 1e-6, 0.0, float("inf"), float("nan"), 65504.0])],
                  {"exponent_bits": e, "mantissa_bits": m}, smooth=False)
           for e, m in ((5, 10), (8, 7), (5, 2), (4, 0))]],
        FLOATS, [Bad([("i32", ())], "takes float", {"exponent_bits": 5, "mantissa_bits": 2}),
                 Bad([("f32", ())], "exponent_bits must be",
                     {"exponent_bits": 0, "mantissa_bits": 2}),
                 Bad([("f32", ())], "exponent_bits must be",
                     {"exponent_bits": 5, "mantissa_bits": -1})]),
]

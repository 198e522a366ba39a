"""Rows of `ops/convert.py`."""

from __future__ import annotations

from xfront_ir import dtypes

from .row import BOOL, COMPLEX, FLOATS, INTEGERS, NUMERIC, Bad, Draw, Fixed, Row, Sample

ALL = (*NUMERIC, *BOOL)
INF, NAN = float("inf"), float("nan")
LIMITS = Fixed([-1.5, 1.5, 300.7, -300.7, 1e20, -1e20, INF, -INF, NAN, 0.0])

CONVERT = Row("convert", [
    *[Sample([Draw((2, 3), -9, 9)], {"dtype": to}, smooth=False, dtypes=ALL) for to in ALL],
    *[Sample([Draw((2, 3))], {"dtype": to}, dtypes=(dtypes.f64,))
      for to in (dtypes.f64, dtypes.c128)],
    *[Sample([Draw((2, 3))], {"dtype": to}, dtypes=(dtypes.c128,))
      for to in (dtypes.f64, dtypes.c128)],
    *[Sample([LIMITS], {"dtype": to}, smooth=False, dtypes=(dtypes.f64, dtypes.f32))
      for to in (*INTEGERS, *BOOL)],
    Sample([Draw((0, 3))], {"dtype": dtypes.i32}),
    Sample([Draw(())], {"dtype": dtypes.i4}, dtypes=(dtypes.i8,)),
    *[Sample([Draw((2, 3))], {"dtype": to}, smooth=False, dtypes=(dtypes.f32,))
      for to in (dtypes.f8_e4m3fn, dtypes.f8_e5m2)],
], ALL, [Bad([("key<fry>", (3,))], "keys cannot be converted", {"dtype": dtypes.i32}),
         Bad([("f32", ())], "must be dtype", {"dtype": "f32"})])

BITS = (*FLOATS, *INTEGERS)
BITCAST = Row("bitcast", [
    *[Sample([Draw((2, 3))], lambda d: {"dtype": d}, dtypes=(*BITS, *COMPLEX, *BOOL))],
    Sample([Draw((2, 3))], {"dtype": dtypes.u8}, dtypes=BITS),
    Sample([Draw((2, 3))], {"dtype": dtypes.i32}, dtypes=(dtypes.f32, dtypes.u32, dtypes.f64)),
    Sample([Draw((2, 3))], {"dtype": dtypes.f16}, dtypes=(dtypes.i16, dtypes.i32, dtypes.bf16)),
    Sample([Draw((3, 4))], {"dtype": dtypes.f32}, dtypes=(dtypes.u8, dtypes.i8)),
    Sample([Draw((3, 2))], {"dtype": dtypes.f64}, dtypes=(dtypes.u32,)),
], BITS, [Bad([("c64", ())], "integers or floats", {"dtype": dtypes.f64}),
          Bad([("bool", ())], "integers or floats", {"dtype": dtypes.u8}),
          Bad([("u8", (3,))], "last dimension", {"dtype": dtypes.f32}),
          Bad([("u8", ())], "last dimension", {"dtype": dtypes.f32})],
    differentiable=False)           # bits have no derivative: declared zero

ROWS = [
    CONVERT, BITCAST,
    Row("copy", [Sample([Draw((2, 3))]), Sample([Draw(())])], ALL,
        [Bad([("f32", ())] * 2, "takes 1 operand")]),
    *[Row(name, [Sample([Draw((2, 3))]), Sample([Draw(())])], ALL,
          [Bad([("f32", ())] * 2, "takes 1 operand")], differentiable=False)
      for name in ("stop_gradient", "idle")],
    Row("fence", [Sample([Draw((2, 3))]), Sample([Draw(())])], ALL,
        [Bad([("f32", ())] * 2, "takes 1 operand")]),
    Row("optimization_barrier", [Sample([Draw((2, 3)), Draw((), dtype=dtypes.i32)]),
                                 Sample([Draw((2, 3)), Draw((4,))])],
        ALL, [Bad([], "at least one operand")]),
]

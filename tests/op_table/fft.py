"""Rows of `ops/fft.py`."""

from __future__ import annotations

from xfront_ir import dtypes

from .row import COMPLEX, Bad, Draw, Row, Sample

REAL = (dtypes.f64, dtypes.f32)


def _of(kind: str, *lengths: int) -> dict:
    return {"kind": kind, "lengths": lengths}


ROWS = [Row("fft", [
    *[Sample([Draw(shape)], _of(kind, *lengths), dtypes=COMPLEX)
      for kind in ("fft", "ifft")
      for shape, lengths in (((6,), (6,)), ((2, 5), (5,)), ((2, 3, 4), (3, 4)),
                             ((2, 2, 3, 2), (2, 3, 2)), ((0, 3), (3,)))],
    *[Sample([Draw(shape)], _of("rfft", *lengths), dtypes=REAL)
      for shape, lengths in (((6,), (6,)), ((2, 5), (5,)), ((2, 3, 4), (3, 4)), ((3, 1), (1,)),
                             ((0, 3), (3,)))],
    *[Sample([Draw(shape)], _of("irfft", *lengths), dtypes=COMPLEX)
      for shape, lengths in (((4,), (6,)), ((2, 3), (5,)), ((2, 3, 3), (3, 4)), ((3, 1), (1,)))],
], (*REAL, *COMPLEX), [
    Bad([("c64", (4,))], "takes last axes", _of("fft", 3)),
    Bad([("c64", (4,))], "takes last axes", _of("irfft", 4)),
    Bad([("c64", (4,))], "takes f32 or f64", _of("rfft", 4)),
    Bad([("f32", (4,))], "takes c64 or c128", _of("fft", 4)),
    Bad([("c64", (0,))], "positive", _of("fft", 0)),
    Bad([("c64", (4,))], "one to three axes", _of("fft", 4, 4)),
    Bad([("c64", (4,))], "one to three axes", _of("fft"))])]

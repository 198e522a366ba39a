"""Rows of `ops/conv.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes

from .row import COMPLEX, FLOATS, Bad, Draw, Row, Sample


def _conv(n: int = 1, **given: Any) -> dict[str, Any]:
    """A plain convolution over `n` spatial axes, with what is given."""
    axes, ones = tuple(range(n + 2)), (1,) * n
    return {"lhs_spec": axes, "rhs_spec": axes, "out_spec": axes, "strides": ones,
            "padding": ((0, 0),) * n, "lhs_dilation": ones, "rhs_dilation": ones,
            "feature_groups": 1, "batch_groups": 1, "precision": None, "preferred": None, **given}


LAST = {"lhs_spec": (0, 3, 1, 2), "rhs_spec": (3, 2, 0, 1), "out_spec": (0, 3, 1, 2)}
TYPES = [("f32", (2, 4, 6)), ("f32", (4, 4, 3))]

ROWS = [
    Row("conv_general_dilated", [
        Sample([Draw(lhs, -1, 1), Draw(rhs, -1, 1)], attrs)
        for lhs, rhs, attrs in (
            ((2, 3, 6), (4, 3, 3), _conv()),
            ((2, 3, 7), (4, 3, 3), _conv(strides=(2,), padding=((1, 2),), rhs_dilation=(2,))),
            ((2, 3, 5), (4, 3, 2), _conv(strides=(2,), padding=((-1, 2),), lhs_dilation=(3,))),
            ((2, 5, 4, 3), (2, 3, 3, 4),
             _conv(2, strides=(1, 2), padding=((1, 1), (0, 1)), **LAST)),
            ((2, 6, 5), (4, 3, 2), _conv(strides=(2,), padding=((1, 1),), feature_groups=2)),
            ((2, 3, 5), (3, 1, 2), _conv(feature_groups=3)),
            ((4, 3, 5), (6, 3, 2), _conv(padding=((1, 1),), batch_groups=2)),
            ((2, 3), (4, 3), _conv(0)), ((1, 1, 2), (1, 1, 4), _conv()))
    ] + [Sample([Draw((2, 3, 6), -1, 1), Draw((4, 3, 3), -1, 1)],
                _conv(precision=("highest", "default"), preferred=dtypes.f32),
                dtypes=(dtypes.bf16, dtypes.f32))],
        (*FLOATS, *COMPLEX), [
            Bad([("f32", (2,)), ("f32", (2,))], "at least 2", _conv(0)),
            Bad(TYPES, "must be a permutation", _conv(lhs_spec=(0, 1, 1))),
            Bad(TYPES, "one positive number", _conv(strides=(0,))),
            Bad(TYPES, "one pair of ints", _conv(padding=((0,),))),
            Bad(TYPES, "one of them must be 1", _conv(feature_groups=2, batch_groups=2)),
            Bad(TYPES, "the filter has 4 in each", _conv(feature_groups=2)),
            Bad([("f32", (3, 4, 6)), TYPES[1]], "do not divide", _conv(batch_groups=2)),
            Bad([TYPES[0], ("f64", (4, 4, 3))], "different dtypes", _conv()),
            Bad(TYPES, "precision must be", _conv(precision=("fast", "fast")))]),
]

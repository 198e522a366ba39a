"""Row of the literal op, defined in `xfront_ir/literal.py`."""

from __future__ import annotations

import numpy as np

from xfront_ir import dtypes
from xfront_ir.literal import Literal

from .row import BOOL, NUMERIC, Bad, Row, Sample


def _held(values: object, shape: tuple[int, ...]) -> Sample:
    def attrs(dtype: dtypes.DType) -> dict:
        return {"value": Literal(np.asarray(values).astype(dtype.numpy)), "shape": shape}

    return Sample((), attrs)


ROWS = [Row("literal", [_held(1, ()), _held(-0.0, (2, 3)), _held(1, (0, 3)),
                        _held([[0, 1, 2]], (1, 3))], (*NUMERIC, *BOOL),
            [Bad([], "cannot fill", {"value": Literal([1.0, 2.0]), "shape": (3,)}),
             Bad([], "must be literal", {"value": 1.0, "shape": ()})])]

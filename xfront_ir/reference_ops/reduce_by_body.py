"""NumPy row of `ops/reduce_by_body.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import Steps, reference


@reference("reduce")
def _reduce(attrs: Any, types: Any, *given: Any) -> Steps:
    n, axes, body = len(types), attrs["axes"], attrs["body"]
    kept = tuple(d for d in range(given[0].ndim) if d not in axes)
    rows = [np.transpose(x, (*kept, *axes)).reshape(*t.shape, -1) if x.size else
            np.zeros((*t.shape, 0), x.dtype) for x, t in zip(given[:n], types, strict=True)]
    results = [np.empty(t.shape, t.dtype.numpy) for t in types]
    for at in np.ndindex(*types[0].shape):
        state = list(given[n:])
        for i in range(rows[0].shape[-1]):
            state = yield body, [*state, *(np.asarray(row[(*at, i)]) for row in rows)]
        for result, value in zip(results, state, strict=True):
            result[at] = value
    return tuple(results)

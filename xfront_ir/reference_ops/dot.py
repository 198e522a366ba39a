"""NumPy row of dot_general."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference


def wide(x: np.ndarray) -> np.ndarray:
    """The same numbers in a dtype whose sums and products are precise enough."""
    kind = x.dtype.kind
    return x.astype(np.complex128 if kind == "c" else x.dtype if kind in "biu" and x.itemsize >= 8
                    else np.int64 if kind in "biu" else np.float64)


@reference("dot_general")
def _dot_general(attrs: Any, types: Any, lhs: np.ndarray, rhs: np.ndarray) -> Any:
    (left, right), (left_batch, right_batch) = attrs["contract"], attrs["batch"]
    of_lhs, of_rhs = list(range(lhs.ndim)), list(range(lhs.ndim, lhs.ndim + rhs.ndim))
    for a, c in (*zip(left, right), *zip(left_batch, right_batch)):
        of_rhs[c] = of_lhs[a]
    out: list[int] = [of_lhs[a] for a in left_batch]
    out += [d for a, d in enumerate(of_lhs) if a not in left and a not in left_batch]
    out += [d for c, d in enumerate(of_rhs) if c not in right and c not in right_batch]
    return np.einsum(wide(lhs), of_lhs, wide(rhs), of_rhs, out)

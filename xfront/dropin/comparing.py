"""What libraries import from `jax._src.public_test_util` beside the names of `jax.test_util`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import canonicalize_dtype
from ..base.trees import tree_leaves, tree_structure

_TOLERANCE = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15,
              "complex64": 1e-6, "complex128": 1e-15}


def check_close(xs: Any, ys: Any, atol: float | None = None, rtol: float | None = None,
                err_msg: str = "") -> None:
    """Raise AssertionError where two trees of arrays differ, by more than `size * (atol + rtol *
    abs(y))`; both are 1e-6 in single precision unless given, 1e-15 in double. Raises: ValueError
    where their structures differ."""
    if tree_structure(xs) != tree_structure(ys):
        raise ValueError(f"{tree_structure(xs)} and {tree_structure(ys)} differ. {err_msg}")
    for x, y in zip(map(np.asarray, tree_leaves(xs)), map(np.asarray, tree_leaves(ys)),
                    strict=True):
        least = max([_TOLERANCE.get(canonicalize_dtype(a.dtype).name, 0.0) for a in (x, y)])
        wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
        np.testing.assert_allclose(
            x.astype(wide), y.astype(wide), atol=x.size * (least if atol is None else atol),
            rtol=x.size * (least if rtol is None else rtol), err_msg=err_msg)


__all__ = ["check_close"]

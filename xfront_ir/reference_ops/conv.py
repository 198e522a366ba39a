"""NumPy row of the convolution: one product for each element of the filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference
from .dot import wide


def _placed(x: np.ndarray, dilation: Any, padding: Any) -> np.ndarray:
    """`x` [batch, feature, *spatial] with zeros between its elements, and padded or cropped."""
    for d, (by, (low, high)) in enumerate(zip(dilation, padding), start=2):
        n = x.shape[d]
        spread = np.zeros((*x.shape[:d], (n - 1) * by + 1 if n else 0, *x.shape[d + 1:]), x.dtype)
        spread[(slice(None),) * d + (slice(None, None, by),)] = x
        around = [(0, 0)] * x.ndim
        around[d] = (max(low, 0), max(high, 0))
        x = np.pad(spread, around)
        x = x[(slice(None),) * d + (slice(max(-low, 0), x.shape[d] - max(-high, 0)),)]
    return x


@reference("conv_general_dilated")
def _conv(attrs: Any, types: Any, lhs: np.ndarray, rhs: np.ndarray) -> Any:
    x = _placed(wide(lhs).transpose(attrs["lhs_spec"]), attrs["lhs_dilation"], attrs["padding"])
    k = wide(rhs).transpose(attrs["rhs_spec"])
    out_shape = [types[0].shape[d] for d in attrs["out_spec"]]
    out = np.zeros(out_shape, np.result_type(x, k))
    features, batches = attrs["feature_groups"], attrs["batch_groups"]
    groups, outs = features * batches, k.shape[0] // (features * batches)
    for g in range(groups):
        if features > 1:
            part = x[:, g * k.shape[1]:(g + 1) * k.shape[1]]
        else:
            part = x[g * out_shape[0]:(g + 1) * out_shape[0]]
        mine = slice(g * outs, (g + 1) * outs)
        for at in np.ndindex(*k.shape[2:]):
            window = tuple(slice(i * by, i * by + (n - 1) * stride + 1 if n else i * by, stride)
                           for i, by, n, stride in zip(at, attrs["rhs_dilation"], out_shape[2:],
                                                       attrs["strides"]))
            out[:, mine] += np.einsum("nc...,oc->no...", part[(slice(None), slice(None), *window)],
                                      k[(mine, slice(None), *at)])
    return out.transpose(np.argsort(attrs["out_spec"]))

"""NumPy rows of the shape ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference

# Keys are arrays with their words after the axes that the ops know.


@reference("broadcast_in_dim")
def _broadcast_in_dim(attrs: Any, types: Any, x: np.ndarray) -> Any:
    shape, dims, physical = attrs["shape"], attrs["dims"], types[0].dtype.physical
    placed = [1] * len(shape)
    for n, d in zip(x.shape, dims):
        placed[d] = n
    ordered = np.transpose(x, (*np.argsort(dims), *range(len(dims), x.ndim))) if dims else x
    return np.broadcast_to(ordered.reshape((*placed, *physical)), (*shape, *physical))


@reference("reshape")
def _reshape(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return x.reshape((*attrs["shape"], *types[0].dtype.physical))


@reference("transpose")
def _transpose(attrs: Any, types: Any, x: np.ndarray) -> Any:
    permutation = attrs["permutation"]
    return x.transpose(*permutation, *range(len(permutation), x.ndim))


@reference("reverse")
def _reverse(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return np.flip(x, attrs["axes"])


@reference("iota")
def _iota(attrs: Any, types: Any) -> Any:
    shape, dimension = attrs["shape"], attrs["dimension"]
    count = np.arange(shape[dimension], dtype=np.int64).astype(types[0].dtype.numpy)
    return np.broadcast_to(count.reshape([-1 if d == dimension else 1
                                          for d in range(len(shape))]), shape)

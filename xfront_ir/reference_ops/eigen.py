"""NumPy rows of `ops/eigen.py`; NumPy calls the same LAPACK drivers, which fix the signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference


@reference("svd")
def _svd(attrs: Any, types: Any, x: np.ndarray) -> Any:
    if x.size == 0:
        return (np.zeros(types[0].shape),
                *[np.broadcast_to(np.eye(*t.shape[-2:]), t.shape) for t in types[1:]])
    if not attrs["compute_uv"]:
        return (np.linalg.svd(x, compute_uv=False),)
    u, s, vh = np.linalg.svd(x, full_matrices=attrs["full_matrices"])
    return s, u, vh


@reference("eigh")
def _eigh(attrs: Any, types: Any, x: np.ndarray) -> Any:
    values, vectors = np.linalg.eigh(x, "L" if attrs["lower"] else "U")
    return vectors, values


@reference("eig")
def _eig(attrs: Any, types: Any, x: np.ndarray) -> Any:
    values, right = np.linalg.eig(x)
    right = right.astype(types[0].dtype.numpy)
    made = [values]
    if attrs["left"]:
        left = np.linalg.inv(right).conj().swapaxes(-1, -2)      # in the order of values
        left = left / np.linalg.norm(left, axis=-2, keepdims=True)
        made.append(left * _phase(left).conj())
    return (*made, *([right] if attrs["right"] else []))


def _phase(vectors: np.ndarray) -> np.ndarray:
    """The phases of the greatest elements, which LAPACK makes real; real vectors keep their sign.
    """
    places = np.argmax(np.abs(vectors), axis=-2)
    found = np.take_along_axis(vectors, places[..., None, :], -2)
    return found / np.abs(found)

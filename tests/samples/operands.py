"""The operands that rows name, all small: one letter each."""

from __future__ import annotations

import numpy as np

_RANDOM = np.random.default_rng(7)


def _reals(*shape: int) -> np.ndarray:
    return _RANDOM.uniform(0.15, 0.85, shape).astype(np.float32)


def _complex(*shape: int) -> np.ndarray:
    return (_reals(*shape) + 1j * _reals(*shape)).astype(np.complex64)


_SQUARE = _reals(3, 3)
_UNEVEN = _SQUARE.copy()
_UNEVEN[0, 1] = np.nan
_Z = _complex(3, 3)

OPERANDS: dict[str, np.ndarray] = {
    "x": _reals(3), "y": _reals(3), "q": _reals()[()], "p": np.sort(_reals(5)),
    "m": _SQUARE, "n": _reals(3, 3), "s": _SQUARE @ _SQUARE.T + np.eye(3, dtype=np.float32),
    "t": _reals(2, 3, 3), "w": _UNEVEN,
    "c": _complex(3), "k": _complex(3, 3), "z": _Z,
    "h": _Z @ _Z.conj().T + np.eye(3, dtype=np.complex64),
    "i": np.array([2, 0, 1], np.int32), "j": np.array([[2, 0, 1], [1, 1, 2], [0, 2, 1]], np.int32),
    "b": np.array([True, False, True]), "d": _SQUARE > 0.4,
    "g": _reals(2, 4, 4, 3), "f": _reals(2, 2, 3, 5),
}
"""Reals in [0.15, 0.85]; `p` ascends, `s` and `h` are positive definite, `w` is `m` with a NaN, `g`
is an image (NHWC) and `f` filters for it (HWIO)."""

"""NumPy rows of `ops/similarity.py`: Householder's reductions, and Schur forms from eigenvectors.

A Schur form is not unique: the row of `schur` gives one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference
from .linalg import each


@reference("schur")
def _schur(attrs: Any, types: Any, x: np.ndarray) -> Any:
    def row(a: np.ndarray) -> Any:
        values, vectors = np.linalg.eig(a)
        if not np.iscomplexobj(a):               # a pair spans a plane: its real and imaginary part
            below = np.imag(values) < 0
            vectors = np.where(below, np.imag(vectors), np.real(vectors))
        q, _ = np.linalg.qr(vectors)
        return (q.conj().T @ a @ q, q)[:len(types)]

    return each(types, row, (2,), x)


def _reflection(x: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """v, tau and beta such that v[0] is 1 and (I - tau v v^H)^H x is the real beta in its first
    element and 0 in the others."""
    v, alpha = x.copy(), x[0]
    if not np.any(x[1:]) and np.imag(alpha) == 0:
        v[0] = 1
        return v, 0, alpha
    beta = -np.copysign(float(np.linalg.norm(x)), alpha.real)
    v[1:] = x[1:] / (alpha - beta)
    v[0] = 1
    return v, (beta - alpha) / beta, beta


def _similar(a: np.ndarray, v: np.ndarray, tau: Any) -> np.ndarray:
    h = np.eye(len(v)) - tau * np.outer(v, v.conj())
    return h.conj().T @ a @ h


def _hessenberg_of(a: np.ndarray) -> Any:
    taus: list[Any] = []
    a, n = a.copy(), len(a)
    for i in range(n - 1):
        v, tau, beta = _reflection(a[i + 1:, i])
        h = np.eye(n - i - 1) - tau * np.outer(v, v.conj())
        a[:, i + 1:] = a[:, i + 1:] @ h
        a[i + 1:, i + 1:] = h.conj().T @ a[i + 1:, i + 1:]
        a[i + 1, i], a[i + 2:, i] = beta, v[1:]
        taus.append(tau)
    return a, taus


@reference("hessenberg")
def _hessenberg(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return each(types, _hessenberg_of, (2,), x)


@reference("tridiagonal")
def _tridiagonal(attrs: Any, types: Any, x: np.ndarray) -> Any:
    """An upper triangle is reduced as a lower one, with rows and columns counted from the end."""
    def lower(given: np.ndarray) -> Any:
        a = np.tril(given) + np.tril(given, -1).conj().T
        a[np.diag_indices(len(a))] = np.real(np.diag(a))
        beside: list[Any] = []
        taus: list[Any] = []
        n = len(a)
        for i in range(n - 1):
            v, tau, beta = _reflection(a[i + 1:, i])
            a[i + 1:, i + 1:] = _similar(a[i + 1:, i + 1:], v, tau)
            a[i + 1, i], a[i + 2:, i] = beta, v[1:]
            beside.append(np.real(beta))
            taus.append(tau)
        return np.tril(a) + np.triu(given, 1), np.real(np.diag(a)), beside, taus

    def upper(given: np.ndarray) -> Any:
        a, *vectors = lower(given[::-1, ::-1])
        return (a[::-1, ::-1], *[v[::-1] for v in vectors])

    return each(types, lower if attrs["lower"] else upper, (2,), x)


@reference("ormqr")
def _ormqr(attrs: Any, types: Any, a: np.ndarray, taus: np.ndarray, c: np.ndarray) -> Any:
    def row(a: np.ndarray, taus: np.ndarray, c: np.ndarray) -> Any:
        q = np.eye(len(a), dtype=a.dtype)
        for i, tau in enumerate(taus):
            v = np.concatenate([np.zeros(i), [1], a[i + 1:, i]])
            q = q @ (np.eye(len(a)) - tau * np.outer(v, v.conj()))
        q = q.conj().T if attrs["transpose"] else q
        return q @ c if attrs["left"] else c @ q

    return each(types, row, (2, 1, 2), a, taus, c)

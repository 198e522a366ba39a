"""NumPy rows of `ops/linalg.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..reference import reference
from .dot import wide

_solved: Callable[[Any, Any], Any] = np.linalg.solve


def each(types: Any, row: Callable[..., Any], ranks: tuple[int, ...], *operands: np.ndarray
         ) -> Any:
    """`row` applied to each matrix of a batch; NaN where it raises. Operand i has `ranks[i]` axes
    after those of the batch."""
    lead = operands[0].shape[:operands[0].ndim - ranks[0]]
    nan = {"f": np.nan, "c": complex(np.nan, np.nan)}
    made = tuple(np.full(t.shape, nan.get(t.dtype.numpy.kind, 0), t.dtype.numpy) for t in types)
    for place in np.ndindex(*lead):
        try:
            found: Any = row(*[x[place] for x in operands])
        except np.linalg.LinAlgError:
            continue
        parts: list[Any] = [*found] if isinstance(found, tuple) else [found]
        for whole, part in zip(made, parts, strict=True):
            whole[place] = part
    return made


@reference("cholesky")
def _cholesky(attrs: Any, types: Any, x: np.ndarray) -> Any:
    def row(a: np.ndarray) -> Any:
        return np.linalg.cholesky(np.tril(a) + np.tril(a, -1).conj().T)

    return np.tril(each(types, row, (2,), x)[0])


@reference("triangular_solve")
def _triangular_solve(attrs: Any, types: Any, a: np.ndarray, rhs: np.ndarray) -> Any:
    a = np.tril(a) if attrs["lower"] else np.triu(a)
    if attrs["unit_diagonal"]:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    a = a.swapaxes(-1, -2) if attrs["transpose_a"] else a
    a = a.conj() if attrs["conjugate_a"] else a
    if attrs["left_side"]:
        return np.linalg.solve(a, rhs)
    return np.linalg.solve(a.swapaxes(-1, -2), rhs.swapaxes(-1, -2)).swapaxes(-1, -2)


@reference("lu")
def _lu(attrs: Any, types: Any, x: np.ndarray) -> Any:
    def row(a: np.ndarray) -> Any:
        pivots: list[int] = []
        m, n = a.shape
        a = a.copy()
        for i in range(min(m, n)):
            j = i + int(np.argmax(np.abs(np.real(a[i:, i])) + np.abs(np.imag(a[i:, i]))))
            pivots.append(j)
            a[[i, j]] = a[[j, i]]
            if a[i, i]:
                a[i + 1:, i] /= a[i, i]
                a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])
        return a, pivots, _exchanged(pivots, m)

    return each(types, row, (2,), wide(x))


def _exchanged(pivots: Sequence[int], size: int) -> np.ndarray:
    order = np.arange(size)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order


@reference("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(attrs: Any, types: Any, pivots: np.ndarray) -> Any:
    def row(pivots: np.ndarray) -> Any:
        return _exchanged(pivots.tolist(), attrs["size"])

    return each(types, row, (1,), pivots)


@reference("qr")
def _qr(attrs: Any, types: Any, x: np.ndarray) -> Any:
    mode = "complete" if attrs["full_matrices"] else "reduced"
    return tuple(np.linalg.qr(x, mode))


@reference("geqrf")
def _geqrf(attrs: Any, types: Any, x: np.ndarray) -> Any:
    def row(a: np.ndarray) -> Any:
        if not a.size:
            return a, 0
        columns, taus = np.linalg.qr(a, mode="raw")
        return columns.T, taus

    return each(types, row, (2,), x)


@reference("householder_product")
def _householder_product(attrs: Any, types: Any, a: np.ndarray, taus: np.ndarray) -> Any:
    def row(a: np.ndarray, taus: np.ndarray) -> Any:
        m, n = a.shape
        product = np.eye(m, dtype=a.dtype)
        for i, tau in enumerate(taus):
            v = np.concatenate([np.zeros(i), [1], a[i + 1:, i]])
            product = product @ (np.eye(m) - tau * np.outer(v, v.conj()))
        return product[:, :n]

    return each(types, row, (2, 1), a, taus)


@reference("tridiagonal_solve")
def _tridiagonal_solve(attrs: Any, types: Any, below: Any, diagonal: Any, above: Any, rhs: Any
                       ) -> Any:
    def row(below: Any, diagonal: Any, above: Any, rhs: Any) -> Any:
        whole = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
        return _solved(whole, rhs)

    return each(types, row, (1, 1, 1, 2), below, diagonal, above, rhs)

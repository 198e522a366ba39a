"""COO, CSR and CSC: sparse matrices in the forms of SciPy, with two sparse axes and no others.

What is computed is computed by `BCOO` and `BCSR`, of which these are matrices with other names for
the parts. Coordinates outside the shape are padding here too, and the elements beyond the end of
the last row of a CSR or the last column of a CSC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import numpy as jnp
from ...base.trees import register_pytree_node_class
from ...eager.operands import index_of, normalize_axes
from .coordinates import (
    BCOO,
    JAXSparse,
    Layout,
    Shape,
    _greatest_count,
    bcoo_fromdense,
    expect_kind,
    known,
)
from .moving import bcoo_transpose
from .rows import BCSR


class _Matrix(JAXSparse):
    """The base of all forms of matrices. `_parts` names their arrays; the first one is `data`."""

    _parts: tuple[str, str, str]
    _promises: tuple[str, ...] = ()
    """Names of attributes that are promises about the arrays."""

    def _take(self, args: Sequence[Any], shape: Sequence[int]) -> None:
        data, first, second = map(jnp.asarray, args)
        for name, part in zip(self._parts, (data, first, second), strict=True):
            setattr(self, name, part)
        self.shape = tuple([index_of(d, "shape") for d in shape])
        if len(self.shape) != 2 or min(self.shape) < 0:
            raise ValueError(f"{type(self).__name__}: the shape must be of two sizes, got "
                             f"{self.shape}")
        self._fit()

    def _arrays(self) -> tuple[Any, Any, Any]:
        data, first, second = [getattr(self, name) for name in self._parts]
        return data, first, second

    def _lengths(self) -> tuple[int, int, int]:
        """How long the arrays must be."""
        return self.nse, self.nse, self.nse

    def _fit(self) -> None:
        """Refuse arrays that do not fit one another and the shape. Raises: ValueError."""
        arrays = self._arrays()
        fit = all(x.shape == (n,) for x, n in zip(arrays, self._lengths(), strict=True))
        if not fit or not all(jnp.issubdtype(x.dtype, np.integer) for x in arrays[1:]):
            of = ", ".join(f"{name} {x.dtype}{list(x.shape)}"
                           for name, x in zip(self._parts, arrays, strict=True))
            raise ValueError(
                f"{type(self).__name__}: the arrays do not fit the shape {self.shape}: {of}; they "
                f"must be of lengths {self._lengths()}, the last two of integers. vmap maps over a "
                "matrix whose arrays are stacked: tree.map(lambda *x: jnp.stack(x), a, b)")

    @property
    def nse(self) -> int:  # type: ignore[override]
        """How many elements are stored."""
        return self.data.size

    def _layout(self) -> Layout:
        if not all(hasattr(x, "dtype") for x in self._arrays()):
            raise ValueError(f"{type(self).__name__}: the leaves of the tree are not arrays")
        return Layout(0, 2, 0)

    def to_bcoo(self) -> BCOO:
        """The same matrix as BCOO, with its elements in the same order."""
        raise NotImplementedError

    def _bcoo(self) -> BCOO:
        return self.to_bcoo()

    @classmethod
    def _of(cls, made: BCOO) -> Self:
        """The matrix of a BCOO with two sparse axes."""
        raise NotImplementedError

    def _as_self(self, made: Any) -> Any:
        is_matrix = isinstance(made, BCOO) and made._layout() == (0, 2, 0)
        return self._of(made) if is_matrix else made

    def with_data(self, data: Any) -> Self:
        """The matrix with other elements at the same places."""
        children, aux = self.tree_flatten()
        return type(self).tree_unflatten(aux, (data, *children[1:]))

    def transpose(self, axes: Any = None) -> Any:
        """The matrix with rows and columns exchanged, of the same arrays.

        Raises: ValueError where `axes` are not those of a matrix.
        """
        order = (1, 0) if axes is None else normalize_axes("transpose", tuple(axes), 2)
        if sorted(order) != [0, 1]:
            raise ValueError(f"transpose: axes must be a permutation of (0, 1), got {axes}")
        return self._exchanged() if tuple(order) == (1, 0) else self

    def _exchanged(self) -> JAXSparse:
        raise NotImplementedError

    def tree_flatten(self) -> tuple[tuple, tuple]:
        """(arrays, static data)."""
        return self._arrays(), (self.shape, *[getattr(self, name) for name in self._promises])

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Sequence[Any]) -> Self:
        """The matrix of such arrays, whatever they are: inside trees they need not fit."""
        made = object.__new__(cls)
        for name, part in zip(cls._parts, children, strict=True):
            setattr(made, name, part)
        made.shape = aux[0]
        for name, promise in zip(cls._promises, aux[1:], strict=True):
            setattr(made, name, promise)
        return made


@register_pytree_node_class
class COO(_Matrix):
    """A sparse matrix by coordinates.

    Args:
      args: `(data, row, col)`, an array [nse], and the rows and columns of its elements, integers
        [nse]; elements at the same place are added up.
      shape: shape of the dense matrix.
      rows_sorted, cols_sorted: promises that rows, or columns, do not decrease; the transposed
        matrix has them exchanged. Nothing here is faster for them.
    Raises: ValueError where the arrays do not fit.

    >>> mat = sparse.COO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> mat.row, mat.col
    (Array([0, 1, 1], dtype=int32), Array([1, 0, 1], dtype=int32))
    >>> mat.T @ jnp.array([1., 10.])
    Array([30., 42.], dtype=float32)
    """

    _parts = ("data", "row", "col")
    _promises = ("_rows_sorted", "_cols_sorted")
    row: Any
    col: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int],
                 rows_sorted: bool = False, cols_sorted: bool = False) -> None:
        self._rows_sorted, self._cols_sorted = bool(rows_sorted), bool(cols_sorted)
        self._take(args, shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The sparse matrix of a dense one; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def to_bcoo(self) -> BCOO:
        """The same matrix as BCOO, with its elements in the same order."""
        self._fit()
        return BCOO((self.data, jnp.stack([self.row, self.col], axis=1)), shape=self.shape)

    @classmethod
    def _of(cls, made: BCOO) -> COO:
        return cls((made.data, made.indices[:, 0], made.indices[:, 1]), shape=made.shape,
                   rows_sorted=made.indices_sorted)

    def _exchanged(self) -> COO:
        return COO((self.data, self.col, self.row), shape=self.shape[::-1],
                   rows_sorted=self._cols_sorted, cols_sorted=self._rows_sorted)


class _Compressed(_Matrix):
    """A matrix by rows, or by columns: the axis `_along`."""

    _parts = ("data", "indices", "indptr")
    _along: int
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self._take(args, shape)

    def _lengths(self) -> tuple[int, int, int]:
        return self.nse, self.nse, self.shape[self._along] + 1

    def _by_rows(self, shape: Shape) -> BCOO:
        self._fit()
        return BCSR(self._arrays(), shape=shape).to_bcoo()

    @classmethod
    def _parts_of(cls, made: BCOO) -> tuple[Any, Any, Any]:
        rows = BCSR.from_bcoo(made)
        return rows.data, rows.indices, rows.indptr


@register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix by rows.

    Args:
      args: `(data, indices, indptr)`, an array [nse], the columns of its elements, integers [nse],
        and the positions where rows begin and the last one ends, integers [rows + 1].
      shape: shape of the dense matrix.
    Raises: ValueError where the arrays do not fit.

    >>> mat = sparse.CSR.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> mat.indices, mat.indptr
    (Array([1, 0, 1], dtype=int32), Array([0, 1, 3], dtype=int32))
    >>> mat.T
    CSC(float32[2, 2], nse=3)
    """

    _along = 0

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The sparse matrix of a dense one; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def to_bcoo(self) -> BCOO:
        """The same matrix as BCOO, with its elements in the same order."""
        return self._by_rows(self.shape)

    @classmethod
    def _of(cls, made: BCOO) -> CSR:
        return cls(cls._parts_of(made), shape=made.shape)

    def _exchanged(self) -> CSC:
        return CSC(self._arrays(), shape=self.shape[::-1])


@register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix by columns.

    Args:
      args: `(data, indices, indptr)`, an array [nse], the rows of its elements, integers [nse], and
        the positions where columns begin and the last one ends, integers [columns + 1].
      shape: shape of the dense matrix.
    Raises: ValueError where the arrays do not fit.

    >>> mat = sparse.CSC.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> mat.data, mat.indices
    (Array([3., 2., 4.], dtype=float32), Array([1, 0, 1], dtype=int32))
    """

    _along = 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The sparse matrix of a dense one, its elements by columns; see `csr_fromdense`."""
        made = _stored("CSC.fromdense", jnp.asarray(mat).T, nse, index_dtype)
        return CSR._of(made)._exchanged()

    def to_bcoo(self) -> BCOO:
        """The same matrix as BCOO, with its elements in the same order."""
        return bcoo_transpose(self._by_rows(self.shape[::-1]), permutation=(1, 0))

    @classmethod
    def _of(cls, made: BCOO) -> CSC:
        return cls(cls._parts_of(bcoo_transpose(made, permutation=(1, 0))), shape=made.shape)

    def _exchanged(self) -> CSR:
        return CSR(self._arrays(), shape=self.shape[::-1])


# --- construction and back ------------------------------------------------------------------------

def _stored(name: str, mat: Any, nse: int | None, index_dtype: Any) -> BCOO:
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(f"{name}: a matrix must have two axes, got an array of shape {mat.shape}; "
                         "BCOO.fromdense takes any number of axes")
    if nse is None:
        nse = known(name, _greatest_count(mat, 0, 2), "nse")
    return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The sparse matrix by coordinates of a dense one.

    Args:
      mat: a dense matrix.
      nse: number of elements that are stored; None takes the nonzero ones. Where there are fewer,
        padding follows, which is outside the shape; where there are more, the last are left out.
      index_dtype: dtype of rows and columns.
    Raises: ValueError unless there are two axes; under jit, ConcretizationTypeError without `nse`.

    >>> sparse.coo_fromdense(jnp.array([[0., 2.], [3., 0.]]))
    COO(float32[2, 2], nse=2)
    """
    return COO._of(_stored("coo_fromdense", mat, nse, index_dtype))


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The sparse matrix by rows of a dense one; arguments and errors as for `coo_fromdense`.

    >>> sparse.csr_fromdense(jnp.array([[0., 2.], [3., 0.]])).indptr
    Array([0, 1, 2], dtype=int32)
    """
    return CSR._of(_stored("csr_fromdense", mat, nse, index_dtype))


def coo_todense(mat: COO) -> Any:
    """The dense matrix; elements at the same place are added up.

    >>> parts = (jnp.array([3., 2.]), jnp.array([0, 0]), jnp.array([1, 1]))
    >>> sparse.coo_todense(sparse.COO(parts, shape=(1, 2)))
    Array([[0., 5.]], dtype=float32)
    """
    expect_kind("coo_todense", COO, mat)
    return mat.todense()


def csr_todense(mat: CSR) -> Any:
    """The dense matrix; elements at the same place are added up.

    >>> parts = (jnp.array([3., 2.]), jnp.array([1, 1]), jnp.array([0, 2]))
    >>> sparse.csr_todense(sparse.CSR(parts, shape=(1, 2)))
    Array([[0., 5.]], dtype=float32)
    """
    expect_kind("csr_todense", CSR, mat)
    return mat.todense()


# --- products -------------------------------------------------------------------------------------

def _product(name: str, kind: type, mat: Any, other: Any, ndim: int, transpose: bool) -> Any:
    expect_kind(name, kind, mat)
    other, rows = jnp.asarray(other), mat.shape[0 if transpose else 1]
    if other.ndim != ndim or other.shape[0] != rows:
        wanted = f"({rows},)" if ndim == 1 else f"({rows}, columns)"
        raise ValueError(f"{name}: the dense operand of a matrix of shape {mat.shape} with "
                         f"transpose={bool(transpose)} must have shape {wanted}, got {other.shape}")
    if other.dtype != mat.dtype:
        raise TypeError(f"{name}: dtypes differ: {mat.dtype} and {other.dtype}; mat @ x promotes")
    return (mat.T if transpose else mat) @ other


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product of a matrix and a vector.

    Args:
      mat: a COO.
      v: an array of the matrix's dtype, [columns], or [rows] with `transpose`.
      transpose: whether the matrix is transposed first.
    Returns: array [rows], or [columns] with `transpose`.
    Raises: TypeError for another matrix or where dtypes differ; ValueError where the shape of `v`
      does not fit.

    >>> mat = sparse.COO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.coo_matvec(mat, jnp.array([1., 10.]), transpose=True)
    Array([30., 42.], dtype=float32)
    """
    return _product("coo_matvec", COO, mat, v, 1, transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The product of a matrix and a dense one; arguments and errors as for `coo_matvec`.

    >>> mat = sparse.COO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.coo_matmat(mat, jnp.eye(2))
    Array([[0., 2.],
           [3., 4.]], dtype=float32)
    """
    return _product("coo_matmat", COO, mat, B, 2, transpose)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product of a matrix and a vector; arguments and errors as for `coo_matvec`.

    >>> mat = sparse.CSR.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.csr_matvec(mat, jnp.array([1., 10.]))
    Array([20., 43.], dtype=float32)
    """
    return _product("csr_matvec", CSR, mat, v, 1, transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The product of a matrix and a dense one; arguments and errors as for `coo_matvec`.

    >>> mat = sparse.CSR.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.csr_matmat(mat, jnp.eye(2), transpose=True)
    Array([[0., 3.],
           [2., 4.]], dtype=float32)
    """
    return _product("csr_matmat", CSR, mat, B, 2, transpose)


__all__ = ["COO", "CSC", "CSR", "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense",
           "csr_fromdense", "csr_matmat", "csr_matvec", "csr_todense"]

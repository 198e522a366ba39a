"""BCSR: elements by rows, with their columns and the position where each row begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...base.trees import register_pytree_node_class
from ...eager.operands import index_of
from ...transforms.jit import jit
from .coordinates import (
    BCOO,
    JAXSparse,
    Layout,
    _mapped_shape,
    _sum_duplicates,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    broadcast_batch,
    check_batches,
    expect_kind,
    over_batches,
    padded,
    without_batches,
)
from .moving import bcoo_broadcast_in_dim, bcoo_concatenate
from .products import bcoo_dot_general


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse array by rows, with two sparse axes between the batch axes and the dense axes.

    Args:
      args: `(data, indices, indptr)`, an array [*batch, nse, *dense], columns [*batch, nse], and
        the positions where rows begin and the last one ends, [*batch, rows + 1].
      shape: shape of the dense array.
      indices_sorted, unique_indices: whether the columns of each row are promised to be sorted, and
        to be distinct; False by default.

    >>> mat = sparse.BCSR.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> mat.indices, mat.indptr
    (Array([1, 0, 1], dtype=int32), Array([0, 1, 3], dtype=int32))
    >>> mat @ jnp.array([1., 1.])
    Array([2., 7.], dtype=float32)
    """

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int],
                 indices_sorted: bool = False, unique_indices: bool = False) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.shape = tuple([index_of(d, "shape") for d in shape])
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        n = self.n_batch
        rows = self.shape[n:n + 1]
        fits = (n >= 0 and sum(self._layout()) == self.ndim
                and self.indptr.shape[n:] == tuple([d + 1 for d in rows])
                and self.data.shape[n:n + 1] == self.indices.shape[n:]
                and self.data.shape[n + 1:] == self.shape[n + 2:])
        for array in (self.data, self.indices, self.indptr):
            fits = fits and all(a in (1, b) for a, b in zip(array.shape[:n], self.shape,
                                                            strict=False))
        if not fits:
            raise ValueError(f"BCSR: data {self.data.shape}, indices {self.indices.shape} and "
                             f"indptr {self.indptr.shape} do not fit the shape {self.shape}")

    n_batch = property(lambda self: self.indices.ndim - 1, doc="How many leading axes are batches.")
    n_sparse = 2
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch,
                       doc="How many trailing axes are dense.")
    nse = property(lambda self: self.indices.shape[-1],  # type: ignore[assignment]
                   doc="How many elements are stored, in each batch element.")

    def _layout(self) -> Layout:
        if self.n_batch < 0:
            raise without_batches("BCSR", self.indices)
        return Layout(self.n_batch, 2, self.n_dense)

    def _bcoo(self) -> BCOO:
        return self.to_bcoo()

    def _as_self(self, made: Any) -> Any:
        return BCSR.from_bcoo(made) if isinstance(made, BCOO) and made.n_sparse == 2 else made

    def with_data(self, data: Any) -> BCSR:
        """The array with other elements at the same places."""
        return BCSR((data, self.indices, self.indptr), shape=self.shape,
                    indices_sorted=self.indices_sorted, unique_indices=self.unique_indices)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
                  n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """The sparse array of a dense one; see `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense,
                              index_dtype=index_dtype)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The array of a BCOO, sorted first if need be. Raises: ValueError unless two axes are
        sparse."""
        if arr.n_sparse != 2:
            raise ValueError(f"BCSR.from_bcoo: two axes must be sparse, got {arr!r} with "
                             f"{arr.n_sparse}")
        if not arr.indices_sorted:
            arr = bcoo_sort_indices(arr)
        return cls(_by_rows(arr), shape=arr.shape, indices_sorted=True,
                   unique_indices=arr.unique_indices)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0,
                          n_batch: int = 0) -> BCSR:
        """The array of a sparse matrix of SciPy. Raises: NotImplementedError for batch and dense
        axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: matrices of SciPy have neither "
                                      "batch nor dense axes; leave out n_batch and n_dense")
        made, dtype = mat.tocsr(), index_dtype or np.int32
        return cls((jnp.asarray(made.data), jnp.asarray(made.indices, dtype),
                    jnp.asarray(made.indptr, dtype)), shape=made.shape)

    def to_bcoo(self) -> BCOO:
        """The same array as BCOO."""
        self._layout()                           # refuses what vmap leaves without batch axes
        return BCOO(_by_coordinates(self), shape=self.shape, indices_sorted=self.indices_sorted,
                    unique_indices=self.unique_indices)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The array with each place once; see `bcoo_sum_duplicates`."""
        return BCSR.from_bcoo(_sum_duplicates(self.to_bcoo(), nse, remove_zeros))

    def tree_flatten(self) -> tuple[tuple, tuple]:
        """(arrays, static data)."""
        return ((self.data, self.indices, self.indptr),
                (self.shape, self.indices_sorted, self.unique_indices))

    def check_mapped(self, axes: Sequence[int | None]) -> None:
        """Whether vmap may map these axes of the arrays. Raises: ValueError."""
        check_batches("BCSR", axes)

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Sequence[Any]) -> BCSR:
        """The array; inside a map over a batch axis, its shape is without that axis."""
        made = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        made.shape, made.indices_sorted, made.unique_indices = aux
        if all(hasattr(x, "shape") for x in children):
            made.shape = _mapped_shape(made.shape, made.data.shape, made.n_batch,
                                       made.n_batch + 2 + made.n_dense)
        return made


@jit
def _by_rows(mat: BCOO) -> tuple[Any, Any, Any]:
    data, indices = broadcast_batch(mat)
    rows = mat.shape[mat.n_batch]

    def ends(row: Any) -> Any:
        return jnp.searchsorted(row, jnp.arange(rows + 1, dtype=row.dtype)).astype(row.dtype)

    return data, indices[..., 1], over_batches(mat.n_batch, ends)(indices[..., 0])


@jit
def _by_coordinates(mat: BCSR) -> tuple[Any, Any]:
    n = mat.n_batch
    batch, sizes = mat.shape[:n], mat.shape[n:n + 2]
    columns, ends = [jnp.broadcast_to(x, batch + x.shape[n:]) for x in (mat.indices, mat.indptr)]

    def one(columns: Any, ends: Any) -> Any:
        at = jnp.arange(len(columns), dtype=ends.dtype)
        row = jnp.searchsorted(ends, at, side="right").astype(columns.dtype) - 1
        indices = jnp.stack([row, columns], axis=-1)
        return padded(at < ends[-1], indices, sizes)

    return mat.data, over_batches(n, one)(columns, ends)


def bcsr_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCSR:
    """The sparse array of a dense one; arguments as for `bcoo_fromdense`.

    Raises: ValueError unless exactly two axes are sparse.

    >>> mat = sparse.bcsr_fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> mat.data, mat.indices, mat.indptr
    (Array([2., 3.], dtype=float32), Array([1, 0], dtype=int32), Array([0, 1, 2], dtype=int32))
    """
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense,
                                         index_dtype=index_dtype))


def bcsr_todense(mat: BCSR) -> Any:
    """The dense array; elements at the same place are added up.

    >>> parts = (jnp.array([3., 2.]), jnp.array([1, 1]), jnp.array([0, 2]))
    >>> sparse.bcsr_todense(sparse.BCSR(parts, shape=(1, 2)))
    Array([[0., 5.]], dtype=float32)
    """
    expect_kind("bcsr_todense", BCSR, mat)
    return mat.todense()


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense array at the places of a BCSR, in the form of its data.

    >>> mat = sparse.BCSR.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> sparse.bcsr_extract(mat.indices, mat.indptr, jnp.array([[4., 5.], [6., 7.]]))
    Array([5., 6.], dtype=float32)
    """
    mat = jnp.asarray(mat)
    n = jnp.ndim(indices) - 1
    shape = (*np.shape(indices), *mat.shape[n + 2:])
    at = BCSR((jnp.zeros(shape, mat.dtype), indices, indptr), shape=mat.shape,
              unique_indices=True).to_bcoo()
    return bcoo_extract(at, mat).data


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array with each place once; see `bcoo_sum_duplicates`.

    >>> parts = (jnp.array([3., 2.]), jnp.array([1, 1]), jnp.array([0, 2]))
    >>> sparse.bcsr_sum_duplicates(sparse.BCSR(parts, shape=(1, 2))).data
    Array([5.], dtype=float32)
    """
    expect_kind("bcsr_sum_duplicates", BCSR, mat)
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding: Any = None) -> BCSR:
    """The array repeated along new axes and axes of size 1; see `bcoo_broadcast_in_dim`.

    >>> mat = sparse.BCSR.fromdense(jnp.array([[0., 2.]]))
    >>> sparse.bcsr_broadcast_in_dim(mat, shape=(2, 2), broadcast_dimensions=(0, 1)).todense()
    Array([[0., 2.],
           [0., 2.]], dtype=float32)
    """
    expect_kind("bcsr_broadcast_in_dim", BCSR, mat)
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Sparse arrays one after the other along an axis; see `bcoo_concatenate`.

    >>> mat = sparse.BCSR.fromdense(jnp.array([[0., 2.]]))
    >>> sparse.bcsr_concatenate([mat, mat], dimension=0).todense()
    Array([[0., 2.],
           [0., 2.]], dtype=float32)
    """
    expect_kind("bcsr_concatenate", BCSR, *operands)
    return BCSR.from_bcoo(bcoo_concatenate([x.to_bcoo() for x in operands], dimension=dimension))


def bcsr_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any = None,
                     preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """`lax.dot_general` of a BCSR array with a dense or sparse one; see `bcoo_dot_general`.

    >>> mat = sparse.BCSR.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcsr_dot_general(mat, jnp.array([1., 10.]), dimension_numbers=numbers)
    Array([20.,  3.], dtype=float32)
    """
    lhs, rhs = [x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs)]
    return bcoo_dot_general(lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
                            preferred_element_type=preferred_element_type,
                            out_sharding=out_sharding)


__all__ = ["BCSR", "bcsr_broadcast_in_dim", "bcsr_concatenate", "bcsr_dot_general", "bcsr_extract",
           "bcsr_fromdense", "bcsr_sum_duplicates", "bcsr_todense"]

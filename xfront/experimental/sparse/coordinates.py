"""BCOO: elements and their coordinates, and functions that read and arrange them.

The functions that compute are written for one batch element, `data` [nse, *dense] and `indices`
[nse, n_sparse], and mapped over the batch axes by `over_batches`.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...base.errors import ConcretizationTypeError
from ...base.on_demand import above
from ...base.trees import register_pytree_node_class
from ...eager.operands import index_of
from ...tracing.tracer import Tracer
from ...transforms.jit import jit
from ...transforms.vmap import vmap

Shape = tuple[int, ...]


class SparseEfficiencyError(ValueError):
    """The error for a layout that stores more elements than the layout before it.

    >>> sparse.bcoo_update_layout(sparse.eye(3), n_batch=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront...SparseEfficiencyError: ...n_batch=1 and n_dense=0 store 3 times as many elements...
    """


class SparseEfficiencyWarning(UserWarning):
    """The warning about a layout that stores more elements than the layout before it.

    >>> issubclass(sparse.SparseEfficiencyWarning, UserWarning)
    True
    """


class Layout(NamedTuple):
    """The number of axes of each kind of an array, in their order."""

    n_batch: int
    n_sparse: int
    n_dense: int

    def parts(self, of_axes: Sequence[Any]) -> tuple[tuple, tuple, tuple]:
        """The items of a sequence that belong to the batch, the sparse and the dense axes."""
        middle = self.n_batch + self.n_sparse
        return (tuple(of_axes[:self.n_batch]), tuple(of_axes[self.n_batch:middle]),
                tuple(of_axes[middle:]))


class JAXSparse:
    """The base of sparse arrays, with a shape, elements, and the operators of arrays.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> isinstance(mat, sparse.JAXSparse), mat.shape, mat.nse
    (True, (2, 2), 2)
    """

    __array_priority__ = 100                     # NumPy's operators defer to these

    data: Any
    shape: Shape
    nse: int

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Any:
        return self.transpose()

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            own: Any = self._layout()
        except (AttributeError, ValueError):     # the leaves of the tree are not such arrays
            return f"{name}(<invalid>)"
        parts = [f"{self.dtype}{list(self.shape)}", f"nse={self.nse}"]
        parts += [f"{k}={v}" for k, v in (("n_batch", own.n_batch), ("n_dense", own.n_dense)) if v]
        return f"{name}({', '.join(parts)})"

    def _layout(self) -> Layout:
        raise NotImplementedError

    def _bcoo(self) -> BCOO:
        """This array as BCOO."""
        raise NotImplementedError

    def _as_self(self, made: Any) -> Any:
        """A result converted to this format if it is sparse."""
        raise NotImplementedError

    def with_data(self, data: Any) -> Any:
        """The array with other elements at the same places."""
        raise NotImplementedError

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes in another order; see `bcoo_transpose`."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return self._as_self(above("sparse_moving").bcoo_transpose(self._bcoo(), permutation=order))

    def todense(self) -> Any:
        """The dense array."""
        return bcoo_todense(self._bcoo())

    def block_until_ready(self) -> Any:
        """Wait until the elements are computed."""
        self.data.block_until_ready()
        return self

    def sum(self, axis: Any = None) -> Any:
        """The sum over axes; it is sparse, or dense where it is over all axes."""
        return self._as_self(above("sparse_arithmetic").summed(self._bcoo(), axis))

    def reshape(self, *sizes: Any) -> Any:
        """The elements in another shape; see `bcoo_reshape`."""
        moving = above("sparse_moving")
        return self._as_self(moving.bcoo_reshape(
            self._bcoo(), new_sizes=moving.resolved_sizes(self, sizes)))

    def astype(self, dtype: Any) -> Any:
        """The array with its elements in another dtype."""
        own = self._bcoo()
        return self._as_self(own.with_data(jnp.asarray(own.data).astype(dtype)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return self._as_self(above("sparse_moving").picked(self._bcoo(), index))

    def __neg__(self) -> Any:
        return self._mapped(jnp.negative)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._mapped(jnp.abs)

    def _mapped(self, function: Callable[[Any], Any]) -> Any:
        """The array with `function` applied to its elements; f(ax) = a f(x) must hold for a > 0."""
        own = self._bcoo()
        if function is not jnp.negative and not own.unique_indices:
            own = bcoo_sum_duplicates(own, nse=own.nse)
        return self._as_self(own.with_data(function(own.data)))

    def __add__(self, other: Any) -> Any:
        return self._as_self(above("sparse_arithmetic").added(self._bcoo(), _other(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -_other(other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        return self._as_self(above("sparse_arithmetic").multiplied(self._bcoo(), _other(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._as_self(above("sparse_arithmetic").divided(self._bcoo(), _other(other)))

    def __pow__(self, exponent: Any) -> Any:
        return self._as_self(above("sparse_arithmetic").powered(self._bcoo(), exponent))

    def __matmul__(self, other: Any) -> Any:
        return self._as_self(above("sparse_products").matmul(self._bcoo(), _other(other)))

    def __rmatmul__(self, other: Any) -> Any:
        return self._as_self(above("sparse_products").matmul(_other(other), self._bcoo()))

    def _refused(self, *_: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: comparisons are not implemented, because their result would "
            "be dense; compare the results of todense()")

    __hash__ = None  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused  # type: ignore[assignment]


def _other(x: Any) -> Any:
    return x._bcoo() if isinstance(x, JAXSparse) else x


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array by coordinates.

    Args:
      args: `(data, indices)`, an array [*batch, nse, *dense] and integers [*batch, nse, n_sparse];
        an axis of the batch of size 1 stands for all of its elements.
      shape: shape of the dense array.
      indices_sorted, unique_indices: whether the coordinates are promised to be in lexicographic
        order, and to be distinct; False by default.

    >>> m = sparse.BCOO.fromdense(jnp.array([[0., 1.], [2., 0.]]))
    >>> m, (m @ jnp.ones(2)).tolist()
    (BCOO(float32[2, 2], nse=2), [1.0, 2.0])
    """

    def __init__(self, args: tuple[Any, Any], *, shape: Sequence[int],
                 indices_sorted: bool = False, unique_indices: bool = False) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.shape = tuple([index_of(d, "shape") for d in shape])
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        _check(self)

    n_batch = property(lambda self: self.indices.ndim - 2, doc="How many leading axes are batches.")
    n_sparse = property(lambda self: self.indices.shape[-1], doc="How many axes are sparse.")
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch,
                       doc="How many trailing axes are dense.")
    nse = property(lambda self: self.indices.shape[-2],  # type: ignore[assignment]
                   doc="How many elements are stored, in each batch element.")

    def _layout(self) -> Layout:
        if self.n_batch < 0:
            raise without_batches("BCOO", self.indices)
        return Layout(self.n_batch, self.n_sparse, self.n_dense)

    def _bcoo(self) -> BCOO:
        return self

    def _as_self(self, made: Any) -> Any:
        return made

    def with_data(self, data: Any) -> BCOO:
        """The array with other elements at the same coordinates."""
        return BCOO((data, self.indices), shape=self.shape, indices_sorted=self.indices_sorted,
                    unique_indices=self.unique_indices)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32,
                  n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The sparse array of a dense one; see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense,
                              n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0,
                          n_batch: int = 0) -> BCOO:
        """The array of a sparse matrix of SciPy. Raises: NotImplementedError for batch and dense
        axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: matrices of SciPy have neither "
                                      "batch nor dense axes; leave out n_batch and n_dense and "
                                      "call bcoo_update_layout afterwards")
        made = mat.tocoo()
        indices = jnp.asarray(np.stack([made.row, made.col], 1), index_dtype or np.int32)
        return cls((jnp.asarray(made.data), indices), shape=made.shape)

    def sort_indices(self) -> BCOO:
        """The array with sorted coordinates; see `bcoo_sort_indices`."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The array with each coordinate once; see `bcoo_sum_duplicates`."""
        return _sum_duplicates(self, nse, remove_zeros)

    def update_layout(self, *, n_batch: int | None = None, n_dense: int | None = None,
                      on_inefficient: str | None = "error") -> BCOO:
        """The array with other numbers of batch and dense axes; see `bcoo_update_layout`."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense,
                                  on_inefficient=on_inefficient)

    def tree_flatten(self) -> tuple[tuple, tuple]:
        """(arrays, static data)."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    def check_mapped(self, axes: Sequence[int | None]) -> None:
        """Whether vmap may map these axes of the arrays. Raises: ValueError."""
        check_batches("BCOO", axes)

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Sequence[Any]) -> BCOO:
        """The array; inside a map over a batch axis, its shape is without that axis."""
        made = object.__new__(cls)
        made.data, made.indices = children
        made.shape, made.indices_sorted, made.unique_indices = aux
        if hasattr(made.data, "shape") and hasattr(made.indices, "shape"):
            made.shape = _mapped_shape(made.shape, made.data.shape, made.n_batch,
                                       made.n_batch + made.n_sparse + made.n_dense)
        return made


def check_batches(kind: str, axes: Sequence[int | None]) -> None:
    """Refuse maps over axes of a sparse array's parts other than the first batch axis, because the
    shapes of the parts do not tell which axis was mapped. Raises: ValueError."""
    if any([a not in (None, 0) for a in axes]):
        raise ValueError(f"vmap of a {kind} can only map its first batch axis, axis 0 of its "
                         f"arrays, or none, got axes {tuple(axes)}; move the axis to the front and "
                         "make it a batch axis with n_batch=1")


def without_batches(kind: str, indices: Any) -> ValueError:
    """The error for a sparse array of whose parts vmap has taken an axis that is no batch axis."""
    return ValueError(f"{kind}: indices of shape {indices.shape} have too few axes. vmap maps the "
                      "first batch axis of a sparse array: write the array with n_batch=1")


def _mapped_shape(shape: Shape, of_data: Shape, n_batch: int, ndim: int) -> Shape:
    """The shape with `ndim` axes after a map has removed or added leading axes of the parts."""
    if 0 <= ndim <= len(shape):
        return shape[len(shape) - ndim:]
    added = ndim - len(shape)
    return tuple(of_data[:added]) + shape if added <= n_batch else shape


def _check(mat: BCOO) -> None:
    own = mat._layout()
    if not jnp.issubdtype(mat.indices.dtype, np.integer):
        raise ValueError(f"BCOO: indices must be integers, got {mat.indices.dtype}")
    if mat.indices.ndim < 2 or own.n_dense < 0 or sum(own) != mat.ndim:
        raise ValueError(f"BCOO: data {mat.data.shape} and indices {mat.indices.shape} do not fit "
                         f"the shape {mat.shape}; they must be [*batch, nse, *dense] and [*batch, "
                         "nse, n_sparse]")
    batch, _, dense = own.parts(mat.shape)
    fits = mat.data.shape[own.n_batch] == mat.nse and mat.data.shape[own.n_batch + 1:] == dense
    for array in (mat.data, mat.indices):
        fits = fits and all(a in (1, b) for a, b in zip(array.shape, batch, strict=False))
    if not fits:
        raise ValueError(f"BCOO: data {mat.data.shape} and indices {mat.indices.shape} do not fit "
                         f"the shape {mat.shape} with n_batch={own.n_batch}, "
                         f"n_dense={own.n_dense}")


# --- batches and coordinates ----------------------------------------------------------------------

def over_batches(n_batch: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which is for one batch element, mapped over `n_batch` leading axes."""
    for _ in range(n_batch):
        function = vmap(function)
    return function


def broadcast_batch(mat: BCOO) -> tuple[Any, Any]:
    """Elements and coordinates broadcast to all of the batch axes."""
    batch = mat.shape[:mat.n_batch]
    return (jnp.broadcast_to(mat.data, batch + mat.data.shape[mat.n_batch:]),
            jnp.broadcast_to(mat.indices, batch + mat.indices.shape[mat.n_batch:]))


def inside(indices: Any, sizes: Shape) -> Any:
    """For each coordinate whether it is not padding, bools [nse]."""
    bounds = jnp.asarray(np.asarray(sizes, np.int64).astype(indices.dtype))
    return jnp.all((indices >= 0) & (indices < bounds), axis=-1)


def chosen(keep: Any, data: Any) -> Any:
    """The elements where `keep` [nse] is true, else zero."""
    return jnp.where(keep.reshape(keep.shape + (1,) * (data.ndim - keep.ndim)), data,
                     jnp.zeros((), data.dtype))


def padded(keep: Any, indices: Any, sizes: Shape) -> Any:
    """The coordinates where `keep` is true, else padding, which comes after all others."""
    ends = jnp.asarray(np.asarray(sizes, np.int64).astype(indices.dtype))
    return jnp.where(keep[..., None], indices, ends)


def gathered(indices: Any, dense: Any, n_sparse: int) -> Any:
    """The elements of a dense array at coordinates of its leading axes; zero outside."""
    if n_sparse == 0:
        return jnp.broadcast_to(dense, indices.shape[:1] + dense.shape)
    if 0 in dense.shape[:n_sparse]:
        return jnp.zeros(indices.shape[:1] + dense.shape[n_sparse:], dense.dtype)
    keep = inside(indices, dense.shape[:n_sparse])
    at = tuple([indices[:, i] for i in range(n_sparse)])
    return chosen(keep, dense.at[at].get(mode="clip"))


def scattered(indices: Any, data: Any, sizes: Shape) -> Any:
    """The dense array [*sizes, *dense] with elements added up at their coordinates."""
    data = chosen(inside(indices, sizes), data)
    if not sizes:
        return jnp.sum(data, axis=0, dtype=data.dtype)
    if 0 in sizes:
        return jnp.zeros(sizes + data.shape[1:], data.dtype)
    at = tuple([indices[:, i] for i in range(len(sizes))])
    return jnp.zeros(sizes + data.shape[1:], data.dtype).at[at].add(data, mode="drop")


def grouped(indices: Any) -> tuple[Any, Any]:
    """The order that sorts coordinates, and for each of the sorted ones the number of its group."""
    n, columns = indices.shape
    if columns == 0 or n == 0:
        return jnp.arange(n), jnp.zeros(n, np.int32)
    order = jnp.lexsort(tuple([indices[:, i] for i in range(columns)])[::-1])
    ordered = indices[order]
    new = jnp.any(ordered[1:] != ordered[:-1], axis=1)
    return order, jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(new, dtype=np.int32)])


def known(name: str, x: Any, what: str) -> int:
    """`x` as a Python int. Raises: ConcretizationTypeError where it is traced."""
    if type(x) is Tracer:
        raise ConcretizationTypeError(
            f"{name}: while tracing, the number of stored elements must be given; pass {what}")
    return int(x)


def expect_kind(name: str, kind: type, *mats: Any) -> None:
    """Refuse what is no sparse array of this kind. Raises: TypeError."""
    for mat in mats:
        if not isinstance(mat, kind):
            how = "x.to_bcoo()" if hasattr(mat, "to_bcoo") else f"{kind.__name__}.fromdense(x)"
            raise TypeError(f"{name}: expected a {kind.__name__}, got x of type "
                            f"{type(mat).__name__}; write {how}")


# --- construction and back ------------------------------------------------------------------------

def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = np.int32) -> BCOO:
    """The sparse array of a dense one.

    Args:
      mat: a dense array.
      nse: number of elements that each batch element stores. None takes the greatest number of
        nonzero elements. Where there are fewer, padding follows; where there are more, the last are
        left out.
      n_batch, n_dense: number of leading batch axes and of trailing dense axes, 0 by default.
      index_dtype: dtype of the coordinates.
    Raises: ValueError where the array has too few axes, or an axis is too long for `index_dtype`;
      under jit, ConcretizationTypeError without `nse`.

    >>> mat = sparse.bcoo_fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> mat.data, mat.indices
    (Array([2., 3.], dtype=float32), Array([[0, 1],
           [1, 0]], dtype=int32))
    """
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"bcoo_fromdense: an array of shape {mat.shape} has fewer axes than "
                         f"n_batch={n_batch} and n_dense={n_dense}")
    largest = max(mat.shape[n_batch:n_batch + n_sparse], default=0)
    if largest > np.iinfo(index_dtype).max:
        raise ValueError(f"bcoo_fromdense: index_dtype {np.dtype(index_dtype)} does not hold "
                         f"coordinates of an axis of size {largest}; write a wider one")
    if nse is None:
        nse = known("bcoo_fromdense", _greatest_count(mat, n_batch, n_sparse), "nse")
    data, indices = _fromdense(mat, index_of(nse, "nse"), n_batch, n_sparse,
                               np.dtype(index_dtype).name)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def _nonzero(mat: Any, n_kept: int) -> Any:
    return jnp.any((mat != 0).reshape(*mat.shape[:n_kept], -1), axis=-1)


@functools.partial(jit, static_argnums=(1, 2))
def _greatest_count(mat: Any, n_batch: int, n_sparse: int) -> Any:
    counts = jnp.sum(_nonzero(mat, n_batch + n_sparse), axis=tuple(range(n_batch,
                                                                         n_batch + n_sparse)))
    return jnp.max(counts, initial=0)


@functools.partial(jit, static_argnums=(1, 2, 3, 4))
def _fromdense(mat: Any, nse: int, n_batch: int, n_sparse: int, dtype: str) -> tuple[Any, Any]:
    sizes = mat.shape[n_batch:n_batch + n_sparse]

    def one(mat: Any) -> tuple[Any, Any]:
        if n_sparse == 0:
            indices = jnp.zeros((nse, 0), dtype)
            return chosen(jnp.arange(nse) < 1, gathered(indices, mat, 0)), indices
        found = jnp.nonzero(_nonzero(mat, n_sparse), size=nse, fill_value=sizes)
        indices = jnp.stack([x.astype(dtype) for x in found], axis=-1)
        return gathered(indices, mat, n_sparse), indices

    return over_batches(n_batch, one)(mat)


def bcoo_todense(mat: BCOO) -> Any:
    """The dense array; elements at the same coordinate are added up.

    >>> mat = sparse.BCOO((jnp.array([3., 2.]), jnp.array([[1], [1]])), shape=(3,))
    >>> sparse.bcoo_todense(mat)
    Array([0., 5., 0.], dtype=float32)
    """
    expect_kind("bcoo_todense", BCOO, mat)
    return _todense(mat)


@jit
def _todense(mat: BCOO) -> Any:
    sizes = mat._layout().parts(mat.shape)[1]
    return over_batches(mat.n_batch, lambda data, indices: scattered(indices, data, sizes))(
        *broadcast_batch(mat))


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the coordinates of a sparse one.

    Args:
      sparr: a BCOO, whose coordinates are used.
      arr: a dense array of the same shape.
      assume_unique: whether coordinates are taken to be distinct; None means as `sparr` promises.
        Otherwise an element whose coordinates occur several times is stored once, and its other
        places hold zero.
    Raises: ValueError where the shapes differ.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.bcoo_extract(mat, jnp.array([4., 5., 6.])).data
    Array([5., 6.], dtype=float32)
    """
    expect_kind("bcoo_extract", BCOO, sparr)
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: both arrays must have the same shape, got {sparr.shape} "
                         f"and {arr.shape}")
    unique = sparr.unique_indices if assume_unique is None else bool(assume_unique)
    return sparr.with_data(_extract(sparr, arr, unique))


@functools.partial(jit, static_argnums=2)
def _extract(mat: BCOO, dense: Any, unique: bool) -> Any:
    n_sparse = mat.n_sparse

    def one(indices: Any, dense: Any) -> Any:
        data = gathered(indices, dense, n_sparse)
        if unique:
            return data
        order, group = grouped(indices)
        first = jnp.concatenate([jnp.ones(min(1, len(group)), bool), group[1:] != group[:-1]])
        return chosen(jnp.zeros(len(group), bool).at[order].set(first), data)

    return over_batches(mat.n_batch, one)(broadcast_batch(mat)[1], dense)


# --- order and duplicates -------------------------------------------------------------------------

def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with coordinates in lexicographic order.

    >>> mat = sparse.BCOO((jnp.array([3., 2.]), jnp.array([[2], [1]])), shape=(3,))
    >>> sparse.bcoo_sort_indices(mat).data
    Array([2., 3.], dtype=float32)
    """
    expect_kind("bcoo_sort_indices", BCOO, mat)
    data, indices = _sorted(mat)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True,
                unique_indices=mat.unique_indices)


@jit
def _sorted(mat: BCOO) -> tuple[Any, Any]:
    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        order, _ = grouped(indices)
        return data[order], indices[order]

    return over_batches(mat.n_batch, one)(*broadcast_batch(mat))


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array with each coordinate once, in their order.

    Args:
      mat: a BCOO.
      nse: number of elements of the result. None takes the number of distinct coordinates. Where
        there are fewer, padding follows; where there are more, the last are left out.
    Raises: ConcretizationTypeError under jit without `nse`.

    >>> mat = sparse.BCOO((jnp.array([3., 2.]), jnp.array([[1], [1]])), shape=(3,))
    >>> sparse.bcoo_sum_duplicates(mat).data
    Array([5.], dtype=float32)
    """
    expect_kind("bcoo_sum_duplicates", BCOO, mat)
    return _sum_duplicates(mat, nse, False)


def _sum_duplicates(mat: BCOO, nse: int | None, remove_zeros: bool) -> BCOO:
    if nse is None:
        nse = known("bcoo_sum_duplicates", _distinct(mat, bool(remove_zeros)), "nse")
    data, indices = _summed_up(mat, index_of(nse, "nse"), bool(remove_zeros))
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def _kept(data: Any, indices: Any, sizes: Shape, remove_zeros: bool) -> Any:
    keep = inside(indices, sizes)
    return keep & _nonzero(data, 1) if remove_zeros else keep


@functools.partial(jit, static_argnums=1)
def _distinct(mat: BCOO, remove_zeros: bool) -> Any:
    sizes = mat._layout().parts(mat.shape)[1]

    def one(data: Any, indices: Any) -> Any:
        keep = _kept(data, indices, sizes, remove_zeros)
        order, group = grouped(padded(keep, indices, sizes))
        seen = jnp.zeros(len(group), bool).at[group].max(keep[order])
        return jnp.sum(seen)

    return jnp.max(over_batches(mat.n_batch, one)(*broadcast_batch(mat)), initial=0)


@functools.partial(jit, static_argnums=(1, 2))
def _summed_up(mat: BCOO, nse: int, remove_zeros: bool) -> tuple[Any, Any]:
    sizes = mat._layout().parts(mat.shape)[1]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        made = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        ends = padded(jnp.zeros(nse, bool), jnp.zeros((nse, len(sizes)), indices.dtype), sizes)
        if nse == 0 or len(indices) == 0:
            return made, ends
        keep = _kept(data, indices, sizes, remove_zeros)
        indices = padded(keep, indices, sizes)
        order, group = grouped(indices)
        made = made.at[group].add(chosen(keep, data)[order], mode="drop")
        return made, ends.at[group].set(indices[order], mode="drop")

    return over_batches(mat.n_batch, one)(*broadcast_batch(mat))


# --- layout ---------------------------------------------------------------------------------------

def bcoo_update_layout(mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None,
                       on_inefficient: str | None = "error") -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Args:
      mat: a BCOO.
      n_batch, n_dense: number of leading batch axes and of trailing dense axes; None keeps it.
      on_inefficient: "error" raises and "warn" warns where the new layout stores more elements;
        None does neither.
    Raises: ValueError where the array has too few axes, or for another `on_inefficient`;
      SparseEfficiencyError where the new layout stores more, with "error".

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> sparse.bcoo_update_layout(mat, n_batch=1, on_inefficient=None)
    BCOO(float32[2, 2], nse=2, n_batch=1)
    """
    expect_kind("bcoo_update_layout", BCOO, mat)
    if on_inefficient not in ("error", "warn", None):
        raise ValueError("on_inefficient should be 'error', 'warn', or None; got "
                         f"{on_inefficient!r}")
    own = mat._layout()
    n_batch = own.n_batch if n_batch is None else index_of(n_batch, "n_batch")
    n_dense = own.n_dense if n_dense is None else index_of(n_dense, "n_dense")
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(f"bcoo_update_layout: an array of shape {mat.shape} cannot have "
                         f"n_batch={n_batch} and n_dense={n_dense}")
    more = math.prod(mat.shape[own.n_batch:n_batch]) * math.prod(
        mat.shape[mat.ndim - n_dense:mat.ndim - own.n_dense])
    if more > 1 and on_inefficient is not None:
        text = (f"bcoo_update_layout: for a matrix of shape {mat.shape}, n_batch={n_batch} and "
                f"n_dense={n_dense} store {more} times as many elements as n_batch={own.n_batch} "
                f"and n_dense={own.n_dense}; pass on_inefficient=None to do it anyway")
        if on_inefficient == "error":
            raise SparseEfficiencyError(text)
        warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    if n_dense < own.n_dense:
        mat = _fewer_dense(mat, n_dense)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    return mat


@functools.partial(jit, static_argnums=1)
def _fewer_dense(mat: BCOO, n_dense: int) -> BCOO:
    """The array with leading dense axes made sparse: each of their elements is stored by itself."""
    dense = mat._layout().parts(mat.shape)[2]
    moved = dense[:len(dense) - n_dense]
    grid = np.indices(moved).reshape(len(moved), -1).T       # [elements, axes]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        n = len(indices)
        behind = jnp.broadcast_to(jnp.asarray(grid, indices.dtype), (n, *grid.shape))
        front = jnp.broadcast_to(indices[:, None], (n, len(grid), indices.shape[1]))
        made = jnp.concatenate([front, behind], axis=-1)
        return (data.reshape(n * len(grid), *data.shape[1 + len(moved):]),
                made.reshape(n * len(grid), made.shape[-1]))

    data, indices = over_batches(mat.n_batch, one)(*broadcast_batch(mat))
    return BCOO((data, indices), shape=mat.shape, indices_sorted=mat.indices_sorted,
                unique_indices=mat.unique_indices)


@jit
def _batch_to_sparse(mat: BCOO) -> BCOO:
    """The array with its last batch axis made sparse."""
    data, indices = broadcast_batch(mat)
    axis = mat.n_batch - 1
    size = mat.shape[axis]
    own = jnp.arange(size, dtype=indices.dtype).reshape(size, 1, 1)
    own = jnp.broadcast_to(own, (*indices.shape[:-1], 1))
    made = jnp.concatenate([own, indices], axis=-1)
    merged = size * mat.nse
    return BCOO((data.reshape(*data.shape[:axis], merged, *data.shape[axis + 2:]),
                 made.reshape(*made.shape[:axis], merged, made.shape[-1])), shape=mat.shape,
                indices_sorted=False, unique_indices=mat.unique_indices)


@jit
def _sparse_to_batch(mat: BCOO) -> BCOO:
    """The array with its first sparse axis made a batch axis; other elements become padding."""
    _, sizes, _ = mat._layout().parts(mat.shape)

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        def of(i: Any) -> tuple[Any, Any]:
            keep = (indices[:, 0] == i) & inside(indices, sizes)
            return chosen(keep, data), padded(keep, indices[:, 1:], sizes[1:])

        return vmap(of)(jnp.arange(sizes[0], dtype=indices.dtype))

    data, indices = over_batches(mat.n_batch, one)(*broadcast_batch(mat))
    return BCOO((data, indices), shape=mat.shape, unique_indices=False)


@jit
def _sparse_to_dense(mat: BCOO) -> BCOO:
    """The array with its last sparse axis made dense."""
    _, sizes, _ = mat._layout().parts(mat.shape)

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        row = jnp.zeros((sizes[-1], *data.shape[1:]), data.dtype)
        keep = inside(indices, sizes)
        made = vmap(lambda i, x: row.at[i].set(x, mode="drop"))(indices[:, -1],
                                                              chosen(keep, data))
        return made, padded(keep, indices[:, :-1], sizes[:-1])

    data, indices = over_batches(mat.n_batch, one)(*broadcast_batch(mat))
    return BCOO((data, indices), shape=mat.shape, unique_indices=False)


__all__ = [
    "BCOO", "JAXSparse", "SparseEfficiencyError", "SparseEfficiencyWarning", "bcoo_extract",
    "bcoo_fromdense", "bcoo_sort_indices", "bcoo_sum_duplicates", "bcoo_todense",
    "bcoo_update_layout"]

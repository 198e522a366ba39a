"""Sparse arrays without elements, with a diagonal, with random elements; and `todense` of trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import random
from ...base.trees import tree_map
from ...eager.operands import index_of
from ...transforms.vmap import vmap
from .coordinates import BCOO, JAXSparse
from .matrices import COO, CSC, CSR
from .rows import BCSR

_FORMATS: dict[str, Callable[[BCOO], Any]] = {
    "bcoo": lambda made: made, "bcsr": BCSR.from_bcoo, "coo": COO._of, "csr": CSR._of,
    "csc": CSC._of}


def _formatted(name: str, made: BCOO, sparse_format: str) -> Any:
    if sparse_format not in _FORMATS:
        raise ValueError(f"{name}: sparse_format must be one of {tuple(_FORMATS)}, got "
                         f"{sparse_format!r}")
    if sparse_format in ("coo", "csr", "csc") and made._layout() != (0, 2, 0):
        raise ValueError(f"{name}: sparse_format={sparse_format!r} has two sparse axes and no "
                         f"others, but this would be {made!r}; write 'bcoo'")
    return _FORMATS[sparse_format](made)


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = np.int32,
          sparse_format: str = "bcoo", *, n_batch: int = 0, n_dense: int = 0,
          nse: int = 0) -> Any:
    """A sparse array of zeros.

    Args:
      shape: shape of the dense array.
      dtype: dtype of the elements; None means the default float.
      index_dtype: dtype of the coordinates.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      n_batch, n_dense: number of leading batch axes and of trailing dense axes.
      nse: number of stored elements of each batch element, all of them padding.
    Raises: ValueError for another format, and where the format has no such axes.

    >>> sparse.empty((2, 3), dtype="float32", nse=1)
    BCOO(float32[2, 3], nse=1)
    """
    shape = tuple([index_of(d, "shape") for d in shape])
    batch, dense = shape[:n_batch], shape[len(shape) - n_dense:]
    sparse = shape[n_batch:len(shape) - n_dense]
    data = jnp.zeros((*batch, nse, *dense), dtype or float)
    indices = jnp.broadcast_to(jnp.asarray(np.asarray(sparse, np.int64).astype(index_dtype)),
                               (*batch, nse, len(sparse)))
    made = BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _formatted("empty", made, sparse_format)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = np.int32,
        sparse_format: str = "bcoo") -> Any:
    """A sparse matrix with ones on one diagonal.

    Args:
      N, M: numbers of rows and columns; M is N where it is None.
      k: number of the diagonal; positive ones are above the main diagonal.
      dtype, index_dtype, sparse_format: as for `empty`.

    >>> sparse.eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    rows = index_of(N, "N")
    columns = rows if M is None else index_of(M, "M")
    k = index_of(k, "k")
    at = np.arange(max(0, -k), max(max(0, -k), min(rows, columns - k)))
    indices = jnp.asarray(np.stack([at, at + k], axis=1), index_dtype)
    made = BCOO((jnp.ones(len(at), dtype or float), indices), shape=(rows, columns),
                indices_sorted=True, unique_indices=True)
    return _formatted("eye", made, sparse_format)


def random_bcoo(key: Any, shape: Sequence[int], *, dtype: Any = float, indices_dtype: Any = None,
                nse: float = 0.2, n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True,
                sorted_indices: bool = False, generator: Callable[..., Any] = random.uniform,
                **kwds: Any) -> BCOO:
    """A sparse array of random elements at random coordinates.

    Args:
      key: a random key.
      shape: shape of the dense array.
      dtype: dtype of the elements, by default the default float.
      indices_dtype: dtype of the coordinates, by default the default integer.
      nse: number of elements of each batch element, a whole number; below 1 their share of all
        places.
      n_batch, n_dense: number of leading batch axes and of trailing dense axes.
      unique_indices, sorted_indices: whether coordinates are distinct, and in lexicographic order.
      generator: function that is called with a key, `shape`, `dtype` and `kwds` for the elements.
    Raises: ValueError where there are fewer places than distinct elements, and where nse is above
      1 and not whole.

    >>> mat = sparse.random_bcoo(xfront.random.key(0), (3, 4), nse=0.25)
    >>> mat.nse, mat.shape
    (3, (3, 4))
    """
    shape = tuple([index_of(d, "shape") for d in shape])
    end = len(shape) - n_dense
    batch, sparse, dense = shape[:n_batch], shape[n_batch:end], shape[end:]
    places = math.prod(sparse)
    if nse >= 1 and nse != int(nse):
        raise ValueError(f"random_bcoo: nse must be a whole number or below 1, got {nse}")
    count = math.ceil(nse * places) if 0 < nse < 1 else int(nse)
    if count < 0 or (unique_indices and count > places):
        raise ValueError(f"random_bcoo: cannot draw {count} distinct positions in the sparse shape "
                         f"{sparse}")
    for_data, for_places = random.split(key)

    def flat(key: Any) -> Any:
        made = random.choice(key, places, (count,), replace=not unique_indices)
        return jnp.sort(made) if sorted_indices else made

    keys = random.split(for_places, (math.prod(batch),))
    at = jnp.stack(jnp.unravel_index(vmap(flat)(keys), sparse), axis=-1) if sparse else (
        jnp.zeros((math.prod(batch), count, 0), np.int32))
    indices = at.reshape(*batch, count, len(sparse)).astype(indices_dtype or int)
    data = generator(for_data, shape=(*batch, count, *dense), dtype=jnp.result_type(dtype), **kwds)
    return BCOO((data, indices), shape=shape, indices_sorted=sorted_indices,
                unique_indices=unique_indices)


def todense(arr: Any) -> Any:
    """The tree `arr` with dense arrays in place of its sparse ones.

    >>> sparse.todense({"eye": sparse.eye(2), "dense": jnp.array([1., 2.])})["eye"]
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return tree_map(lambda x: x.todense() if isinstance(x, JAXSparse) else jnp.asarray(x), arr,
                    is_leaf=lambda x: isinstance(x, JAXSparse))


__all__ = ["empty", "eye", "random_bcoo", "todense"]

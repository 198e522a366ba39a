"""Products of arrays, summed over axes: dot, matmul, tensordot, their kin, convolutions.

All take `precision` (of the multiplications on accelerators: a `lax.Precision`, its name, a pair
for the two operands) and `preferred_element_type` (dtype of sums and result). `einsum` is in
`einstein.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    are_sizes,
    broadcast_shapes,
    broadcast_to,
    check_ranks,
    index_of,
    listed,
    normalize_axis,
    promote,
    promote_inexact,
)
from ..lax.precision import PrecisionLike
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .arithmetic import multiply, subtract
from .complexes import conj
from .manipulation import cut, joined, moveaxis, ravel
from .pairs import How, dot_general, factors, paired
from .ufuncs import shaped

STATIC = ("precision", "preferred_element_type", "out_sharding")


def _sizes_differ(name: str, x: Tracer, i: int, y: Tracer, j: int) -> TypeError:
    hint = ""
    if x.ndim == y.ndim == 2 and x.shape[i] == y.shape[1 - j]:
        hint = f". Did you mean {name}(a, b.T)?"
    return TypeError(f"{name} requires contracting dimensions to have the same shape: `a` is "
                     f"{x.value.type} (axis {i} has {x.shape[i]}), `b` is {y.value.type} (axis {j} "
                     f"has {y.shape[j]}){hint}")


@eager(static=STATIC)
def dot(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
        preferred_element_type: DTypeLike | None = None, out_sharding: ShardingLike = None
       ) -> Array:
    """Sums of products over a's last axis and b's second to last (or only) one.

    Args:
      a, b: arrays of any number of axes; a scalar multiplies.
    Returns: an array with the other axes of `a`, then those of `b`.
    Raises: TypeError where the sizes differ; ValueError for an argument that is not a precision.
    Source: `numpy.dot`.

    >>> jnp.dot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    at_home("dot", out_sharding)
    how = How("dot", precision, preferred_element_type)
    x, y = factors("dot", a, b)
    if not x.ndim or not y.ndim:
        xs, ys = tuple(range(x.ndim)), tuple(range(y.ndim))
        return paired(x, xs, y, ys, max(xs, ys, key=len), how)[0]
    i, j = x.ndim - 1, max(y.ndim - 2, 0)
    if x.shape[i] != y.shape[j]:
        raise _sizes_differ("dot", x, i, y, j)
    return dot_general(x, y, ((i,), (j,)), ((), ()), how.precision, how.preferred)


@eager(static=STATIC)
def matmul(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None, out_sharding: ShardingLike = None
          ) -> Array:
    """Products of matrices in the last two axes; leading axes broadcast.

    A 1-d `a` is a row, a 1-d `b` a column; their axis is not in the result.

    Raises: ValueError for scalars and leading axes that do not broadcast; TypeError where the
      contracted sizes differ.
    Source: `numpy.matmul`.

    >>> jnp.matmul(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    at_home("matmul", out_sharding)
    how = How("matmul", precision, preferred_element_type)
    x, y = factors("matmul", a, b)
    for place, v in enumerate((x, y)):
        if not v.ndim:
            raise ValueError(f"matmul input operand {place} must have ndim at least 1, but it has "
                             "ndim 0")
    i, j = x.ndim - 1, max(y.ndim - 2, 0)
    if x.shape[i] != y.shape[j]:
        raise _sizes_differ("matmul", x, i, y, j)
    if x.ndim <= 2 and y.ndim <= 2:
        return dot_general(x, y, ((i,), (j,)), ((), ()), how.precision, how.preferred)
    lead = _leading("matmul", x.shape[:-2], y.shape[:-2])
    xs = (*lead[len(lead) - max(x.ndim - 2, 0):], *(("rows",) if x.ndim > 1 else ()), "summed")
    ys = (*lead[len(lead) - max(y.ndim - 2, 0):], "summed", *(("columns",) if y.ndim > 1 else ()))
    wanted = (*lead, *xs[len(xs) - 2:len(xs) - 1] * (x.ndim > 1), *ys[len(ys) - 1:] * (y.ndim > 1))
    return paired(x, xs, y, ys, wanted, how)[0]


def exact_matmul(a: Any, b: Any) -> Any:
    """`matmul` in the highest precision, whatever precision the user has set for products."""
    return matmul(a, b, precision="highest")


def _leading(name: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Labels of the axes that two shapes broadcast to. Raises: ValueError where they do not."""
    try:
        return tuple(range(len(broadcast_shapes(name, (first, second)))))
    except TypeError as error:
        raise ValueError(f"Incompatible types for {name} arguments: {error}") from None


@eager(static=("precision", "preferred_element_type"))
def vdot(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
         preferred_element_type: DTypeLike | None = None) -> Array:
    """The sum of conj(a) b over the flattened arrays. Source: `numpy.vdot`.

    >>> jnp.vdot(jnp.array([1j, 2.]), jnp.array([1j, 3.]))
    Array(7.+0.j, dtype=complex64)
    """
    return dot(ravel(conj(a)), ravel(b), precision=precision,
               preferred_element_type=preferred_element_type)


@eager(static=("precision", "preferred_element_type"))
def inner(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
          preferred_element_type: DTypeLike | None = None) -> Array:
    """Sums of products over the last axes; a scalar multiplies.

    Raises: TypeError where the sizes differ.
    Source: `numpy.inner`.

    >>> jnp.inner(jnp.array([1., 2., 3.]), jnp.array([1., 10., 100.]))
    Array(321., dtype=float32)
    """
    how = How("inner", precision, preferred_element_type)
    x, y = factors("inner", a, b)
    if not x.ndim or not y.ndim:
        return dot(x, y, precision=precision, preferred_element_type=preferred_element_type)
    i, j = x.ndim - 1, y.ndim - 1
    if x.shape[i] != y.shape[j]:
        raise _sizes_differ("inner", x, i, y, j)
    return dot_general(x, y, ((i,), (j,)), ((), ()), how.precision, how.preferred)


@eager(static=("out",))
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The matrix of products of the flattened arrays' elements. Source: `numpy.outer`.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([1, 10, 100]))
    Array([[  1,  10, 100],
           [  2,  20, 200]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to outer is not supported.")
    x, y = promote("outer", a, b)
    return multiply(shaped(x, (x.size, 1)), shaped(y, (1, y.size)))


@eager(static=("axes", *STATIC))
def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
              *, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: ShardingLike = None) -> Array:
    """Sums of products over pairs of axes.

    Args:
      axes: an int n for the last n axes of `a` and the first n of `b`; or (axes of a, axes of b).
    Returns: an array with the other axes of `a`, then those of `b`.
    Raises: TypeError where the axes differ in number or size.
    Source: `numpy.tensordot`.

    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    at_home("tensordot", out_sharding)
    how = How("tensordot", precision, preferred_element_type)
    x, y = factors("tensordot", a, b)
    given: Any = axes
    if not are_sizes(given) and np.ndim(given) != 2:
        n = max(index_of(given, "axes"), 0)
        if n > min(x.ndim, y.ndim):
            raise TypeError(f"Number of tensordot axes (axes {n}) exceeds input ranks ({x.shape} "
                            f"and {y.shape})")
        pair = tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    else:
        if len(given) != 2:
            raise TypeError("tensordot axes argument must be an int, a pair of ints, or a pair of "
                            f"lists/tuples of ints, got {axes}")
        of_x, of_y = [tuple(listed(s)) for s in given]
        if len(of_x) != len(of_y):
            raise TypeError("tensordot requires axes lists to have equal length, got "
                            f"{of_x} and {of_y}.")
        pair = (tuple([normalize_axis("tensordot", i, x.ndim) for i in of_x]),
                tuple([normalize_axis("tensordot", i, y.ndim) for i in of_y]))
    for i, j in zip(*pair, strict=True):
        if x.shape[i] != y.shape[j]:
            raise _sizes_differ("tensordot", x, i, y, j)
    return dot_general(x, y, pair, ((), ()), how.precision, how.preferred)


# --- vectors in matrices ------------------------------------------------------------------

@eager(static=("axis", "precision", "preferred_element_type"))
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """The sum of conj(x1) x2 along an axis; the other axes broadcast.

    Raises: ValueError where the sizes along the axis differ.
    Source: `numpy.vecdot`.

    >>> jnp.vecdot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    how = How("vecdot", precision, preferred_element_type)
    x, y = factors("vecdot", x1, x2)
    i, j = normalize_axis("vecdot", axis, x.ndim), normalize_axis("vecdot", axis, y.ndim)
    if x.shape[i] != y.shape[j]:
        raise ValueError(f"vecdot: axes must match; got shapes {x.shape} and {y.shape} with "
                         f"axis={axis}")
    x, y = moveaxis(conj(x), i, -1), moveaxis(y, j, -1)
    check_ranks("vecdot", x.shape, y.shape, cores=(1, 1))
    lead = _leading("vecdot", x.shape[:-1], y.shape[:-1])
    return paired(as_tracer(x), (*lead[len(lead) - x.ndim + 1:], "summed"), as_tracer(y),
                  (*lead[len(lead) - y.ndim + 1:], "summed"), lead, how)[0]


def _core(name: str, x: Tracer, n: int) -> None:
    if x.ndim < n:
        raise ValueError(f"{name}: input with shape {x.shape} does not have enough dimensions: at "
                         f"least {n} are needed")


@eager
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrices times vectors: (..., n, m) and (..., m) give (..., n).

    Raises: ValueError for too few axes, and where sizes differ.
    Source: `numpy.matvec`.

    >>> jnp.matvec(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    x, y = factors("matvec", x1, x2)
    _core("matvec", x, 2)
    _core("matvec", y, 1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"matvec: inconsistent size for core dimension 'm': {y.shape[-1]} vs "
                         f"{x.shape[-1]}")
    check_ranks("matvec", x.shape, y.shape, cores=(2, 1))
    lead = _leading("matvec", x.shape[:-2], y.shape[:-1])
    return paired(x, (*lead[len(lead) - x.ndim + 2:], "rows", "summed"), y,
                  (*lead[len(lead) - y.ndim + 1:], "summed"), (*lead, "rows"),
                  How("matvec", None, None))[0]


@eager
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Conjugated vectors times matrices: (..., n) and (..., n, m) give (..., m).

    Raises: ValueError for too few axes, and where sizes differ.
    Source: `numpy.vecmat`.

    >>> jnp.vecmat(jnp.array([1., 10.]), jnp.array([[1., 2.], [3., 4.]]))
    Array([31., 42.], dtype=float32)
    """
    x, y = factors("vecmat", x1, x2)
    _core("vecmat", x, 1)
    _core("vecmat", y, 2)
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"vecmat: inconsistent size for core dimension 'n': {y.shape[-2]} vs "
                         f"{x.shape[-1]}")
    check_ranks("vecmat", x.shape, y.shape, cores=(1, 2))
    lead = _leading("vecmat", x.shape[:-1], y.shape[:-2])
    return paired(as_tracer(conj(x)), (*lead[len(lead) - x.ndim + 1:], "summed"), y,
                  (*lead[len(lead) - y.ndim + 2:], "summed", "columns"), (*lead, "columns"),
                  How("vecmat", None, None))[0]


@eager
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product: b times each element of a, in blocks. Source: `numpy.kron`.

    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
    Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    x, y = promote("kron", a, b)
    ndim = max(x.ndim, y.ndim)
    outer_shape, inner_shape = ((1,) * (ndim - v.ndim) + v.shape for v in (x, y))
    x = shaped(x, tuple([d for n in outer_shape for d in (n, 1)]))
    y = shaped(y, tuple([d for n in inner_shape for d in (1, n)]))
    return shaped(as_tracer(multiply(x, y)), tuple([n * m for n, m in zip(outer_shape, inner_shape,
                                                               strict=True)]))


@eager(static=("axisa", "axisb", "axisc", "axis"))
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: int | None = None) -> Array:
    """Cross product of vectors of 2 or 3 elements along an axis; the other axes broadcast.

    Args:
      axisa, axisb, axisc: the axis of the vectors in `a`, in `b` and in the result.
      axis: all three axes at once, where it is not None.
    Returns: an array of 3-vectors; for 2-vectors the third element alone, without the axis.
    Raises: ValueError for vectors of other sizes.
    Source: `numpy.cross`.

    >>> jnp.cross(jnp.array([1., 0., 0.]), jnp.array([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote("cross", a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product, got "
                         f"{x.shape[-1]} and {y.shape[-1]}")
    shape = broadcast_shapes("cross", (x.shape[:-1], y.shape[:-1]))
    flat = x.shape[-1] == y.shape[-1] == 2

    def parts(v: Tracer) -> list[Tracer]:
        n = v.shape[-1]
        made = [broadcast_to(shaped(cut(v, v.ndim - 1, i, i + 1), v.shape[:-1]), shape)
                for i in range(n)]
        zero = v.home.literal(np.zeros((), v.dtype), shape)
        return made if n == 3 else [*made, zero]

    p, q = parts(as_tracer(x)), parts(as_tracer(y))

    def element(i: int, j: int) -> Tracer:
        return as_tracer(subtract(multiply(p[i], q[j]), multiply(p[j], q[i])))

    if flat:
        return element(0, 1)
    made = joined([shaped(element(i, j), (*shape, 1)) for i, j in ((1, 2), (2, 0), (0, 1))],
                  len(shape))
    return moveaxis(made, -1, axisc)


# --- convolution --------------------------------------------------------------------------

def _convolved(name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any,
               flipped: bool) -> Tracer:
    from ..lax.contractions import conv_general_dilated  # late: loaded on first use

    x, y = promote_inexact(name, a, v)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{name}() only supports 1-dimensional inputs, got shapes {x.shape} and "
                         f"{y.shape}")
    if not x.size or not y.size:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of ['full', 'same', 'valid'], got {mode!r}")
    if flipped:
        y = conj(y)
    swapped = x.size < y.size
    if swapped:                                 # the shorter array is the filter, which is reversed
        x, y = emit(ops.reverse, y, axes=(0,)) if flipped else y, x
        y = emit(ops.reverse, y, axes=(0,))
    elif not flipped:
        y = emit(ops.reverse, y, axes=(0,))
    n = y.size
    pads = {"full": (n - 1, n - 1), "same": (n // 2, (n - 1) // 2), "valid": (0, 0)}[mode]
    if swapped and flipped:                     # the exchange swapped the two ends
        pads = pads[::-1]
    image, filters = shaped(as_tracer(x), (1, 1, x.size)), shaped(as_tracer(y), (1, 1, n))
    made = conv_general_dilated(image, filters, (1,), (pads,), precision=precision,
                                preferred_element_type=preferred)
    made = shaped(as_tracer(made), (made.size,))
    return Tracer(made.home, made.value, False)


@eager(static=("mode", "precision", "preferred_element_type"))
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: PrecisionLike = None,
             preferred_element_type: DTypeLike | None = None) -> Array:
    """Convolution of two 1-d arrays, as floats.

    Args:
      mode: "full" for all positions where they overlap, "same" for the middle ones, as many as the
        longer array has, "valid" for those where the shorter lies within the longer.
    Raises: ValueError for other numbers of axes, empty arrays and other modes.
    Source: `numpy.convolve`.

    >>> jnp.convolve(jnp.array([1., 2., 3.]), jnp.array([0., 1., 0.5]))
    Array([0. , 1. , 2.5, 4. , 1.5], dtype=float32)
    """
    return _convolved("convolve", a, v, mode, precision, preferred_element_type, False)


@eager(static=("mode", "precision", "preferred_element_type"))
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: PrecisionLike = None,
              preferred_element_type: DTypeLike | None = None) -> Array:
    """Cross-correlation of two 1-d arrays, with `v` conjugated; as `convolve`.

    Source: `numpy.correlate`.

    >>> jnp.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1., 0.5]))
    Array([3.5], dtype=float32)
    """
    return _convolved("correlate", a, v, mode, precision, preferred_element_type, True)


__all__ = ["convolve", "correlate", "cross", "dot", "inner", "kron", "matmul", "matvec", "outer",
           "tensordot", "vdot", "vecdot", "vecmat"]

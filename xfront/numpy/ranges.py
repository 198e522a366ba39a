"""Ranges, grids and simple matrices: arange, linspace, eye, tri, meshgrid and their kin."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import from_numpy

from .. import binding
from ..base.dtypes import canonicalize_dtype, requested_dtype, result_type
from ..base.errors import ConcretizationTypeError
from ..base.holders import held_by
from ..binding.annotations import Array, ArrayLike, DeviceLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    SCALARS,
    array_like,
    broadcast_to,
    cast,
    convert,
    default_float,
    index_of,
    inexact_dtype,
    normalize_axis,
    operand,
    together,
)
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer, as_tracer
from ..transforms.custom_jvp import custom_jvp
from .arithmetic import sqrt
from .creation import HOST_BYTES, _placed, asarray, constant, on_mesh, place_of
from .logic import isfinite
from .rounding import floor
from .transcendental import log
from .ufuncs import like, where

# --- ranges -------------------------------------------------------------------------------


def _known(x: Any, argument: str) -> Any:
    """A number that must be known. Raises: ConcretizationTypeError where it is traced."""
    if type(x) in SCALARS:
        return x
    if hasattr(x, "__jax_array__"):
        x = held_by(x)
    if getattr(x, "ndim", 0):
        raise TypeError(f"arange: {argument} must be a scalar, got shape {x.shape}")
    if type(x) is Tracer and x.home.inputs is None and not x.home.closed:
        raise ConcretizationTypeError(x, f"arange: {argument} must be known while tracing, because "
                                      "the shape of the result depends on it: make the argument "
                                      "static (static_argnums), or take it from a shape.")
    return x.item() if hasattr(x, "item") else x


def arange(start: ArrayLike, stop: ArrayLike | None = None, step: ArrayLike | None = None,
           dtype: DTypeLike | None = None, *, device: DeviceLike = None,
           out_sharding: ShardingLike = None
           ) -> Array:
    """start, start + step, ... below `stop`; with one argument, from 0.

    Args:
      start, stop, step: known numbers.
      dtype: None for the one that the arguments promote to.
    Raises: ConcretizationTypeError where an argument is traced; ValueError for complex ones;
      ZeroDivisionError for a step of zero.
    Source: `numpy.arange`.

    >>> jnp.arange(1, 7, 2)
    Array([1, 3, 5], dtype=int32)
    """
    given = [x for x in (start, stop, step) if x is not None]
    kind: Any = result_type(*given) if dtype is None else requested_dtype("arange", dtype)
    first: Any = _known(start, "start")
    end: Any = None if stop is None else _known(stop, "stop")
    pace: Any = 1 if step is None else _known(step, "step")
    if end is None:
        first, end = 0, first
    for x in (first, end, pace):
        if isinstance(x, complex):
            raise ValueError("arange: complex numbers have no order, so they cannot bound a range, "
                             f"got {x}")
    if kind.kind == "b":
        raise TypeError("arange: dtype must not be bool; use an integer dtype and astype(bool)")
    n = max(0, math.ceil((end - first) / pace))
    place = place_of("arange", device, out_sharding, 1)
    return _placed(_steps(first, pace, n, np.dtype(kind)), place)


def _steps(start: Any, step: Any, n: int, dtype: np.dtype) -> Any:
    if state.current is None and n * dtype.itemsize <= HOST_BYTES:
        count = np.arange(n, dtype=np.int64 if dtype.kind in "iu" else dtype)
        with np.errstate(all="ignore"):
            if step != 1:
                count = count * np.asarray(step, count.dtype)
            if start != 0:
                count = count + np.asarray(start, count.dtype)
        return binding.put_computed(count.astype(dtype, copy=False), on_mesh(1))
    return _counted(start, step, n, dtype)


@eager(static=("start", "step", "n", "dtype"))
def _counted(start: Any, step: Any, n: int, dtype: Any) -> Any:
    x = emit(ops.iota, dtype=from_numpy(dtype), shape=(n,), dimension=0)
    if step != 1:
        x = x * step
    return x + start if start != 0 else x


@eager(static=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any,
              axis: int) -> Any:
    x, y = together("linspace", start, stop)
    wanted = inexact_dtype(x.value.type.dtype)
    if dtype is not None and from_numpy(dtype).is_inexact:
        wanted = from_numpy(result_type(wanted.numpy, dtype))
    x, y = convert(x, wanted), convert(y, wanted)
    parts = num - 1 if endpoint else num
    shape = (num, *x.shape)
    gap = y - x
    step = gap / parts if parts > 0 else like(x, float("nan"))
    if num > 1 and wanted.is_complex:
        ends = [[emit(part, v) for v in (x, y)] for part in (ops.real, ops.imag)]
        made = emit(ops.complex, *[_between(a, b, num, parts, endpoint) for a, b in ends])
    elif num > 1:
        made = _between(x, y, num, parts, endpoint)
    else:
        made = broadcast_to(x, shape)
    to = normalize_axis("linspace", axis, len(shape))
    if to:
        order = [*range(1, to + 1), 0, *range(to + 1, len(shape))]
        made = emit(ops.transpose, made, permutation=tuple(order))
    if dtype is not None:
        out = from_numpy(dtype)
        made = cast(as_tracer(floor(made)) if out.is_integer else made, out)
    return (made, step) if retstep else made


KNOWN = 4096
"""Up to this many shares of an interval are constants of twice the precision."""


def _between(x: Tracer, y: Tracer, num: int, parts: int, endpoint: bool) -> Tracer:
    """`num` evenly spaced floats from `x` on; the one at index `parts` would be `y`."""
    dtype, shape = x.value.type.dtype, (num, *x.shape)
    inner = dtype if dtype.bits > 16 else dtypes.f32
    low, high = (broadcast_to(convert(v, inner), shape) for v in (x, y))
    place = emit(ops.iota, dtype=inner, shape=shape, dimension=0)
    gap = high - low
    if num <= KNOWN:
        # the products of halves are exact, so evenly spaced integers come out exactly
        bits = np.finfo(inner.numpy)
        upper = emit(ops.reduce_precision, gap, exponent_bits=bits.nexp,
                     mantissa_bits=bits.nmant // 2)
        lower = gap - upper
        share, rest = (emit(ops.broadcast_in_dim, operand("linspace", t.astype(inner.numpy)),
                            shape=shape, dims=(0,)) for t in _shares(num, parts, inner.numpy))
        small = lower * share + gap * rest
        way = upper * share + small
    else:
        share = place / parts
        rest = like(share, 0)
        way = gap * share
    # for ends so far apart that their distance overflows
    below = low * (1 - share - rest)
    above = high * (share + rest)
    near = isfinite(gap + gap)
    made = where(near, low + way, below + above)
    made = convert(made, dtype)
    made = where(place == 0, broadcast_to(x, shape), made)
    if endpoint:
        made = where(place == parts, broadcast_to(y, shape), made)
    return made


def _shares(num: int, parts: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """0, 1, ... over `parts`, each as a number of half the dtype's precision and the rest."""
    place = np.arange(num, dtype=np.float64)
    splitter = 2.0 ** (53 - np.finfo(dtype).nmant // 2 - 1) + 1.0
    share = place / parts
    turned = share * splitter              # Dekker's splitting
    high = turned - (turned - share)
    return high, (place - high * parts) / parts


@overload
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
             retstep: Literal[False] = False, dtype: DTypeLike | None = None, axis: int = 0, *,
             device: DeviceLike = None) -> Array: ...
@overload
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, *,
             retstep: Literal[True], dtype: DTypeLike | None = None, axis: int = 0,
             device: DeviceLike = None) -> tuple[Array, Array]: ...
@overload
def linspace(start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, retstep: Literal[True],
             dtype: DTypeLike | None = None, axis: int = 0, *, device: DeviceLike = None
            ) -> tuple[Array, Array]: ...
@overload
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
             retstep: bool = False, dtype: DTypeLike | None = None, axis: int = 0, *,
             device: DeviceLike = None) -> Array | tuple[Array, Array]: ...
def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
             retstep: bool = False, dtype: DTypeLike | None = None, axis: int = 0, *,
             device: DeviceLike = None) -> Array | tuple[Array, Array]:
    """`num` values evenly spaced from `start` to `stop`, which are numbers or arrays.

    Args:
      endpoint: whether `stop` is the last value.
      retstep: whether to return (values, spacing).
      dtype: dtype of the values, rounded down for integers; None for the default float or complex.
      axis: the position of the new axis, where the ends are arrays.
    Raises: ValueError for a negative `num`.
    Source: `numpy.linspace`.

    >>> jnp.linspace(0., 1., 3)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    num = index_of(num, "num")
    if num < 0:
        raise ValueError(f"linspace: the number of values must not be negative, got {num}")
    dtype = None if dtype is None else requested_dtype("linspace", dtype)
    known = None if retstep or axis not in (0, -1) else _known_values(start, stop, num, endpoint)
    if known is not None and (dtype is None or dtype == known.dtype):
        made = (state.current.literal(known, known.shape) if state.current is not None else
                binding.put_computed(known, on_mesh(1)))
        return _placed(made, device)
    made = _linspace(start, stop, num, bool(endpoint), bool(retstep), dtype, axis)
    return _placed(made, device)


def _known_values(start: Any, stop: Any, num: int, endpoint: bool) -> np.ndarray | None:
    """The float32 values between two known numbers, each computed in double precision and rounded
    once; None where they are too many for a literal, or of another dtype."""
    if num > KNOWN // 4 or default_float() is not dtypes.f32 or not all([
            (type(x) is int and -1 << 31 <= x < 1 << 31) or (type(x) is float and abs(x) < 1e38)
            for x in (start, stop)]):
        return None
    low, high = (float(np.float32(x)) for x in (start, stop))
    made = np.arange(num) * (high - low)
    made /= max(num - 1 if endpoint else num, 1)
    made += low
    if endpoint and num > 1:
        made[-1] = high
    return made.astype(np.float32)


@eager(static=("num", "endpoint", "dtype", "axis"))
def _logspace(start: Any, stop: Any, num: int, endpoint: bool, base: Any, dtype: Any,
              axis: int) -> Any:
    from .arithmetic import float_power

    made = float_power(base, linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else cast(as_tracer(made), from_numpy(dtype))


def logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
             base: ArrayLike = 10.0, dtype: DTypeLike | None = None, axis: int = 0) -> Array:
    """base to the powers `linspace(start, stop, num)`. Source: `numpy.logspace`.

    >>> jnp.logspace(0., 2., 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    dtype = None if dtype is None else requested_dtype("logspace", dtype)
    return _logspace(start, stop, index_of(num, "num"), bool(endpoint), base, dtype, axis)


@eager(static=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    x, y = together("geomspace", start, stop)
    wanted = inexact_dtype(x.value.type.dtype)
    x, y = convert(x, wanted), convert(y, wanted)
    parts = num - 1 if endpoint else num
    made = (_turning if wanted.is_complex else _growing)(x, y, num, parts)
    place = emit(ops.iota, dtype=from_numpy(np.int32), shape=made.shape, dimension=0)
    if num:
        made = where(place == 0, broadcast_to(x, made.shape), made)
    if endpoint and num > 1:
        made = where(place == parts, broadcast_to(y, made.shape), made)
    to = normalize_axis("geomspace", axis, made.ndim)
    if to:
        order = [*range(1, to + 1), 0, *range(to + 1, made.ndim)]
        made = emit(ops.transpose, made, permutation=tuple(order))
    return made if dtype is None else cast(made, from_numpy(dtype))


def _turning(x: Tracer, y: Tracer, num: int, parts: int) -> Tracer:
    """`num` complex numbers with a constant ratio, by powers of 10."""
    from .transcendental import log10

    sign = emit(ops.sign, x)
    low, high = log10(x / sign), log10(y / sign)
    made = as_tracer(logspace(low, high, num, parts < num, 10.0))
    return made * broadcast_to(sign, made.shape)


def _growing(x: Tracer, y: Tracer, num: int, parts: int) -> Tracer:
    """As `_powers`, with derivatives that do not overflow before the result does."""
    grown = custom_jvp(lambda x, y: _powers(as_tracer(x), as_tracer(y), num, parts))

    def moved(primals: Any, tangents: Any) -> Any:
        made = as_tracer(grown(*primals))
        share = emit(ops.iota, dtype=made.value.type.dtype, shape=made.shape, dimension=0)
        share = share / max(parts, 1)
        rest = 1 - share

        def by(part: Tracer, v: Any, t: Any) -> Tracer:
            nothing = part == 0      # at an end the ratio may overflow
            ratio = where(nothing, part, made) / broadcast_to(v, made.shape)
            return part * ratio * broadcast_to(as_tracer(t), made.shape)

        return made, by(rest, primals[0], tangents[0]) + by(share, primals[1], tangents[1])

    grown.defjvp(moved)
    return as_tracer(grown(x, y))


def _powers(x: Tracer, y: Tracer, num: int, parts: int) -> Tracer:
    """`num` floats with a constant ratio: the nearer end times a power of the ratio of the ends.

    The rounding error of the exponent is corrected to first order.
    """
    dtype, shape = x.value.type.dtype, (num, *x.shape)
    inner = dtype if dtype.bits > 16 else dtypes.f32
    first, last = convert(x, inner), convert(y, inner)
    # the ratio of the square roots, as the ratio of the ends may overflow
    root = emit(ops.div, *[sqrt(abs(v)) for v in (last, first)])
    mixed = emit(ops.sign, first) * emit(ops.sign, last) < 0
    root = broadcast_to(where(mixed, float("nan"), root), shape)
    place = emit(ops.iota, dtype=inner, shape=shape, dimension=0) * 2
    behind = place > parts
    if num <= KNOWN:
        shares = (operand("geomspace", t) for t in _doubled_shares(num, parts, inner.numpy))
        power, rest = (emit(ops.broadcast_in_dim, t, shape=shape, dims=(0,)) for t in shares)
    else:
        place = where(behind, place - 2 * parts, place)
        power, rest = place / parts, like(place, 0)
    lost = rest * log(root)
    grown = emit(ops.pow, root, power)
    near = where(behind, broadcast_to(last, shape), broadcast_to(first, shape))
    return convert(near * (grown + grown * lost), dtype)


def _doubled_shares(num: int, parts: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Twice the shares 0, 1, ... of `parts`, less 2 beyond the middle: rounded, and the rest."""
    place = 2.0 * np.arange(num)
    place = np.where(place > parts, place - 2.0 * parts, place)
    share = (place / max(parts, 1)).astype(dtype)
    wide = share.astype(np.float64)
    upper = wide.astype(np.float32).astype(np.float64)          # its product is exact
    return share, ((place - upper * parts - (wide - upper) * parts) / max(parts, 1)).astype(dtype)


def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
              dtype: DTypeLike | None = None, axis: int = 0) -> Array:
    """`num` values from `start` to `stop`, each a fixed factor times the one before.

    Source: `numpy.geomspace`.

    >>> jnp.geomspace(1., 8., 4)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    dtype = None if dtype is None else requested_dtype("geomspace", dtype)
    return _geomspace(start, stop, index_of(num, "num"), bool(endpoint), dtype, axis)


# --- matrices -----------------------------------------------------------------------------

def _positions(name: str, rows: Any, columns: Any, k: int, compare: Any, dtype: Any) -> Any:
    n = index_of(rows, "N")
    m = n if columns is None else index_of(columns, "M")
    if n < 0 or m < 0:
        raise ValueError(f"{name}: sizes must not be negative, got {n} and {m}")
    dtype = canonicalize_dtype(float) if dtype is None else requested_dtype(name, dtype)
    if type(k) is Tracer and k.home.inputs is None:
        return _matrix_from(k, n, m, compare, np.dtype(dtype))
    return _matrix(n, m, index_of(k, "k"), compare, np.dtype(dtype))


def _matrix(n: int, m: int, k: int, diagonal: bool, dtype: np.dtype) -> Any:
    if n * m * dtype.itemsize <= (4096 if state.current is not None else HOST_BYTES):
        made = np.eye(n, m, k, dtype=bool) if diagonal else np.tri(n, m, k, dtype=bool)
        return constant(made, dtype, False, made.ndim)
    return _traced_matrix(n, m, k, diagonal, dtype)


@eager(static=("n", "m", "k", "diagonal", "dtype"))
def _traced_matrix(n: int, m: int, k: int, diagonal: bool, dtype: Any) -> Any:
    row = emit(ops.iota, dtype=dtypes.i32, shape=(n, m), dimension=0)
    return _compared(row + k, diagonal, dtype)


@eager(static=("n", "m", "diagonal", "dtype"))
def _matrix_from(k: Any, n: int, m: int, diagonal: bool, dtype: Any) -> Any:
    k = operand("eye" if diagonal else "tri", k)
    if k.ndim or not k.value.type.dtype.is_integer:
        raise TypeError(f"eye and tri: k must be an integer, got {k.value.type}")
    row = emit(ops.iota, dtype=dtypes.i32, shape=(n, m), dimension=0)
    shift = broadcast_to(convert(k, dtypes.i32), (n, m))
    return _compared(row + shift, diagonal, dtype)


def _compared(row: Tracer, diagonal: bool, dtype: Any) -> Tracer:
    column = emit(ops.iota, dtype=dtypes.i32, shape=row.shape, dimension=1)
    return convert(emit(ops.eq if diagonal else ops.ge, row, column), from_numpy(dtype))


def eye(N: int | Array, M: int | Array | None = None, k: int = 0, dtype: DTypeLike | None = None, *,
        device: DeviceLike = None) -> Array:
    """Ones on the k-th diagonal of an (N, M) matrix, zeros elsewhere; `k` may be traced.

    Source: `numpy.eye`.

    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _placed(_positions("eye", N, M, k, True, dtype), device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The (n, n) identity matrix. Source: `numpy.identity`.

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _positions("identity", n, None, 0, True, dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Ones on and below the k-th diagonal, zeros elsewhere; `k` may be traced.

    Source: `numpy.tri`.

    >>> jnp.tri(2)
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _positions("tri", N, M, k, False, dtype)


# --- grids --------------------------------------------------------------------------------

@eager(static=("sparse", "swap"))
def _meshgrid(xs: Any, sparse: bool, swap: bool) -> Any:
    xs = [operand("meshgrid", x) for x in xs]
    n = len(xs)
    axes = [1, 0, *range(2, n)] if swap and n > 1 else list(range(n))
    made = []
    shape = [1] * n
    for x, axis in zip(xs, axes, strict=True):
        if x.ndim > 1:
            raise ValueError(f"meshgrid: arrays must have at most one axis, got {x.value.type}")
        shape[axis] = x.size
    for x, axis in zip(xs, axes, strict=True):
        own = tuple(x.size if i == axis else 1 for i in range(n))
        x = emit(ops.reshape, x, shape=own)
        made.append(x if sparse else broadcast_to(x, tuple(shape)))
    return made


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
             ) -> list[Array]:
    """Coordinates of a grid: one array for each of the 1-d arrays `xi`.

    Args:
      copy: True, the only value.
      sparse: whether axes keep size 1 instead of being repeated.
      indexing: "xy" for the second array along the rows, "ij" for the order of `xi`.
    Raises: ValueError for arrays of several axes, other `indexing` and `copy=False`.
    Source: `numpy.meshgrid`.

    >>> jnp.meshgrid(jnp.array([1, 2]), jnp.array([3, 4]))
    [Array([[1, 2],
           [1, 2]], dtype=int32), Array([[3, 3],
           [4, 4]], dtype=int32)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    if not copy:
        raise ValueError("meshgrid: only copy=True is supported, since arrays are never views of "
                         "others")
    return _meshgrid([array_like("meshgrid", x) for x in xi], bool(sparse), indexing == "xy")


class _Grid:
    """`mgrid` and `ogrid`: indexing by slices gives the grid of their ranges."""

    __slots__ = ("__dict__", "_numpy")

    def __init__(self, numpy: Any, doc: str) -> None:
        self._numpy, self.__doc__ = numpy, doc

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            key = _known_slice(key)
        else:
            key = tuple(_known_slice(k) for k in key)
        made = self._numpy[key]
        if isinstance(made, (list, tuple)):
            return [asarray(x) for x in made]
        return asarray(made)


def _known_slice(s: slice) -> slice:
    return slice(*(None if x is None else _known(x, "a bound") for x in (s.start, s.stop, s.step)))


mgrid = _Grid(np.mgrid, "The filled grid of ranges: `mgrid[0:2, 0:3]`. Source: `numpy.mgrid`.")
ogrid = _Grid(np.ogrid, "The open grid of ranges: `ogrid[0:2, 0:3]`. Source: `numpy.ogrid`.")


@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None,
            sparse: Literal[False] = False) -> Array: ...
@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
           ) -> tuple[Array, ...]: ...
@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike | None, sparse: Literal[True]
           ) -> tuple[Array, ...]: ...
@overload
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
           ) -> Array | tuple[Array, ...]: ...
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
            ) -> Array | tuple[Array, ...]:
    """Index arrays of a grid of these sizes: one array, or a tuple with `sparse`.

    Source: `numpy.indices`.

    >>> jnp.indices((2, 2))[0]
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    dtype = canonicalize_dtype(int) if dtype is None else requested_dtype("indices", dtype)
    made = meshgrid(*[arange(index_of(n), dtype=dtype) for n in dimensions], sparse=sparse,
                    indexing="ij")
    if sparse:
        return tuple(made)
    from .manipulation import stack  # late: only this needs it

    return stack(made) if made else asarray(np.zeros((0,), dtype))


def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float,
                 **kwargs: Any) -> Array:
    """`function` of the positions in each axis of a grid of a shape, mapped over the grid.

    Args:
      function: a function of one number for each axis, which returns an array or a tree of arrays.
      kwargs: passed to `function` as they are.
    Returns: the results of `function`, with the axes of the grid before their own.
    Source: `numpy.fromfunction`.

    >>> jnp.fromfunction(lambda i, j: i + 10 * j, (2, 2))
    Array([[ 0., 10.],
           [ 1., 11.]], dtype=float32)
    """
    from ..transforms.vmap import vmap  # late: transformations are a floor above

    sizes = [index_of(n) for n in shape]
    mapped: Any = functools.partial(function, **kwargs)
    for axis in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == axis else None for i in range(len(sizes))))
    return mapped(*[arange(n, dtype=dtype) for n in sizes])


__all__ = [
    "arange", "eye", "fromfunction", "geomspace", "identity", "indices", "linspace", "logspace",
    "meshgrid", "mgrid", "ogrid", "tri",
]  # fmt: skip

"""Counts by value: bincount and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, ShardingLike
from ..binding.promotion import dtype_kind
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import (
    array_like,
    broadcast_to,
    convert,
    default_int,
    index_of,
    operand,
    promote_inexact,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .arithmetic import divide
from .extremes import maximum, minimum
from .indexed_updates import AtIndex
from .indexing import LEFT_OUT
from .logic import isfinite
from .manipulation import cut
from .positions import known_values, take
from .ranges import linspace
from .reductions import max as greatest
from .reductions import min as least
from .reductions import sum
from .sorting import searchsorted
from .ufuncs import arithmetic, like, shaped, where

# --- bincount -----------------------------------------------------------------------------


@eager(static=("length",))
def _bincount(x: Any, weights: Any, length: int) -> Any:
    x = arithmetic(operand("bincount", x))
    x = maximum(x, 0)
    if weights is None:
        w = x.home.literal(np.ones((), default_int().numpy), x.shape)
    else:
        w = operand("bincount", weights)
        if w.shape != x.shape:
            raise ValueError(f"bincount: weights must have the shape of x, {x.shape}, got "
                             f"{w.shape}")
    zeros = x.home.literal(np.zeros((), w.dtype), (length,))
    return AtIndex(zeros, x).add(w, mode=LEFT_OUT)


@takes_out_sharding("bincount")
def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *,
             length: int | None = None, out_sharding: ShardingLike = None) -> Array:
    """How often each integer from 0 on occurs; negative integers count as 0.

    Args:
      x: 1-d array of integers.
      weights: array of x's shape that is summed instead of counting; None to count.
      minlength: the least size of the result.
      length: the size of the result; greater integers are left out. None for one more than the
        greatest integer, so that x must be known.
      out_sharding: how the result lies; None for as the operations give it.
    Raises: TypeError where x does not hold integers; ValueError where it is not 1-d;
      ConcretizationTypeError for traced x without `length`.
    Source: `numpy.bincount`.

    >>> jnp.bincount(jnp.array([0, 1, 1, 3]), length=5)
    Array([1, 2, 0, 1, 0], dtype=int32)
    """
    at_home("bincount", out_sharding)
    x = array_like("bincount", x)
    dtype = np.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype
    if dtype_kind(dtype) not in "biu":
        raise TypeError(f"x argument to bincount must have an integer type; got {dtype}")
    if np.ndim(x) != 1:
        raise ValueError(f"bincount: only 1-dimensional input is supported, got {np.ndim(x)} axes")
    if length is None:
        known = known_values("bincount", x, "pass `length`, the size of its result, while tracing")
        highest = max(int(known.max()), 0) + 1 if known.size else 0    # a negative one counts as 0
        length = max(index_of(minlength, "minlength"), highest)
    return _bincount(x, weights, index_of(length, "bincount: length"))


# --- histograms ---------------------------------------------------------------------------

def _edges(x: Tracer, bins: Any, bounds: Any) -> Tracer:
    """The edges of bins: the given ones, or those of equal bins over the bounds (or the values)."""
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins must be a number or an array of edges, got {bins!r}")
    given = None if type(bins) is int else operand("histogram", bins)
    if given is not None and given.ndim == 1:
        if given.value.type.dtype.is_complex:
            raise TypeError(f"histogram: edges must be real, got {given.value.type}")
        return convert(given, x.value.type.dtype)
    if given is not None:
        bins = index_of(given, "bins")
    dtype = x.value.type.dtype
    if bounds is None and x.size:
        low, high = least(x), greatest(x)
    else:
        low, high = (convert(operand("histogram", b), dtype) for b in bounds or (0, 1))
    flat = low == high
    half = like(as_tracer(low), 0.5)
    low = where(flat, low - half, as_tracer(low))
    high = where(flat, high + half, as_tracer(high))
    return as_tracer(linspace(low, high, bins + 1, dtype=x.dtype))


def _split_bins(bins: Any) -> tuple[int | None, Any]:
    """(number of bins, None) or (None, edges)."""
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins must be a number or an array of edges, got {bins!r}")
    bins = array_like("histogram", bins)
    if getattr(bins, "ndim", 0) == 0:
        n = index_of(bins, "bins")
        if n < 0:
            raise ValueError(f"histogram: the number of bins must not be negative, got {n}")
        return n, None
    return None, bins


@eager(static=("n",))
def _bin_edges(a: Any, n: int | None, edges: Any, bounds: Any) -> Any:
    (x,) = promote_inexact("histogram", a)
    return _edges(x, edges if n is None else n, bounds)


def histogram_bin_edges(a: ArrayLike, bins: ArrayLike | Sequence[ArrayLike] = 10,
                        range: Sequence[Any] | None = None, weights: ArrayLike | None = None
                        ) -> Array:
    """The edges of the bins of `histogram`: `bins` equal ones over `range`, or `bins` itself.

    As in NumPy, `weights` are accepted but change no edges.
    Source: `numpy.histogram_bin_edges`.

    >>> jnp.histogram_bin_edges(jnp.array([0., 1., 4.]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    n, edges = _split_bins(bins)
    return _bin_edges(a, n, edges, range)


def _bin_of(x: Tracer, edges: Tracer) -> Tracer:
    """The bin of each value, counted from 1; 0 before the first edge, len(edges) after the last."""
    n = edges.size
    place = searchsorted(edges, x, "right")
    last = broadcast_to(shaped(cut(edges, 0, n - 1, n), ()), x.shape)
    return where(x == last, n - 1, as_tracer(place))


MOST_EQUAL = 2 ** 16
"""Up to this many equal bins, the bin computed for a value is off by one at most."""


def _equal_bin_of(x: Tracer, edges: Tracer) -> Tracer:
    """As `_bin_of`, for equally spaced edges: divides, then corrects by the neighbouring edges.

    Bins whose width is infinite or close to the rounding error are searched instead."""
    n, dtype = edges.size - 1, x.value.type.dtype
    if dtype not in (dtypes.f32, dtypes.f64) or n > MOST_EQUAL:
        return _bin_of(x, edges)
    from ..lax.control_flow import cond  # late: loaded on first use

    low, high = (shaped(cut(edges, 0, i, i + 1), ()) for i in (0, n))
    width = high - low
    size = maximum(abs(low), abs(high))
    wide = width > size * (8 * n * float(np.finfo(dtype.numpy).eps))
    wide = wide & isfinite(width)
    return cond(wide, _divided, _bin_of, x, edges)


def _divided(x: Tracer, edges: Tracer) -> Tracer:
    n = edges.size - 1
    low, high = (broadcast_to(cut(edges, 0, i, i + 1), x.shape) for i in (0, n))
    inside = (x >= low) & (x <= high)
    bins = like(x, n) / (high - low)
    place = (where(inside, x, low) - low) * bins
    place = minimum(convert(place, dtypes.i32), n - 1)
    before = x < take(edges, place, 0, mode="promise_in_bounds")
    after = place + 1
    beyond = x >= take(edges, after, 0, mode="promise_in_bounds")
    place = after + (convert(beyond, dtypes.i32) - convert(before, dtypes.i32))
    place = as_tracer(minimum(place, n))
    outside = where(x < low, like(place, 0), n + 1)
    return where(inside, place, outside)


def _widths(edges: Tracer) -> Tracer:
    n = edges.size
    return cut(edges, 0, 1, n) - cut(edges, 0, 0, n - 1)


@eager(static=("n", "density", "out_sharding"))
def _histogram(a: Any, n: int | None, edges: Any, bounds: Any, weights: Any, density: bool, *,
               out_sharding: ShardingLike = None) -> Any:
    at_home("histogram", out_sharding)
    if weights is None:
        (x,) = promote_inexact("histogram", a)
        w = like(x, 1)
    else:
        x, w = promote_inexact("histogram", a, weights)
        if x.shape != w.shape:
            raise ValueError(f"histogram: weights should have the same shape as a, {x.shape}, got "
                             f"{w.shape}")
    edges = _edges(x, edges if n is None else n, bounds)
    x, w = shaped(x, (x.size,)), shaped(w, (w.size,))
    size = edges.size
    counts = x.home.literal(np.zeros((), w.dtype), (size + 1,))
    place = _bin_of(x, edges) if n is None else _equal_bin_of(x, edges)
    counts = cut(AtIndex(counts, place).add(w, mode="promise_in_bounds"), 0, 1, size)
    if density:
        counts = as_tracer(divide(divide(counts, _widths(edges)), sum(counts)))
    return Tracer(counts.home, counts.value, False), edges


def histogram(a: ArrayLike, bins: ArrayLike | Sequence[ArrayLike] = 10,
              range: Sequence[Any] | None = None, weights: ArrayLike | None = None,
              density: bool | None = None, out_sharding: ShardingLike = None
              ) -> tuple[Array, Array]:
    """How many values lie in each bin, as floats, and the edges of the bins.

    Args:
      a: array of any shape.
      bins: the number of equal bins, or an array of their edges in order.
      range: (low, high) of equal bins; None for the least and the greatest value.
      weights: array of a's shape that is summed instead of counting; None to count.
      density: whether to divide by sum and widths, so that the integral is 1.
      out_sharding: where both results lie; None leaves that to the compiler.
    Raises: ValueError where the weights do not match, or for a negative number of bins; TypeError
      for bins named by text.
    Source: `numpy.histogram`.

    >>> jnp.histogram(jnp.array([1., 2., 2., 3.]), bins=2)
    (Array([1., 3.], dtype=float32), Array([1., 2., 3.], dtype=float32))
    """
    n, edges = _split_bins(bins)
    return tuple(_histogram(a, n, edges, range, weights, bool(density),
                            out_sharding=out_sharding))


@eager(static=("numbers", "density"))
def _histogramdd(sample: Any, numbers: Any, edges: Any, bounds: Any, weights: Any, density: bool
                 ) -> Any:
    (x,) = promote_inexact("histogramdd", sample)
    n, d = x.shape
    all_edges, flat, shape = [], None, []
    for i in range(d):
        column = shaped(cut(x, 1, i, i + 1), (n,))
        these = _edges(column, edges[i] if numbers[i] is None else numbers[i],
                       None if bounds is None else bounds[i])
        all_edges.append(these)
        shape.append(these.size + 1)
        place = convert(_bin_of(column, these), dtypes.i32)
        flat = place if flat is None else flat * (these.size + 1) + place
    assert flat is not None
    if weights is None:
        w = x.home.literal(np.ones((), default_int().numpy), (n,))
    else:
        w = promote_inexact("histogramdd", weights, x)[0]
        if w.shape != (n,):
            raise ValueError(f"histogramdd: weights should have one element for each of {n} "
                             f"points, got shape {w.shape}")
    counts = x.home.literal(np.zeros((), w.dtype), (int(np.prod(shape)),))
    counts = shaped(AtIndex(counts, flat).add(w), tuple(shape))
    for i in range(d):
        counts = cut(counts, i, 1, shape[i] - 1)
    if density:
        counts = divide(counts, sum(counts))
        for i, these in enumerate(all_edges):
            widths = emit(ops.broadcast_in_dim, _widths(these), shape=counts.shape, dims=(i,))
            counts = divide(counts, widths)
    return counts, all_edges


def histogramdd(sample: ArrayLike | Sequence[ArrayLike], bins: int | Sequence[int | ArrayLike] = 10,
                range: Sequence[Any] | None = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Array, list[Array]]:
    """How many points lie in each box of a grid, and the list of edges of each axis.

    Args:
      sample: array [points, axes], or a sequence with one array for each axis.
      bins, range: as in `histogram`, or a sequence with one of them for each axis.
      weights: the weight of each point, summed as floats; None for 1.
    Raises: ValueError where bins or ranges are not one for each axis, or weights not one for each
      point.
    Source: `numpy.histogramdd`.

    >>> jnp.histogramdd(jnp.array([[0., 0.], [1., 1.]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    from .manipulation import stack

    if isinstance(sample, (tuple, list)):
        sample = stack(list(sample), 1)
    sample = array_like("histogramdd", sample)
    if np.ndim(sample) != 2:
        raise ValueError(f"histogramdd: sample must be 2-d, got {np.ndim(sample)} axes")
    d = sample.shape[1]
    listed = list(bins) if isinstance(bins, (tuple, list)) else [bins] * d
    if len(listed) != d:
        raise ValueError("histogramdd: there should be a bin for each dimension: got "
                         f"{len(listed)} bins for {d} dimensions")
    if range is not None and len(range) != d:
        raise ValueError(f"histogramdd: For sample dimension {d}, range must be a sequence of {d} "
                         f"ranges, got {len(range)}")
    pairs = [_split_bins(b) for b in listed]
    counts, edges = _histogramdd(sample, tuple([n for n, _ in pairs]), [e for _, e in pairs], range,
                                 weights, bool(density))
    return counts, list(edges)


def histogram2d(x: ArrayLike, y: ArrayLike, bins: int | ArrayLike | Sequence[int | ArrayLike] = 10,
                range: Sequence[Any] | None = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Array, Array, Array]:
    """How many points lie in each box of a grid, the edges in x and the edges in y.

    Args:
      x, y: 1-d arrays of coordinates.
      bins: as in `histogram`, or a pair of them for x and y.
    Source: `numpy.histogram2d`.

    >>> jnp.histogram2d(jnp.array([0., 1.]), jnp.array([0., 1.]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    given: Any = bins
    alike = not isinstance(bins, (tuple, list)) and np.ndim(given) == 1
    counts, (of_x, of_y) = histogramdd([x, y], [given, given] if alike else given, range, weights,
                                       density)
    return counts, of_x, of_y


__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

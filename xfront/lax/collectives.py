"""Collectives over the named axes of vmap and of meshes.

While tracing, a name stands for the axis of the innermost transformation that binds it. All
functions of arrays take trees of arrays. `axis_index_groups` divides the participants (lists of
their indices, all of one length), and each group works alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from xfront_ir import dtypes, ops

from ..arrays.annotations import Array
from ..arrays.dispatch import eager
from ..arrays.operands import array_like, binary, convert
from ..arrays.operands import operand as tracer
from ..sharding.regions import follows, manual_axes
from ..tracing.following import varies
from ..tracing.trace import binder_of, emit, state
from ..tracing.tracer import Tracer
from ..tree_util import tree_leaves, tree_map

T = TypeVar("T")

AxisName = Hashable | tuple[Hashable, ...]
Groups = Sequence[Sequence[int]] | None


# --- names ----------------------------------------------------------------------------------

def axis_sizes(name: str, axis_name: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The names, outermost first, and their sizes. Raises: NameError where one is not bound."""
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return names, tuple([_size_of(name, n) for n in names])


def _size_of(name: str, axis_name: Any) -> int:
    for bound, size in reversed(state.axes):
        if bound == axis_name:
            return size
    bound = ", ".join([repr(n) for n, _ in state.axes if isinstance(n, str)])
    raise NameError(f"unbound axis name: {axis_name}. {name} works inside vmap or shard_map with "
                    f"axis_name={axis_name!r}; bound here: {bound or 'none'}")


def _positions(axis_name: Any, ndim: int) -> tuple[Any, tuple[int, ...]]:
    """(names, positions of the operand's own axes), taken from a mixture of both."""
    given = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    own = tuple([a for a in given if type(a) is int])
    if any(not -ndim <= a < ndim for a in own):
        raise ValueError(f"axes {own} are out of bounds for an array of {ndim} axes")
    return tuple([a for a in given if type(a) is not int]), tuple(sorted({a % ndim for a in own}))


def _groups(groups: Groups) -> Any:
    return None if groups is None else tuple([tuple([int(i) for i in g]) for g in groups])


def _participants(sizes: tuple[int, ...], groups: Any) -> int:
    return len(groups[0]) if groups else math.prod(sizes)


def axis_size(axis_name: AxisName) -> int:
    """How many participants there are along named axes. Raises: NameError.

    >>> xfront.vmap(lambda x: x + lax.axis_size('i'), axis_name='i')(jnp.array([10, 10]))
    Array([12, 12], dtype=int32)
    """
    return math.prod(axis_sizes("axis_size", axis_name)[1])


def axis_index(axis_name: AxisName) -> Array:
    """The index along named axes, i32, counted over all of them. Raises: NameError.

    >>> xfront.vmap(lambda x: x + lax.axis_index('i'), axis_name='i')(jnp.array([10, 10]))
    Array([10, 11], dtype=int32)
    """
    names, sizes = axis_sizes("axis_index", axis_name)
    return emit(ops.axis_index, axes=names, sizes=sizes)


# --- running a body where the axis is bound -------------------------------------------------

def _recorded(names: Sequence[Any], x: Any, body: Callable[[Any], Any]) -> Any:
    """`body` applied to x, in the deeper of x's trace and the one that binds the names."""
    target = binder_of(names, state.current)
    if type(x) is Tracer and (target is None or x.home.level > target.level):
        target = x.home
    assert target is not None, "a bound axis name has an open trace"
    before, state.current = state.current, target
    try:
        return body(tracer("collective", x))
    finally:
        state.current = before


# --- sums and extrema -----------------------------------------------------------------------

def psum(x: T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> T:
    """Sum over named axes.

    Args:
      x: a tree of arrays; Python numbers stay numbers, so `psum(1, name)` is the size of an axis.
      axis_name: a name or a tuple of names; ints among them are axes of x itself.
    Raises: NameError where a name is not bound.

    >>> xfront.vmap(lambda x: lax.psum(x, 'i'), axis_name='i')(jnp.array([1., 2.]))
    Array([3., 3.], dtype=float32)
    """
    groups = _groups(axis_index_groups)
    return tree_map(lambda leaf: _psum(leaf, axis_name, groups), x)


def _psum(x: Any, axis_name: Any, groups: Any) -> Any:
    names, own = _positions(axis_name, np.ndim(array_like("psum", x)))
    names, sizes = axis_sizes("psum", names)
    if isinstance(x, (bool, int, float, complex)) and not own:
        return x * _participants(sizes, groups)

    def body(x: Any) -> Any:
        if x.value.type.dtype is dtypes.bool_:
            x = convert(x, dtypes.i32)
        if own:
            x = emit(ops.reduce_sum, x, axes=own)
        return emit(ops.psum, x, axes=names, sizes=sizes, groups=groups) if names else x

    return _recorded(names, x, body) if names else _alone(x, body)


def _alone(x: Any, body: Callable[[Any], Any]) -> Any:
    return eager(body)(x)


def pmean(x: T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> T:
    """Mean over named axes; integers become floats. Arguments and errors as `psum`.

    >>> xfront.vmap(lambda x: lax.pmean(x, 'i'), axis_name='i')(jnp.array([1., 3.]))
    Array([2., 2.], dtype=float32)
    """
    groups = _groups(axis_index_groups)

    def mean(leaf: Any) -> Any:
        names, own = _positions(axis_name, np.ndim(array_like("pmean", leaf)))
        names, sizes = axis_sizes("pmean", names)
        n = _participants(sizes, groups) * math.prod([leaf.shape[a] for a in own])
        total = _psum(leaf, axis_name, groups)
        if isinstance(total, (bool, int, float, complex)):
            return total / n
        if type(total) is Tracer:
            return binary(ops.div, "pmean", total, n, inexact=True)
        return total / n

    return tree_map(mean, x)


def _extremum(name: str, definition: Any, reducer: Any, doc: str, gives: str
              ) -> Callable[..., Any]:
    def leaf(x: Any, axis_name: Any, groups: Any) -> Any:
        names, own = _positions(axis_name, np.ndim(array_like(name, x)))
        names, sizes = axis_sizes(name, names)

        def body(x: Any) -> Any:
            if own:
                x = emit(reducer, x, axes=own)
            return emit(definition, x, axes=names, sizes=sizes, groups=groups) if names else x

        return _recorded(names, x, body) if names else _alone(x, body)

    def public(x: T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> T:
        groups = _groups(axis_index_groups)
        return tree_map(lambda x: leaf(x, axis_name, groups), x)

    public.__name__ = public.__qualname__ = name
    public.__doc__ = f"""{doc} over named axes. Arguments and errors as `psum`.

    >>> xfront.vmap(lambda x: lax.{name}(x, "i"), axis_name="i")(jnp.array([1., 3.]))
    Array({gives}, dtype=float32)
    """
    return public


pmax = _extremum("pmax", ops.pmax, ops.reduce_max, "The greatest", "[3., 3.]")
pmin = _extremum("pmin", ops.pmin, ops.reduce_min, "The smallest", "[1., 1.]")


# --- gathering and exchanging ---------------------------------------------------------------

def _axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def all_gather(x: T, axis_name: AxisName, *, axis_index_groups: Groups = None, axis: int = 0,
               tiled: bool = False, to: str | None = None) -> T:
    """The values of all participants, side by side.

    Args:
      axis: the position of the new axis of participants; if `tiled`, the axis that is extended.
      to: None or "varying"; each participant has the result.
    Raises: ValueError for another `to`; NotImplementedError for "invarying" and "reduced", which
      are types of arrays on several devices.

    >>> xfront.vmap(lambda x: lax.all_gather(x, 'i'), axis_name='i')(jnp.array([1., 3.]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    if to not in (None, "varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced', got {to!r}")
    if to in ("invarying", "reduced"):
        raise NotImplementedError(f"all_gather: to={to!r} is not supported; only to='varying' is")
    groups = _groups(axis_index_groups)
    names, sizes = axis_sizes("all_gather", axis_name)

    def body(x: Any) -> Any:
        d = _axis("all_gather", axis, x.ndim + (not tiled))
        return emit(ops.all_gather, x, axes=names, sizes=sizes, groups=groups, dimension=d,
                    tiled=bool(tiled))

    return tree_map(lambda leaf: _recorded(names, array_like("all_gather", leaf), body), x)


def psum_scatter(x: T, axis_name: AxisName, *, scatter_dimension: int = 0,
                 axis_index_groups: Groups = None, tiled: bool = False) -> T:
    """The sum over named axes; each participant keeps only its part of one dimension.

    Args:
      scatter_dimension: the dimension that is distributed. It has one element for each
        participant and is removed; if `tiled`, it has a multiple of that and is divided.

    >>> xfront.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    groups = _groups(axis_index_groups)
    names, sizes = axis_sizes("psum_scatter", axis_name)
    n = _participants(sizes, groups)

    def body(x: Any) -> Any:
        d = _axis("psum_scatter", scatter_dimension, x.ndim)
        if x.shape[d] % n or (not tiled and x.shape[d] != n):
            raise ValueError(f"psum_scatter: dimension {d} of {x.value.type} must have "
                             f"{'a multiple of ' if tiled else ''}{n} elements")
        return emit(ops.psum_scatter, x, axes=names, sizes=sizes, groups=groups, dimension=d,
                    tiled=bool(tiled))

    return tree_map(lambda leaf: _recorded(names, array_like("psum_scatter", leaf), body), x)


def all_to_all(x: T, axis_name: AxisName, split_axis: int, concat_axis: int, *,
               axis_index_groups: Groups = None, tiled: bool = False) -> T:
    """Each participant sends its i-th slice along `split_axis` to participant i, and joins what it
    receives along `concat_axis`.

    Raises: ValueError where `split_axis` does not have one element (if `tiled`, a multiple) for
      each participant.

    >>> rows = jnp.array([[1, 2], [3, 4]])
    >>> xfront.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(rows)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    groups = _groups(axis_index_groups)
    names, sizes = axis_sizes("all_to_all", axis_name)
    n = _participants(sizes, groups)

    def body(x: Any) -> Any:
        split = _axis("all_to_all", split_axis, x.ndim)
        concat = _axis("all_to_all", concat_axis, x.ndim)
        if x.shape[split] % n or (not tiled and x.shape[split] != n):
            raise ValueError(f"all_to_all: split_axis {split} of {x.value.type} must have "
                             f"{'a multiple of ' if tiled else ''}{n} elements, one for each "
                             f"participant of {names}")
        return emit(ops.all_to_all, x, axes=names, sizes=sizes, groups=groups, split=split,
                    concat=concat, tiled=bool(tiled))

    return tree_map(lambda leaf: _recorded(names, array_like("all_to_all", leaf), body), x)


def pswapaxes(x: T, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> T:
    """`x` with a named axis and one of its own axes of the same size exchanged.

    >>> xfront.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: T, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> T:
    """Each participant receives the value of another; one that receives nothing gets zeros.

    Args:
      perm: (source, destination) pairs, each source and each destination at most once.

    >>> swap = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)])
    >>> xfront.vmap(swap, axis_name="i")(jnp.array([1., 3.]))
    Array([3., 1.], dtype=float32)
    """
    names, sizes = axis_sizes("ppermute", axis_name)
    pairs = tuple([(int(s), int(d)) for s, d in perm])

    def body(x: Any) -> Any:
        return emit(ops.ppermute, x, axes=names, sizes=sizes, perm=pairs)

    return tree_map(lambda leaf: _recorded(names, array_like("ppermute", leaf), body), x)


def pshuffle(x: T, axis_name: AxisName, perm: Sequence[int]) -> T:
    """Participant i receives the value of participant `perm[i]`. Raises: ValueError.

    >>> xfront.vmap(lambda x: lax.pshuffle(x, 'i', [1, 0]), axis_name='i')(jnp.array([1, 2]))
    Array([2, 1], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"pshuffle: perm must be a permutation of 0, ..., {len(perm) - 1}, got "
                         f"{perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def pbroadcast(x: T, axis_name: AxisName, source: int) -> T:
    """Every participant receives the value of participant `source`.

    >>> xfront.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1., 3.]))
    Array([3., 3.], dtype=float32)
    """
    names, sizes = axis_sizes("pbroadcast", axis_name)
    if not 0 <= source < math.prod(sizes):
        raise ValueError(f"pbroadcast: source {source} is not in [0, {math.prod(sizes)})")

    def body(x: Any) -> Any:
        target = x.home
        own = emit(ops.axis_index, axes=names, sizes=sizes)
        chosen = emit(ops.eq, own, target.literal(np.asarray(source, np.int32), ()))
        kind, wide = x.value.type.dtype, x
        if kind is dtypes.bool_:
            wide = convert(x, dtypes.i32)
        zeros = target.literal(np.zeros((), wide.dtype), wide.shape)
        total = emit(ops.psum, emit(ops.select, chosen, wide, zeros), axes=names, sizes=sizes,
                     groups=None)
        return convert(total, kind)

    return tree_map(lambda leaf: _recorded(names, array_like("pbroadcast", leaf), body), x)


_CASTS = ("varying", "unreduced", "reduced")


def pcast(x: T, axis_name: AxisName, *, to: str) -> T:
    """`x`, declared to vary over axes of a `shard_map`; without axes, x itself.

    The values do not change. The cotangent of x is the sum of the cotangents on the devices, since
    x is the same on all of them. Without `check_vma` variation is not tracked, and the result is x.

    Args:
      to: "varying".
    Raises: ValueError for an unknown `to`, and where an axis is not one of a `shard_map`, since
      axes of vmap have no such types; TypeError where a leaf is not an array; NotImplementedError
      for "unreduced" and "reduced".

    >>> def f(x, y):
    ...     return x + lax.pcast(y, "i", to="varying")
    >>> mesh, parts = xfront.make_mesh((1,), ("i",)), xfront.P("i")
    >>> added = xfront.shard_map(f, mesh=mesh, in_specs=(parts, xfront.P()), out_specs=parts)
    >>> added(jnp.ones(2), 2.0)
    Array([3., 3.], dtype=float32)
    """
    if to not in _CASTS:
        raise ValueError(f"pcast: to must be one of {', '.join(map(repr, _CASTS))}, got {to!r}")
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    leaves = [array_like("pcast", leaf) for leaf in tree_leaves(x)]
    if not leaves or not names:
        return x
    own = manual_axes()
    if strays := [n for n in names if n not in own]:
        raise ValueError(f"pcast: to={to!r} can only be used for axes of a shard_map, and "
                         f"{strays[0]!r} is not one")
    if to != "varying":
        raise NotImplementedError(f"pcast: to={to!r} is not supported, only 'varying' is")
    if not follows():
        return x
    names, sizes = axis_sizes("pcast", names)
    for leaf in leaves:
        if again := varies(leaf).intersection(names):
            raise ValueError("Unsupported pcast from=varying, to='varying': a value varies over "
                             f"{', '.join(map(repr, sorted(again)))} already")

    def body(x: Any) -> Any:
        return emit(ops.pcast, x, axes=names, sizes=sizes)

    return tree_map(lambda leaf: _recorded(names, array_like("pcast", leaf), body), x)


def pvary(x: T, axis_name: AxisName) -> T:
    """`pcast(x, axis_name, to="varying")`.

    >>> def f(x, y):
    ...     return x + lax.pvary(y, "i")
    >>> mesh, parts = xfront.make_mesh((1,), ("i",)), xfront.P("i")
    >>> added = xfront.shard_map(f, mesh=mesh, in_specs=(parts, xfront.P()), out_specs=parts)
    >>> added(jnp.ones(2), 2.0)
    Array([3., 3.], dtype=float32)
    """
    return pcast(x, axis_name, to="varying")


__all__ = [
    "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean",
    "pmin", "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes", "pvary",
]  # fmt: skip

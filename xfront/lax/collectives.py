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
from xfront_ir.ops.collective import check_groups

from ..base.trees import tree_leaves, tree_map
from ..binding.annotations import Array
from ..eager.dispatch import eager
from ..eager.operands import array_like, convert, index_of
from ..eager.operands import operand as tracer
from ..tracing.following import varies
from ..tracing.regions import follows, manual_axes, regions
from ..tracing.trace import binder_of, emit, state
from ..tracing.tracer import Tracer
from .strict import ints

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
    """Groups as tuples. Raises: TypeError where they are no sequences of integers; ValueError
    without groups."""
    if groups is None:
        return None
    try:
        made = tuple([tuple([index_of(i) for i in g]) for g in groups])
    except TypeError:
        raise TypeError("axis_index_groups must be lists of indices, one list for each group, as "
                        f"[[0, 1], [2, 3]], got {groups!r}") from None
    if not made:
        raise ValueError("axis_index_groups must cover all indices exactly once, got no groups; "
                         "leave it out for one group of all")
    return made


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
        check_groups("psum", sizes, groups)
        return x * _participants(sizes, groups)

    def body(x: Any) -> Any:
        if x.value.type.dtype is dtypes.bool_:
            x = convert(x, dtypes.i32)
        if own:
            x = emit(ops.reduce_sum, x, axes=own)
        if names and x.value.type.is_manual and held_along("psum", x, names) == "unreduced":
            if groups is not None:
                raise NotImplementedError("psum: a sum of unreduced values has no "
                                          "axis_index_groups; it is over whole axes")
            return cast(x, names, "unreduced", "invarying")
        if names:
            _refuse_sums("psum", x, names)
        return emit(ops.psum, x, axes=names, sizes=sizes, groups=groups) if names else x

    return _recorded(names, x, body) if names else _alone(x, body)


def held_along(name: str, x: Any, names: Sequence[Any]) -> str:
    """How devices hold a traced value inside `shard_map` along these axes: a word of
    `xfront_ir/ops/terms.py`. Raises: ValueError where they differ."""
    t = x.value.type
    spec = None if t.sharding is None or not t.is_manual else t.sharding.spec
    varied = varies(x)
    found = {"unreduced" if spec is not None and n in spec.unreduced else
             "reduced" if spec is not None and n in spec.reduced else
             "varying" if n in varied else "invarying" for n in names}
    if len(found) > 1:
        raise ValueError(f"{name}: along all of its axes {tuple(names)} a value must be held "
                         f"alike, but {x.aval} is {' and '.join(sorted(found))}; use one call for "
                         "each")
    return found.pop()


def cast(x: Any, names: Sequence[Any], old: str, new: str) -> Any:
    """One traced value, held in another way along these axes."""
    mesh = regions()[-1].mesh.axes.abstract
    manual = mesh.with_types(dict.fromkeys(manual_axes(), "manual"))
    return emit(ops.manual_cast, x, mesh=manual, axes=tuple(names), old=old, new=new)


def _refuse_sums(name: str, x: Any, names: Sequence[Any]) -> Any:
    """Refuse an unreduced or reduced value in a function that takes a value of each device. Raises:
    ValueError."""
    if x.value.type.is_manual and (kind := held_along(name, x, names)) in ("unreduced", "reduced"):
        raise ValueError(f"{name}: a value of type {x.aval} is {kind} along {tuple(names)}; "
                         + ("take the sum with lax.psum or lax.psum_scatter" if kind == "unreduced"
                            else "cast it with lax.pcast(x, axes, to='varying')"))
    return x


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
            _refuse_sums(name, x, names)
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
      to: None or "varying": each participant has a result of its own. Inside a `shard_map` with
        `check_vma` it may be "invarying", one result that all have alike, or "reduced", one whose
        cotangent stays terms of a sum (`PartitionSpec(reduced=...)`).
    Raises: ValueError for another `to`, and where x does not vary over the axes of "invarying" or
      "reduced"; NotImplementedError for these over axes of vmap, with `axis_index_groups` and
      without `check_vma`.

    >>> xfront.vmap(lambda x: lax.all_gather(x, 'i'), axis_name='i')(jnp.array([1., 3.]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    if to not in (None, "varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced', got {to!r}")
    groups = _groups(axis_index_groups)
    names, sizes = axis_sizes("all_gather", axis_name)
    alike = to in ("invarying", "reduced")
    if alike and (groups is not None or not follows() or not {*names}.issubset(manual_axes())):
        raise NotImplementedError(f"all_gather: to={to!r} is only supported over axes of a "
                                  "shard_map with check_vma=True, without axis_index_groups")

    def body(x: Any) -> Any:
        d = _axis("all_gather", axis, x.ndim + (not tiled))
        _refuse_sums("all_gather", x, names)
        if to == "invarying" and held_along("all_gather", x, names) == "invarying":
            x = emit(ops.pcast, x, axes=names, sizes=sizes)
        if alike and held_along("all_gather", x, names) != "varying":
            raise ValueError(f"all_gather: to={to!r} takes values that vary over {names}, got "
                             f"{x.aval}")
        made = emit(ops.all_gather, x, axes=names, sizes=sizes, groups=groups, dimension=d,
                    tiled=bool(tiled))
        if alike:
            made = cast(made, names, "varying", "reduced")
        return cast(made, names, "reduced", "invarying") if to == "invarying" else made

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
        if x.value.type.is_manual and held_along("psum_scatter", x, names) == "unreduced":
            if groups is not None:
                raise NotImplementedError("psum_scatter: a sum of unreduced values has no "
                                          "axis_index_groups; it is over whole axes")
            x = cast(x, names, "unreduced", "varying")
        else:
            _refuse_sums("psum_scatter", x, names)
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
        _refuse_sums("all_to_all", x, names)
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
        _refuse_sums("ppermute", x, names)
        return emit(ops.ppermute, x, axes=names, sizes=sizes, perm=pairs)

    return tree_map(lambda leaf: _recorded(names, array_like("ppermute", leaf), body), x)


def pshuffle(x: T, axis_name: AxisName, perm: Sequence[int]) -> T:
    """Participant i receives the value of participant `perm[i]`. Raises: ValueError.

    >>> xfront.vmap(lambda x: lax.pshuffle(x, 'i', [1, 0]), axis_name='i')(jnp.array([1, 2]))
    Array([2, 1], dtype=int32)
    """
    sources = ints("pshuffle: perm", perm)
    if sorted(sources) != list(range(len(sources))):
        raise ValueError(f"pshuffle: perm must be a permutation of 0, ..., {len(sources) - 1}, got "
                         f"{sources}")
    return ppermute(x, axis_name, list(zip(sources, range(len(sources)), strict=True)))


def pbroadcast(x: T, axis_name: AxisName, source: int) -> T:
    """Every participant receives the value of participant `source`.

    >>> xfront.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1., 3.]))
    Array([3., 3.], dtype=float32)
    """
    names, sizes = axis_sizes("pbroadcast", axis_name)
    if not 0 <= source < math.prod(sizes):
        raise ValueError(f"pbroadcast: source {source} is not in [0, {math.prod(sizes)})")

    def body(x: Any) -> Any:
        target = _refuse_sums("pbroadcast", x, names).home
        own = emit(ops.axis_index, axes=names, sizes=sizes)
        chosen = own == target.literal(np.asarray(source, np.int32), ())
        kind, wide = x.value.type.dtype, x
        if kind is dtypes.bool_:
            wide = convert(x, dtypes.i32)
        zeros = target.literal(np.zeros((), wide.dtype), wide.shape)
        wide = emit(ops.select, chosen, wide, zeros)
        total = emit(ops.psum, wide, axes=names, sizes=sizes, groups=None)
        return convert(total, kind)

    return tree_map(lambda leaf: _recorded(names, array_like("pbroadcast", leaf), body), x)


_CASTS = ("varying", "unreduced", "reduced")
_PUBLIC_CASTS = {("invarying", "varying"), ("invarying", "reduced"), ("varying", "unreduced"),
                 ("reduced", "varying")}


def pcast(x: T, axis_name: AxisName, *, to: str) -> T:
    """`x`, held in another way along axes of a `shard_map`; without axes, x itself.

    No device's value changes. Without `check_vma` nothing is tracked, and the result is x.

    Args:
      to: "varying", from a value that is the same on all devices, whose cotangent becomes the sum
        of those of the devices, or from a reduced one, whose cotangent stays terms of a sum.
        "unreduced", from a varying one: each device's value becomes its term of a sum.
        "reduced", from one that is the same on all devices: its cotangent becomes terms of a sum.
    Raises: ValueError for an unknown `to`, for other casts, and where an axis is not one of a
      `shard_map`, since axes of vmap have no such types; TypeError where a leaf is not an array;
      NotImplementedError for "unreduced" and "reduced" without `check_vma`, and inside two
      `shard_map`s.

    >>> def f(x, y):
    ...     return x + lax.pcast(y, "i", to="varying")
    >>> mesh, parts = xfront.sharding.Mesh(xfront.devices()[:1], ("i",)), xfront.P("i")
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
    if not follows():
        if to != "varying":
            raise NotImplementedError(f"pcast: to={to!r} needs a shard_map with check_vma=True")
        return x
    if to != "varying" and len(regions()) > 1:
        raise NotImplementedError(f"pcast: to={to!r} is not supported inside two shard_maps")
    names, sizes = axis_sizes("pcast", names)

    def body(x: Any) -> Any:
        old = held_along("pcast", x, names)
        if (old, to) not in _PUBLIC_CASTS:
            raise ValueError(f"Unsupported pcast from={old}, to={to!r}: a value of type {x.aval} "
                             f"is {old} over {', '.join(map(repr, names))}"
                             + " already" * (old == to))
        if (old, to) == ("invarying", "varying"):
            return emit(ops.pcast, x, axes=names, sizes=sizes)
        return cast(x, names, old, to)

    return tree_map(lambda leaf: _recorded(names, array_like("pcast", leaf), body), x)


def pvary(x: T, axis_name: AxisName) -> T:
    """`pcast(x, axis_name, to="varying")`.

    >>> def f(x, y):
    ...     return x + lax.pvary(y, "i")
    >>> mesh, parts = xfront.sharding.Mesh(xfront.devices()[:1], ("i",)), xfront.P("i")
    >>> added = xfront.shard_map(f, mesh=mesh, in_specs=(parts, xfront.P()), out_specs=parts)
    >>> added(jnp.ones(2), 2.0)
    Array([3., 3.], dtype=float32)
    """
    return pcast(x, axis_name, to="varying")


__all__ = [
    "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean",
    "pmin", "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes", "pvary",
]  # fmt: skip

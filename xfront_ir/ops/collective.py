"""Collectives over named axes. `axes` are the names, outermost first, `sizes` their sizes.

    psum, pmax, pmin (x) {axes, sizes, groups}
    psum_invariant (x) {axes, sizes}         psum of x that varies over the axes; the sum does not
    pcast (x) {axes, sizes}                  x, treated as varying over the axes from here on
    all_gather (x) {axes, sizes, groups, dimension, tiled}
    psum_scatter (x) {axes, sizes, groups, dimension, tiled}
    all_to_all (x) {axes, sizes, groups, split, concat, tiled}
    ppermute (x) {axes, sizes, perm}         perm: (source, destination) pairs
    axis_index () {axes, sizes}              i32, counted over all axes together

`groups`, where given, divides the participants, and each group works alone. `vectorize` resolves
the name that it maps, whether or not an operand is batched; names that remain are axes of a mesh.

A sum has two transposes. Where programs say over which axes values vary (`passes/varying.py`), the
result of a sum is one value, and so is its cotangent: each device gets it by a `pcast`, whose own
transpose is the sum. Elsewhere each device has a cotangent for its own copy of the result, and
receives the sum of them.

Source: StableHLO spec, the collective ops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..builder import Builder
from ..core import Op, Value
from ..definition import LINEAR_OP, NONE, ZERO, OpDef, lookup
from ..errors import IRTypeError, MissingRule
from ..opdef import BOOL, INT, INTS, NAMES, TREE, define, optional
from ..passes.bodies import vectorize
from ..placed_builder import PlacedBuilder
from ..spreading import alike, spreads, unchanged
from ..types import I32, TensorType
from .families import move_batch
from .shape import broadcast_in_dim, moved, position_of, reshape, transpose

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..passes.varying import Varying
    from ..rules import (
        Attrs,
        Axis,
        Batch,
        Batched,
        Infer,
        NewTangents,
        Positions,
        Tangents,
        Types,
        Values,
        Varied,
    )

Ints = tuple[int, ...]

_AXES = {"axes": NAMES, "sizes": INTS}
_GROUPS = {**_AXES, "groups": optional(TREE)}


def _participants(attrs: Any) -> int:
    groups = attrs.get("groups")
    return len(groups[0]) if groups else math.prod(attrs["sizes"])


class GroupsError(IRTypeError, ValueError):
    """Groups that do not divide the participants evenly."""


def _check_axes(name: str, attrs: Any) -> None:
    axes, sizes = attrs["axes"], attrs["sizes"]
    if len(axes) != len(sizes) or len(set(axes)) != len(axes):
        raise IRTypeError(f"{name}: axes {axes} must be distinct and have one size each, got sizes "
                          f"{sizes}")
    check_groups(name, sizes, attrs.get("groups"))


def check_groups(name: str, sizes: Ints, groups: Any) -> None:
    """Check that groups, if there are any, divide the participants evenly. Raises: IRTypeError."""
    if groups:
        if len({len(g) for g in groups}) != 1:
            raise GroupsError(f"{name}: groups must all have the same size, got {groups}")
        if sorted(i for g in groups for i in g) != list(range(math.prod(sizes))):
            raise GroupsError(f"{name}: groups must contain each of the {math.prod(sizes)} "
                              f"participants exactly once, got {groups}")


def _check_dimension(name: str, x: TensorType, d: int, ndim: int) -> None:
    if not 0 <= d < ndim:
        raise IRTypeError(f"{name}: dimension {d} is not in [0, {ndim}) of {x}")


def _mentioned(attrs: Attrs) -> Collection[str]:
    return attrs["axes"]


def _without(attrs: Attrs, name: str) -> dict[str, Any]:
    """The attributes for the axes that remain once `name` is mapped."""
    kept = [(a, n) for a, n in zip(attrs["axes"], attrs["sizes"], strict=True) if a != name]
    return {**attrs, "axes": tuple(a for a, _ in kept), "sizes": tuple(n for _, n in kept)}


def _refuse_groups(op: Op, name: str) -> None:
    if op.attrs.get("groups"):
        raise MissingRule(f"{op.definition.name}: axis_index_groups is not supported over "
                          f"{name!r}, an axis of vmap; reshape the batch into two mapped axes "
                          "instead")


def _alone(op: Op, name: str) -> None:
    if len(op.attrs["axes"]) > 1:
        raise MissingRule(f"{op.definition.name}: {name!r} is an axis of vmap and cannot be "
                          f"combined with other axes, got {op.attrs['axes']}; use one call for "
                          "each axis")


def _one_by_one(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis, write: Any
                ) -> Batched:
    """Batching of an op over several axes, where `write` emits one op for each axis instead."""
    inner = PlacedBuilder(op.definition.name)
    x = inner.param(op.operands[0].type)
    each = [{**op.attrs, "axes": (a,), "sizes": (n,)}
            for a, n in zip(op.attrs["axes"], op.attrs["sizes"], strict=True)]
    moved_in, out = vectorize(inner.close([write(inner, op, x, each)]), positions, axis)
    return b.inline(moved_in, operands), out


# --- sums and extrema ---------------------------------------------------------------------

def _infer_reduction(name: str) -> Infer:
    def infer(types: Types, attrs: Attrs) -> Types:
        _check_axes(name, attrs)
        if not (types[0].dtype.is_numeric or not name.startswith("psum")):
            raise IRTypeError(f"{name} takes numbers, got {types[0]}")
        return types

    return infer


def _batch_reduction(reducer: str) -> Batch:
    def batch(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
        (x,), (p,), attrs, (name, size) = operands, positions, op.attrs, axis
        if name in attrs["axes"]:
            _refuse_groups(op, name)
            attrs = _without(attrs, name)
            if p is not None:
                x, p = b.emit(lookup(reducer), x, axes=(p,)), None
            elif reducer == "reduce_sum":
                x = b.emit(lookup("mul"), x, b.full(x.type, size))
            if not attrs["axes"]:
                return (x,), (None,)
        return (b.emit(op.definition, x, **attrs),), (p,)

    return batch


def _varying_sum(v: Varying, op: Op, operands: Values) -> Varied:
    """A sum over followed axes is the same on all of them; with groups each group has its own."""
    (x,), attrs = operands, op.attrs
    followed = tuple([a for a in attrs["axes"] if a in v.axes])
    if attrs["groups"] or len(followed) < len(attrs["axes"]):
        return _varying_exchange(v, op, operands)
    total = v.b.emit(psum_invariant, v.cast(x, followed), axes=attrs["axes"], sizes=attrs["sizes"])
    return (total,), (v.of(x).difference(followed),)


def _varying_extremum(v: Varying, op: Op, operands: Values) -> Varied:
    (x,), attrs = operands, op.attrs
    axes = () if attrs["groups"] else attrs["axes"]
    return (v.b.emit(op.definition, x, **attrs),), (v.of(x).difference(axes),)


def _varying_exchange(v: Varying, op: Op, operands: Values) -> Varied:
    """Each device receives its own value."""
    x, wanted = operands[0], v.of(operands[0]).union(v.followed(op.attrs["axes"]))
    return (v.b.emit(op.definition, v.cast(x, wanted), **op.attrs),), (wanted,)


psum: OpDef[Value] = define(
    "psum", attrs=_GROUPS, operands=1, infer=_infer_reduction("psum"), jvp=LINEAR_OP,
    transpose=lambda b, op, cts, known: (b.emit(psum, cts[0], **op.attrs),),
    batch=_batch_reduction("reduce_sum"), mentions_axis=_mentioned, varying=_varying_sum)
pmax = define("pmax", attrs=_GROUPS, operands=1, infer=_infer_reduction("pmax"), jvp=NONE,
              batch=_batch_reduction("reduce_max"), mentions_axis=_mentioned,
              varying=_varying_extremum)
pmin = define("pmin", attrs=_GROUPS, operands=1, infer=_infer_reduction("pmin"), jvp=NONE,
              batch=_batch_reduction("reduce_min"), mentions_axis=_mentioned,
              varying=_varying_extremum)


def _infer_cast(types: Types, attrs: Attrs) -> Types:
    _check_axes("pcast", attrs)
    return types


def _varying_cast(v: Varying, op: Op, operands: Values) -> Varied:
    """A value that varies already is not cast again: its cotangent would be summed twice."""
    (x,), attrs = operands, op.attrs
    own = v.of(x)
    kept = [(a, n) for a, n in zip(attrs["axes"], attrs["sizes"], strict=True) if a not in own]
    if kept:
        x = v.b.emit(pcast, x, axes=tuple([a for a, _ in kept]), sizes=tuple([n for _, n in kept]))
    return (x,), (own.union(v.followed(attrs["axes"])),)


def _varying_invariant_sum(v: Varying, op: Op, operands: Values) -> Varied:
    axes = v.followed(op.attrs["axes"])
    x = v.cast(operands[0], axes)
    return (v.b.emit(psum_invariant, x, **op.attrs),), (v.of(operands[0]).difference(axes),)


def _batch_cast(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    return (b.emit(pcast, operands[0], **op.attrs),), positions


psum_invariant: OpDef[Value] = define(
    "psum_invariant", attrs=_AXES, operands=1, infer=_infer_reduction("psum_invariant"),
    jvp=LINEAR_OP, transpose=lambda b, op, cts, known: (b.emit(pcast, cts[0], **op.attrs),),
    batch=_batch_reduction("reduce_sum"), mentions_axis=_mentioned,
    varying=_varying_invariant_sum)
pcast: OpDef[Value] = define(
    "pcast", attrs=_AXES, operands=1, infer=_infer_cast, jvp=LINEAR_OP,
    transpose=lambda b, op, cts, known: (b.emit(psum_invariant, cts[0], **op.attrs),),
    batch=_batch_cast, mentions_axis=_mentioned, varying=_varying_cast)


# --- all_gather and psum_scatter ------------------------------------------------------------

def _infer_all_gather(types: Types, attrs: Attrs) -> Types:
    (x,), n = types, _participants(attrs)
    d: int = attrs["dimension"]
    _check_axes("all_gather", attrs)
    _check_dimension("all_gather", x, d, x.ndim + (not attrs["tiled"]))
    shape = x.shape
    return (x.with_shape((*shape[:d], n * shape[d], *shape[d + 1:]) if attrs["tiled"] else
                         (*shape[:d], n, *shape[d:])),)


def _infer_psum_scatter(types: Types, attrs: Attrs) -> Types:
    (x,), n = types, _participants(attrs)
    d: int = attrs["dimension"]
    _check_axes("psum_scatter", attrs)
    if not x.dtype.is_numeric:
        raise IRTypeError(f"psum_scatter takes numbers, got {x}; convert it to an integer type")
    _check_dimension("psum_scatter", x, d, x.ndim)
    shape = x.shape
    if shape[d] % n or (not attrs["tiled"] and shape[d] != n):
        raise IRTypeError(f"psum_scatter: dimension {d} of {x} cannot be divided among {n} "
                          "participants")
    kept: Ints = (shape[d] // n,) if attrs["tiled"] else ()
    return (x.with_shape((*shape[:d], *kept, *shape[d + 1:])),)


def _shifted(b: Builder, op: Op, x: Value, p: int, names: Any) -> Any:
    """Batching of a collective over other axes: the dimensions that its attributes name move up."""
    front = b.emit(transpose, x, permutation=moved(x.type.ndim, p, 0)) if p else x
    attrs = {**op.attrs, **{k: op.attrs[k] + 1 for k in names}}
    return (b.emit(op.definition, front, **attrs),), (0,)


def _merge(b: Builder, x: Value, d: int) -> Value:
    """`x` with axes d and d + 1 merged into one."""
    shape = x.type.shape
    return b.emit(reshape, x, shape=(*shape[:d], shape[d] * shape[d + 1], *shape[d + 2:]))


def _divide(b: Builder, x: Value, d: int, n: int) -> Value:
    """`x` with axis d divided into two, the first of size n."""
    shape = x.type.shape
    return b.emit(reshape, x, shape=(*shape[:d], n, shape[d] // n, *shape[d + 1:]))


def _gathers(b: Builder, op: Op, x: Value, each: Any) -> Value:
    for attrs in reversed(each):                 # the outermost axis counts slowest
        x = b.emit(all_gather, x, **attrs)
    return b.emit(reshape, x, shape=op.results[0].type.shape)


def _scatters(b: Builder, op: Op, x: Value, each: Any) -> Value:
    d, shape = op.attrs["dimension"], x.type.shape
    if not op.attrs["tiled"]:
        x = b.emit(reshape, x, shape=(*shape[:d], *op.attrs["sizes"], *shape[d + 1:]))
    for attrs in each:
        x = b.emit(psum_scatter, x, **attrs)
    return x


def _batch_all_gather(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                      ) -> Batched:
    (x,), (p,), attrs, (name, size) = operands, positions, op.attrs, axis
    if name not in attrs["axes"]:
        return _shifted(b, op, x, position_of(positions), ("dimension",))
    _refuse_groups(op, name)
    if len(attrs["axes"]) > 1:
        return _one_by_one(b, op, operands, positions, axis, _gathers)
    d = attrs["dimension"]
    made = move_batch(b, x, p, d, size)
    return (_merge(b, made, d) if attrs["tiled"] else made,), (None,)


def _batch_psum_scatter(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                        ) -> Batched:
    (x,), (p,), attrs, (name, size) = operands, positions, op.attrs, axis
    if name not in attrs["axes"]:
        return _shifted(b, op, x, position_of(positions), ("dimension",))
    _refuse_groups(op, name)
    if len(attrs["axes"]) > 1:
        return _one_by_one(b, op, operands, positions, axis, _scatters)
    total = (b.emit(lookup("reduce_sum"), x, axes=(p,)) if p is not None else
             b.emit(lookup("mul"), x, b.full(x.type, size)))
    d = attrs["dimension"]
    return (_divide(b, total, d, size) if attrs["tiled"] else total,), (d,)


all_gather = define(
    "all_gather", attrs={**_GROUPS, "dimension": INT, "tiled": BOOL}, operands=1,
    infer=_infer_all_gather, jvp=LINEAR_OP,
    transpose=lambda b, op, cts, known: (b.emit(psum_scatter, cts[0], **op.attrs),),
    batch=_batch_all_gather, mentions_axis=_mentioned, varying=_varying_exchange)
psum_scatter = define(
    "psum_scatter", attrs={**_GROUPS, "dimension": INT, "tiled": BOOL}, operands=1,
    infer=_infer_psum_scatter, jvp=LINEAR_OP,
    transpose=lambda b, op, cts, known: (b.emit(all_gather, cts[0], **op.attrs),),
    batch=_batch_psum_scatter, mentions_axis=_mentioned, varying=_varying_exchange)


# --- all_to_all ---------------------------------------------------------------------------

def _infer_all_to_all(types: Types, attrs: Attrs) -> Types:
    (x,), n = types, _participants(attrs)
    split, concat, shape = attrs["split"], attrs["concat"], list(types[0].shape)
    _check_axes("all_to_all", attrs)
    _check_dimension("all_to_all", x, split, x.ndim)
    _check_dimension("all_to_all", x, concat, x.ndim)
    if shape[split] % n or (not attrs["tiled"] and shape[split] != n):
        raise IRTypeError(f"all_to_all: dimension {split} of {x} cannot be divided among {n} "
                          "participants")
    if attrs["tiled"]:
        shape[split] //= n
        shape[concat] *= n
    else:
        shape.insert(concat, shape.pop(split))
    return (x.with_shape(tuple(shape)),)


def _exchanges(b: Builder, op: Op, x: Value, each: Any) -> Value:
    """Exchange over one axis at a time in place of the split axis; then move sources to `concat`.
    """
    n, concat = _participants(op.attrs), op.attrs["concat"]
    split: int = op.attrs["split"]
    tiled, shape = op.attrs["tiled"], x.type.shape
    kept: Ints = (shape[split] // n,) if tiled else ()
    sides = shape[:split], (*kept, *shape[split + 1:])
    x = b.emit(reshape, x, shape=(*sides[0], *op.attrs["sizes"], *sides[1]))
    for i, attrs in enumerate(each):
        x = b.emit(all_to_all, x, **{**attrs, "split": split + i, "concat": split + i,
                                     "tiled": False})
    x = b.emit(reshape, x, shape=(*sides[0], n, *sides[1]))
    x = b.emit(transpose, x, permutation=moved(x.type.ndim, split, concat))
    return _merge(b, x, concat) if tiled else x


def _batch_all_to_all(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                      ) -> Batched:
    """Exchange the batch axis and the split axis."""
    (x,), (p,), attrs, (name, size) = operands, positions, op.attrs, axis
    if name not in attrs["axes"]:
        return _shifted(b, op, x, position_of(positions), ("split", "concat"))
    _refuse_groups(op, name)
    if len(attrs["axes"]) > 1:
        return _one_by_one(b, op, operands, positions, axis, _exchanges)
    split, concat, tiled = attrs["split"], attrs["concat"], attrs["tiled"]
    x = move_batch(b, x, p, 0, size)
    if tiled:
        x = _divide(b, x, split + 1, size)
    ndim = x.type.ndim                           # source lanes at 0, destination lanes at split + 1
    rest = [d for d in range(1, ndim) if d != split + 1]
    rest.insert(concat, 0)
    x = b.emit(transpose, x, permutation=(split + 1, *rest))
    return (_merge(b, x, concat + 1) if tiled else x,), (0,)


def _transpose_all_to_all(b: Builder, op: Op, cts: Tangents, known: Sequence[Any]) -> NewTangents:
    split, concat = op.attrs["concat"], op.attrs["split"]
    return (b.emit(all_to_all, cts[0], **{**op.attrs, "split": split, "concat": concat}),)


all_to_all = define(
    "all_to_all", attrs={**_GROUPS, "split": INT, "concat": INT, "tiled": BOOL}, operands=1,
    infer=_infer_all_to_all, jvp=LINEAR_OP,
    transpose=_transpose_all_to_all,
    batch=_batch_all_to_all, mentions_axis=_mentioned, varying=_varying_exchange)


# --- ppermute -----------------------------------------------------------------------------

def _infer_ppermute(types: Types, attrs: Attrs) -> Types:
    _check_axes("ppermute", attrs)
    n, perm = math.prod(attrs["sizes"]), attrs["perm"]
    for what, ends in (("sources", [s for s, _ in perm]), ("destinations", [d for _, d in perm])):
        if len(set(ends)) != len(ends) or not all(0 <= e < n for e in ends):
            raise IRTypeError(f"ppermute: {what} must be distinct and in [0, {n}), got {ends}")
    return types


def _batch_ppermute(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                    ) -> Batched:
    """The rows of the batch in another order, and zeros in lanes that receive nothing."""
    (x,), (p,), attrs, (name, size) = operands, positions, op.attrs, axis
    if name not in attrs["axes"]:
        return (b.emit(op.definition, x, **attrs),), (p,)
    _alone(op, name)
    source = {d: s for s, d in attrs["perm"]}
    x = move_batch(b, x, p, 0, size)
    runs: list[tuple[int | None, int]] = []      # (first source or None, how many)
    for lane in range(size):
        s = source.get(lane)
        if runs and (s is None) == (runs[-1][0] is None) and (
                s is None or s == runs[-1][0] + runs[-1][1]):     # type: ignore[operator]
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((s, 1))
    rest = x.type.shape[1:]
    ones, zeros = (1,) * x.type.ndim, (0,) * len(rest)
    pieces = [b.zeros(x.type.with_shape((n, *rest))) if s is None else
              b.emit(lookup("slice"), x, starts=(s, *zeros), limits=(s + n, *rest), strides=ones)
              for s, n in runs]
    made = pieces[0] if len(pieces) == 1 else b.emit(lookup("concatenate"), *pieces, dimension=0)
    return (made,), (0,)


ppermute: OpDef[Value] = define(
    "ppermute", attrs={**_AXES, "perm": TREE}, operands=1, infer=_infer_ppermute, jvp=LINEAR_OP,
    transpose=lambda b, op, cts, known: (b.emit(ppermute, cts[0], **{
        **op.attrs, "perm": tuple((d, s) for s, d in op.attrs["perm"])}),),
    batch=_batch_ppermute, mentions_axis=_mentioned, varying=_varying_exchange)


# --- axis_index ---------------------------------------------------------------------------

def _infer_axis_index(types: Types, attrs: Attrs) -> Types:
    _check_axes("axis_index", attrs)
    return (I32,)


def _batch_axis_index(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                      ) -> Batched:
    attrs, (name, size) = op.attrs, axis
    at = attrs["axes"].index(name)
    inner = math.prod(attrs["sizes"][at + 1:])
    numbers = b.emit(lookup("iota"), dtype=dtypes.i32, shape=(size,), dimension=0)
    total = numbers if inner == 1 else b.emit(lookup("mul"), numbers, b.full(numbers.type, inner))
    groups = ((attrs["axes"][:at], attrs["sizes"][:at], size * inner),
              (attrs["axes"][at + 1:], attrs["sizes"][at + 1:], 1))
    for axes, sizes, stride in groups:           # the axes around the mapped one are still unknown
        if axes:
            other = b.emit(axis_index, axes=axes, sizes=sizes)
            if stride != 1:
                other = b.emit(lookup("mul"), other, b.full(I32, stride))
            spread = b.emit(broadcast_in_dim, other, shape=(size,), dims=())
            total = b.emit(lookup("add"), total, spread)
    return (total,), (0,)


axis_index = define("axis_index", attrs=_AXES, operands=0, infer=_infer_axis_index, jvp=ZERO,
                    batch=_batch_axis_index, mentions_axis=_mentioned,
                    varying=lambda v, op, operands: (
                        (v.b.emit(axis_index, **op.attrs),), (v.followed(op.attrs["axes"]),)))


# --- axes that divide ---------------------------------------------------------------------

spreads(alike, psum, pmax, pmin, psum_invariant, pcast, ppermute)
spreads(unchanged, all_gather, psum_scatter, all_to_all)

"""shard_map: a body that every device of a mesh runs on its own parts of the operands.

    shard_map(*operands) {mesh, axes, in_specs, out_specs, check_vma, body}
        body(local parts) -> local parts of the results

`axes` are the manual axes of the mesh, those over which the body's values are parts: collectives in
the body name them, and specs mention no others. Over manual axes that a spec does not mention each
device has a copy.

With `check_vma` the body says over which axes its values vary (`passes/varying.py`), and its
derivatives need nothing else. Without it, if n devices have copies of a result, each gets an nth of
its cotangent; if devices have copies of an operand, their cotangents are summed. Values that are
unreduced or reduced over axes are plain in the body then: each device's term, or its copy.

Values that linearize saves in the body leave it with a new axis in front, over all manual axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..analysis import axis_names, has_effects
from ..builder import Builder
from ..core import Function, Op, Value, forced
from ..definition import LINEAR, lookup
from ..errors import IRTypeError, IRValueError
from ..opdef import BODY, BOOL, MESH, NAMES, SPECS, define
from ..passes.bodies import (
    Flags,
    Linearized,
    divide,
    join,
    jvp,
    linearize,
    remembered,
    select,
    strong_body,
    transpose_to,
    unzip,
    varying,
    vectorize,
)
from ..placed_builder import PlacedBuilder
from ..regions import REST, Body, Regions
from ..sharding import DividedBatch, MeshAxes, Sharding, Spec, batch_axes, replicated
from ..split_builder import SplitBuilder
from ..types import TensorType, plain
from .shape import reshape

if TYPE_CHECKING:
    from ..passes.varying import Varying
    from ..rules import (
        Attrs,
        Axis,
        Batched,
        NewTangents,
        Positions,
        Tangents,
        Values,
        Varied,
        WithTangents,
    )

Types = tuple[TensorType, ...]
Specs = Sequence[Spec]


def _check(what: str, specs: Specs, attrs: Any) -> None:
    for i, spec in enumerate(specs):
        if bad := [a for a in spec.axes if a not in attrs["axes"]]:
            raise IRTypeError(f"shard_map: {what}[{i}] {spec} mentions {bad[0]!r}, which is not "
                              f"one of the manual axes {attrs['axes']}")
        sums = {*spec.unreduced, *spec.reduced}
        if spec.open or not sums.issubset(attrs["axes"]):
            raise IRTypeError(f"shard_map: {what}[{i}] {spec} may only say how each dimension is "
                              "divided, and over which manual axes values are sums")


def _infer(types: Types, attrs: Attrs) -> Types:
    mesh, body = attrs["mesh"], attrs["body"]
    ins, outs = attrs["in_specs"], attrs["out_specs"]
    if bad := [a for a in attrs["axes"] if a not in mesh.names]:
        raise IRTypeError(f"shard_map: {bad[0]!r} is not an axis of the mesh {mesh}")
    if len(ins) != len(types) or len(outs) != len(body.return_types):
        raise IRTypeError(f"shard_map takes a spec for each of {len(types)} operands and "
                          f"{len(body.return_types)} results, got {len(ins)} and {len(outs)}")
    _check("in_specs", ins, attrs)
    _check("out_specs", outs, attrs)
    try:
        local = tuple([part_type(mesh, attrs["axes"], t, s)
                       for t, s in zip(types, ins, strict=True)])
        results = tuple([global_type(mesh, t, s)
                         for t, s in zip(body.return_types, outs, strict=True)])
    except (IRValueError, ValueError) as e:
        raise IRTypeError(f"shard_map: {e}") from None
    if plain(local) != plain(body.param_types):
        raise IRTypeError(f"shard_map: local parts are {list(map(str, local))}, but the body takes "
                          f"{list(map(str, body.param_types))}")
    return results


@lru_cache(maxsize=4096)
def part_type(mesh: MeshAxes, axes: tuple[str, ...], t: TensorType, spec: Spec) -> TensorType:
    """The type of a device's part; other explicit axes still divide it."""
    local = t.with_shape(spec.local_shape(mesh, t.shape)).in_memory(t.memory)
    left = Spec([[a for a in d if a not in axes] for d in t.dims], (), spec.unreduced, spec.reduced)
    if t.sharding is None and not (left.unreduced or left.reduced):
        return local
    return local.over(Sharding(_inside(mesh, axes), left, t.memory))


@lru_cache(maxsize=4096)
def global_type(mesh: MeshAxes, t: TensorType, spec: Spec) -> TensorType:
    """The type of the whole value whose parts have the type `t`."""
    whole = t.with_shape(spec.global_shape(mesh, t.shape))
    if "explicit" not in mesh.types:
        return whole.plain.in_memory(t.memory)
    dims = [(*mine, *more) for mine, more in zip(spec.dims, t.dims, strict=True)]
    return whole.over(Sharding(mesh, Spec(dims, (), spec.unreduced, spec.reduced), t.memory))


def _inside(mesh: MeshAxes, axes: Sequence[str]) -> MeshAxes:
    return mesh.with_types(dict.fromkeys(axes, "manual"))


def _with(attrs: Any, body: Any, ins: Specs, outs: Specs) -> dict[str, Any]:
    return {**attrs, "body": body, "in_specs": tuple(ins), "out_specs": tuple(outs)}


def unmentioned(attrs: Any, spec: Spec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The manual axes over which every device has a copy of a value of this spec, and their sizes.
    A sum of terms is none; nor is a reduced value, since cotangents of its copies are such terms.
    """
    mesh: MeshAxes = attrs["mesh"]
    others = (*spec.axes, *spec.unreduced, *spec.reduced)
    names = tuple([a for a in attrs["axes"] if a not in others])
    return names, tuple([mesh.size_of((a,)) for a in names])


def _active(values: Sequence[Any]) -> Flags:
    return tuple([x is not None for x in values])


# --- derivatives ----------------------------------------------------------------------------

def _jvp(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    active, body = _active(tangents), forced(attrs["body"])
    ins, outs = attrs["in_specs"], attrs["out_specs"]
    moving = select(tangents, active)
    if isinstance(b, SplitBuilder) and b.tangents.isdisjoint(operands):
        parts = linearize(body, active)
        out = parts.active_out
        results, found = _divided(b, attrs, parts, (operands, ins, outs),
                                  (moving, select(ins, active), select(outs, out)))
    else:
        moved, out = jvp(body, active)
        made = b.emit(shard_map, *operands, *moving,
                      **_with(attrs, moved, (*ins, *select(ins, active)),
                              (*outs, *select(outs, out))))
        results, found = made[:len(outs)], made[len(outs):]
    dots = iter(found)
    return results, [next(dots) if a else None for a in out]


def _split(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    parts = divide(forced(attrs["body"]), linear)
    tangents, known = unzip(operands, linear)
    in_linear, in_known = unzip(attrs["in_specs"], linear)
    out_linear, out_known = unzip(attrs["out_specs"], parts.active_out)
    returned, made = _divided(b, attrs, parts, (known, in_known, out_known),
                              (tangents, in_linear, out_linear))
    return join(parts.active_out, made, returned)


def _divided(b: SplitBuilder, attrs: Attrs, parts: Linearized,
             known: tuple[Sequence[Value], Specs, Specs],
             moving: tuple[Sequence[Value], Specs, Specs]) -> tuple[Values, Values]:
    """Emit a shard_map on each side, of operands with specs of operands and of results. Gives the
    results of both."""
    operands, in_known, out_known = known
    tangents, in_linear, out_linear = moving
    n, manual = parts.n_out, attrs["axes"]

    def keeps_all(i: int) -> bool:
        """Whether a result of the forward side keeps the values of all devices."""
        return attrs["check_vma"] or not unmentioned(attrs, out_known[i])[0]

    given = [i for kind, i in parts.residuals if kind == "out" and not keeps_all(i)]
    saved = [*parts.forward.returns[n:], *[parts.forward.returns[i] for i in given]]
    forward = remembered(parts.forward, ("saving", n, tuple(given)),
                         lambda: _saving(parts.forward, n, saved))
    stacked = [replicated(v.type.ndim).insert(0, manual) for v in saved]
    returned: tuple[Value, ...] = ()
    if forward.returns or has_effects(forward):
        returned = b.emit(shard_map, *operands,
                          **_with(attrs, forward, in_known, (*out_known, *stacked)))
    read: list[Value] = []
    specs: list[Spec] = []
    flags: list[bool] = []
    for kind, i in parts.residuals:
        if kind == "out" and not keeps_all(i):
            kind, i = "residual", len(saved) - len(given) + given.index(i)
        flags.append(kind == "residual")
        read.append(operands[i] if kind == "param" else returned[i + (n if flags[-1] else 0)])
        specs.append(in_known[i] if kind == "param" else stacked[i] if flags[-1] else out_known[i])
    made: tuple[Value, ...] = ()
    if parts.linear.returns:
        body = remembered(parts.linear, ("reading", tuple(flags)),
                          lambda: _reading(parts.linear, flags))
        made = b.emit_linear(shard_map, *tangents, *read,
                             **_with(attrs, body, (*in_linear, *specs), out_linear))
    return returned[:n], made


def _saving(forward: Function, n: int, saved: Sequence[Value]) -> Function:
    """The forward side with saved values after its first n results, each with a new first axis."""
    b = PlacedBuilder(forward.name)
    b.ops = list(forward.ops)
    rows = [b.emit(reshape, _alone(b, v, v.type, back=False), shape=(1, *v.type.shape))
            for v in saved]
    return Function(forward.name, forward.params, b.ops, (*forward.returns[:n], *rows))


def _reading(linear: Function, flags: Sequence[bool]) -> Function:
    """The linear side, whose flagged last parameters have a new first axis."""
    b = PlacedBuilder(linear.name)
    n = len(linear.params) - len(flags)
    operands = [b.param(v.type) for v in linear.params[:n]]
    for v, in_row in zip(linear.params[n:], flags, strict=True):
        if in_row:
            row = b.param(v.type.with_shape((1, *v.type.shape)))
            operands.append(_alone(b, b.emit(reshape, row, shape=v.type.shape), v.type, back=True))
        else:
            operands.append(b.param(v.type))
    return b.close(b.inline(linear, operands))


def _alone(b: Builder, value: Value, type: TensorType, *, back: bool) -> Value:
    """What each device has of an unreduced or reduced value of this type, as a value of its own, or
    `back` again."""
    if not type.is_manual:
        return value
    assert type.sharding is not None
    cast, spec = lookup("manual_cast"), type.sharding.spec
    for word, axes in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        if axes:
            old, new = ("varying", word) if back else (word, "varying")
            value = b.emit(cast, value, mesh=type.sharding.mesh, axes=axes, old=old, new=new)
    return value


def _dual(specs: Specs) -> tuple[Spec, ...]:
    """The specs of cotangents."""
    return tuple([Spec(s.dims, s.open, s.reduced, s.unreduced) if s.reduced or s.unreduced else s
                  for s in specs])


def _transpose(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs = op.attrs
    linear = tuple([k is LINEAR for k in known])
    values = [k for k in known if k is not LINEAR]
    in_linear, in_known = unzip(attrs["in_specs"], linear)
    active = _active(cotangents)
    back, active_in = transpose_to(forced(attrs["body"]), linear, active)
    received = _dual(select(attrs["out_specs"], active))
    given = _dual(select(in_linear, active_in))
    if not attrs["check_vma"]:
        copies = tuple([unmentioned(attrs, s) for s in received])
        sums = tuple([unmentioned(attrs, s) for s in given])
        plain = back
        back = remembered(plain, ("of copies", copies, sums),
                          lambda: _of_copies(plain, len(values), copies, sums))
    made = b.emit(shard_map, *values, *[ct for ct in cotangents if ct is not None],
                  **_with(attrs, back, (*in_known, *received), given))
    found = iter(made)
    cts = iter([next(found) if a else None for a in active_in])
    return tuple([next(cts) if f else None for f in linear])


def _of_copies(back: Function, n: int, copies: Sequence[Any], sums: Sequence[Any]) -> Function:
    """The transpose where devices have copies. Each device takes its share of the cotangents, which
    come after the first n parameters; the cotangents that it gives are summed."""
    b = PlacedBuilder(back.name)
    operands = [b.param(v.type) for v in back.params]
    for i, (_, sizes) in enumerate(copies, n):
        count = 1
        for size in sizes:
            count *= size
        if count > 1:
            ct = operands[i]
            operands[i] = b.emit(lookup("div"), ct, b.full(ct.type, count))
    returns = [b.emit(lookup("psum"), v, axes=names, sizes=sizes, groups=None) if names else v
               for v, (names, sizes) in zip(b.inline(back, operands), sums, strict=True)]
    return b.close(returns)


# --- batches and literals -------------------------------------------------------------------

def _batch(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    """Each device has the whole batch of its parts, or a part of the batch where the batch axis is
    divided over axes of the op. A name that the op binds does not name the batch inside."""
    attrs, (name, size) = op.attrs, axis
    mesh: MeshAxes = attrs["mesh"]
    if strays := [a for a in batch_axes(axis) if a not in mesh.names]:
        raise IRValueError(f"vmap: spmd_axis_name has {strays[0]!r}, but the axes of the mesh of a "
                           f"shard_map that it maps are {mesh.names}")
    own = tuple([a for a in batch_axes(axis) if a in attrs["axes"]])
    body = forced(attrs["body"])
    inner: Any = (("outside", name), size) if name in attrs["axes"] else axis
    if own:
        inner = _part_of_batch(attrs, body, axis, own)
    body, places = vectorize(body, positions, inner)
    ins, outs = ([s if p is None else s.insert(p, own)
                  for s, p in zip(attrs[what], at, strict=True)]
                 for what, at in (("in_specs", positions), ("out_specs", places)))
    if own and attrs["check_vma"]:               # batched values now vary over these axes too
        followed = tuple([(a, attrs["mesh"].size_of((a,))) for a in attrs["axes"]])
        body, _ = varying(body, [frozenset(s.axes) for s in ins], followed,
                          [frozenset(s.axes) for s in outs])
    return b.emit(shard_map, *operands, **_with(attrs, body, ins, outs)), places


def _part_of_batch(attrs: Attrs, body: Function, axis: Axis, own: tuple[str, ...]) -> Any:
    """The batch axis inside the body, where it is divided over the op's axes `own`."""
    name, size = axis
    if any([a in own for s in (*attrs["in_specs"], *attrs["out_specs"]) for a in s.axes]):
        raise IRValueError(f"vmap spmd_axis_name {own} cannot appear in shard_map in_specs or "
                           "out_specs")
    if read := axis_names(body).intersection(own):
        raise IRValueError(f"vmap: spmd_axis_name has {min(read)!r}, which the body of a shard_map "
                           "reads: its devices would exchange different examples")
    if name in attrs["axes"]:
        name = ("outside", name)
    elif name in axis_names(body):
        raise IRValueError(f"vmap: the body of a shard_map has a collective over {name!r}, an axis "
                           f"that is divided over spmd_axis_name {own}: each device has a part of "
                           "the examples only")
    count = attrs["mesh"].size_of(own)
    if size % count:
        raise IRValueError(f"vmap: a batch of {size} cannot be divided over spmd_axis_name "
                           f"{own}, of {count} devices")
    rest = tuple([a for a in batch_axes(axis) if a not in own])
    return DividedBatch(name, size // count, rest) if rest else (name, size // count)


def _widened(op: Op, attrs: Any, extra: Types) -> dict[str, Any]:
    """The attributes of an op that has gained operands, of which every device has a copy."""
    more = [replicated(t.ndim) for t in extra]
    return {**attrs, "in_specs": (*attrs["in_specs"], *more)}


def _varying(v: Varying, op: Op, operands: Values) -> Varied:
    """The rule for a shard_map inside another. Parts also vary over the axes of their specs, and
    results vary only over the axes of the outer one."""
    attrs = op.attrs
    if not attrs["check_vma"]:
        raise IRTypeError("shard_map: a shard_map with check_vma=False cannot be called inside one "
                          "with check_vma=True; give both the same value")
    sets = [v.of(x).union(s.axes) for x, s in zip(operands, attrs["in_specs"], strict=True)]
    out = [frozenset(s.axes) for s in attrs["out_specs"]]
    own = tuple([(a, attrs["mesh"].size_of((a,))) for a in attrs["axes"]])
    body, results = v.body(forced(attrs["body"]), sets, out, also=own)
    check_results(attrs, results)
    made = v.b.emit(shard_map, *operands, **{**attrs, "body": body})
    return made, [s.difference(attrs["axes"]) for s in results]


def check_results(attrs: Any, results: Sequence[frozenset[str]]) -> None:
    """Refuse results that vary over axes which their specs do not mention. Raises: IRTypeError."""
    for i, (found, spec) in enumerate(zip(results, attrs["out_specs"], strict=True)):
        more = [a for a in attrs["axes"] if a in found and a not in spec.axes]
        if more:
            raise IRTypeError(f"shard_map: result {i} may vary over {more}, but its spec {spec} "
                              "says that it does not")


shard_map = define(
    "shard_map", attrs={"mesh": MESH, "axes": NAMES, "in_specs": SPECS, "out_specs": SPECS,
                        "check_vma": BOOL, "body": BODY},
    infer=_infer, single=False, own_primal=True, jvp=_jvp, split=_split, transpose=_transpose,
    batch=_batch, strong=strong_body, varying=_varying,
    regions=Regions({"operands": REST}, {"results": REST},
                    {"body": Body(("operands",), (), "operands")}, widened=_widened))


__all__ = ["check_results", "shard_map", "unmentioned"]

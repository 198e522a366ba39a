"""shard_map: a function of parts, run by every device of a mesh on its own.

This file checks the arguments and traces the body in local shapes. The op in
`xfront_ir/ops/shard_map.py` defines what it means in programs, its derivatives and its batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.errors import IRValueError
from xfront_ir.fixed import Named
from xfront_ir.ops.shard_map import global_type, part_type
from xfront_ir.passes.varying import varying
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.sharding import MeshAxes, Sharding, Spec, replicated
from xfront_ir.types import TensorType

from .. import binding
from ..base.config import auto_pcast
from ..base.trees import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..binding.partition_spec import PartitionSpec, axes_of, ir_spec, public_spec
from ..binding.tracebacks import front_door, front_door_of
from ..eager.constraint import shown
from ..running.programs import bind, in_place
from ..sharding.context import use_abstract_mesh
from ..sharding.errors import DuplicateSpecError
from ..sharding.mesh import AbstractMesh, AxisType, Mesh
from ..tracing.following import varies
from ..tracing.regions import Region, follows, inside, manual_axes, regions
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .flat import Flat, as_operand, kind_of, name_of, positional_names, trace_call
from .structs import filled

Infer: Any = Named("Infer")
"""The default of `in_specs`: specs are read off the types of the arguments."""


@front_door
def shard_map(f: Callable[..., Any] | None = None, /, *, out_specs: Any, in_specs: Any = Infer,
              mesh: Mesh | AbstractMesh | None = None, axis_names: AbstractSet[str] = frozenset(),
              check_vma: bool = True
              ) -> Callable[..., Any]:
    """A function of arrays that every device of a mesh computes on its own parts of them.

    Args:
      f: a function of parts. An axis of the mesh that a spec does not mention does not divide the
        array: each device has all of it.
      out_specs: how the parts of the results are put together: a PartitionSpec, or a tree prefix of
        the result of these. Over an axis that a spec does not mention, all devices must have the
        same value.
      in_specs: how the positional arguments are divided, in the same form, or None, which is
        `P()`; by default as the explicit axes of their types say.
      mesh: a Mesh or AbstractMesh; None takes the mesh in context.
      axis_names: set of the mesh axes over which values are parts; the compiler treats the others.
        The empty set means all axes but those of a `shard_map` around this one.
      check_vma: whether to follow over which axes values vary. A result that may vary over an axis
        that its spec does not mention is then refused, and derivatives have only the sums that they
        need.
    Returns: a function of whole arrays; its results lie on the mesh as their specs say. A call
      raises ValueError where specs do not fit the arguments or the results, or have axes that the
      mesh does not have or unconstrained parts, where `axis_names` has such axes, or where there is
      no mesh; DuplicateSpecError for an axis that a spec has twice; TypeError without `in_specs`
      where some of the axes are not explicit; NotImplementedError for `unreduced` and `reduced`
      axes without `check_vma` or over some axes of the mesh alone.
    Raises: TypeError where a spec or the mesh is of another type, or `axis_names` is a string.
    Source: Shardy, `sdy.manual_computation`.

    >>> mesh = xfront.sharding.Mesh(xfront.devices()[:1], ("i",))
    >>> total = xfront.shard_map(lambda x: xfront.lax.psum(x, "i"), mesh=mesh,
    ...                          in_specs=xfront.P("i"), out_specs=xfront.P())
    >>> total(jnp.arange(3.))
    Array([0., 1., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh,
                                 axis_names=axis_names, check_vma=check_vma)
    if not callable(f):
        raise TypeError(f"shard_map: expected a function, got {f!r}")
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map: mesh must be a Mesh or an AbstractMesh, got {mesh!r} of type "
                        f"{type(mesh).__name__}")
    if isinstance(axis_names, str):
        raise TypeError(f"shard_map: axis_names must be a set of names, got {axis_names!r}; write "
                        f"{{{axis_names!r}}}")
    if in_specs is not Infer:
        _check_specs("in_specs", in_specs)
    _check_specs("out_specs", out_specs)
    mapped = Mapped(f, mesh, in_specs, out_specs, frozenset(axis_names), bool(check_vma))

    @front_door_of(f)
    def wrapped(*args: Any) -> Any:
        return mapped(args)

    return wrapped


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _check_specs(what: str, specs: Any) -> None:
    for x in tree_leaves(specs, is_leaf=_is_spec):
        if not _is_spec(x):
            raise TypeError(f"shard_map {what} argument must be a pytree of "
                            f"`PartitionSpec` instances, but got {x!r} of type {type(x).__name__}")


class Mapped:
    """One mapped function with the options of its `shard_map`."""

    def __init__(self, f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any,
                 axis_names: frozenset[str], check_vma: bool) -> None:
        self.f, self.mesh, self.name = f, mesh, name_of(f)
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        self.out_specs, self.axis_names, self.check_vma = out_specs, axis_names, check_vma

    def own_axes(self, mesh: Any) -> tuple[str, ...]:
        """The mesh axes over which values are parts inside the function.

        Axes of a `shard_map` around this one stay its own, also where `axis_names` has them.
        Raises: ValueError where `axis_names` has an axis that is not there.
        """
        if strays := self.axis_names.difference(mesh.axis_names):
            raise ValueError(f"shard_map: axis_names has {sorted(strays)[0]!r}, but the axes of "
                             f"the mesh are {mesh.axis_names}")
        around = manual_axes()
        return tuple([a for a in mesh.axis_names
                      if a not in around and (not self.axis_names or a in self.axis_names)])

    def check_sums(self, what: str, spec: PartitionSpec, mesh: Any) -> None:
        """Refuse a spec with unreduced or reduced axes where nothing keeps track of them. Raises:
        ValueError where the mesh has axes that are not explicit; else NotImplementedError."""
        if {*mesh.explicit_axes} != {*mesh.axis_names}:
            raise ValueError(f"shard_map: unreduced and reduced axes in {what}, {spec}, need a "
                             f"mesh whose axes are all of type `Explicit`. Got mesh {mesh}")
        if self.axis_names not in (frozenset(), frozenset(mesh.axis_names)) or manual_axes():
            raise NotImplementedError(
                f"shard_map: unreduced and reduced axes in {what}, {spec}, are only supported in a "
                "shard_map over all axes of the mesh that is not inside another one")

    def check_axes(self, axes: tuple[str, ...], mesh: Any) -> None:
        """Refuse specs with other axes or unconstrained parts. Raises: ValueError;
        DuplicateSpecError for an axis that is there twice."""
        given = () if self.in_specs is Infer else self.in_specs
        for what, specs in (("in_specs", given), ("out_specs", self.out_specs)):
            for spec in tree_leaves(specs, is_leaf=_is_spec):
                if spec is None:
                    continue
                if PartitionSpec.UNCONSTRAINED in spec:
                    raise ValueError(f"shard_map: {what} has {spec}, but specs of shard_map may "
                                     "only hold axis names or None for each dimension")
                if spec.unreduced or spec.reduced:
                    self.check_sums(what, spec, mesh)
                names = [n for e in spec for n in axes_of(e)]
                for name in names:
                    if name not in axes:
                        raise ValueError(
                            f"shard_map {what} argument must refer to an axis marked as manual "
                            f"({frozenset(axes)}), but {spec} refers to {name!r}, in the "
                            f"shard_map of {self.name!r}")
                    if names.count(name) > 1:
                        raise DuplicateSpecError(
                            f"shard_map {what}: {spec} has {name!r} twice, but an axis can divide "
                            f"only one dimension, in the shard_map of {self.name!r}")

    def found_mesh(self) -> Any:
        """The mesh. Raises: ValueError where there is none, or where a `shard_map` around this one
        has another."""
        around = regions()
        mesh = self.mesh
        if around:
            outer = around[-1].mesh
            if mesh is None:
                return outer
            ours, its = mesh.axes, outer.axes
            if (ours.names, ours.sizes) != (its.names, its.sizes) or (
                    ours.devices and its.devices and ours.devices != its.devices):
                raise ValueError(f"shard_map: it was given {mesh} inside a shard_map over {outer}; "
                                 "both must have the same mesh")
            return outer
        if mesh is None or isinstance(mesh, AbstractMesh):
            from ..sharding.context import spec_mesh

            context = spec_mesh()
            if mesh is None:
                mesh = context
            elif context is not None and context.axes.abstract == mesh.axes:
                mesh = context
        if mesh is None or mesh.empty:
            raise ValueError("The context mesh cannot be empty. Give shard_map a mesh, or use "
                             "`xfront.set_mesh(mesh)` to enter into a mesh context")
        return mesh

    def __call__(self, args: tuple) -> Any:
        mesh = self.found_mesh()
        axes = self.own_axes(mesh)
        self.check_axes(axes, mesh)
        leaves, tree = tree_flatten(args)
        specs = self.inferred(mesh, axes, leaves) if self.in_specs is Infer else (
            self.per_leaf("in_specs", self.in_specs, args))
        kinds, ins = [], []
        for i, (x, spec) in enumerate(zip(leaves, specs, strict=True)):
            t, weak = kind_of(self.name, x)
            ins.append(self.fitted("in_specs", spec, t, lambda i=i: self.place(args, i)))
            try:
                ins[-1].check(mesh.axes, t.shape)
            except (IRValueError, ValueError):
                self.refuse_sizes(mesh, t, public_spec(ins[-1]), self.place(args, i))
            self.check_held(t, ins[-1])
            leaves[i] = x = self.brought(x, t, mesh, axes, ins[-1])
            t = kind_of(self.name, x)[0]
            inside = ins[-1] if self.check_vma else Spec(ins[-1].dims)
            kinds.append((part_type(mesh.axes, axes, t, inside), weak))

        def call(tracers: list[Tracer]) -> Any:
            return self.f(*tree_unflatten(tree, tracers))

        sets = [varies(x).union(s.axes) for x, s in zip(leaves, ins, strict=True)]
        flat = self.traced(call, kinds, mesh, axes, sets)
        result = filled(flat.out_tree, flat.function.return_types)
        own_specs = self.per_leaf("out_specs", self.out_specs, result)
        outs = [self.fitted("out_specs", spec, v.type, lambda i=i: f"result {i}")
                for i, (spec, v) in enumerate(zip(own_specs, flat.function.returns, strict=True))]
        for v in flat.function.params[len(ins):]:
            self.check_closed(axes, v.type)
            if held := {a for d in v.type.dims for a in d}.intersection(axes):
                raise ValueError(
                    f"shard_map: {self.name} closes over a value of type {v.type}, which is "
                    f"divided along the axis {sorted(held)[0]!r}, but that axis is manual inside "
                    "shard_map. Pass the value as an argument")
        operands = [*map(as_operand, leaves), *flat.captures]
        ins += [replicated(v.type.ndim) for v in flat.function.params[len(ins):]]
        body = flat.function
        if self.check_vma:
            body = self.as_terms(body, mesh, axes, outs)
        if self.check_vma and not follows():
            body = self.checked(body, mesh, axes, ins, outs)
        program = mapped_program(self.name, body, mesh.axes, axes, ins, outs, self.check_vma)
        results = in_place(bind(program, operands, name=self.name))
        if {*axes} != {*mesh.axis_names}:
            own_specs = [public_spec(s).update(partitions=[*p, *[None] * (s.ndim - len(p))])
                         for s, p in zip(outs, own_specs, strict=True)]
        return tree_unflatten(flat.out_tree, [
            _described_by(x, mesh, spec) for x, spec in zip(results, own_specs, strict=True)])

    def inferred(self, mesh: Any, axes: tuple[str, ...], leaves: Sequence[Any]
                 ) -> list[PartitionSpec]:
        """The specs that the types of the arguments give. Raises: TypeError where axes are not
        explicit."""
        if strays := [a for a in axes if a not in mesh.explicit_axes]:
            raise TypeError(
                "shard_map in_specs argument must be a pytree of `PartitionSpec` instances, but it "
                f"was not given when axis_names={frozenset(axes)} are not all of type "
                f"AxisType.Explicit: {strays[0]!r} is not. Only the types of arrays on explicit "
                "axes say how they are divided")
        types = [kind_of(self.name, x)[0] for x in leaves]
        return [PartitionSpec(
            *[tuple([a for a in d if a in axes]) or None for d in t.dims],
            unreduced=frozenset(t.sharding.spec.unreduced if t.sharding else ()),
            reduced=frozenset(t.sharding.spec.reduced if t.sharding else ())) for t in types]

    def check_held(self, t: TensorType, spec: Spec) -> None:
        """Refuse an argument that is unreduced or reduced over other axes than its spec says.
        Raises: ValueError."""
        held = replicated(t.ndim) if t.sharding is None else t.sharding.spec
        if (held.unreduced, held.reduced) != (spec.unreduced, spec.reduced):
            raise ValueError(
                f"in_specs passed to shard_map: {public_spec(spec)} does not match the specs of "
                f"the input: {public_spec(held)} for arg: {t}. Use `xfront.sharding.reshard` on "
                "the argument first")

    def as_terms(self, body: Function, mesh: Any, axes: tuple[str, ...], outs: Sequence[Spec]
                 ) -> Function:
        """The body with results cast to the terms that `out_specs` says they are. Raises:
        ValueError where a result is a sum over other axes, or reduced over others."""
        b = PlacedBuilder(body.name)
        b.ops = list(body.ops)
        returns = []
        for i, (v, spec) in enumerate(zip(body.returns, outs, strict=True)):
            inside = v.type.sharding
            held = Spec([]) if inside is None or not v.type.is_manual else inside.spec
            missing = tuple([a for a in spec.unreduced if a not in held.unreduced])
            if held.reduced != spec.reduced or {*held.unreduced} - {*spec.unreduced} or (
                    missing and held.reduced and {*missing} & {*held.reduced}):
                raise ValueError(
                    f"out_specs passed to shard_map must name the unreduced and reduced axes of "
                    f"the results: result {i} has type {v.type}, but its spec is "
                    f"{public_spec(spec)}. Cast it with lax.pcast, or take a sum with lax.psum")
            if missing:
                manual = mesh.axes.abstract.with_types(dict.fromkeys(axes, "manual"))
                v = b.emit(ops.manual_cast, v, mesh=manual, axes=missing, old="varying",
                           new="unreduced")
            returns.append(v)
        return body if tuple(returns) == body.returns else body.replace(
            ops=tuple(b.ops), returns=tuple(returns))

    def check_closed(self, axes: tuple[str, ...], t: TensorType) -> None:
        """Refuse a captured value that is unreduced or reduced. Raises: NotImplementedError."""
        spec = None if t.sharding is None else t.sharding.spec
        if spec is not None and {*axes}.intersection((*spec.unreduced, *spec.reduced)):
            raise NotImplementedError(
                f"shard_map: {self.name} closes over a value of type {t}, which is unreduced or "
                "reduced; pass it as an argument")

    def brought(self, x: Any, t: TensorType, mesh: Any, axes: tuple[str, ...], spec: Spec) -> Any:
        """An argument `x` of type t, divided along the function's axes as its spec says.

        If all axes of the mesh are explicit and the function's own, t must say the same as the
        spec. Otherwise x is resharded, because the compiler or an outer function divides it over
        other axes.
        Raises: ValueError where t says something else.
        """
        if {*axes} == {*mesh.axis_names} == {*mesh.explicit_axes}:
            held = replicated(t.ndim) if t.sharding is None else t.sharding.spec
            if held.dims != spec.dims:
                raise ValueError(
                    f"in_specs passed to shard_map: {public_spec(spec)} does not match the specs "
                    f"of the input: {shown(t)} for arg: {t}. `in_specs` is an optional argument: "
                    "without it shard_map infers the in_specs from the arguments. To reshard your "
                    "inputs, use `xfront.sharding.reshard` on the arguments and then pass those "
                    "args to shard_map.")
            return x
        if t.sharding is None:
            return x
        if {*t.sharding.mesh.of_type("explicit")}.difference(mesh.explicit_axes):
            return emit(ops.reshard, as_operand(x), sharding=Sharding(
                mesh.axes.abstract, Spec(spec.dims, range(t.ndim)), t.memory))
        wanted = tuple([(*[a for a in s if a in mesh.explicit_axes],
                         *[a for a in d if a not in axes])
                        for d, s in zip(t.dims, spec.dims, strict=True)])
        return x if wanted == t.dims else emit(
            ops.reshard, as_operand(x), sharding=Sharding(t.sharding.mesh, Spec(wanted), t.memory))

    def traced(self, call: Callable[..., Any], kinds: Sequence[Any], mesh: Any,
               axes: tuple[str, ...], sets: Sequence[frozenset[str]]) -> Flat:
        """The traced body. Its axes are bound and are manual axes of the mesh in context; `sets`
        are the axes over which its arguments vary."""
        manual = {a: AxisType.Manual for a in (*manual_axes(), *axes)}
        context = mesh.abstract_mesh.update_axis_types(manual)
        sizes = dict(mesh.shape_tuple)
        before = state.axes
        with inside(Region(mesh, axes, self.check_vma)), use_abstract_mesh(context):
            state.axes = (*before, *[(a, sizes[a]) for a in axes])
            try:
                return trace_call(call, kinds, name=self.name, kind="shard_map", staging=True,
                                  origins=sets)
            finally:
                state.axes = before

    def checked(self, body: Function, mesh: Any, axes: tuple[str, ...], ins: Sequence[Spec],
                outs: Sequence[Spec]) -> Function:
        """The body with the casts that say over which axes its values vary. Raises: ValueError for
        results that vary over axes that their specs do not mention."""
        sizes = dict(mesh.shape_tuple)
        followed = tuple([(a, sizes[a]) for a in axes])
        made, sets = varying(body, [frozenset(s.axes) for s in ins], followed,
                             [frozenset(s.axes) for s in outs], not auto_pcast.value)
        for i, (found, spec) in enumerate(zip(sets, outs, strict=True)):
            more = found.difference(spec.axes)
            if more:
                raise ValueError(
                    f"shard_map applied to the function {self.name!r} was given out_specs which "
                    "require replication which can't be statically inferred given the mesh:\n\n"
                    f"The mesh given has shape {mesh.axis_sizes} with corresponding axis names "
                    f"{mesh.axis_names}.\n\nout_specs for result {i} is {public_spec(spec)} which "
                    "implies that the corresponding output value is only varying across mesh axes "
                    f"{_set(spec.axes)} and not {_set(more)}, but it was inferred to be possibly "
                    f"varying over {_set(found)}\n\nCheck if these output values are meant to be "
                    "replicated over those mesh axes. If not, consider revising the corresponding "
                    "out_specs entries. If so, consider disabling the check by passing the "
                    "check_vma=False argument to `xfront.shard_map`.")
        return made

    # --- specs ----------------------------------------------------------------------------

    def per_leaf(self, what: str, specs: Any, tree: Any) -> list[PartitionSpec]:
        """A spec for each leaf. Raises: ValueError where specs are not a tree prefix of `tree`."""
        try:
            found = broadcast_prefix(specs, tree, is_leaf=_is_spec)
        except ValueError as e:
            raise ValueError(f"pytree structure error: shard_map {what} must be a tree prefix of "
                             f"the values that they describe: {e}") from None
        if what == "out_specs" and None in found:
            raise ValueError("pytree structure error: shard_map out_specs must not be None where "
                             "the result is an array; write P() for a value that is the same on "
                             "all devices")
        return [PartitionSpec() if s is None else s for s in found]

    def fitted(self, what: str, spec: PartitionSpec, t: Any, place: Callable[[], str]) -> Spec:
        """The spec of a value of type t. Raises: ValueError where it has more entries than axes."""
        if len(spec) > t.ndim:
            advice = (" For scalar values, use P(); give a result that differs between devices "
                      "an axis, x[None]." if what == "out_specs" and not t.ndim else "")
            raise ValueError(
                f"shard_map applied to the function {self.name!r} was given an {what} entry which "
                f"is too long: {spec} has length {len(spec)}, but {place()} has type {t}, which "
                f"has rank {t.ndim}.{advice}")
        return ir_spec(spec, t.ndim)

    def place(self, args: tuple, i: int) -> str:
        """A leaf of the arguments in words, for errors."""
        names, count = positional_names(self.f), 0
        for k, x in enumerate(args):
            count += len(tree_leaves(x))
            if i < count:
                bound = f", where args[{k}] is bound to {self.name}'s parameter {names[k]!r}," if (
                    k < len(names)) else ""
                return f"the passed args[{k}]{bound}"
        return f"argument {i}"

    def refuse_sizes(self, mesh: Any, t: Any, spec: PartitionSpec, place: str) -> NoReturn:
        """Raise the ValueError for a dimension that the mesh axes do not divide evenly."""
        raise ValueError(
            f"shard_map applied to the function {self.name!r} was given argument arrays with axis "
            "sizes that are not evenly divisible by the corresponding mesh axis sizes:\n\nThe mesh "
            f"given has shape {mesh.axis_sizes} with corresponding axis names {mesh.axis_names}."
            f"\n\n{place} has type {t}, and in_specs has {spec} for it. Array arguments' axis "
            "sizes must be evenly divisible by the product of the mesh axes that divide them.")


def _described_by(x: Any, mesh: Any, spec: PartitionSpec) -> Any:
    """An array with `spec` as the user wrote it, if its own, from the compiler, means the same."""
    if type(x) is not binding.ArrayImpl or type(x._sharding) is not binding.NamedSharding:
        return x
    wanted = _sharding_on(x._sharding, mesh, spec, x.ndim)
    return x if wanted is x._sharding else binding.result_handler(x.aval, wanted, x._committed)(x)


@functools.lru_cache(4096)
def _sharding_on(sharding: Any, mesh: Any, spec: PartitionSpec, ndim: int) -> Any:
    if sharding.spec == spec or type(mesh) is not Mesh:
        return sharding
    wanted = binding.NamedSharding(mesh, spec)
    return wanted if wanted.is_equivalent_to(sharding, ndim) else sharding


def _set(names: Any) -> str:
    return "{" + ", ".join(sorted(names)) + "}"


def mapped_program(name: str, body: Function, mesh: MeshAxes, axes: tuple[str, ...],
                   ins: Sequence[Spec], outs: Sequence[Spec], check_vma: bool) -> Function:
    """The Function of undivided values whose only op is a `shard_map`."""
    b = PlacedBuilder(name)
    weak = body.weak_params or (False,) * len(ins)
    params = [b.param(global_type(mesh, v.type, s), "", w)
              for v, s, w in zip(body.params, ins, weak, strict=True)]
    made = b.emit(ops.shard_map, *params, mesh=mesh, axes=axes, in_specs=tuple(ins),
                  out_specs=tuple(outs), check_vma=check_vma, body=body)
    return b.close(made, body.weak_returns)


@front_door
def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = Infer, out_axes: Any,
         axis_name: Hashable) -> Callable[..., Any]:
    """`shard_map` over one axis of the mesh in context, with positions instead of specs.

    Args:
      f: a function of parts.
      in_axes: which dimension of each positional argument is divided: a non-negative int, None for
        no dimension, or a tree prefix of the arguments of these; by default as their types say.
      out_axes: which dimension of each result is divided, in the same form.
      axis_name: name of the axis of the mesh, a string.
    Raises: TypeError where a position is not a non-negative int, or `axis_name` not a string; and
      the errors of `shard_map`.

    >>> with xfront.set_mesh(xfront.sharding.Mesh(xfront.devices()[:1], ("rows",))):
    ...     total = xfront.smap(lambda x: lax.psum(x.sum(), "rows"), in_axes=0, out_axes=None,
    ...                         axis_name="rows")
    ...     total(jnp.arange(4))
    Array(6, dtype=int32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if not isinstance(axis_name, str):
        raise TypeError(f"smap: axis_name must be the name of a mesh axis, got {axis_name!r}")
    ins = Infer if in_axes is Infer else _specs_of("in_axes", in_axes, axis_name)
    return shard_map(f, in_specs=ins,
                     out_specs=_specs_of("out_axes", out_axes, axis_name), axis_names={axis_name})


def _specs_of(what: str, positions: Any, axis_name: str) -> Any:
    def spec(p: Any) -> PartitionSpec:
        if p is None:
            return PartitionSpec()
        if isinstance(p, bool) or not hasattr(p, "__index__") or p < 0:
            raise TypeError(f"smap: {what} must be non-negative ints, None or trees of them, got "
                            f"{p!r}")
        return PartitionSpec(*[None] * int(p), axis_name)

    return tree_map(spec, positions, is_leaf=lambda x: x is None)


__all__ = ["Infer", "Mapped", "mapped_program", "shard_map", "smap"]

"""`reshard`, and functions that run with other types of mesh axes.

Over auto axes the compiler divides values as it finds best. Over explicit axes the types of values
say how they are divided, and an op is refused where the type of its result does not follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from xfront_ir import ops
from xfront_ir.sharding import Sharding, Spec

from .. import binding
from ..base.trees import broadcast_prefix, tree_flatten, tree_unflatten
from ..binding.partition_spec import PartitionSpec, axes_of
from ..binding.tracebacks import front_door, front_door_of
from ..eager.constraint import checked, constraint, resharded
from ..eager.devices import device_put
from ..eager.out_sharding import in_a_trace
from ..sharding.context import (
    as_sharding,
    get_abstract_mesh,
    on_devices,
    use_abstract_mesh,
    with_entries,
)
from ..sharding.mesh import AxisType
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..values.commitment import commitment

T = TypeVar("T")


@front_door
def reshard(xs: T, out_shardings: Any) -> T:
    """The tree `xs` with its arrays placed as the shardings say, inside a program or outside.

    Args:
      xs: tree of arrays.
      out_shardings: a Sharding, a PartitionSpec on the mesh in context, or a tree prefix of `xs`
        of these. The axes that they name are explicit.
    Raises: IndivisibleError where a dimension does not divide; RuntimeError for a spec where no
      mesh is in context; TypeError for anything else than a Sharding or a spec; ValueError where
      `out_shardings` is not a tree prefix of `xs`, or names an axis that is not explicit, and
      outside of programs for an abstract mesh of another size than the mesh in context.

    >>> mesh = xfront.make_mesh((1,), ("rows",))
    >>> x = xfront.reshard(jnp.arange(4), xfront.NamedSharding(mesh, xfront.P("rows")))
    >>> x.sharding.spec
    P('rows',)
    """
    leaves, tree = tree_flatten(xs)
    shardings = broadcast_prefix(out_shardings, xs, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [_resharded(x, as_sharding("reshard", s, "out_shardings"))
                                 for x, s in zip(leaves, shardings, strict=True)])


def _refuse_types(sharding: Any) -> None:
    """Refuse a spec with axes that types of values do not say. Raises: ValueError."""
    if type(sharding) is not binding.NamedSharding:
        return
    mesh, spec = sharding.mesh, sharding.spec
    named = [a for entry in spec.partitions for a in axes_of(entry)]
    if bad := [a for a in named if a not in mesh.explicit_axes]:
        kind = mesh.axis_types[mesh.axis_names.index(bad[0])]
        raise ValueError(
            "PartitionSpec passed to reshard cannot contain axis names that are of type Auto or "
            f"Manual. Got PartitionSpec: {spec} with axis name: {bad[0]} of type: {kind}. Over "
            "auto axes the compiler divides values: write lax.with_sharding_constraint in a "
            "program, or device_put outside")


def _resharded(x: Any, sharding: Any) -> Any:
    _refuse_types(sharding)
    if type(x) is not Tracer and state.current is None:
        if not binding.holds_terms(getattr(x, "sharding", None)):
            there = commitment(x)
            spare = () if there is None else there._device_assignment
            return device_put(x, with_entries(on_devices("reshard", sharding, spare), np.ndim(x)))
        return in_a_trace("reshard", lambda args, _: resharded(*args), (checked(x), sharding), {})
    if type(sharding) is not binding.SingleDeviceSharding:
        return resharded(x if type(x) is Tracer else checked(x), sharding)
    return device_put(x, sharding)


def _mesh(arrays: Any) -> Any:
    """The abstract mesh in context, or else that of the arrays; the empty one where there is none.
    """
    mesh = get_abstract_mesh()
    if not mesh.empty:
        return mesh
    for x in tree_flatten(arrays)[0]:
        axes = getattr(getattr(x, "aval", None), "axes", None)
        sharding = None if type(x) is Tracer else getattr(x, "sharding", None)
        if type(sharding) is binding.NamedSharding:
            return sharding.mesh.abstract_mesh
        if axes is not None and axes.mesh.names:
            return x.aval.sharding.mesh
    return mesh


def _inner(name: str, mesh: Any, axes: Any, kind: AxisType) -> Any:
    """The mesh with `axes` of type `kind`. Raises: ValueError where it does not have one of them.
    """
    chosen = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    if strays := [a for a in chosen if a not in mesh.axis_names]:
        raise ValueError(f"{name}: the mesh in context has no axis {strays[0]!r}, its axes are "
                         f"{mesh.axis_names}; set the mesh with set_mesh")
    return mesh.update_axis_types(dict.fromkeys(chosen, kind))


def _as_asked(made: Any, shardings: Any, mesh: Any) -> Any:
    """The tree `made` with its arrays placed by `shardings`, a tree prefix of shardings and of
    specs on `mesh`. Arrays are resharded, or only constrained if all axes of the sharding's mesh
    are auto. Specs have no effect if `mesh` is empty."""
    leaves, tree = tree_flatten(made)
    asked = broadcast_prefix(shardings, made, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [
        _placed_as(x, s, mesh) for x, s in zip(leaves, asked, strict=True)])


def _placed_as(x: Any, asked: Any, mesh: Any) -> Any:
    if isinstance(asked, PartitionSpec) and get_abstract_mesh().empty:
        if mesh.empty:
            return x
        asked = binding.NamedSharding(mesh, asked)
    asked = as_sharding("auto_axes", asked, "out_sharding")
    if type(asked) is binding.NamedSharding and not asked.mesh.explicit_axes:
        return constraint(x, asked) if type(x) is Tracer else device_put(
            x, on_devices("auto_axes", asked))
    return _resharded(x, asked)


def _retyped(tree: Any, mesh: Any) -> Any:
    """A tree whose arrays have the types that their shardings have on `mesh`. Axes that are no
    longer explicit there are left to the compiler."""
    leaves, structure = tree_flatten(tree)
    return tree_unflatten(structure, [_in(x, mesh) for x in leaves])


def _in(x: Any, mesh: Any) -> Any:
    aval = getattr(x, "aval", None)
    if aval is None or aval.axes is None or aval.axes.mesh == mesh.axes:
        return x
    spec = Spec(aval.axes.spec.dims, range(aval.ndim))
    return emit(ops.reshard, x, sharding=Sharding(mesh.axes.abstract, spec))


@front_door
def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: str | tuple[str, ...] | None = None,
              out_sharding: Any = None) -> Callable[..., Any]:
    """`f` with `axes` of the mesh in context auto inside, its result placed as `out_sharding` says.

    Args:
      f: any function of arrays and trees; None returns a decorator.
      axes: name of an axis or a tuple of names; None means all axes.
      out_sharding: a Sharding, a PartitionSpec on the mesh in context or else on that of the
        arguments, or a tree prefix of the result of these. A call may give it as a keyword argument
        instead. Without a mesh specs say nothing; where all its axes are auto the result is
        constrained.
    Returns: a function of the same arguments. A call raises TypeError where neither place gives
      `out_sharding`, ValueError where the mesh does not have an axis.

    >>> kinds = (xfront.sharding.AxisType.Explicit,)
    >>> with xfront.set_mesh(xfront.make_mesh((1,), ("rows",), axis_types=kinds)):
    ...     f = xfront.sharding.auto_axes(lambda x: x.reshape(2, 2), out_sharding=xfront.P("rows"))
    ...     x = f(jnp.arange(4))
    >>> x.sharding.spec
    P('rows', None)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)  # type: ignore

    @front_door_of(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        shardings = kwargs.pop("out_sharding", out_sharding)
        if shardings is None:
            raise TypeError("Missing required keyword argument: 'out_sharding': auto_axes needs to "
                            "know how the result is sharded; pass it in this call or to auto_axes")
        outer = _mesh((args, kwargs))
        inner = _inner("auto_axes", outer, axes, AxisType.Auto)
        if inner.empty:
            return _as_asked(f(*args, **kwargs), shardings, inner)

        def run(args: tuple, kwargs: dict) -> Any:
            args, kwargs = _retyped((args, kwargs), inner)
            with use_abstract_mesh(inner):
                made = f(*args, **kwargs)
            return _as_asked(made, shardings, outer)

        return in_a_trace("auto_axes", run, args, kwargs)

    return wrapped


@front_door
def explicit_axes(f: Callable[..., Any] | None = None, /, *,
                  axes: str | tuple[str, ...] | None = None, in_sharding: Any = None
                  ) -> Callable[..., Any]:
    """`f` with `axes` of the mesh in context explicit inside, its arguments placed as `in_sharding`
    says.

    Args:
      f: any function of arrays and trees; None returns a decorator.
      axes: name of an axis or a tuple of names; None means all axes.
      in_sharding: a Sharding or PartitionSpec for all positional arguments, or a tree prefix of
        their tuple. A call may give it as a keyword argument instead.
    Returns: a function of the same arguments. A call raises TypeError where neither place gives
      `in_sharding`, ValueError where the mesh does not have an axis.

    >>> with xfront.set_mesh(xfront.make_mesh((1,), ("rows",))):
    ...     f = xfront.sharding.explicit_axes(
    ...         lambda x: print(xfront.typeof(x)), in_sharding=xfront.P("rows"))
    ...     xfront.jit(f)(jnp.arange(4))
    int32[4@rows]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)  # type: ignore

    @front_door_of(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        shardings = kwargs.pop("in_sharding", in_sharding)
        if shardings is None:
            raise TypeError("Missing required keyword argument: 'in_sharding': explicit_axes needs "
                            "to know how the arguments are sharded; pass it in this call or to "
                            "explicit_axes")
        one = isinstance(shardings, binding.Sharding | PartitionSpec)
        outer = get_abstract_mesh()
        inner = _inner("explicit_axes", _mesh((args, kwargs)), axes, AxisType.Explicit)
        if inner.empty:
            return f(*args, **kwargs)

        def run(args: tuple, kwargs: dict) -> Any:
            with use_abstract_mesh(inner):
                made = f(*reshard(args, (shardings,) * len(args) if one else shardings), **kwargs)
            return _retyped(made, outer)

        return in_a_trace("explicit_axes", run, args, kwargs)

    return wrapped


__all__ = ["auto_axes", "explicit_axes", "reshard"]

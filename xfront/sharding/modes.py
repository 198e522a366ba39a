"""`reshard`, and functions that are run with other types of mesh axes.

Here the compiler divides values over auto and explicit axes alike: shardings of arguments are
followed, results are where it says unless they are told. So a function needs no other mode to run,
and these say where its arguments or results are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..arrays import binding
from ..devices import device_put
from ..tracebacks import front_door, front_door_of
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .constraint import constraint
from .context import as_sharding, get_abstract_mesh, use_abstract_mesh
from .mesh import AxisType
from .partition_spec import PartitionSpec


@front_door
def reshard(xs: Any, out_shardings: Any) -> Any:
    """The tree `xs` with its arrays placed as the shardings say, inside a program or outside.

    Args:
      xs: tree of arrays.
      out_shardings: a NamedSharding, a PartitionSpec on the mesh in context, or a tree prefix.
    Raises: IndivisibleError where a dimension does not divide; RuntimeError for a spec where no
      mesh is in context; TypeError for what is no sharding.
    """
    leaves, tree = tree_flatten(xs)
    told = broadcast_prefix(out_shardings, xs, is_leaf=lambda s: s is None)
    return tree_unflatten(tree, [_resharded(x, as_sharding("reshard", s, "out_shardings"))
                                 for x, s in zip(leaves, told, strict=True)])


def _resharded(x: Any, sharding: Any) -> Any:
    if type(x) is not Tracer and state.current is None:
        return device_put(x, sharding)
    if type(sharding) is not binding.SingleDeviceSharding:
        sharding.shard_shape(x.shape)
        return constraint(x, sharding)
    return device_put(x, sharding)


def _chosen(name: str, axes: str | Sequence[str] | None) -> tuple[str, ...]:
    mesh = get_abstract_mesh()
    chosen = mesh.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    if strays := [a for a in chosen if a not in mesh.axis_names]:
        raise ValueError(f"{name}: the mesh in context has axes {mesh.axis_names}, not "
                         f"{strays[0]!r}; set it with set_mesh")
    return chosen


def _run(name: str, f: Callable[..., Any], axes: Any, kind: AxisType, args: tuple, kwargs: dict
         ) -> Any:
    mesh = get_abstract_mesh()
    chosen = _chosen(name, axes)
    if mesh.empty:
        return f(*args, **kwargs)
    with use_abstract_mesh(mesh.update_axis_types(dict.fromkeys(chosen, kind))):
        return f(*args, **kwargs)


@front_door
def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: str | tuple[str, ...] | None = None,
              out_sharding: Any = None) -> Callable[..., Any]:
    """`f` with `axes` of the mesh in context auto inside, its result placed as `out_sharding` says.

    Args:
      f: any function; None gives a decorator.
      axes: names; None: all.
      out_sharding: a sharding, a spec, or a tree prefix of the result. A call may give it by name.
    Returns: a function. Raises: TypeError at a call where nobody says out_sharding.
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)  # type: ignore

    @front_door_of(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        told = kwargs.pop("out_sharding", out_sharding)
        if told is None:
            raise TypeError("Missing required keyword argument: 'out_sharding': auto_axes needs to "
                            "know where the result is; give it here or to auto_axes")
        return reshard(_run("auto_axes", f, axes, AxisType.Auto, args, kwargs), told)

    return wrapped


@front_door
def explicit_axes(f: Callable[..., Any] | None = None, /, *,
                  axes: str | tuple[str, ...] | None = None, in_sharding: Any = None
                  ) -> Callable[..., Any]:
    """`f` with `axes` of the mesh in context explicit inside, its arguments placed as `in_sharding`
    says.

    Args:
      f: any function; None gives a decorator.
      axes: names; None: all.
      in_sharding: a sharding or spec for all arguments, or a tree prefix of the tuple of them. A
        call may give it by name.
    Returns: a function. Raises: TypeError at a call where nobody says in_sharding.
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)  # type: ignore

    @front_door_of(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        told = kwargs.pop("in_sharding", in_sharding)
        if told is None:
            raise TypeError("Missing required keyword argument: 'in_sharding': explicit_axes needs "
                            "to know where arguments are; give it here or to explicit_axes")
        one = isinstance(told, binding.Sharding | PartitionSpec)
        return _run("explicit_axes", f, axes, AxisType.Explicit,
                    reshard(args, (told,) * len(args) if one else told), kwargs)

    return wrapped


__all__ = ["auto_axes", "explicit_axes", "reshard"]

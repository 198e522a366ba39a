"""Batching of users' own primitives: the table of rules, and functions that enter the usual ones.

    primitive_batchers[p] = rule      rule(operands, dims, **params) -> (results, dims)

A dim is the position of the batch axis in an operand or result, `not_mapped` where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import lax
from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..eager.primitives import Primitive
from ..jaxpr.classes import BatchTracer, absent
from ..jaxpr.own import AXIS_BATCHERS, BATCHERS, FANCY_BATCHERS, AxisData
from ..transforms.vmappable import RULES, Rules, is_vmappable

primitive_batchers, axis_primitive_batchers = BATCHERS, AXIS_BATCHERS
fancy_primitive_batchers = FANCY_BATCHERS
not_mapped = None


def _batcher_of_op(primitive: Primitive) -> Any:
    from ..transforms.vmap import vmap

    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        made = vmap(lambda *xs: primitive.bind(*xs, **params), tuple(dims))(*args)
        return made, [0] * len(made) if primitive.multiple_results else 0

    return rule


BATCHERS._known = _batcher_of_op


def moveaxis(x: Any, src: Any, dst: Any) -> Any:
    """`x` with the axis `src` moved to `dst`."""
    return x if src == dst else jnp.moveaxis(x, src, dst)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: None = None) -> Any:
    """`x` repeated `sz` times along a new axis."""
    _no_mesh("broadcast", mesh_axis)
    shape = list(jnp.shape(x))
    axis = axis % (len(shape) + 1)
    dims = [d + (d >= axis) for d in range(len(shape))]
    shape.insert(axis, sz)
    return lax.broadcast_in_dim(x, tuple(shape), tuple(dims))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: None = None) -> Any:
    """`x` with its batch axis in front; where it has none, a new one."""
    _no_mesh("bdim_at_front", mesh_axis)
    return broadcast(x, size, 0) if bdim is not_mapped else moveaxis(x, bdim, 0)


def _no_mesh(name: str, mesh_axis: Any) -> None:
    if mesh_axis is not None:
        raise NotImplementedError(f"batching.{name}: mesh_axis must be None")


def matchaxis(size: int, src: int | None, dst: int | None, x: Any) -> Any:
    """`x` with its batch axis moved from `src` to `dst`, or made there where `src` is None.

    Raises: ValueError where `dst` is None and there is a batch axis.
    """
    if src == dst:
        return x
    if src is not_mapped:
        assert dst is not None
        return broadcast(x, size, dst)
    if dst is not_mapped:
        raise ValueError("vmap has mapped output, but out_axes is None")
    return moveaxis(x, src, dst)


def defvectorized(prim: Primitive) -> None:
    """Enter the rule of an op that treats every element alike, as `defbroadcasting` does."""
    defbroadcasting(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Enter the rule of an op that treats every element of operands of equal shape alike.

    Batch axes of several operands are moved to where the first one has its own; operands without
    get one there.
    """
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        size, to = next((x.shape[d], d) for x, d in zip(args, dims, strict=True) if d is not None)
        made = prim.bind(*[matchaxis(size, d, to, x) for x, d in zip(args, dims, strict=True)],
                         **params)
        return made, [to] * len(made) if prim.multiple_results else to

    BATCHERS[prim] = rule


def defreducer(prim: Primitive, ident: Any = None) -> None:
    """Enter the rule of an op of one operand that removes the axes of its param `axes`."""
    if ident is not None:
        raise NotImplementedError("batching.defreducer: ident must be None, since ragged batches "
                                  "are not supported")

    def rule(args: Sequence[Any], dims: Sequence[int], *, axes: Sequence[int], **params: Any
             ) -> Any:
        (x,), (d,) = args, dims
        moved = tuple([a + (a >= d) for a in axes])
        made = prim.bind(x, axes=moved, **params)
        to = d - sum([a < d for a in moved])
        return made, [to] * len(made) if prim.multiple_results else to

    BATCHERS[prim] = rule


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type,
                       to_elt: Callable[..., Any], from_elt: Callable[..., Any],
                       make_iota: None) -> None:
    """Let `vmap` take values of a type apart by rules; a later entry of the type replaces it.

    Such a value is one leaf of arguments and results of `vmap`, also where its type is registered
    as a tree, and has one entry of `spec_type` in `in_axes` and `out_axes`, or None.

    Args:
      data_type: the type; classes derived from it are not concerned.
      spec_type: the type of its entries in `in_axes` and `out_axes`, often int.
      axis_size_type: int only.
      to_elt: `to_elt(cont, index, value, spec)` returns what one example sees, with
        `cont(x, axis)` for each array `x` (or value of a registered type) that has the axis; where
        `axis` is None that is `x`. `index` is not to be used.
      from_elt: `from_elt(cont, size, example, spec)` returns the value of all examples, with
        `cont(size, x, axis)` for each array `x` that is to have the axis at `axis`.
      make_iota: None only.
    Both rules are called twice for each value and must do the same each time; the first time
    `cont` returns `ShapeDtypeStruct`s.
    Raises: TypeError where a type is no class or a rule no function; NotImplementedError for
      another `axis_size_type` or `make_iota`.

    >>> class Scaled:
    ...     def __init__(self, x, unit):
    ...         self.x, self.unit = x, unit
    >>> def to_elt(cont, index, v, axis):
    ...     return Scaled(cont(v.x, axis), v.unit)
    >>> def from_elt(cont, size, v, axis):
    ...     return Scaled(cont(size, v.x, axis), v.unit)
    >>> register_vmappable(Scaled, int, int, to_elt, from_elt, None)
    >>> twice = xfront.vmap(lambda v: Scaled(2 * v.x, v.unit))(Scaled(jnp.arange(3), "m"))
    >>> twice.x, twice.unit
    (Array([0, 2, 4], dtype=int32), 'm')
    >>> unregister_vmappable(Scaled)
    """
    for what, given in (("data_type", data_type), ("spec_type", spec_type)):
        if not isinstance(given, type):
            raise TypeError(f"register_vmappable: {what} must be a class, got {given!r}")
    for what, rule in (("to_elt", to_elt), ("from_elt", from_elt)):
        if not callable(rule):
            raise TypeError(f"register_vmappable({data_type.__name__}, ...): {what} must be a "
                            f"function, got {rule!r}")
    if axis_size_type is not int or make_iota is not None:
        raise NotImplementedError(
            f"register_vmappable({data_type.__name__}, ...): sizes of batches are ints, so "
            f"axis_size_type must be int and make_iota None, got {axis_size_type!r} and "
            f"{make_iota!r}")
    RULES[data_type] = Rules(spec_type, to_elt, from_elt)


def unregister_vmappable(data_type: type) -> None:
    """Take back what `register_vmappable` entered for a type; nothing where there is no entry.

    >>> unregister_vmappable(complex)
    """
    RULES.pop(data_type, None)


__getattr__ = absent(__name__, {
    "batch_subtrace": "write jax.vmap",
    "BatchTrace": "traces are of one class here; ask with isinstance(x, batching.BatchTracer)",
})

__all__ = [
    "AxisData", "BatchTracer", "axis_primitive_batchers", "bdim_at_front", "broadcast",
    "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers", "is_vmappable",
    "matchaxis", "moveaxis", "not_mapped", "primitive_batchers", "register_vmappable",
    "unregister_vmappable",
]
__dir__ = _shown(globals())

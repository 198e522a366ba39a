"""Batching of users' own primitives: the table of rules, and functions that enter the usual ones.

    primitive_batchers[p] = rule      rule(operands, dims, **params) -> (results, dims)

A dim is the position of the batch axis in an operand or result, `not_mapped` where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .. import lax
from .. import numpy as jnp
from ..jaxpr.classes import BatchTracer, absent
from ..jaxpr.own import AXIS_BATCHERS, BATCHERS, FANCY_BATCHERS, AxisData
from ..on_demand import shown as _shown
from ..primitives import Primitive

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
    """Enter the rule of an op of one operand that treats every element alike."""
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        (x,), (d,) = args, dims
        made = prim.bind(x, **params)
        return made, [d] * len(made) if prim.multiple_results else d

    BATCHERS[prim] = rule


def defbroadcasting(prim: Primitive) -> None:
    """Enter the rule of an op that treats every element of operands of equal shape alike."""
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


def is_vmappable(x: Any) -> bool:
    """False: no type has a rule of its own by which vmap takes its values apart."""
    return isinstance(x, _Vmappable)


class _Vmappable:
    """A class that no value has."""


def register_vmappable(data_type: type, *rules: Any) -> NoReturn:
    """Refuse a type with batching rules of its own. Raises: NotImplementedError."""
    raise NotImplementedError(f"register_vmappable({data_type.__name__}, ...): vmap only takes "
                              f"arrays and trees of them, but {len(rules)} rules were given. "
                              "Register the type with tree_util.register_pytree_node")


__getattr__ = absent(__name__, {
    "unregister_vmappable": "no type is registered",
    "batch_subtrace": "write jax.vmap",
    "BatchTrace": "traces are of one class here; ask with isinstance(x, batching.BatchTracer)",
})

__all__ = [
    "AxisData", "BatchTracer", "axis_primitive_batchers", "bdim_at_front", "broadcast",
    "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers", "is_vmappable",
    "matchaxis", "moveaxis", "not_mapped", "primitive_batchers", "register_vmappable",
]
__dir__ = _shown(globals())

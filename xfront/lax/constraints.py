"""`with_sharding_constraint`: a program says where its values are placed."""

from __future__ import annotations

from typing import Any, TypeVar

from .. import binding
from ..base.trees import broadcast_prefix, tree_flatten, tree_unflatten
from ..binding.tracebacks import front_door
from ..eager.constraint import checked, constraint, on_one_device
from ..eager.devices import device_put
from ..sharding.context import as_sharding
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..values.formats import Format, sharding_in

T = TypeVar("T")


@front_door
def with_sharding_constraint(x: T, shardings: Any) -> T:
    """The tree `x` with its arrays placed as `shardings` say, inside a program or outside.

    Args:
      x: tree of arrays.
      shardings: a Sharding, a PartitionSpec on the mesh in context, a Format with the platform's
        own layout, or a tree prefix of these. A program with a sharding on a single device runs on
        that device.
    Returns: the same values. In a program a dimension that its mesh axes do not divide evenly is
      divided over the first of them alone that do; under vmap the compiler chooses how the batch
      dimension is divided.
    Raises: TypeError for a leaf that is not a sharding; ValueError where a spec has more entries
      than an array has dimensions; IndivisibleError outside of a program where a dimension does
      not divide; RuntimeError for a spec where no mesh is in context;
      NotImplementedError for memory kinds other than the devices' default, and for other layouts.

    >>> jit(lambda x: with_sharding_constraint(x @ x, P("data", None)))(x)
    """
    leaves, tree = tree_flatten(x)
    wanted = [_of_format(s, leaf) for s, leaf in zip(
        broadcast_prefix(shardings, x, is_leaf=lambda s: s is None), leaves, strict=True)]
    if None in wanted:
        raise ValueError("with_sharding_constraint: None is not a sharding; give the sharding of "
                         "an array, x.sharding, or P() on the mesh in context")
    asked = [as_sharding("with_sharding_constraint", s) for s in wanted]
    return tree_unflatten(tree, [
        _constrained(x, s) for x, s in zip(leaves, asked, strict=True)])


def _constrained(x: Any, sharding: Any) -> Any:
    outside = type(x) is not Tracer and state.current is None
    if type(sharding) is binding.SingleDeviceSharding:
        return on_one_device(x, sharding) if type(x) is Tracer else device_put(x, sharding)
    if type(x) is not Tracer:
        x = checked(x)
        if outside:
            sharding.shard_shape(x.shape)
    return constraint(x, sharding)


def _of_format(place: Any, x: Any) -> Any:
    """The sharding of a Format that fits the array; any other place unchanged."""
    if not isinstance(place, Format):
        return place
    array = x if type(x) is Tracer else checked(x)
    return sharding_in("with_sharding_constraint", place, array.shape, array.dtype)


__all__ = ["with_sharding_constraint"]

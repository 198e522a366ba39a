"""Where the values of a program are placed."""

from __future__ import annotations

from typing import Any, TypeVar

from ..arrays import binding
from ..arrays.formats import Format, sharding_in
from ..devices import device_put
from ..sharding.constraint import checked, constraint
from ..sharding.context import as_sharding
from ..tracebacks import front_door
from ..tracing.tracer import Tracer
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten

T = TypeVar("T")


@front_door
def with_sharding_constraint(x: T, shardings: Any) -> T:
    """The tree `x` with its arrays placed as `shardings` say, inside a program or outside.

    Args:
      x: tree of arrays.
      shardings: a Sharding, a PartitionSpec on the mesh in context, a Format with the platform's
        own layout, or a tree prefix of these. A sharding on a single device has no effect inside a
        program, and places arrays outside.
    Returns: the same values. A dimension that its mesh axes do not divide evenly stays whole; under
      vmap the compiler chooses how the batch dimension is divided.
    Raises: TypeError for a leaf that is not a sharding; ValueError where a spec has more entries
      than an array has dimensions; RuntimeError for a spec where no mesh is in context;
      NotImplementedError for memory kinds other than the devices' default, and for other layouts.

    >>> jit(lambda x: with_sharding_constraint(x @ x, P("data", None)))(x)
    """
    leaves, tree = tree_flatten(x)
    told = [_of_format(s, leaf) for s, leaf in zip(
        broadcast_prefix(shardings, x, is_leaf=lambda s: s is None), leaves, strict=True)]
    if None in told:
        raise ValueError("with_sharding_constraint: None is not a sharding; give the sharding of "
                         "an array, x.sharding, or P() on the mesh in context")
    asked = [as_sharding("with_sharding_constraint", s) for s in told]
    return tree_unflatten(tree, [
        x if type(x) is Tracer and _is_single(s) else constraint(x, s) if type(x) is Tracer
        else device_put(x, s) if _is_single(s) else constraint(checked(x), s)
        for x, s in zip(leaves, asked, strict=True)])


def _of_format(place: Any, x: Any) -> Any:
    """The sharding of a Format that fits the array; any other place unchanged."""
    if not isinstance(place, Format):
        return place
    array = x if type(x) is Tracer else checked(x)
    return sharding_in("with_sharding_constraint", place, array.shape, array.dtype)


def _is_single(sharding: Any) -> bool:
    return type(sharding) is binding.SingleDeviceSharding


__all__ = ["with_sharding_constraint"]

"""Where the values of a program are to be."""

from __future__ import annotations

from typing import Any

from ..arrays import binding
from ..devices import device_put
from ..tracing.tracer import Tracer
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The tree `x`, its arrays placed as `shardings` say.

    Args:
      x: tree of arrays.
      shardings: a Sharding, or a tree prefix of x with Shardings, each of one device.
    Returns: a tree as x. In programs it is x: they run on one device as a whole.
    Raises: TypeError, ValueError where something else is given in place of a Sharding;
      NotImplementedError where one has several devices.
    """
    leaves, tree = tree_flatten(x)
    places = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    for place in places:
        _refuse_unknown(place)
    return tree_unflatten(tree, [leaf if type(leaf) is Tracer else device_put(leaf, place)
                                 for leaf, place in zip(leaves, places, strict=True)])


def _refuse_unknown(place: Any) -> None:
    if place is None:
        raise ValueError("with_sharding_constraint: None is no sharding; give one, such as that of "
                         "an array, x.sharding")
    if not isinstance(place, binding.Sharding):
        raise TypeError("with_sharding_constraint: expected a Sharding, such as that of an array, "
                        f"x.sharding, got {place!r}")
    if len(place.device_set) != 1:
        raise NotImplementedError("with_sharding_constraint: programs run on one device, and "
                                  f"{place} has {len(place.device_set)}")


__all__ = ["with_sharding_constraint"]

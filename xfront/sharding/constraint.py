"""`with_sharding_constraint`: how values of a program lie on a mesh, said inside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import ops
from xfront_ir.sharding import Sharding, Spec

from ..arrays import binding
from ..arrays.keys import KeyArray
from ..arrays.operands import is_array_like
from ..devices import device_put
from ..tracebacks import front_door
from ..tracing.programs import to_array
from ..tracing.trace import emit, type_of
from ..tracing.tracer import Tracer
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .context import as_sharding
from .named import ir_sharding


@front_door
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The tree `x`, its arrays placed as `shardings` say, wherever in a program that is.

    Args:
      x: tree of arrays.
      shardings: a Sharding, a PartitionSpec on the mesh in context, or a tree prefix of such. One
        of a single device says nothing inside a program, and places arrays outside.
    Returns: the same values. A dimension that does not divide by its axes stays whole; under vmap
      the compiler divides the dimension of the batch as it likes.
    Raises: TypeError for what is no sharding; ValueError where a spec has more entries than an
      array dimensions; RuntimeError for a spec where no mesh is in context; NotImplementedError for
      memories other than the devices' own.

    >>> jit(lambda x: with_sharding_constraint(x @ x, P("data", None)))(x)
    """
    leaves, tree = tree_flatten(x)
    told = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    if None in told:
        raise ValueError("with_sharding_constraint: None is no sharding; give one, such as that of "
                         "an array, x.sharding, or P() on the mesh in context")
    asked = [as_sharding("with_sharding_constraint", s) for s in told]
    return tree_unflatten(tree, [
        x if type(x) is Tracer and _is_single(s) else constraint(x, s) if type(x) is Tracer
        else device_put(x, s) if _is_single(s) else constraint(checked(x), s)
        for x, s in zip(leaves, asked, strict=True)])


def _is_single(sharding: Any) -> bool:
    return type(sharding) is binding.SingleDeviceSharding


def checked(x: Any) -> Any:
    """An array, key array or number. Raises: TypeError for anything else."""
    if type(x) is not KeyArray and not is_array_like(x):
        raise TypeError(f"Cannot interpret value of type {type(x)} as an abstract array; it does "
                        "not have a dtype attribute")
    return to_array(x)


def constrained(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Values with constraints on those that have a sharding; later ones have none."""
    padded = [*shardings, *[None] * (len(values) - len(shardings))]
    return [x if s is None else constraint(x, s) for x, s in zip(values, padded, strict=True)]


def constraint(x: Any, sharding: Any) -> Any:
    """One value, constrained. Raises: as `with_sharding_constraint`."""
    kind = type_of(x)[0]
    if sharding.memory_kind is not None and sharding._internal_device_list is not None:
        own = sharding._device_assignment[0].default_memory().kind
        if sharding.memory_kind != own:
            raise NotImplementedError(f"with_sharding_constraint: the memory of {sharding} is not "
                                      f"supported, only the devices' own is ({own!r})")
    return emit(ops.sharding_constraint, x, sharding=divisible(
        ir_sharding(sharding, kind.ndim), kind.shape))


def divisible(sharding: Sharding, shape: tuple[int, ...]) -> Sharding:
    """The sharding without the axes of dimensions that do not divide by them."""
    spec, mesh = sharding.spec, sharding.mesh
    dims = [d if n % mesh.size_of(d) == 0 else ()
            for n, d in zip(shape, spec.dims, strict=True)]
    return Sharding(mesh, Spec(dims, spec.open, spec.unreduced, spec.reduced),
                    sharding.memory_kind)


__all__ = ["constrained", "constraint", "with_sharding_constraint"]

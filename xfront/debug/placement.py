"""Shows where an array lies on its devices, or passes that to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import binding
from ..binding.tracebacks import front_door
from ..tracing.tracer import Tracer
from ..values.arguments import only
from ..values.keys import KeyArray


@front_door
def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call `callback` with the sharding of an array.

    Args:
      value: an array.
      callback: function that is called with its Sharding.
    Raises: NotImplementedError for a traced array, which has no sharding yet; TypeError where
      `value` is not an array.

    >>> xfront.debug.inspect_array_sharding(
    ...     jnp.arange(4), callback=lambda sharding: print(sharding.num_devices))
    1
    """
    if isinstance(value, Tracer):
        raise NotImplementedError(
            "inspect_array_sharding is not supported inside a traced function, because the "
            "compiler has not chosen the sharding yet; return the value and look at its sharding, "
            "or read jit(f).lower(...).compile().as_text()")
    if not isinstance(value, binding.Array):
        raise TypeError(f"inspect_array_sharding: value must be an array, got {value!r} of type "
                        f"{type(value).__name__}")
    callback(value.sharding)


@front_door
def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which devices hold which part of an array of one or two dimensions.

    Args:
      arr: the array.
      kwargs: keyword arguments of `visualize_sharding`.

    >>> mesh = xfront.make_mesh((1,), ("rows",))
    >>> x = xfront.device_put(jnp.arange(4), xfront.NamedSharding(mesh, xfront.P("rows")))
    >>> xfront.debug.visualize_array_sharding(x)
    +-------+
    | CPU 0 |
    +-------+
    """
    if isinstance(arr, Tracer):
        raise NotImplementedError("visualize_array_sharding is not supported inside a traced "
                                  "function, because the compiler has not chosen the sharding yet")
    if not isinstance(arr, binding.Array):
        raise TypeError(f"visualize_array_sharding: arr must be an array, got {arr!r} of type "
                        f"{type(arr).__name__}")
    placed = arr._base.sharding if type(arr) is KeyArray else arr.sharding
    visualize_sharding(arr.shape, placed, **kwargs)


@front_door
def visualize_sharding(shape: Sequence[int], sharding: Any, use_color: bool = False,
                       scale: float | None = None, min_width: int | None = None,
                       max_width: int | None = None, color_map: Any = None) -> None:
    """Print which devices hold which part of an array of a shape.

    Args:
      shape: shape of one or two dimensions.
      sharding: how the array lies on devices, a Sharding.
      use_color, scale, min_width, max_width, color_map: False and None only; the picture is text.
    Raises: ValueError for other shapes, and where the shape does not divide.

    >>> mesh = xfront.make_mesh((1,), ("rows",))
    >>> xfront.debug.visualize_sharding((4,), xfront.NamedSharding(mesh, xfront.P("rows")))
    +-------+
    | CPU 0 |
    +-------+
    """
    only("visualize_sharding", False, "the picture has no colours", use_color=use_color)
    only("visualize_sharding", None, "the picture is as wide as its words", scale=scale,
         min_width=min_width, max_width=max_width, color_map=color_map)
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError("visualize_sharding: only shapes of one or two dimensions can be shown, "
                         f"got {shape}")
    held: dict[tuple[int, ...], list[int]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        corner = tuple([i.start or 0 for i in index])
        held.setdefault(corner if len(shape) == 2 else (0, *corner), []).append(device.id)
    name = next(iter(sharding.device_set)).platform.upper()
    rows = sorted({r for r, _ in held})
    columns = sorted({c for _, c in held})
    texts = {at: f"{name} {','.join(map(str, sorted(ids)))}" for at, ids in held.items()}
    width = max(map(len, texts.values())) + 2
    line = "+" + "+".join(["-" * width] * len(columns)) + "+"
    drawn = [line]
    for r in rows:
        drawn += ["|" + "|".join([texts[r, c].center(width) for c in columns]) + "|", line]
    sys.stdout.write("\n".join(drawn) + "\n")


__all__ = ["inspect_array_sharding", "visualize_array_sharding", "visualize_sharding"]

"""Points assigned to the nearest of some codes."""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...base.on_demand import shown as _shown
from ...binding.annotations import ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import promote_inexact


@eager(static=("check_finite",))
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each point, and its distance.

    Args:
      obs: points [m, n], or numbers [m].
      code_book: codes [k, n], or numbers [k].
      check_finite: has no effect; the distance of a NaN is NaN.
    Returns: (codes i32 [m], distances [m]).
    Raises: ValueError where shapes do not match.
    Source: `scipy.cluster.vq.vq`.
    Permission: `check_finite`.

    >>> codes, distances = cluster.vq.vq(jnp.array([1., 4., 9.]), jnp.array([0., 8.]))
    >>> codes, distances
    (Array([0, 0, 1], dtype=int32), Array([1., 4., 1.], dtype=float32))
    """
    x, codes = promote_inexact("vq", obs, code_book)
    if x.ndim != codes.ndim or x.ndim not in (1, 2) or x.shape[1:] != codes.shape[1:]:
        raise ValueError(f"vq: obs and code_book must be [m, n] and [k, n], or [m] and [k], got "
                         f"shapes {x.shape} and {codes.shape}")
    if x.ndim == 1:
        x, codes = jnp.expand_dims(x, 1), jnp.expand_dims(codes, 1)
    away = jnp.linalg.norm(jnp.expand_dims(x, 1) - codes, axis=-1)
    nearest = jnp.argmin(away, -1)
    return nearest, jnp.take_along_axis(away, jnp.expand_dims(nearest, 1), 1)[:, 0]


__all__ = ["vq"]
__dir__ = _shown(globals())

"""`softmax` and its logarithm as SciPy has them: over all axes where none is named."""

from __future__ import annotations

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...numpy import normalizers


@eager(static=("axis",))
def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x) divided by its sum over axes, in range for any x.

    Args:
      axis: axis or axes; None means all.
    Raises: ValueError where an axis is out of range.

    >>> special.softmax(jnp.array([0., 0.]))
    Array([0.5, 0.5], dtype=float32)
    """
    return normalizers.softmax(x, axis)


@eager(static=("axis",))
def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """log(softmax(x)), exact where softmax is small. Arguments as `softmax`.

    >>> special.log_softmax(jnp.array([1., 1.]))
    Array([-0.693, -0.693], dtype=float32)
    """
    return normalizers.log_softmax(x, axis)


__all__ = ["log_softmax", "softmax"]

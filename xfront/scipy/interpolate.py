"""Values between points of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir.dtypes import from_numpy

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.tracebacks import front_door
from ..eager.operands import array_like, inexact_dtype
from ..tracing.tracer import Tracer
from ..values.arguments import only


class RegularGridInterpolator:
    """A function of points that interpolates values given at the points of a grid.

    Args:
      points: for each axis of the grid a vector of coordinates, ascending.
      values: array [n1, n2, ..., further axes].
      method: "linear", on straight lines along each axis, or "nearest" (of two as near the lower).
      bounds_error: False; points outside are not an error, since they may not be known.
      fill_value: the value outside the grid; None to extrapolate from the outermost cells.
    Raises: ValueError for other methods, points that are not ascending vectors of two or more, and
      shapes that do not match; NotImplementedError for `bounds_error`.
    Source: `scipy.interpolate.RegularGridInterpolator`.

    >>> grid = (jnp.array([0., 1.]), jnp.array([0., 2.]))
    >>> f = interpolate.RegularGridInterpolator(grid, jnp.array([[0., 2.], [1., 3.]]))
    >>> f(jnp.array([[0.5, 1.0], [1.0, 0.5]]))
    Array([1.5, 1.5], dtype=float32)
    """

    def __init__(self, points: Sequence[Any], values: Any, method: str = "linear",
                 bounds_error: bool = False, fill_value: Any = np.nan) -> None:
        name = type(self).__name__
        _check_method(method)
        only(name, False, "check the points before the call", bounds_error=bool(bounds_error))
        self.values = jnp.asarray(array_like(name, values, "values"))
        self.grid = tuple([jnp.asarray(array_like(name, p, "points")) for p in points])
        if len(self.grid) > self.values.ndim:
            raise ValueError(f"{name}: there are {len(self.grid)} point arrays, but values has "
                             f"{self.values.ndim} dimensions")
        for axis, p in enumerate(self.grid):
            if p.ndim != 1 or p.shape[0] != self.values.shape[axis] or p.shape[0] < 2:
                raise ValueError(f"{name}: the points of axis {axis} must be a vector of at least "
                                 "2 elements, as many as values has along that axis, got shapes "
                                 f"{p.shape} and {self.values.shape}")
            if not isinstance(p, Tracer) and not np.greater(
                    np.asarray(p)[1:], np.asarray(p)[:-1]).all():
                raise ValueError(f"{name}: the points of axis {axis} must be strictly ascending")
        if not jnp.issubdtype(self.values.dtype, jnp.inexact):
            self.values = self.values.astype(inexact_dtype(from_numpy(self.values.dtype)).numpy)
        self.method = method
        self.fill_value = fill_value if fill_value is None else jnp.asarray(
            array_like(name, fill_value, "fill_value"))

    @front_door
    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points.

        Args:
          xi: array [..., axes], or a tuple of coordinates for each axis, which broadcast.
          method: "linear" or "nearest"; None for that of the interpolator.
        Raises: ValueError for other methods and numbers of coordinates.
        """
        method = self.method if method is None else method
        _check_method(method)
        n = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*[jnp.asarray(x) for x in xi]), -1)
        x = jnp.asarray(array_like(type(self).__name__, xi, "xi"))
        if x.ndim == 1 and not x.shape[0] % n:
            x = x.reshape(-1, n)
        if not x.ndim or x.shape[-1] != n:
            raise ValueError(f"the requested sample points xi have shape {x.shape}, but this "
                             f"{type(self).__name__} has dimension {n}: the last axis of xi must "
                             f"have {n} elements")
        x = x.astype(jnp.result_type(x.dtype, *[p.dtype for p in self.grid], np.float16))
        below, share = [], []
        outside: Any = False
        for axis, p in enumerate(self.grid):
            at = x[..., axis]
            p = p.astype(x.dtype)
            i = jnp.clip(jnp.searchsorted(p, at, side="left") - 1, 0, p.shape[0] - 2)
            below.append(i)
            share.append((at - p[i]) / (p[i + 1] - p[i]))
            outside = outside | (at < p[0]) | (at > p[-1])
        made = (self._nearest if method == "nearest" else self._linear)(below, share)
        further = (1,) * (self.values.ndim - n)
        if self.fill_value is not None:
            made = jnp.where(jnp.reshape(outside, outside.shape + further),
                             self.fill_value.astype(made.dtype), made)
        unknown = jnp.isnan(x).any(-1)
        return jnp.where(jnp.reshape(unknown, unknown.shape + further), np.nan, made)

    def _nearest(self, below: list[Any], share: list[Any]) -> Any:
        return self.values[tuple([i + (t > 0.5) for i, t in zip(below, share, strict=True)])]

    def _linear(self, below: list[Any], share: list[Any]) -> Any:
        made: Any = 0
        for corner in itertools.product((0, 1), repeat=len(below)):
            weight: Any = 1
            for c, t in zip(corner, share, strict=True):
                weight = weight * (t if c else 1 - t)
            value = self.values[tuple([i + c for i, c in zip(below, corner, strict=True)])]
            made = made + value * jnp.reshape(weight, weight.shape + (1,) * (
                value.ndim - weight.ndim))
        return made


def _check_method(method: Any) -> None:
    if method not in ("linear", "nearest"):
        raise ValueError(f"method {method!r} is not defined; it must be 'linear' or 'nearest'")


__all__ = ["RegularGridInterpolator"]
__dir__ = _shown(globals())
